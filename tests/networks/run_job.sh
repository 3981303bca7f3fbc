#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# A job without a launcher on imitated hosts: PES_PER_NODE PEs on each of n1 to nNODES, which meet by torchrun's variables.
#   run_job.sh FOLDER NODES PES_PER_NODE [--timeout SECONDS] [--cyclic] -- PROGRAM...      FOLDER as hosts.sh made it
# The PEs of a host follow each other, or, cyclic, are dealt to the hosts in turn; all write to this command's output. A PE that fails leaves the others alone; the
# status is the first that was not 0. After SECONDS (60) those that are left are ended, and the status is 124.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
usage() { sed -n '5,/^# status/s/^# \{0,1\}//p' "$here/run_job.sh" >&2; exit 2; }
[ $# -ge 5 ] || usage
folder=$1 nodes=$2 pes_per_node=$3 limit=60 cyclic=
shift 3
[ "$1" != --timeout ] || { limit=$2; shift 2; }
[ "$1" != --cyclic ] || { cyclic=1; shift; }
[ "$1" = -- ] && [ $# -gt 1 ] || usage
shift

export WORLD_SIZE=$((nodes * pes_per_node)) MASTER_PORT=$((20000 + ($$ + RANDOM) % 12000))
MASTER_ADDR=$(awk '$2 == "n1" {print $1}' "$folder/addresses") || exit 2
export MASTER_ADDR HEDDLE_JOB_SECRET=$$.$RANDOM$RANDOM HEDDLE_TIMEOUT=${HEDDLE_TIMEOUT:-30}

# Each PE is a process group, and reports its status through a pipe: in the order in which they end.
pipe=$(mktemp -u)
mkfifo "$pipe" && exec {reports}<>"$pipe" && rm "$pipe" || exit 2
declare -A running=()
end_all() {
  local signal rank
  for signal in TERM KILL; do
    for rank in "${!running[@]}"; do kill -$signal -- "-${running[$rank]}" 2>/dev/null; done
    [ ${#running[@]} = 0 ] || [ $signal = KILL ] || sleep 0.5
  done
}
trap end_all EXIT
trap 'exit 143' TERM INT

set -m
for ((rank = 0; rank < WORLD_SIZE; rank++)); do
  (
    host=$((rank / pes_per_node)) local=$((rank % pes_per_node))
    [ -z "$cyclic" ] || host=$((rank % nodes)) local=$((rank / nodes))
    RANK=$rank LOCAL_RANK=$local "$here/hosts.sh" on "$folder" $((host + 1)) -- "$@" </dev/null {reports}>&-
    echo "$rank $?" >&$reports
  ) &
  running[$rank]=$!
done
set +m

status=0 line=
while [ ${#running[@]} -gt 0 ]; do
  # Its time may end in the middle of a line.
  IFS= read -r -t 1 -u $reports part
  complete=$?
  line+=$part
  if [ $complete = 0 ]; then
    read -r rank code <<<"$line"
    line=
    unset "running[$rank]"
    [ $status != 0 ] || status=$code
  elif [ $SECONDS -ge "$limit" ]; then
    echo "run_job.sh: after $limit s these have not ended: ranks ${!running[*]}" >&2
    [ $status != 0 ] || status=124
    break
  fi
done
exit $status
