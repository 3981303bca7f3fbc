#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# verbs_jobs.sh BIN-FOLDER [libfabric]: in the guest, jobs of two processes, one on rxe0 and one on rxe1, and of four.
set -uo pipefail
bin=$1 libfabric=${2:-} here=$(cd "$(dirname "$0")/../networks" && pwd) pair=$(dirname "$0")/pair.sh
. "$here/checks.sh"
export HEDDLE_TIMEOUT=60
# rdma_rxe takes 7 retries for retries without end.
export HEDDLE_IB_RETRY_CNT=6
right="Out of bounds values : 0 OK"

for algo in one_shot two_shot ring tree; do
  check "all_reduce by $algo" 0 "$right" HEDDLE_ALGO=$algo "$pair" "$bin/heddle-perf" all_reduce -b 68 -e 100000 -f 37 -n 1 -w 0
done
# The suites of collectives and one-sided operations, a process for each PE.
for suite in kernels_test one_sided_kernels_test transfers_test one_sided_test; do
  check "$suite" 0 "\[doctest\] Status: SUCCESS" HEDDLE_DEV_TEST_JOB=2 \
    "$pair" "$bin/$suite" --no-colors --test-suite-exclude=threads
  count_runs "$suite" 2
done
check "all_reduce of 1 MB" 0 "$right" "$pair" "$bin/heddle-perf" all_reduce -b 1000000 -e 1000000 -n 1 -w 0
for operation in put get signal atomic; do
  check "$operation" 0 "$right" "$pair" "$bin/heddle-perf" $operation -b 1 -e 70001 -f 41 -n 2
done
check "the path" 0 "pe: 1  path: network  reason: reached by verbs" "$pair" "$bin/heddle-info"
for wait in all_reduce kernel_quiet finalize; do
  check "a PE dies, $wait" 137 "^RIGHT" "$pair" "$bin/struck_pe" "$wait" kill 1
done

# Puts and gets of a stopped PE's memory need its card alone: they are not waits for it.
place='on host .*, reached by verbs .* at rxe1:1, 10\.77\.0\.2'
for wait in all_reduce atomic kernel_barrier wait_until; do
  rm -f "$folder/ended"
  check "a PE stops, $wait" 137 "^RIGHT after" HEDDLE_TIMEOUT=3 "$pair" "$bin/struck_pe" "$wait" stop 1 "$folder/ended" "$place"
  # Nobody knows who was to write the word of wait_until.
  [ "$wait" = wait_until ] || count_told "a PE stops, $wait" 1 "^RIGHT after .*does not answer"
done

# A port goes down in the middle of it, and takes its cable's other end with it.
port_down() { ip link set vb down; }
for wait in all_reduce kernel_quiet; do
  when_asked port_down check "a port goes down, $wait" 0 "^RIGHT" HEDDLE_TIMEOUT=10 HEDDLE_IB_TIMEOUT=17 \
    "$pair" "$bin/struck_pe" "$wait" port 1 "$folder/go" "$place"
  count_right "both ends of a port that is down, $wait" 2
  ip link set vb up
  ip neigh replace 10.77.0.1 lladdr "$(cat /sys/class/net/va/address)" dev vb  # as network_veth.sh had it
  for _ in $(seq 100); do [ "$(rdma link | grep -c 'state ACTIVE')" != 2 ] || break; sleep 0.1; done
done

# PEs of two hosts, two by two: by memory in each, by verbs across, through either port or both.
# Every way of AllReduce in every type is of the first of these suites.
for suite in reductions_test kernels_test; do
  HEDDLE_PES_PER_HOST=2 HEDDLE_P2P_DISABLE=0 WORLD_SIZE=4 check "$suite on 2 hosts with 2 PEs" 0 \
    "\[doctest\] Status: SUCCESS" HEDDLE_DEV_TEST_JOB=4 HEDDLE_DEV_TEST_THREADS=2 "$pair" "$bin/$suite" --no-colors \
    --test-suite-exclude=threads --test-case-exclude="all_reduce is right by every*"
  count_runs "$suite on 2 hosts with 2 PEs" 4
done
HEDDLE_PES_PER_HOST=2 HEDDLE_P2P_DISABLE=0 WORLD_SIZE=4 check "the paths of 2 hosts with 2 PEs" 0 \
  "pe: 1  path: mapped .*pe: 2  path: network  reason: reached by verbs" sh -c '"$@" | tr "\n" " "' sh "$pair" "$bin/heddle-info"

settings() {
  local none="PE 0 has HEDDLE_TRANSPORT=verbs, .*of verbs, PE 0 has none: "
  check "verbs that are disabled" 1 "${none}HEDDLE_IB_DISABLE=1" HEDDLE_IB_DISABLE=1 "$pair" "$bin/hello"
  count_told "verbs that are disabled" 2 "$none"
  check "no verbs, another network" 0 "pe: 1  path: network  reason: reached by tcp" \
    HEDDLE_IB_DISABLE=1 HEDDLE_TRANSPORT=auto "$pair" "$bin/heddle-info"
  check "a device that there is not" 1 '^  rxe0:1: HEDDLE_IB_HCA="=nothing" leaves it out' \
    HEDDLE_IB_HCA="=nothing" "$pair" "$bin/hello"
  count_told "a device that there is not" 2 '^  rxe1:1: HEDDLE_IB_HCA="=nothing" leaves it out'
  check "a GID that there is not" 1 "HEDDLE_IB_GID_INDEX=77, which is empty in this port's table" \
    HEDDLE_IB_GID_INDEX=77 "$pair" "$bin/hello"
  count_told "a GID that there is not" 2 "$none"
}

info() {
  local chosen="use: chosen, number 1 of 1: .* gid: [0-9]+: RoCE v2, IPv4" gids='gids: \[.*"[0-9]+: RoCE v2 10\.77\.0\.'
  check "heddle-info of the chosen port" 0 \
    "port: rxe0:1  state: ACTIVE .* $chosen 10\.77\.0\.1 of va  ${gids}1\"" "$pair" "$bin/heddle-info"
  if grep -qE "port: rxe1:1 .*distance: at an unknown distance .*\"=rxe0\" leaves it out .*${gids}2\"" <<<"$out" &&
    grep -qE "^  proxy_processors +any$" <<<"$out"; then passed=$((passed + 1)); else
    fail "heddle-info of the other port: $out"
  fi
  check "heddle-info of a GID that is forced" 0 "port: rxe0:1 .* gid: 0: HEDDLE_IB_GID_INDEX: RoCE v2, " \
    HEDDLE_IB_GID_INDEX=0 "$bin/heddle-info"
}

# may_lock KIBIBYTES COMMAND...: who has CAP_IPC_LOCK may lock any amount.
may_lock() { ulimit -l "$1" && shift && timeout 60 "$pair" setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock "$@"; }

little_to_lock() {
  local asked="asked the network card to take .* of memory: .*; this process may lock"
  check "a limit on locked memory" 1 "$asked 64 KiB \(ulimit -l\).*raise the limit" may_lock 64 "$bin/hello"
  count_told "a limit on locked memory" 2 "$asked"
  # It takes more of its heap than it may lock; and both are told whose limit it is, the target's or the source's.
  asked="PE [01] aborted team world: $asked 19\.5 MiB \(ulimit -l\)"
  check "a limit on locked memory, met later" 1 "$asked" \
    may_lock 20000 "$bin/heddle-perf" put -b 32000000 -e 32000000 -n 1 -w 0
  count_told "a limit on locked memory, met later" 2 "$asked"
}

# on_netem DEVICES RULE: what leaves these is treated by tc's netem; off: no longer.
on_netem() {
  local device message
  for device in $1; do
    [ "$2" != off ] || { tc qdisc del dev "$device" root; continue; }
    # shellcheck disable=SC2086  # the rule is words
    message=$(tc qdisc add dev "$device" root netem $2 2>&1) ||
      { fail "no netem on $device (the kernel's sch_netem: prepare.sh): $message"; return 1; }
  done
}

# lossy TRANSPORT DEVICES RULE
lossy() {
  local device
  export HEDDLE_TRANSPORT=$1
  on_netem "$2" "$3" || return
  check "all_reduce by $1 on a slow and lossy network" 0 "$right" \
    "$pair" "$bin/heddle-perf" all_reduce -b 68 -e 100000 -f 37 -n 1 -w 0
  check "put by $1 on a slow and lossy network" 0 "$right" "$pair" "$bin/heddle-perf" put -b 1 -e 70001 -f 41 -n 2
  for device in $2; do
    if tc -s qdisc show dev "$device" | grep -q "dropped [1-9]"; then passed=$((passed + 1)); else
      fail "$1: $device lost nothing: $(tc -s qdisc show dev "$device")"
    fi
  done
  on_netem "$2" off
}

settings
info
little_to_lock
# An RDMA card sends all again that came out of order: delays here are even, and it tries without end.
HEDDLE_IB_RETRY_CNT=7 HEDDLE_IB_TIMEOUT=15 lossy verbs "va vb" "delay 1ms loss 2% duplicate 1% limit 100000"
# What is between addresses of one machine goes over lo.
lossy tcp lo "delay 1ms 0.3ms loss 2% duplicate 1% limit 100000"
for provider in "tcp;ofi_rxm" net; do
  [ "$libfabric" = libfabric ] || continue
  HEDDLE_FABRIC_PROVIDER=$provider lossy libfabric lo "delay 1ms 0.3ms loss 2% duplicate 1% limit 100000"
done
finish
