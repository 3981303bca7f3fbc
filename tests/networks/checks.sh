#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# For tests of jobs on imitated hosts, which source it with `here` and `bin` set: make_hosts, check, when_asked,
# count_right, count_told, count_runs, finish.
passed=0 failed=0
folder=$(mktemp -d)
export LAUNCHER_TEST=$folder TMPDIR=$folder  # the first tells leftovers.py which processes are this test's
end() { local set; for set in "$folder"/[1-9]*; do [ ! -d "$set" ] || "$here/hosts.sh" down "$set"; done; rm -rf "$folder"; }
trap end EXIT

# make_hosts N...: sets of hosts, in $folder/N, which are no leftovers themselves; of N:apart, each host has a processor of its
# own, where there are as many: their PEs do not wait for each other's time slices. Ends the test where there can be none.
make_hosts() {
  local set count processors
  for set in "$@"; do
    count=${set%:*} processors=()
    [[ $set != *:apart ]] || [ "$(nproc)" -lt "$count" ] || processors=(own-processors)
    env -u LAUNCHER_TEST "$here/hosts.sh" up "$folder/$count" "$count" ${processors[@]+"${processors[@]}"} || {
      [ $? != 77 ] || [ $((passed + failed)) != 0 ] || { echo "no test was run"; exit 77; }
      exit 1
    }
  done
}

# job NODES PES_PER_NODE PROGRAM...; job_in_turn: with the PEs dealt to the hosts in turn
job_in_turn() { local nodes=$1 pes=$2; shift 2; "$here/run_job.sh" "$folder/$nodes" "$nodes" "$pes" --timeout 90 --cyclic -- "$@"; }
job() { local nodes=$1 pes=$2; shift 2; "$here/run_job.sh" "$folder/$nodes" "$nodes" "$pes" --timeout 90 -- "$@"; }

fail() { failed=$((failed + 1)); printf 'FAILED: %s\n' "$*"; }

# check NAME STATUS PATTERN [VARIABLE=VALUE...] COMMAND...: the command's status, and a pattern (grep -E) in its output, which
# is left in $out.
check() {
  local name=$1 wanted=$2 pattern=$3 status variables=()
  shift 3
  while [[ $1 == [A-Z]*=* ]]; do variables+=("$1"); shift; done
  out=$([ ${#variables[@]} = 0 ] || export "${variables[@]}"; "$@" 2>&1 </dev/null)
  status=$?
  if [ "$status" = "$wanted" ] && grep -qE "$pattern" <<<"$out"; then passed=$((passed + 1)); else
    fail "$name: status $status instead of $wanted, or no /$pattern/ in:"$'\n'"$out"
  fi
}

# when_asked STRIKE COMMAND...: runs the command, and STRIKE, once something makes $folder/go, which is told of that by
# $folder/go.done. Both may be functions.
when_asked() {
  local strike=$1 striker
  shift
  (
    until [ -e "$folder/go" ]; do sleep 0.1; done
    "$strike" && touch "$folder/go.done"
  ) &
  striker=$!
  "$@"
  touch "$folder/go"  # if nothing has
  wait $striker
  rm -f "$folder/go" "$folder/go.done"
}

# count_right NAME N: of the last check's PEs, N said RIGHT and none WRONG.
count_right() {
  if [ "$(grep -c '^RIGHT' <<<"$out")" = "$2" ] && ! grep -q WRONG <<<"$out"; then passed=$((passed + 1)); else
    fail "$1: not $2 times RIGHT in:"$'\n'"$out"
  fi
}

# count_told NAME N PATTERN: of the last check's PEs, N said so.
count_told() {
  if [ "$(grep -cE "$3" <<<"$out")" = "$2" ]; then passed=$((passed + 1)); else fail "$1: not told by $2 PEs in:"$'\n'"$out"; fi
}

# count_runs NAME SIZE: each of the last check's processes ended well, and took part in as many runs as the others: not in none.
count_runs() {
  local runs
  runs=$(sed -nE "s/^([0-9]+) runs on the $2 PEs of the job; .*/\1/p" <<<"$out" | sort -u)
  if [ "$(grep -c 'Status: SUCCESS' <<<"$out")" = "$2" ] && [[ $runs =~ ^[1-9][0-9]*$ ]]; then
    passed=$((passed + 1))
    echo "$1: $runs runs"
  else
    fail "$1: not $2 processes with the same number of runs in:"$'\n'"$out"
  fi
}

# Nothing is left: no process, no memory, no socket. Then the outcome of the test.
finish() {
  local left look=(env -u LAUNCHER_TEST python3 "$here/../launchers/leftovers.py" "$LAUNCHER_TEST") host
  left=$("${look[@]}")
  # Each host has sockets and a /dev/shm of its own. (No test has more than nine.)
  for host in "$folder"/[1-9]*/n[0-9]; do
    [ ! -e "$host" ] || left+=$("$here/hosts.sh" on "${host%/*}" "${host##*/n}" -- "${look[@]}" &&
      "$here/hosts.sh" on "${host%/*}" "${host##*/n}" -- ls /dev/shm) || left+="no host ${host##*/}"
  done
  if [ -z "$left" ]; then passed=$((passed + 1)); else fail "left behind:"$'\n'"$left"; fi
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}
