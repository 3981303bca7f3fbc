#!/bin/busybox sh
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# The first process of the machine that rdma_vm.sh boots: its root becomes the host's, read-only under a layer that is
# thrown away, and in it runs the job whose path the kernel's command line names. Output, errors and status leave by
# three virtio ports.
busybox=/bin/busybox
run() { $busybox "$@" || stop "$*"; }
stop() { $busybox echo "rdma_vm: guest: failed: $*" >/dev/console; $busybox poweroff -f; }

$busybox mount -t proc proc /proc
$busybox mount -t sysfs sys /sys
$busybox mount -t devtmpfs dev /dev
for module in $($busybox cat /modules/order); do run insmod /modules/$module; done

run mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,msize=512000,ro host_root /lower
run mount -t tmpfs tmpfs /upper
run mkdir /upper/changes /upper/work
run mount -t overlay -o lowerdir=/lower,upperdir=/upper/changes,workdir=/upper/work overlay /host
run mount -t proc proc /host/proc
run mount -t sysfs sys /host/sys
run mount -t devtmpfs dev /host/dev
run mkdir -p /host/dev/pts /host/dev/shm
run mount -t devpts devpts /host/dev/pts
run mount -t tmpfs -o mode=1777 tmpfs /host/dev/shm
run mount -t tmpfs -o mode=755 tmpfs /host/run
# Without localhost libfabric's verbs;ofi_rxm is not there.
[ -e /host/etc/hosts ] || $busybox echo "127.0.0.1 localhost" >/host/etc/hosts

for port in /sys/class/virtio-ports/*; do
  case $($busybox cat $port/name) in
    out) out=/dev/${port##*/} ;;
    err) err=/dev/${port##*/} ;;
    status) status=/dev/${port##*/} ;;
  esac
done
for word in $($busybox cat /proc/cmdline); do
  case $word in rdma_vm.job=*) job=${word#*=} ;; esac
done
# By pipes: programs ask what their output is, and a virtio port can be opened once only.
run mkfifo /out /err
$busybox cat /out >$out & out_copier=$!
$busybox cat /err >$err & err_copier=$!
$busybox chroot /host /bin/bash "$job" </dev/null >/out 2>/err
result=$?
wait $out_copier $err_copier
$busybox echo $result >$status
$busybox poweroff -f
