#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# as_processes.sh N PROGRAM...: N PEs as processes of this machine, without a launcher: they meet by torchrun's variables.
# The status is that of the first PE that failed.
set -uo pipefail
size=$1
shift
port=$((20000 + ($$ + RANDOM) % 12000))  # below those that the system gives out
export HEDDLE_TIMEOUT=${HEDDLE_TIMEOUT:-60}
export WORLD_SIZE=$size MASTER_ADDR=127.0.0.1 MASTER_PORT=$port HEDDLE_JOB_SECRET=$$.$RANDOM$RANDOM
pids=()
for ((rank = 0; rank < size; rank++)); do
  RANK=$rank "$@" &
  pids+=($!)
done
status=0
for pid in "${pids[@]}"; do
  wait "$pid" || status=$((status == 0 ? $? : status))
done
exit $status
