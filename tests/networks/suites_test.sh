#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# The suites of collectives and one-sided operations, whose PEs are threads elsewhere, with a process for each PE: on imitated
# hosts with one and with several PEs, and on one host, where memory is mapped. Status 77: cannot be run here.
# usage: suites_test.sh BIN-FOLDER tcp|libfabric|mapped
set -uo pipefail
bin=$1 part=$2 here=$(cd "$(dirname "$0")" && pwd)
. "$here/checks.sh"
[ "$part" = mapped ] || export HEDDLE_TRANSPORT=$part
any_size=(reductions_test kernels_test one_sided_kernels_test kernel_collectives_test kernel_lists_test kernel_reductions_test kernel_moves_test
  element_sizes_test host_elements_test documented_results_test collectives_test mixed_collectives_test transfers_test one_sided_test)
of_three=("${any_size[@]}" mixed_calls_test team_test runtime_test bad_input_test bad_collectives_test)
of_two=("${of_three[@]}" plans_test zero_copy_test bad_transfers_test)

# run_suites HOSTS PES SUITE...: each as one job.
run_suites() {
  local nodes=$1 pes=$2 size=$(($1 * $2)) suite where
  shift 2
  where="$nodes hosts with $pes PEs"
  for suite in "$@"; do
    check "$suite on $where" 0 "\[doctest\] Status: SUCCESS" HEDDLE_DEV_TEST_JOB=$size \
      job "$nodes" "$pes" "$bin/$suite" --no-colors --test-suite-exclude=threads
    count_runs "$suite on $where" $size
  done
}

case $part in
  mapped)
    make_hosts 1
    run_suites 1 2 "${of_two[@]}"
    run_suites 1 3 "${of_three[@]}"
    run_suites 1 6 team_test
    for pes in 4 5; do run_suites 1 $pes "${any_size[@]:1}"; done  # launchers_test has those of reductions
    ;;
  tcp | libfabric)
    make_hosts 2 3
    run_suites 2 1 "${of_two[@]}"
    [ "$part" = tcp ] || of_three=(kernels_test runtime_test)  # the rest is the same over any network
    run_suites 3 1 "${of_three[@]}"
    run_suites 2 2 "${any_size[@]}" plans_test
    [ "$part" != tcp ] || for hosts in "3 2" "2 4"; do run_suites $hosts reductions_test; done
    run_suites 2 3 team_test
    ;;
  *) exit 2 ;;
esac
finish
