#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# What jobs on several imitated hosts compute, and those of one host whose PEs map nobody's memory. Status 77: cannot be run
# here.
# usage: jobs_test.sh BIN-FOLDER hosts|one-host tcp|libfabric
set -uo pipefail
export HEDDLE_TRANSPORT=$3
bin=$1 part=$2 here=$(cd "$(dirname "$0")" && pwd)
. "$here/checks.sh"
right="Out of bounds values : 0 OK"
sizes=(-f 37 -n 1 -w 0)  # from 68 bytes: 17 floats, 629, 23273
operations=(put get signal atomic)
# What is not AllReduce, with the ways that it has between remote PEs.
collectives=(reduce_scatter:one_shot,two_shot,ring reduce:one_shot,two_shot,ring,tree)
for operation in broadcast all_gather all_to_all gather scatter sendrecv; do collectives+=("$operation:one_shot,direct"); done
# What goes host by host.
by_hosts=(broadcast:ring,tree,hierarchical all_gather:hierarchical all_to_all:hierarchical)
all_reduces=one_shot,two_shot,ring,tree
# libfabric takes seconds for each job, and heddle the same ways on it: what differs between networks is tested in transport.
if [ "$3" = libfabric ]; then
  collectives=(reduce_scatter:two_shot reduce:ring all_gather:one_shot all_to_all:direct)
  by_hosts=(broadcast:hierarchical all_gather:hierarchical all_to_all:hierarchical)
  all_reduces=one_shot,ring
fi

# What combines nothing takes all types alike.
set_types() { if [[ $1 == *reduce* ]]; then types=(-d all); else types=(); fi; }

on_hosts() {
  local nodes pes operation hosts all each types ways
  make_hosts 2:apart 3
  for hosts in 2:1 2:2 3:1; do
    IFS=: read -r nodes pes <<<"$hosts"
    # With more PEs than processors every call takes a time slice or more.
    all=(-b 68 -e 100000 -d all -o all)
    [ $((nodes * pes)) -le 2 ] || all=(-b 4100 -e 4100)
    check "all_reduce on $nodes hosts with $pes PEs" 0 "$right" \
      job "$nodes" "$pes" "$bin/heddle-perf" all_reduce "${sizes[@]}" "${all[@]}" --ways $all_reduces
  done
  check "all_reduce by hosts on 2 hosts with 2 PEs" 0 "$right" \
    job 2 2 "$bin/heddle-perf" all_reduce "${sizes[@]}" -b 68 -e 4100 -d all -o all --ways hierarchical
  for hosts in 2:4 3:2; do
    check "all_reduce by hosts on ${hosts%:*} hosts with ${hosts#*:} PEs" 0 "$right" \
      job "${hosts%:*}" "${hosts#*:}" "$bin/heddle-perf" all_reduce -n 1 -w 0 -b 4100 -f 23 -e 100000 -d float --ways hierarchical
  done
  for each in "${collectives[@]}"; do
    set_types "$each"
    ways=${each#*:}
    check "$each on 2 hosts" 0 "$right" \
      job 2 1 "$bin/heddle-perf" "${each%:*}" -b 68 -e 100000 "${types[@]}" -o all "${sizes[@]}" -r 1 --ways "$ways"
    # Again, more PEs than processors.
    [[ $ways != one_shot && $ways != two_shot ]] || continue
    ways=${ways#one_shot,} ways=${ways#two_shot,}
    check "$each on 2 hosts with 2 PEs" 0 "$right" \
      job 2 2 "$bin/heddle-perf" "${each%:*}" -b 4100 -e 4100 "${types[@]}" "${sizes[@]}" -r 1 --ways "$ways"
  done
  for operation in reduce_scatter reduce; do
    check "$operation by hosts on 2 hosts with 2 PEs" 0 "$right" \
      job 2 2 "$bin/heddle-perf" $operation -b 68 -e 100000 "${sizes[@]}" -r 1 --ways hierarchical
  done
  for each in "${by_hosts[@]}"; do
    check "$each on 2 hosts with 2 PEs" 0 "$right" \
      job 2 2 "$bin/heddle-perf" "${each%:*}" -b 8 -e 700000 -f 290 -n 1 -w 0 -r 1 --ways "${each#*:}"
  done
  check "broadcasts by blocks of several threads" 0 "$right" HEDDLE_ALGO=ring HEDDLE_BLOCK_THREADS=4 \
    job 2 1 "$bin/heddle-perf" broadcast -b 2000 -e 700000 -f 350 -n 20 -r 1
  [ "$HEDDLE_TRANSPORT" != tcp ] || on_many_hosts
  # Small floats go other ways then than the others of the same team.
  check "small floats rounded once, beside others, on 2 hosts with 2 PEs" 0 "$right" HEDDLE_ACCUMULATE_F32=1 \
    job 2 2 "$bin/heddle-perf" all_reduce -b 8 -e 8 -n 1 -w 0 -d all
  # Rings and trees go host by host all the same.
  for each in all_reduce:ring,tree,hierarchical reduce_scatter:ring,hierarchical reduce:ring,tree,hierarchical "${by_hosts[@]}"; do
    set_types "$each"
    check "$each on 2 hosts whose PEs are dealt in turn" 0 "$right" \
      job_in_turn 2 2 "$bin/heddle-perf" "${each%:*}" -b 4100 -e 4100 "${types[@]}" "${sizes[@]}" -r 1 --ways "${each#*:}"
  done
  check "large buffers" 0 "$right" job 2 1 "$bin/heddle-perf" all_reduce -b 1000000 -e 9000000 -f 9 -n 1 -w 0
  check "flags of 8 bits" 0 "$right" HEDDLE_EPOCH_BITS=8 job 2 1 "$bin/heddle-perf" all_reduce -b 8 -e 8 -n 300
  for operation in "${operations[@]}"; do
    check "$operation" 0 "$right" job 2 1 "$bin/heddle-perf" $operation -b 1 -e 70001 -f 41 -n 5
  done
  check "barrier" 0 "values : 0 \(not checked\)" job 2 1 "$bin/heddle-perf" barrier -n 5
  check "train_digits" 0 "the same within rounding" job 2 1 "$bin/train_digits" --check --epochs 1
  check "gemm_reduce_scatter" 0 "both right" job 2 2 "$bin/gemm_reduce_scatter" --m 256 --n 64 --k 33 --threads 2
  check "jacobi" 0 "right" job 2 2 "$bin/jacobi" --n 65 --steps 20 --threads 2
  check "hello" 0 "PE 0 of 3 was sent 102" job 3 1 "$bin/hello"
  check "init, again, and after finalize" 0 "RIGHT" job 2 1 "$bin/lifecycle_pe"
  check "heddle-info" 0 "pe: 2  path: network  reason: reached by $HEDDLE_TRANSPORT .* at 10\.79\..*another host" \
    job 2 2 "$bin/heddle-info"
  if [ "$HEDDLE_TRANSPORT" = tcp ]; then
    check "heddle-info of networks that were not taken" 0 \
      "why_no_other_network +of verbs, PE 0 has none: .*; of libfabric, PE 0 has none: HEDDLE_TRANSPORT=tcp" \
      job 2 1 "$bin/heddle-info"
  fi
  check "heddle-info of a neighbour" 0 "pe: 1  path: mapped" job 2 2 "$bin/heddle-info"
  # What it sends comes late, or twice.
  "$here/hosts.sh" netem "$folder/2" 1 "delay 5ms 2ms loss 2% duplicate 1%"
  case $? in
    0)
      check "a slow and lossy network" 0 "$right" job 2 1 "$bin/heddle-perf" all_reduce -b 68 -e 100000 -f 37 -n 2 -w 0
      check "put through it" 0 "$right" job 2 1 "$bin/heddle-perf" put -b 1 -e 70001 -f 41 -n 2
      ;;
    77) echo "a slow and lossy network was not tried" ;;
    *) fail "netem" ;;
  esac
}

# Of more than 64 PEs, some of which are neighbours; each team has memory for all.
on_many_hosts() {
  local operation
  make_hosts 5
  for operation in all_reduce reduce_scatter all_to_all sendrecv; do
    check "$operation on 5 hosts with 14 PEs" 0 "$right" HEDDLE_HEAP_SIZE=64M HEDDLE_MAX_TEAMS=3 \
      job 5 14 "$bin/heddle-perf" $operation -b 44800 -e 44800 -n 1 -w 0
  done
}

on_one_host() {
  local n operation all each types
  export HEDDLE_P2P_DISABLE=1
  for n in 2 3 5; do
    all=(-b 68 -e 100000 -d all -o all)
    [ "$n" -le 2 ] || all=(-b 4100 -e 4100 -d all)
    check "all_reduce on $n PEs" 0 "$right" "$bin/heddle-run" --bind-to none --timeout 90 -n "$n" \
      "$bin/heddle-perf" all_reduce "${sizes[@]}" "${all[@]}" --ways $all_reduces
  done
  # As above: with more PEs than processors one size.
  for each in "${collectives[@]}"; do
    set_types "$each"
    for n in 2 3; do
      all=(-b 68 -e 100000)
      [ "$n" -le 2 ] || all=(-b 4100 -e 4100)
      check "$each on $n PEs" 0 "$right" "$bin/heddle-run" --bind-to none --timeout 90 -n "$n" \
        "$bin/heddle-perf" "${each%:*}" "${all[@]}" "${types[@]}" -o all "${sizes[@]}" -r 1 --ways "${each#*:}"
    done
  done
  # In the order of the machine, which is told that its two processors have a package each.
  if [ "$(nproc)" -ge 2 ] && "$bin/heddle-info" --no-job --topology 2>/dev/null | grep "NUMA node" >/dev/null; then
    check "rings along what joins packages" 0 "$right" HEDDLE_P2P_DISABLE=0 HEDDLE_PES_PER_HOST=4 HEDDLE_DEBUG=INFO \
      HWLOC_SYNTHETIC="package:2 numa:1 pu:1" HWLOC_THISSYSTEM=1 "$bin/heddle-run" --bind-to none --timeout 90 -n 8 \
      sh -c 'exec taskset -c $((PMIX_RANK % 2)) "$@"' sh "$bin/heddle-perf" all_reduce -b 4100 -e 4100 -n 1 -w 0 --ways ring,tree,hierarchical
    count_told "the order of the first host" 1 "rings go through this host's PEs in the order 0 2 1 3$"
    count_told "the order of the second host" 1 "rings go through this host's PEs in the order 4 6 5 7$"
  fi
  check "the choice in the log" 0 "INFO coll: all_reduce up to 64 bytes, team world: .* us expected, runner-up .* us; buffers" \
    HEDDLE_DEBUG=INFO "$bin/heddle-run" --bind-to none -n 2 "$bin/heddle-perf" all_reduce -b 64 -e 64 -n 1 -w 0
  for operation in "${operations[@]}"; do
    check "$operation" 0 "$right" \
      "$bin/heddle-run" --bind-to none --timeout 50 -n 2 "$bin/heddle-perf" $operation -b 1 -e 70001 -f 41 -n 5
  done
}

case $part in
  hosts) on_hosts ;;
  one-host) on_one_host ;;
  *) exit 2 ;;
esac
finish
