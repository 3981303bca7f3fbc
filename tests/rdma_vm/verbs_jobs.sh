#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# verbs_jobs.sh BIN-FOLDER: in the guest, jobs of two processes, one on rxe0 and one on rxe1.
set -uo pipefail
bin=$1 here=$(cd "$(dirname "$0")/../networks" && pwd) pair=$(dirname "$0")/pair.sh
. "$here/checks.sh"
export HEDDLE_TIMEOUT=60
# rdma_rxe takes 7 retries for retries without end.
export HEDDLE_IB_RETRY_CNT=6
right="Out of bounds values : 0 OK"

for algo in one_shot two_shot ring tree; do
  check "all_reduce by $algo" 0 "$right" HEDDLE_ALGO=$algo "$pair" "$bin/heddle-perf" all_reduce -b 8 -e 40000 -f 71 -n 1 -w 0
done
check "all_reduce of 1 MB" 0 "$right" "$pair" "$bin/heddle-perf" all_reduce -b 1000000 -e 1000000 -n 1 -w 0
for operation in put get signal atomic; do
  check "$operation" 0 "values : 0" "$pair" "$bin/heddle-perf" $operation -b 1 -e 70001 -f 41 -n 2
done
check "the path" 0 "pe: 1  path: network  reason: reached by verbs" "$pair" "$bin/heddle-info"
for wait in all_reduce kernel_quiet finalize; do
  check "a PE dies, $wait" 137 "^RIGHT" "$pair" "$bin/struck_pe" "$wait" kill 1
done
finish
