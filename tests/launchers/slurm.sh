#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# A private Slurm on this machine: its own munged, slurmctld and a slurmd for each node. Nothing outside FOLDER is touched.
#   slurm.sh up FOLDER NODES [namespaces]   then: . FOLDER/env.sh; srun --mpi=pmix ...
#   slurm.sh down FOLDER
# With `namespaces` (root) each node is an imitated host (tests/networks/hosts.sh, whose folder is FOLDER/hosts), so that PEs of
# different nodes share nothing but files; status 77 where there can be none.
set -euo pipefail
action=$1 folder=$2
hosts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../networks/hosts.sh

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
  [ ! -e "$folder/hosts" ] || "$hosts" down "$folder/hosts"
}

address() { awk -v name="$1" '$2 == name {print $1}' "$folder/hosts/addresses"; }

up() {
  # Below those that the system gives out; several Slurms may run.
  local nodes=$1 separate=${2:-} host control=127.0.0.1 i port=$((20000 + ($$ % 1200) * 10))
  host=$(hostname -s)
  if [ -n "$separate" ]; then
    "$hosts" up "$folder/hosts" "$nodes"
    control=$(address gateway)
  fi
  mkdir -p "$folder"/{state,spool,log,munge}
  chmod 755 "$folder"
  chmod 711 "$folder/munge"
  # munged: a key and a socket of its own.
  (umask 077 && head -c 128 /dev/urandom >"$folder/munge/key")
  munged --force --socket="$folder/munge/socket" --key-file="$folder/munge/key" --num-threads=2 \
    --pid-file="$folder/munge/munged.pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
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
        echo "NodeName=n$i NodeHostname=n$i NodeAddr=$(address "n$i") Port=$((port + i)) CPUs=8 RealMemory=4000 State=UNKNOWN"
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
      "$hosts" on "$folder/hosts" "$i" -- env "SLURM_CONF=$folder/conf.n$i/slurm.conf" slurmd -N "n$i" >/dev/null
    else
      SLURM_CONF=$folder/conf.n$i/slurm.conf slurmd -N "n$i" >/dev/null
    fi
  done
  printf 'PMIxTimeout=20\n' >"$folder/mpi.conf"
  for _ in $(seq 200); do
    [ "$(SLURM_CONF=$folder/slurm.conf sinfo -h -o '%D %t' 2>/dev/null)" = "$nodes idle" ] && return 0
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
