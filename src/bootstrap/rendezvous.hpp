// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How ranks that know one address and one secret find their places in one tree:
//
//     rank r > 0                                  rank 0
//     connects, both prove the secret (handshake.hpp)
//     introduction: where r listens        -->    waits for all
//                                          <--    place: where r's parent listens, who its children
//                                                 are; or why there is no job
//     its deadline has passed: gave up     -->    tells all who is absent, and ends
//
// After it the tree (tree_bootstrap.hpp) carries everything, the table of all endpoints first: rank
// 0 sends no rank more than its place. The connections of the rendezvous end.
#pragma once

#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/tree_place.hpp"

namespace heddle {

struct rendezvous_request {
  int rank = 0;
  int size = 1;
  bootstrap::secret secret{};
  std::vector<int> listeners;      ///< rank 0: where it is met; owned by the caller
  std::vector<socket_address> at;  ///< other ranks: rank 0's addresses
};

struct rendezvous_result {
  tree_place place;
  std::vector<endpoint> table;  ///< by rank; on rank 0 alone
};

/// Throws HEDDLE_ERROR_TIMEOUT with the ranks that did not come, or with the address that did not
/// answer; HEDDLE_ERROR_PEER_LOST with the rank that came and left again.
rendezvous_result meet_all(const rendezvous_request& request, const endpoint& mine, deadline until);

}  // namespace heddle
