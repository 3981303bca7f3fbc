#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# The topology as heddle-info shows it: text, JSON, and a picture that is written as a whole or not at all.
# usage: heddle_info_test.sh BIN-FOLDER MACHINES
set -uo pipefail
bin=$1 machines=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# check NAME STATUS PATTERN COMMAND...: the command's status and a pattern (grep -E) in its output.
check() {
  local name=$1 wanted=$2 pattern=$3 out status
  shift 3
  out=$(timeout 60 "$@" 2>&1 </dev/null)
  status=$?
  if [ "$status" != "$wanted" ] || ! grep -qE "$pattern" <<<"$out"; then
    failed=$((failed + 1))
    printf 'FAILED: %s: status %s instead of %s, or no /%s/ in:\n%s\n' "$name" "$status" "$wanted" "$pattern" "$out"
  fi
}

is_picture='import sys, xml.etree.ElementTree as tree; root = tree.parse(sys.argv[1]).getroot(); print(root.tag, root[0].text)'
has_topology='import json, sys; all = json.load(sys.stdin); print(all["version"]["library"], sorted(all["topology"]))'

check "this machine" 0 "^ *NUMA node 0: " "$bin/heddle-info" --no-job --topology
check "this machine as JSON" 0 "'packages'.*'ring'" sh -c '"$1" --no-job --topology --json | python3 -c "$2"' sh "$bin/heddle-info" "$has_topology"
check "a file's machine" 0 "GPU ring 0 1 2 3 4 5 6 7: NV18 8 times" "$bin/heddle-info" --topology-file "$machines/dgx.xml"
for machine in dgx nested numa; do
  check "picture of $machine" 0 "" "$bin/heddle-info" --topology-file "$machines/$machine.xml" --topology-svg "$scratch/$machine.svg"
  check "picture of $machine is XML" 0 "svg Topology of" python3 -c "$is_picture" "$scratch/$machine.svg"
done
check "picture of this machine" 0 "" "$bin/heddle-info" --no-job --topology-svg "$scratch/numa.svg"
check "picture is replaced" 0 "Topology of $(uname -n)" python3 -c "$is_picture" "$scratch/numa.svg"
check "nothing else is left" 0 "^3$" sh -c 'ls -A "$1" | wc -l' sh "$scratch"
check "no folder for the picture" 1 "cannot write .*no/such/x.svg: No such file or directory" \
  "$bin/heddle-info" --no-job --topology-svg "$scratch/no/such/x.svg"
check "variables that heddle cannot take are listed all the same" 0 "\*HEDDLE_SPIN +nonsense" \
  env HEDDLE_SPIN=nonsense "$bin/heddle-info" --no-job
check "a folder in place of the picture" 1 "cannot write .*directory" "$bin/heddle-info" --no-job --topology-svg "$scratch"
check "no space for the text" 1 "cannot write .*: No space left" \
  sh -c '"$1" --no-job --topology >/dev/full' sh "$bin/heddle-info"
check "no such machine" 1 "nowhere.xml cannot be read: No such file or directory" "$bin/heddle-info" --topology-file nowhere.xml
check "a machine's file without a name" 2 "names no file" "$bin/heddle-info" --topology-file ""
check "no machine" 1 "is not a machine in hwloc's XML" "$bin/heddle-info" --topology-file "$scratch/dgx.svg"
[ "$failed" = 0 ] && echo "all passed"
