# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# Sourced in the guest: two RDMA devices on one wire, rxe0 (on va, 10.77.0.1) and rxe1 (on vb, 10.77.0.2).
ip link set lo up
ip link add va type veth peer name vb
ip addr add 10.77.0.1/24 dev va
ip addr add 10.77.0.2/24 dev vb
# Both ends are in one network stack: what comes from its own address is taken all the same.
for interface in all va vb; do
  echo 1 >/proc/sys/net/ipv4/conf/$interface/accept_local
  echo 0 >/proc/sys/net/ipv4/conf/$interface/rp_filter
done
# Packets that wait for a processor are kept, however busy it is.
echo 100000 >/proc/sys/net/core/netdev_max_backlog
# Room for packets of 4,096 bytes and their headers.
ip link set va mtu 4200 up
ip link set vb mtu 4200 up
# Each knows the other's address from the start: a first packet that waits for ARP would be late by up to a second.
ip neigh replace 10.77.0.2 lladdr "$(cat /sys/class/net/vb/address)" dev va
ip neigh replace 10.77.0.1 lladdr "$(cat /sys/class/net/va/address)" dev vb
rdma link add rxe0 type rxe netdev va && rdma link add rxe1 type rxe netdev vb
