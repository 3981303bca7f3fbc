#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# What launchers take for ssh on imitated hosts: remote_shell.sh [-OPTION...] nI COMMAND... runs the command on that host of
# the set in IMITATED_HOSTS (a folder that hosts.sh made), by a shell, as ssh would.
set -euo pipefail
while [[ $1 == -* ]]; do shift; done
exec "$(dirname "${BASH_SOURCE[0]}")/hosts.sh" on "$IMITATED_HOSTS" "${1#n}" -- sh -c "${*:2}"
