#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# Compiles a file and fails if a kernel of it keeps registers in memory.
# usage: check_spills.sh NVCC ARGUMENTS...
set -euo pipefail
report=$("$@" -Xptxas -v 2>&1) || { echo "$report"; exit 1; }
kernels=$(grep -c "Compiling entry function" <<<"$report")
if spills=$(grep -B1 -E "[1-9][0-9]* bytes spill" <<<"$report"); then
  echo "$spills"
  exit 1
fi
echo "$kernels kernels, no spills"
[ "$kernels" -gt 0 ]
