#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# Jobs under srun --mpi=pmix of a Slurm that this test starts: one node, two or three nodes (imitated hosts, as root). Status 77: cannot be run here.
# usage: slurm_test.sh BIN-FOLDER one-node|two-nodes|three-nodes
set -uo pipefail
bin=$1 nodes=$2 here=$(cd "$(dirname "$0")" && pwd)
passed=0 failed=0
# Unpacked is not installed: Slurm's PMIx plugin looks for libpmix by its path in the system.
if ! type slurmctld slurmd srun munged >/dev/null 2>&1; then
  echo "slurmctld, slurmd, srun or munged is not installed: no test was run"
  exit 77
fi
folder=$(mktemp -d)
chmod 755 "$folder"
export LAUNCHER_TEST=$folder  # tells leftovers.py which processes are this test's
ranks=$here/../bootstrap/count_ranks.sh
trap '"$here/slurm.sh" down "$folder/slurm"; rm -rf "$folder"' EXIT

# check NAME STATUS PATTERN COMMAND...
check() {
  local name=$1 wanted=$2 pattern=$3 out status
  shift 3
  out=$(timeout -k 5 60 "$@" 2>&1 </dev/null)
  status=$?
  if [ "$status" = "$wanted" ] && grep -qE "$pattern" <<<"$out"; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    printf 'FAILED: %s: status %s instead of %s, or no /%s/ in:\n%s\n' "$name" "$status" "$wanted" "$pattern" "$out"
  fi
}

start() {
  mkdir -p "$folder/slurm"
  "$here/slurm.sh" up "$folder/slurm" "$@" || {
    [ $? != 77 ] || { echo "no test was run"; exit 77; }
    cat "$folder"/slurm/log/*.log
    exit 1
  }
  . "$folder/slurm/env.sh"
}
stop() { "$here/slurm.sh" down "$folder/slurm"; rm -rf "$folder/slurm"; }

one_node() {
  start 1
  check "AllReduce on one node" 0 "values : 0 OK" srun --mpi=pmix -n 4 "$bin/heddle-perf" all_reduce -b 8 -e 1M -f 64 -n 5
  check "training on one node" 0 "the same within rounding" srun --mpi=pmix -n 3 "$bin/train_digits" --check --epochs 2
  check "hello on one node" 0 "PE 0 of 2 was sent 101" srun --mpi=pmix -n 2 "$bin/hello"
  check "init, again, and after finalize" 0 "RIGHT" srun --mpi=pmix -n 3 "$bin/lifecycle_pe"
  check "the modex on one node" 0 "^4 ranks right, 0 failed$" \
    "$ranks" srun --mpi=pmix -n 4 "$bin/launched_rank" 4 "gathers parts of differing sizes"
  check "without PMIx it is told how" 1 "srun --mpi=pmix" srun --mpi=none -n 2 "$bin/hello"
  stop
}

# over_the_network N
over_the_network() {
  local job=(srun --mpi=pmix -N "$1" -n $((2 * $1)) --ntasks-per-node=2) algo operation
  local thin=(srun --mpi=pmix -N "$1" -n "$1" --ntasks-per-node=1)
  check "$1 nodes: hello" 0 "PE 0 of $1 was sent 10$(($1 - 1))" "${thin[@]}" "$bin/hello"
  check "$1 nodes: paths" 0 "pe: 2  path: network  reason: reached by tcp .* at 10\.79\." "${job[@]}" "$bin/heddle-info"
  for algo in one_shot two_shot ring tree; do
    HEDDLE_ALGO=$algo check "$1 nodes: AllReduce by $algo" 0 "values : 0 OK" "${thin[@]}" \
      "$bin/heddle-perf" all_reduce -b 68 -e 100000 -f 37 -n 1 -w 0
  done
  # With more PEs than processors every call takes a time slice or more.
  for algo in ring tree hierarchical; do
    HEDDLE_ALGO=$algo check "$1 nodes of 2 PEs: AllReduce by $algo" 0 "values : 0 OK" "${job[@]}" \
      "$bin/heddle-perf" all_reduce -b 68 -e 4100 -f 60 -n 1 -w 0
  done
  for operation in broadcast all_gather reduce_scatter all_to_all; do
    check "$1 nodes of 2 PEs: $operation" 0 "values : 0 OK" "${job[@]}" "$bin/heddle-perf" $operation -b 4100 -e 4100 -n 1 -w 0 -r 1
  done
  # Between two PEs: on two nodes, and on one.
  for operation in put get signal atomic; do
    check "$1 nodes: $operation" 0 "values : 0 OK" srun --mpi=pmix -N 2 -n 2 --ntasks-per-node=1 \
      "$bin/heddle-perf" $operation -b 1 -e 70001 -f 41 -n 5
  done
  check "$1 nodes of 2 PEs: put on one" 0 "values : 0 OK" srun --mpi=pmix -N 1 -n 2 "$bin/heddle-perf" put -b 1 -e 70001 -f 41 -n 5
  check "$1 nodes: training" 0 "the same within rounding" "${thin[@]}" "$bin/train_digits" --check --epochs 1
  check "$1 nodes of 2 PEs: training" 0 "the same within rounding" "${job[@]}" "$bin/train_digits" --check --epochs 1
  check "$1 nodes: init, again, and after finalize" 0 "RIGHT" "${job[@]}" "$bin/lifecycle_pe"
}

# several_nodes N
several_nodes() {
  start "$1" namespaces
  for case in "names are filled in:3" "gathers a megabyte each:5" "barrier waits for the last:8" "a hundred rounds stay in step:5"; do
    size=${case##*:}
    check "$1 nodes: ${case%:*}" 0 "^$size ranks right, 0 failed$" \
      "$ranks" srun --mpi=pmix -N "$1" -n "$size" "$bin/launched_rank" "$size" "${case%:*}"
  done
  # The last rank alone on its node is killed: Slurm lets the others live, and tells them nothing.
  check "$1 nodes: a rank that dies alone on its node is named" 137 "^$(($1 - 1)) ranks right, 0 failed$" \
    "$ranks" srun --mpi=pmix --kill-on-bad-exit=0 -N "$1" -n "$1" --ntasks-per-node=1 "$bin/launched_rank" "$1" "the last rank dies"
  over_the_network "$1"
  check "$1 nodes: without a network, peers of the other node have no path" 1 "another host" \
    env HEDDLE_TRANSPORT=none srun --mpi=pmix -N "$1" -n "$1" --ntasks-per-node=1 "$bin/hello"
  stop
}

case $nodes in
  one-node) one_node ;;
  two-nodes) several_nodes 2 ;;
  three-nodes) several_nodes 3 ;;
  *) exit 2 ;;
esac
# Nothing is left: no process, no socket, no memory, Slurm's own included.
left=$(env -u LAUNCHER_TEST python3 "$here/leftovers.py" "$LAUNCHER_TEST")
if [ -z "$left" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); printf 'FAILED: left behind:\n%s\n' "$left"; fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
