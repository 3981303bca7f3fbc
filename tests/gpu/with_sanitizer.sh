#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# with_sanitizer.sh TOOL PROGRAM...: the program under compute-sanitizer; what that finds is a failure. 77: it is not here.
set -uo pipefail
tool=$1
shift
command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer here: nothing looked for by $tool"; exit 77; }
exec compute-sanitizer --tool "$tool" --error-exitcode 1 "$@"
