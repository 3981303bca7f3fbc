#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# A private Slurm on this machine: its own munged, slurmctld and a slurmd for each node. Nothing outside FOLDER is touched.
#   slurm.sh up FOLDER NODES [namespaces]   then: . FOLDER/env.sh; srun --mpi=pmix ...
#   slurm.sh down FOLDER
# With `namespaces` (root) each node has its own network (10.79.0.0/24 on a bridge of its own), host name, IPC and /dev/shm, so that
# PEs of different nodes share nothing but files.
set -euo pipefail
action=$1 folder=$2
bridge=heddlebr0
port=27817

down() {
  local file process name
  for file in "$folder"/slurmd.*.pid "$folder"/slurmctld.pid "$folder"/munge/munged.pid; do
    [ -e "$file" ] || continue
    process=$(cat "$file")
    name=$(cat "/proc/$process/comm" 2>/dev/null || true)
    case $name in slurmctld | slurmd | munged) ;; *) continue ;; esac
    kill "$process" 2>/dev/null || true
    for _ in $(seq 30); do kill -0 "$process" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$process" 2>/dev/null || true
  done
  if [ -e "$folder/namespaces" ]; then
    while read -r name; do ip netns del "$name" 2>/dev/null || true; done <"$folder/namespaces"
    ip link del $bridge 2>/dev/null || true
  fi
}

up() {
  local nodes=$1 separate=${2:-} host control=127.0.0.1 i
  host=$(hostname -s)
  mkdir -p "$folder"/{state,spool,log,munge}
  chmod 755 "$folder"
  chmod 711 "$folder/munge"
  # munged: a key and a socket of its own.
  (umask 077 && head -c 128 /dev/urandom >"$folder/munge/key")
  munged --force --socket="$folder/munge/socket" --key-file="$folder/munge/key" --num-threads=2 \
    --pid-file="$folder/munge/munged.pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
  if [ -n "$separate" ]; then
    control=10.79.0.1
    ip link add $bridge type bridge
    ip addr add $control/24 dev $bridge
    ip link set $bridge up
    for i in $(seq "$nodes"); do
      echo "heddle-n$i" >>"$folder/namespaces"
      ip netns add "heddle-n$i"
      ip link add "heddleh$i" type veth peer name "heddlen$i"
      ip link set "heddleh$i" master $bridge up
      ip link set "heddlen$i" netns "heddle-n$i"
      ip -n "heddle-n$i" link set lo up
      ip -n "heddle-n$i" addr add "10.79.0.$((10 + i))/24" dev "heddlen$i"
      ip -n "heddle-n$i" link set "heddlen$i" up
      ip -n "heddle-n$i" route add default via $control
    done
  fi
  {
    cat <<CONF
ClusterName=heddle
SlurmctldHost=$host($control)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
SlurmctldPort=$port
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd.%n.log
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MailProg=/bin/true
InactiveLimit=0
KillWait=2
WaitTime=0
# More than there are nodes, and a PMIx fence would be no barrier (Slurm 20.11 to 25).
TreeWidth=$((nodes > 1 ? nodes : 50))
CONF
    for i in $(seq "$nodes"); do
      if [ -n "$separate" ]; then
        echo "NodeName=n$i NodeHostname=n$i NodeAddr=10.79.0.$((10 + i)) Port=$((port + i)) CPUs=8 RealMemory=4000 State=UNKNOWN"
      else
        echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=8 RealMemory=4000 State=UNKNOWN"
      fi
    done
    echo "PartitionName=all Nodes=n[1-$nodes] Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4"
  } >"$folder/slurm.conf"
  echo "export SLURM_CONF=$folder/slurm.conf" >"$folder/env.sh"
  SLURM_CONF=$folder/slurm.conf slurmctld -c >/dev/null
  for i in $(seq "$nodes"); do
    # A folder of settings for each slurmd: two PMIx servers of one step need their own temporary folders.
    mkdir -p "$folder/conf.n$i" "$folder/spool/n$i" "$folder/pmix.n$i"
    cp "$folder/slurm.conf" "$folder/conf.n$i/"
    printf 'PMIxCliTmpDirBase=%s\nPMIxDirectConn=true\nPMIxDirectConnUCX=false\nPMIxTimeout=20\n' "$folder/pmix.n$i" \
      >"$folder/conf.n$i/mpi.conf"
    if [ -n "$separate" ]; then
      nsenter --net="/run/netns/heddle-n$i" unshare --uts --mount --ipc bash -c \
        "hostname n$i; mount -t tmpfs -o mode=1777 tmpfs /dev/shm; SLURM_CONF=$folder/conf.n$i/slurm.conf exec slurmd -N n$i" >/dev/null
    else
      SLURM_CONF=$folder/conf.n$i/slurm.conf slurmd -N "n$i" >/dev/null
    fi
  done
  printf 'PMIxTimeout=20\n' >"$folder/mpi.conf"
  for _ in $(seq 200); do
    [ "$(SLURM_CONF=$folder/slurm.conf sinfo -h -t idle -o %D 2>/dev/null)" = "$nodes" ] && return 0
    sleep 0.1
  done
  echo "slurm.sh: the nodes did not come up; see $folder/log" >&2
  return 1
}

case $action in
  up) shift 2 && up "$@" ;;
  down) down ;;
  *) exit 2 ;;
esac
