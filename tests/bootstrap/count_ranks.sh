#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# count_ranks.sh COMMAND...: a job of launched_rank, with its output and its status, and then how many of its ranks were right,
# and how many said what failed. Where a rank dies on purpose the status is that of its death, whatever the others found.
set -uo pipefail
"$@" 2>&1 | awk '
  { print; fflush() }
  /^RIGHT: rank / { right++ }
  /^rank -?[0-9]+: / { failed++ }
  END { printf "%d ranks right, %d failed\n", right, failed }'
exit "${PIPESTATUS[0]}"
