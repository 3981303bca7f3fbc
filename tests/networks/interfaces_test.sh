#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# Jobs that meet by unique id, without a launcher, on imitated hosts; and the interfaces that jobs take where hosts have two.
# Status 77: cannot be run here.
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

make_hosts 2 3
[ "$HEDDLE_TRANSPORT" != tcp ] || unique_ids  # they differ before there is a network
two_interfaces
finish
