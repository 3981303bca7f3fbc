#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# Kernels of every type, reduction and algorithm add up: the library stays within its budget, as it is installed,
# without symbols for debugging.
# usage: library_size.sh LIBRARY ARCHITECTURES
set -euo pipefail
library=$1 architectures=$2
budget_each=$((60 << 20))

stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip --strip-debug -o "$stripped" "$library"
size=$(stat -c %s "$stripped")
budget=$((budget_each * (architectures > 0 ? architectures : 1)))
echo "$library: $((size >> 20)) MiB with kernels for $architectures architectures; at most $((budget >> 20)) MiB"
[ "$size" -le "$budget" ]
