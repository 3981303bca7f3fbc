#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# Suites whose PEs are threads elsewhere, with three processes as PEs, for AddressSanitizer: memory that other processes have
# mapped, and the proxies between processes. Without a launcher, since libpmix loses memory of its own, which would be told of.
# usage: processes_test.sh BIN-FOLDER SUITE...
set -uo pipefail
bin=$1 here=$(cd "$(dirname "$0")" && pwd)
shift
export HEDDLE_DEV_TEST_JOB=3
failed=0
for suite in "$@"; do
  for apart in 0 1; do
    out=$(HEDDLE_P2P_DISABLE=$apart "$here/../gpu/as_processes.sh" 3 "$bin/$suite" --no-colors --test-suite-exclude=threads 2>&1)
    status=$?
    # That each has run something must be seen as well.
    if [ $status = 0 ] && [ "$(grep -cE '^[1-9][0-9]* runs on the 3 PEs of the job' <<<"$out")" = 3 ]; then
      echo "$suite, HEDDLE_P2P_DISABLE=$apart: right"
    else
      printf 'FAILED: %s, HEDDLE_P2P_DISABLE=%s: status %s:\n%s\n' "$suite" $apart $status "$out"
      failed=1
    fi
  done
done
exit $failed
