// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/exchange.hpp>

/// Hierarchical AllGather, for teams of several domains of as many PEs each, which memory joins:
///
///     1  the PEs with one place in their domains (a rail) exchange their pieces by the network
///     2  in each domain all share what they have: a piece of each domain after the other
///
/// So a piece enters a domain once, and every PE sends as much as any other.
namespace heddle {

/// A team's PEs by domains.
struct domain_places {
  static constexpr int most = channel_scratch::max_direct_pes;
  int count = 1;                ///< of domains
  int size = 1;                 ///< PEs of each
  int8_t pes[most] = {};        ///< domain by domain
  int8_t domain[most] = {};     ///< by PE
  int8_t in_domain[most] = {};  ///< its place there
};

/// What the PEs of a rail, or of a domain, send each other.
struct pieces_by_domain {
  const domain_places* places = nullptr;
  size_t bytes = 0;
  size_t stride = 0;  ///< of pieces in memory; 0: there is one
  int pe = 0;         ///< this PE
  int of = rail;      ///< the pieces of this domain, for those of this PE's

  static constexpr int rail = -1;

  HEDDLE_FN size_t bytes_of(int other) const {
    const auto& key = of == rail ? places->in_domain : places->domain;
    return key[other] == key[pe] ? bytes : 0;
  }
  HEDDLE_FN size_t offset_of(int other) const {
    const int from = of == rail ? other : places->pes[of * places->size + places->in_domain[other]];
    return stride * static_cast<size_t>(from);
  }
};

struct domains_gather_args {
  exchange_args<pieces_by_domain> how{};  ///< all but the pieces
  domain_places places{};
  size_t bytes = 0;  ///< of a piece
};

/// Called by all threads of every block of a grid, on every PE of the team; as many blocks as an
/// exchange has.
template <block_group B>
HEDDLE_FN void all_gather_by_domains(B block, const domains_gather_args& args) {
  const int me = args.how.team.my_pe();
  exchange_args<pieces_by_domain> stage = args.how;
  stage.to = stage.from = exchange_args<pieces_by_domain>::everybody;
  stage.sends = {&args.places, args.bytes, 0, me};
  stage.receives = {&args.places, args.bytes, args.bytes, me};
  // What has not come is not handed on: who gets it would take it for the piece.
  if (!exchange(block, stage)) return;

  const int rail = args.places.in_domain[me];
  for (int domain = 0; domain < args.places.count; ++domain) {
    const int pe = args.places.pes[domain * args.places.size + rail];
    stage.input = args.how.output + static_cast<size_t>(pe) * args.bytes;
    stage.sends.of = stage.receives.of = domain;
    block.sync();  // what has come is there for all threads
    if (!exchange(block, stage)) return;
  }
}

}  // namespace heddle
