// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "coll/plan.hpp"

namespace heddle {

/// The choice for a collective that combines nothing (see exchange.hpp). What it says of pieces
/// holds for pieces of any size, since PEs need not know each other's.
struct exchange_plan {
  /// direct: all of it between the PEs that have a piece and those that want it. ring, tree,
  /// hierarchical: a broadcast by relay (relay.hpp), an all_gather host by host, and, by leaders
  /// (exchange_by_leaders.hpp), an all_gather or all_to_all of few bytes.
  algorithm algo = algorithm::direct;
  bool by_leaders = false;
  std::size_t words_up_to = 0;          ///< bytes of a piece
  std::size_t packets_up_to = 0;        ///< between PEs that memory joins
  std::size_t slots_up_to = 0;          ///< the same
  std::size_t network_slots_up_to = 0;  ///< between the others
  bool pull = true;                     ///< who copies directly: the receiver
  bool is_large = false;  ///< of a large team: by hops (rounds.hpp), or large_transfers.hpp
  std::size_t streaming_from = ~std::size_t{0};  ///< bytes of a piece that goes round the caches
  std::size_t chunk = std::size_t{256} << 10;  ///< bytes of a channel that a relay moves at a time
  int channels = 1;
  int threads = 1;
};

/// A pure function. `question.bytes` are those of a piece, the same on every PE of the team. Throws
/// HEDDLE_ERROR_INVALID_ARGUMENT if what is forced cannot be.
exchange_plan choose_exchange(collective what, const plan_question& question);
/// "words up to 64 bytes, slots up to 512, then directly by the receiver, 1 channel of 1 thread: "
/// and why.
std::string explain(const exchange_plan& plan, const plan_question& question);

}  // namespace heddle
