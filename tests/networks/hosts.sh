#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# Imitated hosts on this machine (root): each has its own network, host name, IPC and /dev/shm, so that processes of two of
# them share nothing but files. Several sets may exist at a time.
#   hosts.sh up FOLDER N [own-processors]  makes FOLDER and the hosts n1 to nN, on a bridge that this machine is on too; each
#                                        may use all processors, or those that are its own
#   hosts.sh down FOLDER                 ends them and every process in them
#   hosts.sh on FOLDER I -- COMMAND...   replaces itself by the command on host nI: its output, status and process id
#   hosts.sh link FOLDER I down|up       pulls nI's cable, and puts it back
#   hosts.sh card FOLDER I out|in        takes nI's card, eth0, out of it, and puts one in, with the same address
#   hosts.sh cable FOLDER I J            lays one from nI to nJ: eth1 on both, 10.78.X.1I and 10.78.X.1J
#   hosts.sh netem FOLDER I RULE|off     what leaves nI is treated by tc's netem: "delay 2ms loss 1%"
# FOLDER/addresses has a line "10.79.X.1I nI" for each, which the hosts have in /etc/hosts, and "10.79.X.1 gateway" for this
# machine. Status 77: this machine cannot (no root, no namespaces, no netem), and a message says why.
#
# A host is its namespaces, which a sleeping process holds (FOLDER/nI: its id and when it began); when it and all others in
# them have ended, nothing is left of the host. It sleeps for an hour: whoever made the host may be killed before it says down.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
action=${1:-} folder=${2:-}

cannot() { echo "hosts.sh: $*" >&2; exit 77; }

# began PROCESS: when, since the machine was started; nothing if there is no such process.
began() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" {print $20}'; }

# keeper I: the process id that holds nI, if it is still the one that was recorded.
keeper() {
  local process start
  [ -e "$folder/n$1" ] || { echo "hosts.sh: $folder has no host n$1" >&2; return 1; }
  read -r process start <"$folder/n$1"
  [ "$(began "$process")" = "$start" ] || { echo "hosts.sh: host n$1 of $folder has ended" >&2; return 1; }
  echo "$process"
}

# The bridge's name holds the set's number: making it fails where another set has it.
make_bridge() {
  local first tries
  first=$(cksum <<<"$folder")
  first=${first%% *}
  for ((tries = 0; tries < 256; tries++)); do
    set_number=$(((first + tries) % 256))
    [ -z "$(ip -4 route show "10.79.$set_number.0/24")" ] || continue
    ip link add "heddle$set_number" type bridge 2>/dev/null || continue
    echo "$set_number" >"$folder/set"
    ip addr add "10.79.$set_number.1/24" dev "heddle$set_number"
    ip link set "heddle$set_number" up
    return
  done
  cannot "no bridge could be made: $(ip link add "heddle$set_number" type bridge 2>&1)"
}

make_host() {
  local i=$1 process
  # Its /etc/hosts knows the others, its /sys its own network.
  setsid unshare --net --uts --ipc --mount bash -c '
    set -e
    hostname "n$1"
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    mkdir "$0/sys.n$1"
    mount -t sysfs sysfs "$0/sys.n$1"
    [ ! -d /sys/fs/cgroup ] || mount --rbind /sys/fs/cgroup "$0/sys.n$1/fs/cgroup"
    mount --rbind "$0/sys.n$1" /sys
    mount --bind "$0/hosts" /etc/hosts
    touch "$0/n$1.made"
    exec sleep 3600' "$folder" "$i" </dev/null >"$folder/n$i.log" 2>&1 &
  process=$!
  until [ -e "$folder/n$i.made" ]; do
    kill -0 $process 2>/dev/null || cannot "no namespaces can be made: $(cat "$folder/n$i.log")"
    sleep 0.01
  done
  echo "$process $(began $process)" >"$folder/n$i"
  nsenter --target $process --net ip link set lo up
  put_card_in "$i" $process
}

put_card_in() {
  local i=$1 process=$2 outer="heddle$set_number.$1"
  ip link add "$outer" type veth peer name eth0 netns "$process"
  ip link set "$outer" master "heddle$set_number" up
  nsenter --target "$process" --net bash -c '
    ip addr add "$0.$((10 + $1))/24" dev eth0
    ip link set eth0 up
    ip route add default via "$0.1"' "10.79.$set_number" "$i"
}

up() {
  local count=$1 processors=${2:-} i
  type ip >/dev/null 2>&1 || cannot "iproute2 is not installed"
  [ "$(id -u)" = 0 ] || cannot "only root can make hosts with a network of their own"
  [ -e /etc/hosts ] || cannot "there is no /etc/hosts, over which each host has its own"
  [ "$count" -ge 1 ] && [ "$count" -le 200 ] || { echo "hosts.sh: 1 to 200 hosts, not $count" >&2; exit 2; }
  [ -z "$processors" ] || [ "$count" -le "$(nproc)" ] || cannot "$count hosts cannot have one of $(nproc) processors each"
  mkdir -p "$folder"
  [ ! -e "$folder/set" ] || { echo "hosts.sh: $folder has hosts already" >&2; exit 2; }
  trap '[ $? = 0 ] || down' EXIT
  make_bridge
  echo "10.79.$set_number.1 gateway" >"$folder/addresses"
  for i in $(seq "$count"); do echo "10.79.$set_number.$((10 + i)) n$i" >>"$folder/addresses"; done
  cat /etc/hosts "$folder/addresses" >"$folder/hosts"
  for i in $(seq "$count"); do
    [ -z "$processors" ] || echo "$(((i - 1) * $(nproc) / count))-$((i * $(nproc) / count - 1))" >"$folder/n$i.processors"
    make_host "$i"
  done
}

# others KEEPER...: the processes on the hosts that these hold, but for them.
others() {
  local process
  for process in "$@"; do readlink "/proc/$process/ns/net"; done >"$folder/networks"
  # Processes end while it looks.
  { find /proc/[0-9]*/ns/net -printf '%l %p\n' 2>/dev/null || true; } | grep -wFf "$folder/networks" | cut -d/ -f3 |
    grep -vxF "$(printf '%s\n' "$@")"
}

# The keepers go last: while one lives, its network is nobody else's, and who is on it was started here.
down() {
  local set_number link host process keepers=() left tries
  [ -e "$folder/set" ] || return 0
  for host in $(awk '$2 ~ /^n/ {print substr($2, 2)}' "$folder/addresses"); do
    process=$(keeper "$host" 2>/dev/null) && keepers+=("$process")
  done
  if [ ${#keepers[@]} -gt 0 ]; then
    for ((tries = 0; tries < 50; tries++)); do
      left=$(others "${keepers[@]}") || break
      # shellcheck disable=SC2086  # numbers
      kill -9 $left 2>/dev/null || true
      sleep 0.05
    done
    kill -9 "${keepers[@]}"
  fi
  set_number=$(cat "$folder/set")
  # A veth goes with its namespace, which the kernel takes down when it has time.
  for link in $(ip -o link show master "heddle$set_number" 2>/dev/null | sed 's/^[0-9]*: \([^@:]*\).*/\1/'); do
    ip link del "$link" 2>/dev/null || true
  done
  ip link del "heddle$set_number" 2>/dev/null || true
  rm -f "$folder"/n[0-9]* "$folder"/{addresses,hosts,networks,set}
  rm -df "$folder"/sys.n*
}

on() {
  local i=$1 process bound=()
  [ "$2" = -- ] || { echo "hosts.sh: on FOLDER I -- COMMAND..." >&2; exit 2; }
  shift 2
  process=$(keeper "$i")
  [ ! -e "$folder/n$i.processors" ] || bound=(taskset --cpu-list "$(cat "$folder/n$i.processors")")
  # Entering a mount namespace leaves the working directory, and a root that was changed.
  exec "${bound[@]}" nsenter --target "$process" --net --uts --ipc --mount --root -- env --chdir="$PWD" "$@"
}

link() {
  keeper "$1" >/dev/null
  ip link set "heddle$(cat "$folder/set").$1" "$2"
  [ "$2" != up ] || await_carrier "$(keeper "$1")" eth0
}

card() {
  local set_number process
  process=$(keeper "$1")
  set_number=$(cat "$folder/set")
  case $2 in
    out) nsenter --target "$process" --net ip link del eth0 ;;
    in)
      put_card_in "$1" "$process"
      await_carrier "$process" eth0
      ;;
    *) exit 2 ;;
  esac
}

cable() {
  local end processes=("$(keeper "$1")" "$(keeper "$2")")
  nsenter --target "${processes[0]}" --net ip link add eth1 type veth peer name eth1 netns "${processes[1]}"
  for end in 0 1; do
    nsenter --target "${processes[$end]}" --net bash -c 'ip addr add "$0/24" dev eth1 && ip link set eth1 up' \
      "10.78.$(cat "$folder/set").$((10 + ${*:end+1:1}))"
  done
  for end in 0 1; do await_carrier "${processes[$end]}" eth1; done
}

# await_carrier PROCESS INTERFACE: a cable is noticed a moment after both its ends are up; until then libfabric has no
# such interface.
await_carrier() {
  local _
  for _ in $(seq 100); do
    if nsenter --target "$1" --net ip -o link show "$2" 2>/dev/null | grep -q 'state UP'; then return; fi
    sleep 0.05
  done
  echo "hosts.sh: $2 has no carrier after 5 seconds" >&2
  return 1
}

netem() {
  local process message
  process=$(keeper "$1")
  [ "$2" != off ] || { nsenter --target "$process" --net tc qdisc del dev eth0 root 2>/dev/null || true; return 0; }
  # shellcheck disable=SC2086  # the rule is words
  message=$(nsenter --target "$process" --net tc qdisc replace dev eth0 root netem $2 2>&1) && return
  case $message in
    *"kind is unknown"*) cannot "this kernel has no sch_netem" ;;
    *) echo "hosts.sh: netem $2: $message" >&2; return 1 ;;
  esac
}

case $action in
  up | down | on | link | card | cable | netem)
    [ -n "$folder" ] || exit 2
    [ -d "$folder" ] && folder=$(cd "$folder" && pwd)
    [ "$action" != up ] || folder=$(realpath -m "$folder")
    shift 2
    $action "$@"
    ;;
  *)
    sed -n '5,/^# machine/s/^# \{0,1\}//p' "$here/hosts.sh" >&2
    exit 2
    ;;
esac
