// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How ranks that know one address and one secret learn where all of them are:
//
//     rank r > 0                                  rank 0
//     connects, both prove the secret (handshake.hpp)
//     introduction: where r listens        -->    waits for all
//                                          <--    table: where each rank listens
//
// After it the tree (tree_bootstrap.hpp) carries everything; the connections of the rendezvous end.
#pragma once

#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/endpoint.hpp"

namespace heddle {

struct rendezvous_request {
  int rank = 0;
  int size = 1;
  bootstrap::secret secret{};
  std::vector<int> listeners;      ///< rank 0: where it is met; owned by the caller
  std::vector<socket_address> at;  ///< other ranks: rank 0's addresses
};

/// Every rank's endpoint, by rank. Throws HEDDLE_ERROR_TIMEOUT with the ranks that did not come (on
/// rank 0), or with the address that did not answer.
std::vector<endpoint> meet_all(const rendezvous_request& request, const endpoint& mine,
                               deadline until);

}  // namespace heddle
