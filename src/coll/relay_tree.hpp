// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_gather_by_domains.hpp>
#include <vector>

#include "coll/domains.hpp"
#include "coll/plan.hpp"

namespace heddle {

/// A PE's neighbours in the tree of a broadcast (relay.hpp).
struct relay_place {
  int parent = -1;            ///< -1: it is the root
  std::vector<int> children;  ///< those with the longest way to go first
};

/// That of `pe` in a tree from `root` on. A domain is entered once, by the PE that has the root's
/// place in it, and the root's domain first; where all PEs are of one, each counts as one.
///
///     ring           all of a domain in a chain, then the next domain
///     tree           a binary tree of domains; who enters one sends to all others of it
///     hierarchical   the root sends to who enters, and these to all others of theirs
///
/// Where memory does not join the PEs of each domain, these two count each PE as one.
///
/// A pure function, for teams of at most channel_scratch::max_direct_pes.
relay_place relay_place_of(algorithm shape, const team_domains& domains, int pe, int root);

/// A team's PEs by domains, as kernels take them (all_gather_by_domains.hpp).
domain_places places_by(const team_domains& domains);

}  // namespace heddle
