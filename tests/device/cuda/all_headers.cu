// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Every public header in one CUDA translation unit.

#include <heddle/heddle_typed.h>

#include <heddle/device/atomic.hpp>
#include <heddle/device/backoff.hpp>
#include <heddle/device/coll/all_gather_by_domains.hpp>
#include <heddle/device/coll/all_reduce.hpp>
#include <heddle/device/coll/all_reduce_one_shot.hpp>
#include <heddle/device/coll/all_reduce_one_shot_ll128.hpp>
#include <heddle/device/coll/all_reduce_ring.hpp>
#include <heddle/device/coll/all_reduce_tree.hpp>
#include <heddle/device/coll/all_reduce_two_shot.hpp>
#include <heddle/device/coll/exchange.hpp>
#include <heddle/device/coll/hop.hpp>
#include <heddle/device/coll/large_transfers.hpp>
#include <heddle/device/coll/relay.hpp>
#include <heddle/device/coll/rounds.hpp>
#include <heddle/device/coll/scratch.hpp>
#include <heddle/device/coll/transfer_loop.hpp>
#include <heddle/device/coll/transfers.hpp>
#include <heddle/device/coll/tuning.hpp>
#include <heddle/device/collectives.hpp>
#include <heddle/device/cuda_groups.hpp>
#include <heddle/device/futex.hpp>
#include <heddle/device/group.hpp>
#include <heddle/device/host_groups.hpp>
#include <heddle/device/launch.hpp>
#include <heddle/device/link.hpp>
#include <heddle/device/ll.hpp>
#include <heddle/device/ll128.hpp>
#include <heddle/device/one_block.hpp>
#include <heddle/device/platform.hpp>
#include <heddle/device/reduction.hpp>
#include <heddle/device/team.hpp>
#include <heddle/device/team_memory.hpp>
#include <heddle/device/types.hpp>
#include <heddle/error.hpp>
#include <heddle/heddle.hpp>
#include <heddle/reduce_by.hpp>
