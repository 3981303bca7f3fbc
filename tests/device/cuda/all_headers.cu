// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Every public header in one CUDA translation unit, and every AllReduce algorithm instantiated for
// a CUDA block.

#include <heddle/heddle_typed.h>

#include <heddle/device/atomic.hpp>
#include <heddle/device/backoff.hpp>
#include <heddle/device/coll/all_reduce.hpp>
#include <heddle/device/coll/all_reduce_one_shot.hpp>
#include <heddle/device/coll/all_reduce_ring.hpp>
#include <heddle/device/coll/all_reduce_tree.hpp>
#include <heddle/device/coll/all_reduce_two_shot.hpp>
#include <heddle/device/coll/scratch.hpp>
#include <heddle/device/cuda_groups.hpp>
#include <heddle/device/group.hpp>
#include <heddle/device/host_groups.hpp>
#include <heddle/device/launch.hpp>
#include <heddle/device/link.hpp>
#include <heddle/device/ll.hpp>
#include <heddle/device/platform.hpp>
#include <heddle/device/reduction.hpp>
#include <heddle/device/team.hpp>
#include <heddle/device/team_memory.hpp>
#include <heddle/device/types.hpp>
#include <heddle/error.hpp>
#include <heddle/heddle.hpp>

using namespace heddle;

template <class T, class Op, protocol Protocol>
__global__ void reduce(all_reduce_args args, int algorithm) {
  const cuda_block block;
  switch (algorithm) {
    case 0:
      all_reduce_one_shot<Protocol, T, Op>(block, args);
      break;
    case 1:
      all_reduce_two_shot<T, Op>(block, args);
      break;
    case 2:
      all_reduce_ring<Protocol, T, Op>(block, args);
      break;
    default:
      all_reduce_tree<Protocol, T, Op>(block, args);
      break;
  }
}

template __global__ void reduce<float, reduce_sum, protocol::ll>(all_reduce_args, int);
template __global__ void reduce<float, reduce_sum, protocol::simple>(all_reduce_args, int);
template __global__ void reduce<bf16, reduce_avg, protocol::simple>(all_reduce_args, int);
template __global__ void reduce<f16, reduce_max, protocol::ll>(all_reduce_args, int);
template __global__ void reduce<int64_t, reduce_prod, protocol::simple>(all_reduce_args, int);
