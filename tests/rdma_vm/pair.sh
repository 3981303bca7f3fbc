#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# pair.sh PROGRAM...: in the guest, a job of two processes, or WORLD_SIZE, which are on rxe0 and rxe1 in turn, unless
# HEDDLE_IB_HCA, HEDDLE_TRANSPORT or HEDDLE_P2P_DISABLE says otherwise. Its status is the last PE's that was not 0.
export WORLD_SIZE=${WORLD_SIZE:-2} MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 12000)) HEDDLE_JOB_SECRET=$RANDOM$RANDOM
export HEDDLE_P2P_DISABLE=${HEDDLE_P2P_DISABLE:-1} HEDDLE_TRANSPORT=${HEDDLE_TRANSPORT:-verbs}
status=0 pes=()
for ((rank = 0; rank < WORLD_SIZE; rank++)); do
  RANK=$rank LOCAL_RANK=$rank HEDDLE_IB_HCA=${HEDDLE_IB_HCA:-=rxe$((rank % 2))} "$@" &
  pes+=($!)
done
for pe in "${pes[@]}"; do wait "$pe" || status=$?; done
exit $status
