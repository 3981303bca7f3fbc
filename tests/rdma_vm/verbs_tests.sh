#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# verbs_tests.sh FOLDER [libfabric]: in the guest, runs the programs of FOLDER that need RDMA devices, and fails if one does.
failed=0
# What is skipped (77) has found no device: here that is a failure.
run() {
  local begin=$SECONDS
  "$@" || failed=1
  echo "rdma_vm: $(basename "$1") ${*:2} took $((SECONDS - begin)) s"
}
for network in verbs verbs_rails; do run "$1/transport_test" --network=$network; done
run "$1/transport_test" --network=verbs --unruly -tce="64 MiB go through*"
# rdma_rxe's queues are too short for the 256 peers that libfabric expects.
if [ "${2:-}" = libfabric ] && [ -e /dev/infiniband/rdma_cm ]; then
  # What takes long in the emulated guest and is of libfabric more than of the card runs over its other providers.
  FI_OFI_RXM_USE_SRX=1 FI_UNIVERSE_SIZE=8 run "$1/transport_test" --network=verbs_rxm \
    -tce="64 MiB go through*,writes and reads of every size*,PEs that reach for each other*"
else
  echo "rdma_vm: not over libfabric's verbs;ofi_rxm: no libfabric or no rdma_ucm here"
fi
# The guest is emulated: each round is as long there as twenty elsewhere.
HEDDLE_DEV_TEST_SCALE=0.1 run "$1/proxy_suite" --network=verbs -tce="operations by chance*"
HEDDLE_DEV_TEST_SCALE=0.1 run "$1/proxy_suite" --network=verbs_rails \
  -tc="a signal*,a fence*,after quiet*,contexts*,a context's*,a place*,put and get*,large puts*,operations by chance*"
# 10^5 of two PEs together.
HEDDLE_DEV_TEST_SCALE=0.5 run "$1/proxy_suite" --network=verbs -tc="operations by chance*"
export HEDDLE_P2P_DISABLE=1 HEDDLE_TRANSPORT=verbs
# rdma_rxe takes 7 retries for retries without end.
HEDDLE_IB_RETRY_CNT=6 run "$1/one_sided_test"
run "$(dirname "$0")/verbs_jobs.sh" "$@"
# Last: it leaves the port that it takes down without what network_veth.sh gave it.
run "$1/verbs_device_test"
exit $failed
