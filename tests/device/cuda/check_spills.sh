#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# Compiles a file and fails if a function that moves data keeps registers in memory. Those around them, which run once
# for a call or a chunk, may.
# usage: check_spills.sh NVCC ARGUMENTS...
set -euo pipefail
moving='reduce_copy|4copy|8exchange|one_shot_ll|move_lines|two_shot_by_multicast'
report=$("$@" -Xptxas -v 2>&1) || { echo "$report"; exit 1; }
functions=$(grep -cE "Function properties for .*($moving)" <<<"$report")
if grep -A1 -E "Function properties for .*($moving)" <<<"$report" | grep -B1 -E "[1-9][0-9]* bytes spill stores"; then
  exit 1
fi
echo "$functions functions that move data, no spills"
[ "$functions" -gt 0 ]
