#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# with_mps.sh COMMAND...: runs it beside an MPS of its own, so that kernels of several processes run side by side. 77: there
# is no MPS here.
set -uo pipefail
command -v nvidia-cuda-mps-control >/dev/null || { echo "no nvidia-cuda-mps-control here"; exit 77; }
room=$(mktemp -d)
export CUDA_MPS_PIPE_DIRECTORY=$room/pipe CUDA_MPS_LOG_DIRECTORY=$room/log
# The processes share the GPU's channels: 4 of 32 each find no memory for a stream.
export CUDA_DEVICE_MAX_CONNECTIONS=8
mkdir "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
nvidia-cuda-mps-control -d || { echo "MPS does not start here"; rm -rf "$room"; exit 77; }
"$@"
status=$?
echo quit | timeout 30 nvidia-cuda-mps-control
[ $status = 0 ] || tail -n 20 "$room"/log/*.log 2>/dev/null
rm -rf "$room"
exit $status
