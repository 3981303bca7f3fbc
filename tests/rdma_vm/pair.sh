#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# pair.sh PROGRAM...: in the guest, a job of two processes, PE 0 on rxe0 and PE 1 on rxe1, unless HEDDLE_IB_HCA or
# HEDDLE_TRANSPORT says otherwise. Its status is PE 1's, or PE 0's where that is 0.
export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 12000)) HEDDLE_JOB_SECRET=$RANDOM$RANDOM
export HEDDLE_P2P_DISABLE=1 HEDDLE_TRANSPORT=${HEDDLE_TRANSPORT:-verbs}
RANK=1 LOCAL_RANK=1 HEDDLE_IB_HCA=${HEDDLE_IB_HCA:-=rxe1} "$@" &
second=$!
RANK=0 LOCAL_RANK=0 HEDDLE_IB_HCA=${HEDDLE_IB_HCA:-=rxe0} "$@"
first=$?
wait $second || exit
exit $first
