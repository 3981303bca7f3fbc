#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# verbs_tests.sh FOLDER: in the guest, runs the programs of FOLDER that need RDMA devices, and fails if one does.
failed=0
for network in verbs verbs_rails; do
  begin=$SECONDS
  # A network that is skipped (77) is one that was not found: here that is a failure.
  "$1/transport_test" --network=$network || failed=1
  echo "rdma_vm: $network took $((SECONDS - begin)) s"
done
# Last: it takes a port down.
"$1/verbs_device_test" || failed=1
exit $failed
