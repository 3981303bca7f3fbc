#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# What a job on imitated hosts is told when a PE dies or stops, a cable is pulled, or there is no network such as was asked for.
# All that wait end in time, and nothing is left. So too on one host over each of libfabric's providers, by which nothing else
# runs whole jobs. Status 77: cannot be run here.
# usage: faults_test.sh BIN-FOLDER losses|stops tcp|libfabric, or BIN-FOLDER settings|providers
set -uo pipefail
bin=$1 part=$2 here=$(cd "$(dirname "$0")" && pwd)
. "$here/checks.sh"
[ $# -lt 3 ] || export HEDDLE_TRANSPORT=$3
export HEDDLE_TIMEOUT=3
waits=(all_reduce barrier put get atomic wait_until kernel_wait kernel_quiet kernel_barrier finalize)
place='on host n[0-9], reached by .* at 10\.79\.'

# check_cut HOSTS CHECK'S WORDS...: the same, of a job on so many that asks by $folder/go for the second's cable to be pulled,
# or, with cut=card, for its card to be taken out, and is told of it by $folder/go.done.
cut=link
check_cut() {
  local hosts=$1 off=down on=up
  [ $cut = link ] || off=out on=in
  shift
  cut_off() { "$here/hosts.sh" $cut "$folder/$hosts" 2 $off; }
  when_asked cut_off check "$@"
  "$here/hosts.sh" $cut "$folder/$hosts" 2 $on
}

losses() {
  local wait case nodes pes victim
  make_hosts 2 3
  for wait in "${waits[@]}"; do
    check "a PE dies, $wait" 137 "^RIGHT" HEDDLE_TIMEOUT=20 job 2 1 "$bin/struck_pe" "$wait" kill 1
  done
  for case in 2:2:0 2:2:3 3:1:2; do
    IFS=: read -r nodes pes victim <<<"$case"
    for wait in all_reduce kernel_quiet; do
      check "PE $victim of $nodes hosts with $pes dies, $wait" 137 "PE $victim of team world .* is lost" HEDDLE_TIMEOUT=20 \
        job "$nodes" "$pes" "$bin/struck_pe" "$wait" kill "$victim"
      count_right "the others, $wait" $((nodes * pes - 1))
    done
  done
  for wait in all_reduce put get kernel_quiet kernel_barrier finalize; do
    check_cut 2 "a cable is pulled, $wait" 0 "^RIGHT" job 2 1 "$bin/struck_pe" "$wait" link 1 "$folder/go" "$place"
    count_right "both ends, $wait" 2
  done
  for wait in all_reduce kernel_barrier; do
    check_cut 3 "a cable of three is pulled, $wait" 0 "^RIGHT" job 3 1 "$bin/struck_pe" "$wait" link 1 "$folder/go" "$place"
    count_right "all three, $wait" 3
  done
  for wait in all_reduce kernel_quiet; do
    cut=card check_cut 2 "a card is taken out, $wait" 0 "^RIGHT" job 2 1 "$bin/struck_pe" "$wait" link 1 "$folder/go" "$place"
    count_right "both ends, $wait" 2
  done
  for wait in put kernel_barrier; do
    check_cut 2 "no cable from the first message on, $wait" 0 "^RIGHT" \
      job 2 1 "$bin/struck_pe" "$wait" link_first 1 "$folder/go" "$place"
    count_right "neither end reaches the other, $wait" 2
  done
  [ "${HEDDLE_TRANSPORT:-}" != tcp ] || long_deadline
}

# A host that is gone is noticed long before a long deadline; struck_pe, which expects the deadline, says WRONG.
long_deadline() {
  local lost="is lost: its connection failed"
  check_cut 2 "a cable is pulled, and the deadline is far" 1 "after [0-9]\.[0-9]+ s, .*PE 1 of team world .* $lost" \
    HEDDLE_TIMEOUT=40 job 2 1 "$bin/struck_pe" wait_until link 1 "$folder/go" "$place"
  if grep -qE "after [0-9]\.[0-9]+ s, .*PE 0 of team world .* $lost" <<<"$out"; then passed=$((passed + 1)); else
    fail "the cable's other end: $out"
  fi
}

stops() {
  local wait case nodes pes victim
  make_hosts 2 3
  for wait in "${waits[@]}"; do
    rm -f "$folder/ended"
    check "a PE stops, $wait" 137 "^RIGHT" job 2 1 "$bin/struck_pe" "$wait" stop 1 "$folder/ended" "$place"
  done
  for case in 2:2:1 3:1:0; do
    IFS=: read -r nodes pes victim <<<"$case"
    rm -f "$folder/ended"
    check "PE $victim of $nodes hosts with $pes stops" 137 "PE $victim .*does not answer" \
      job "$nodes" "$pes" "$bin/struck_pe" kernel_barrier stop "$victim" "$folder/ended" "$place"
    count_right "the others" $((nodes * pes - 1))
  done
}

settings() {
  local library
  make_hosts 2
  check "a kernel puts to what is not symmetric" 0 "a kernel of PE 1 named 8 bytes at address 0x" \
    job 2 1 "$bin/struck_pe" stray none 1
  count_right "both are told" 2
  check "a provider that there is not" 1 "PE 0 has HEDDLE_FABRIC_PROVIDER=nonsense, .* not there; there are: " \
    HEDDLE_FABRIC_PROVIDER=nonsense job 2 1 "$bin/hello"
  check "a provider for one host" 1 "stays on one host, and the PEs are on several" HEDDLE_FABRIC_PROVIDER=shm job 2 1 "$bin/hello"
  check "a provider that one PE alone wants" 1 "PE 1 has HEDDLE_FABRIC_PROVIDER=nonsense" \
    job 2 2 sh -c '[ $RANK != 1 ] || export HEDDLE_FABRIC_PROVIDER=nonsense; exec "$0"' "$bin/hello"
  [ "$(grep -c "^hello: PE 1 has" <<<"$out")" = 4 ] && passed=$((passed + 1)) || fail "told by four PEs: $out"
  check "providers that differ" 1 "PE 1 has libfabric sockets and PE 0 libfabric net: choose one" \
    job 2 1 sh -c '[ $RANK = 0 ] && export HEDDLE_FABRIC_PROVIDER=net || export HEDDLE_FABRIC_PROVIDER=sockets; exec "$0"' "$bin/hello"
  check "an interface that there is not" 1 'HEDDLE_SOCKET_IFNAME="nothing" matches no interface .* there are: .*eth0' \
    HEDDLE_SOCKET_IFNAME=nothing job 2 1 "$bin/hello"
  check "verbs without a device" 1 "PE 0 has HEDDLE_TRANSPORT=verbs, .*of verbs, PE 0 has none" \
    HEDDLE_TRANSPORT=verbs job 2 1 "$bin/hello"
  check "transports that differ" 1 "of tcp, PE 1 has none: HEDDLE_TRANSPORT=verbs" \
    job 2 1 sh -c '[ $RANK = 0 ] || export HEDDLE_TRANSPORT=verbs; exec "$0"' "$bin/hello"
  check "no network, which nobody asked for: node teams" 0 "RIGHT" HEDDLE_TRANSPORT=none job 2 2 "$bin/joined_pe" 2
  check "no network: a warning" 0 "WARN transport: .* no network: .*of tcp, PE 2 has none: HEDDLE_TRANSPORT=none" \
    job 2 2 sh -c '[ $RANK != 2 ] || export HEDDLE_TRANSPORT=none; exec "$0" 2' "$bin/joined_pe"
  check "no network: first use" 1 "PE 1 of team world is on another host .* there is no network: .*use the node team" \
    HEDDLE_TRANSPORT=none job 2 1 "$bin/hello"
  check "no network: heddle-info" 0 "pe: 1  path: none .* there is no network: " HEDDLE_TRANSPORT=none job 2 1 "$bin/heddle-info"
  # Host n2 loses libfabric.
  library=$(ldconfig -p | awk '/libfabric\.so\.1 / {print $NF; exit}')
  [ -n "$library" ] || return 0
  "$here/hosts.sh" on "$folder/2" 2 -- mount --bind /dev/null "$(realpath "$library")"
  check "a library that one host lacks" 1 "PE 0 has HEDDLE_TRANSPORT=libfabric, .*of libfabric, PE 1 has none" \
    HEDDLE_TRANSPORT=libfabric job 2 1 "$bin/hello"
  check "nobody needs it" 0 "PE 0 of 2 was sent 101" job 2 1 "$bin/hello"
}

providers() {
  local provider wait tried=0 all two=("$bin/heddle-run" --bind-to none --keep-going --timeout 50 -n 2)
  local numbered=(sh -c 'RANK=$PMIX_RANK WORLD_SIZE=2 exec "$0" "$@"')
  export HEDDLE_P2P_DISABLE=1 HEDDLE_TRANSPORT=libfabric HEDDLE_TIMEOUT=20
  # Which of them there are depends on libfabric's version.
  all=$("$bin/heddle-info" 2>/dev/null)
  for provider in sockets "tcp;ofi_rxm" "udp;ofi_rxd" shm net; do
    grep -q "^  $provider " <<<"$all" || { echo "not over $provider, which is not here"; continue; }
    tried=$((tried + 1))
    export HEDDLE_FABRIC_PROVIDER=$provider
    check "all_reduce over $provider" 0 "Out of bounds values : 0 OK" \
      "${two[@]}" "$bin/heddle-perf" all_reduce -b 8 -e 40000 -f 17 -n 1 -w 0
    check "put over $provider" 0 "Out of bounds values : 0 OK" "${two[@]}" "$bin/heddle-perf" put -b 1 -e 70001 -f 41 -n 2
    check "a job over $provider is over it" 0 "pe: 1  path: network  reason: reached by libfabric $provider " \
      "${two[@]}" "$bin/heddle-info"
    for wait in all_reduce kernel_quiet; do
      check "a PE dies over $provider, $wait" 137 "^RIGHT" "${two[@]}" "$bin/struck_pe" "$wait" kill 1
    done
    rm -f "$folder/ended"
    check "a PE stops over $provider" 137 "^RIGHT .*does not answer" HEDDLE_TIMEOUT=3 "${two[@]}" "${numbered[@]}" \
      "$bin/struck_pe" kernel_barrier stop 1 "$folder/ended" "on host .*, reached by libfabric $provider "
  done
  [ $tried -ge 3 ] || fail "libfabric has $tried of these providers"
}

case $part in
  losses | stops | settings | providers) $part ;;
  *) exit 2 ;;
esac
finish
