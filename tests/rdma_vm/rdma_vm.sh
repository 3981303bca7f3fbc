#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# rdma_vm.sh [-n NETWORK] [-t SECONDS] [-m MEBIBYTES] [-e NAME=VALUE]... CACHE COMMAND...
#
# Runs a command in a small virtual machine that has software RDMA devices (rdma_rxe), on a machine whose own kernel has
# none. The machine is qemu's, with the distribution's kernel (prepare.sh, kept in the
# folder CACHE). It sees the host's files, read-only; what it writes is lost. The command runs as root in the caller's
# working directory; output, errors and status come back as they were.
#   NETWORK  veth (network_veth.sh; the default) or none
# Status: the command's; 77 where no such machine can be made here; 124 after SECONDS (300); 125 if the machine failed.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
network=veth seconds=300 memory=1024 variables=()
while getopts n:t:m:e: option; do
  case $option in
    n) network=$OPTARG ;;
    t) seconds=$OPTARG ;;
    m) memory=$OPTARG ;;
    e) variables+=("$OPTARG") ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
cache=$1
shift

command -v qemu-system-x86_64 >/dev/null || { echo "rdma_vm: no qemu-system-x86_64 (package qemu-system-x86)" >&2; exit 77; }
for program in ip rdma; do
  command -v $program >/dev/null || { echo "rdma_vm: no $program (package iproute2)" >&2; exit 77; }
done
[ "$cache/version" -nt "$here/guest_init.sh" ] && [ "$cache/version" -nt "$here/prepare.sh" ] || "$here/prepare.sh" "$cache"

job=$(mktemp -d)
machine=
# By process ids alone, and whatever ends this script.
clean_up() {
  [ -z "$machine" ] || kill -9 "$machine" 2>/dev/null || true
  rm -rf "$job"
}
trap clean_up EXIT
trap 'exit 143' INT TERM HUP

{
  echo "export PATH=$(printf %q "$PATH") HOME=/root LANG=${LANG:-C}"
  for variable in ${variables[@]+"${variables[@]}"}; do printf 'export %q\n' "$variable"; done
  [ "$network" = none ] || echo ". $(printf %q "$here/network_$network.sh") || { echo 'rdma_vm: no RDMA devices' >&2; exit 125; }"
  echo "ulimit -l unlimited"
  printf 'cd %q\n' "$PWD"
  printf '%q ' "$@"
} >"$job/job.sh"

processors=$(nproc)
# Output comes through pipes of its own, so that it is seen as it is made.
mkfifo "$job/out" "$job/err"
cat "$job/out" & out_copier=$!
cat "$job/err" >&2 & err_copier=$!
# Emulated even where there is a /dev/kvm: it is not to be trusted inside a virtual machine, where most tests run.
# A processor without what takes long to emulate, and the C library would use to copy: long vectors, and strings byte by byte.
# q35, because a kernel without an HPET fails to calibrate its clock now and then on a busy host.
qemu-system-x86_64 -accel tcg,thread=multi -M q35 -cpu max,-erms,-fsrm,-avx2 -m "$memory" -smp $((processors < 4 ? processors : 4)) \
  -nodefaults -no-user-config -display none -no-reboot -kernel "$cache/kernel" -initrd "$cache/initrd.gz" \
  -append "console=ttyS0 quiet panic=-1 oops=panic mitigations=off tsc=reliable rdma_vm.job=$job/job.sh" \
  -chardev "file,id=console,path=$job/console" -serial chardev:console \
  -chardev "file,id=out,path=$job/out" -chardev "file,id=err,path=$job/err" -chardev "file,id=status,path=$job/status" \
  -device virtio-serial-pci -device virtserialport,chardev=out,name=out -device virtserialport,chardev=err,name=err \
  -device virtserialport,chardev=status,name=status \
  -fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
  -device virtio-9p-pci,fsdev=root,mount_tag=host_root </dev/null 2>"$job/qemu" &
machine=$!
late=
for ((until = SECONDS + seconds; ; )); do
  kill -0 $machine 2>/dev/null || break
  [ $SECONDS -lt $until ] || { late=1; kill -9 $machine; break; }
  sleep 0.1
done
{ wait $machine || true; } 2>/dev/null
machine=
# A machine that did not start has opened neither pipe.
: <>"$job/out" <>"$job/err" && wait $out_copier $err_copier

[ -z "$late" ] || { echo "rdma_vm: stopped after $seconds s" >&2; tail -n 5 "$job/console" >&2; exit 124; }
grep -aE 'BUG:|Oops|WARNING: CPU|anic|rdma_vm:' "$job/console" >&2 || true
status=$(cat "$job/status" 2>/dev/null || true)
[ -n "$status" ] || { echo "rdma_vm: the machine ended without a status" >&2; cat "$job/qemu" "$job/console" | tail -n 40 >&2; exit 125; }
exit "$status"
