#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# rdma.sh PROGRAM: in the machine of tests/rdma_vm, measures perftest and then heddle (PROGRAM: bench_network_put) between
# the devices rxe0 and rxe1, three times: one process differs from the next by up to a factor of two, perftest's own too.
# Counts are small: the processors are emulated. Prints what the benchmark programs print.
set -euo pipefail
program=$1
work=$(mktemp -d)
port=18600

# perftest WHAT BYTES[/SENT] FIELD PROGRAM...: SENT is what the program sends for so many bytes of heddle's user; FIELD is
# which number of perftest's line of results gives the microseconds, as awk knows it.
perftest() {
  local what=$1 bytes=${2%/*} sent=${2#*/} us=$3 server out=$work/$1
  shift 3
  port=$((port + 1))
  "$@" -d rxe1 -p $port -s "$sent" -F >"$out.server" 2>&1 &
  server=$!
  # Until it listens.
  for _ in $(seq 100); do
    if "$@" -d rxe0 -p $port -s "$sent" -F 10.77.0.2 >"$out" 2>&1; then break; fi
    grep -q "Couldn't connect" "$out" || break
    sleep 0.1
  done
  wait $server || { echo "rdma.sh: $1: $(tail -n 3 "$out" "$out.server" | tr '\n' ' ')" >&2; exit 1; }
  awk -v what="$what" -v bytes="$bytes" -v sent="$sent" '
    $1 == sent && NF >= 5 { us = '"$us"'; found = 1 }
    END { if (!found) exit 1
          printf "{\"what\": \"%s\", \"variant\": \"perftest\", \"bytes\": %d, \"us\": %.5f}\n", what, bytes, us }' "$out" ||
    { echo "rdma.sh: no result of $1 in: $(tail -n 5 "$out" | tr '\n' ' ')" >&2; exit 1; }
}

for _ in 1 2 3; do
  # Latency: bytes, iterations, least, most, typical, average... (heddle's figure is an average, too). Bandwidth: bytes,
  # iterations, peak, average (MiB a second), million a second.
  perftest perftest_write_lat 8 '$6' ib_write_lat -n 2000
  # The message that a put_signal is: with its header, to a queue that all peers share.
  perftest perftest_send_lat 8/80 '$6' ib_send_lat -n 2000 -I 128 --use-srq
  perftest perftest_write_bw 1048576 '1e6 / $4' ib_write_bw -n 30 -t 16
  perftest perftest_write_rate 8 '1 / $5' ib_write_bw -n 2000 -t 64
  perftest perftest_atomic_rate 8 '1 / $5' ib_atomic_bw -n 1000

  "$(dirname "$0")/../tests/rdma_vm/pair.sh" "$program" --batches 3 --batch-us 200000 --idle-s 1
done
