#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# Jobs that meet by unique id, without a launcher, on imitated hosts; the interfaces that jobs take where hosts have two; and
# the processors that proxies take near them. Status 77: cannot be run here.
# usage: interfaces_test.sh BIN-FOLDER tcp|libfabric
set -uo pipefail
bin=$1 here=$(cd "$(dirname "$0")" && pwd)
. "$here/checks.sh"
export HEDDLE_TRANSPORT=$2

# by_id NODES PES_PER_NODE: a job whose PEs know nothing but the id's file and their numbers.
by_id() {
  rm -f "$folder/id"
  job "$1" "$2" sh -c 'exec env -u MASTER_ADDR -u MASTER_PORT -u RANK -u WORLD_SIZE "$0" "$1" $RANK $WORLD_SIZE' \
    "$bin/unique_id_pe" "$folder/id"
}

unique_ids() {
  local hosts nodes pes
  for hosts in 2:2 3:1; do
    IFS=: read -r nodes pes <<<"$hosts"
    check "a unique id on $nodes hosts with $pes PEs" 0 "^RIGHT: PE $pes of $((nodes * pes)) on n2, $pes PEs here" by_id "$nodes" "$pes"
    count_right "all of $nodes hosts with $pes PEs" $((nodes * pes))
  done
}

# Each host has eth0, 10.79.*, and eth1, 10.78.*, in this order.
two_interfaces() {
  local wish taken wishes=("eth0:" "eth0:^eth1" "eth1:wlan,eth1" "eth1:=eth1" "eth1:^eth0")
  [ "$HEDDLE_TRANSPORT" = tcp ] || wishes=("eth0:^eth1" "eth1:=eth1")
  "$here/hosts.sh" cable "$folder/2" 1 2
  for wish in "${wishes[@]}"; do
    taken=79
    [[ $wish != eth1:* ]] || taken=78
    check "HEDDLE_SOCKET_IFNAME=${wish#*:}" 0 "pe: 1 .* reached by $HEDDLE_TRANSPORT .*\(${wish%%:*}\) at 10\.$taken\." \
      HEDDLE_SOCKET_IFNAME="${wish#*:}" job 2 1 "$bin/heddle-info"
  done
  check "no interface of such an exact name" 1 'HEDDLE_SOCKET_IFNAME="=eth" matches no interface .* there are: lo, eth0, eth1' \
    HEDDLE_SOCKET_IFNAME==eth job 2 1 "$bin/hello"
  # Nothing but the one is needed, by the bootstrap either.
  "$here/hosts.sh" link "$folder/2" 2 down
  check "all goes by eth1" 0 "^RIGHT: PE 1 of 2 on n2" HEDDLE_SOCKET_IFNAME=^eth0 by_id 2 1
  count_right "both by eth1" 2
}

# The interface is there, and the others are not behind it.
nobody_behind_it() {
  local far="^hello: rank 1 of 2 could not reach rank 0 at" first="^hello: rank 0 of 2 waited for rank 1 until the deadline"
  export HEDDLE_INIT_TIMEOUT=3  # which is to pass
  check "an interface that leads nowhere" 1 "$far 127\.0\.0\.1:.* refused; .*HEDDLE_SOCKET_IFNAME" \
    HEDDLE_SOCKET_IFNAME==lo job 2 1 "$bin/hello"
  count_told "an interface that leads nowhere" 1 "$first"
  "$here/hosts.sh" link "$folder/2" 2 down
  check "a host that is not reached" 1 "$far 10\.79\..* before the deadline" job 2 1 "$bin/hello"
  count_told "a host that is not reached" 1 "$first"
  "$here/hosts.sh" link "$folder/2" 2 up
  unset HEDDLE_INIT_TIMEOUT
}

# near HOST PROCESSORS: what the kernel would tell of its eth0, were it a card of a PCIe bus.
near() {
  "$here/hosts.sh" on "$folder/2" "$1" -- sh -c '
    mountpoint -q /sys/class/net || mount -t tmpfs tmpfs /sys/class/net
    mkdir -p /sys/class/net/eth0/device && echo "$0" >/sys/class/net/eth0/device/local_cpulist' "$2"
}

# Of the processors that this test may use the first and the last.
proxies_near_cards() {
  local all first last
  all=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
  first=${all%%[-,]*} last=${all##*[-,]}
  [ "$first" != "$last" ] || { echo "one processor: that proxies run near cards was not tried"; return; }
  near 1 "$last"
  near 2 1000-1003
  check "a proxy runs near its card" 0 "^PE 0: proxy on $last, main on $all$" job 2 1 "$bin/placed_pe"
  count_told "a card near processors that there are not" 1 "^PE 1: proxy on $all, main on $all$"
  check "heddle-info tells where the proxy runs" 0 "^  proxy_processors +$last$" job 2 1 "$bin/heddle-info"
  near 2 "$first,$last"
  check "a proxy stays where its PE may run" 0 "^PE 1: proxy on $first, main on $first$" job 2 1 taskset -c "$first" "$bin/placed_pe"
  count_told "a card near processors that the PE may not use" 1 "^PE 0: proxy on $first, main on $first$"
}

make_hosts 2 3
[ "$HEDDLE_TRANSPORT" != tcp ] || { unique_ids; nobody_behind_it; }  # they differ before there is a network
two_interfaces
"$here/hosts.sh" link "$folder/2" 2 up
proxies_near_cards
finish
