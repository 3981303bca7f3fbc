#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# Imitated hosts are apart, and PEs on several of them meet. Status 77: cannot be run here.
# usage: networks_test.sh BIN-FOLDER
set -uo pipefail
bin=$1 here=$(cd "$(dirname "$0")" && pwd)
passed=0 failed=0
type ip ping >/dev/null 2>&1 || { echo "ip or ping is not installed: no test was run"; exit 77; }
folder=$(mktemp -d)
export LAUNCHER_TEST=$folder  # tells leftovers.py which processes are this test's
trap 'for set in two three own; do "$here/hosts.sh" down "$folder/$set"; done; rm -rf "$folder"' EXIT
"$here/hosts.sh" up "$folder/two" 2
case $? in 0) ;; 77) echo "no test was run"; exit 77 ;; *) exit 1 ;; esac
"$here/hosts.sh" up "$folder/three" 3 || exit 1

# check NAME STATUS PATTERN COMMAND...: the command's status, and a pattern (grep -E) in its output.
check() {
  local name=$1 wanted=$2 pattern=$3 out status
  shift 3
  out=$(timeout -k 5 60 "$@" 2>&1 </dev/null)
  status=$?
  if [ "$status" = "$wanted" ] && grep -qE "$pattern" <<<"$out"; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    printf 'FAILED: %s: status %s instead of %s, or no /%s/ in:\n%s\n' "$name" "$status" "$wanted" "$pattern" "$out"
  fi
}
two=("$here/hosts.sh" on "$folder/two")

# The hosts.
check "a host has a name" 0 "^n2$" "${two[@]}" 2 -- hostname
check "the status of a command" 7 "" "${two[@]}" 1 -- sh -c 'exit 7'
check "the working directory of a command" 0 "^$PWD$" "${two[@]}" 1 -- pwd
check "words of a command" 0 '^a b\.\$c\.$' "${two[@]}" 1 -- printf '%s.' "a b" '$c'
check "a host that there is not" 1 "no host n3" "${two[@]}" 3 -- true
check "a set that is there already" 2 "has hosts already" "$here/hosts.sh" up "$folder/two" 2
check "too few hosts" 2 "1 to 200 hosts" "$here/hosts.sh" up "$folder/none" 0
check "hosts know each other by name" 0 "" "${two[@]}" 1 -- ping -c 1 -W 5 n2
check "this machine is on their network" 0 "" "${two[@]}" 1 -- ping -c 1 -W 5 gateway
check "a host sees its own network in /sys" 0 "^eth0 lo $" "${two[@]}" 1 -- sh -c 'ls /sys/class/net | tr "\n" " "'
"${two[@]}" 1 -- touch /dev/shm/mine
check "/dev/shm is the host's" 0 "^mine$" "${two[@]}" 1 -- ls /dev/shm
check "/dev/shm is no other's" 2 "" "${two[@]}" 2 -- ls /dev/shm/mine
"${two[@]}" 1 -- ipcmk -M 64 >/dev/null
check "System V memory is the host's" 0 "0x" "${two[@]}" 1 -- ipcs -m
check "System V memory is no other's" 1 "" "${two[@]}" 2 -- sh -c 'ipcs -m | grep 0x'
check "sets are apart" 1 "" "${two[@]}" 1 -- ping -c 1 -W 1 "$(awk '$2 == "n3" {print $1}' "$folder/three/addresses")"

if [ "$(nproc)" -ge 2 ]; then
  "$here/hosts.sh" up "$folder/own" 2 own-processors
  check "processors of its own" 0 "^$(($(nproc) / 2))-?" "$here/hosts.sh" on "$folder/own" 2 -- sh -c 'taskset -cp $$ | sed "s/.*: //"'
  check "all processors" 0 "^$(nproc)$" "${two[@]}" 1 -- nproc
  "$here/hosts.sh" down "$folder/own"
fi
if [ "$(nproc)" -lt 200 ]; then
  check "more hosts than processors" 77 "cannot have one of" "$here/hosts.sh" up "$folder/own" 200 own-processors
fi

"$here/hosts.sh" link "$folder/two" 2 down
check "a pulled cable" 1 "" "${two[@]}" 1 -- ping -c 1 -W 1 n2
"$here/hosts.sh" link "$folder/two" 2 up
check "a cable that is put back" 0 "" "${two[@]}" 1 -- ping -c 3 -W 5 n2

"$here/hosts.sh" netem "$folder/two" 1 "delay 60ms"
case $? in
  0)
    check "a delay" 0 "time=(6|7|8|9|[1-9][0-9])[0-9]" "${two[@]}" 1 -- ping -c 1 -W 5 n2
    "$here/hosts.sh" netem "$folder/two" 1 off
    check "the end of a delay" 0 "time=([0-9]|[1-4][0-9])(\.[0-9]*)? ms" "${two[@]}" 1 -- ping -c 3 -W 5 n2
    check "a rule that is none" 1 "netem delay of course" "$here/hosts.sh" netem "$folder/two" 1 "delay of course"
    ;;
  77) echo "the tests of netem were not run" ;;
  *) failed=$((failed + 1)) ;;
esac

# Jobs on them. The first line of each PE is counted.
for hosts in two:2:1 two:2:2 three:3:1 three:3:2; do
  IFS=: read -r set nodes pes <<<"$hosts"
  check "$pes PEs on each of $nodes hosts" 0 "^$((2 * nodes * pes)) RIGHT, $nodes hosts$" bash -c '
    set -o pipefail
    "$0/run_job.sh" "$1" "$2" "$3" -- "$4/joined_pe" "$3" |
      awk "/ RIGHT\$/ {right++; hosts[\$6]} END {n = length(hosts); print right \" RIGHT, \" n \" hosts\"}"' \
    "$here" "$folder/$set" "$nodes" "$pes" "$bin"
done
ranks=$here/../bootstrap/count_ranks.sh
for case in "names are filled in" "gathers a megabyte each" "barrier waits for the last" "a hundred rounds stay in step"; do
  check "bootstrap on three hosts: $case" 0 "^6 ranks right, 0 failed$" \
    "$ranks" "$here/run_job.sh" "$folder/three" 3 2 -- "$bin/launched_rank" 6 "$case"
done
check "a rank that dies is named" 137 "^2 ranks right, 0 failed$" \
  "$ranks" "$here/run_job.sh" "$folder/three" 3 1 -- "$bin/launched_rank" 3 "the last rank dies"

# What run_job.sh says of jobs that fail.
check "the first bad status" 5 "" "$here/run_job.sh" "$folder/two" 2 2 -- sh -c '[ $RANK = 2 ] && exit 5; sleep 2; [ $RANK = 1 ] && exit 6; exit 0'
check "a time limit" 124 "have not ended: ranks [0-9 ]*1" "$here/run_job.sh" "$folder/two" 2 1 --timeout 1 -- sleep 100
check "ranks in turn" 0 "^n2 1 of 4$" "$here/run_job.sh" "$folder/two" 2 2 --cyclic -- sh -c 'echo $(hostname) $RANK of $WORLD_SIZE'
check "ranks by host" 0 "^n2 3 of 4$" "$here/run_job.sh" "$folder/two" 2 2 -- sh -c 'echo $(hostname) $RANK of $WORLD_SIZE'

# Nothing is left: no process, no link, no file; what a command left running included.
"${two[@]}" 1 -- sh -c 'sleep 1000 >/dev/null 2>&1 & true'
bridges="heddle$(cat "$folder/two/set") heddle$(cat "$folder/three/set")"
"$here/hosts.sh" down "$folder/two"
"$here/hosts.sh" down "$folder/three"
left=$(env -u LAUNCHER_TEST python3 "$here/../launchers/leftovers.py" "$LAUNCHER_TEST"; ls -A "$folder/two" "$folder/three" | grep -v '^/\|^$'
  for bridge in $bridges; do ip -br link | grep -E "^${bridge}[. ]"; done)
if [ -z "$left" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); printf 'FAILED: left behind:\n%s\n' "$left"; fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
