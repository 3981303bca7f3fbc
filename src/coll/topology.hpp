// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>

#include "coll/domains.hpp"
#include "coll/team_order.hpp"

namespace heddle {

/// The neighbours of `pe` among `n_pes` in `order`. A pure function, O(log n_pes).
///
/// The two trees are the double binary tree of Sanders, Speck and Traeff ("Two-tree algorithms for
/// full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009): the first numbers a
/// binary tree in order, so that its leaves are the even positions; the second is its mirror image
/// (n even) or the same shifted by one (n odd), so that its inner nodes are leaves of the first.
team_topology topology_of(int pe, int n_pes, const team_order& order = {});

/// The hierarchy, if the domains are one, seen from the PE whose topology it is and whose ring goes
/// domain by domain. `pes`: those of the domains, or a copy where the kernel reads it.
void set_domains(team_topology& topology, const team_domains& domains, const std::int32_t* pes);

/// Where `root` is on the ring and in the trees, seen from the PE whose topology it is.
void set_root(team_topology& topology, int n_pes, int root, const team_order& order = {});

}  // namespace heddle
