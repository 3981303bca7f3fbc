// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/exchange.hpp>

/// Hierarchical AllGather, for teams of several domains, in each of which memory joins the PEs:
///
///     1  each piece goes by the network to one PE of each domain: to that of the same place in it,
///        counted round where there are fewer (with domains of one size, along rails)
///     2  in each domain all share what they have: a piece of each domain after the other, or
///        several, of a domain of more PEs
///
/// So a piece enters a domain once, and all PEs of a domain bring as much.
namespace heddle {

/// How many there are of what in a team.
struct domain_sizes {
  int n_pes = 1;
  int domains = 1;
  int largest = 1;  ///< PEs of the domain that has the most
};

/// A team's PEs by domains.
struct domain_places {
  static constexpr int most = channel_scratch::max_direct_pes;
  int count = 1;                 ///< of domains
  int largest = 1;               ///< PEs of the one that has the most
  int8_t pes[most] = {};         ///< domain by domain
  int8_t begins[most + 1] = {};  ///< of each domain, its first place in `pes`; then the end
  int8_t domain[most] = {};      ///< by PE
  int8_t in_domain[most] = {};   ///< its place there

  HEDDLE_FN domain_sizes sizes() const { return {begins[count], count, largest}; }
  HEDDLE_FN int size_of(int which) const { return begins[which + 1] - begins[which]; }
  /// -1: there is none.
  HEDDLE_FN int pe_at(int which, int place) const {
    return place < size_of(which) ? pes[begins[which] + place] : -1;
  }
};

/// What the PEs of a team, or of a domain, send each other.
struct pieces_by_domain {
  static constexpr int own = -1;

  const domain_places* places = nullptr;
  size_t bytes = 0;
  size_t stride = 0;  ///< of pieces in memory; 0: there is one
  int pe = 0;         ///< this PE
  bool sends = false;
  int of = own;  ///< each its own to other domains; or what has come of this domain, in its own one
  int round = 0;  ///< which of these

  /// Whose piece `from` sends to `to`; -1: none.
  HEDDLE_FN int piece_of(int from, int to) const {
    const int domain = places->domain[to];
    const int place = places->in_domain[from];
    if (of == own) return place % places->size_of(domain) == places->in_domain[to] ? from : -1;
    if (places->domain[from] != domain) return -1;
    return places->pe_at(of, place + round * places->size_of(domain));
  }
  HEDDLE_FN int piece_with(int other) const {
    return sends ? piece_of(pe, other) : piece_of(other, pe);
  }
  HEDDLE_FN size_t bytes_of(int other) const { return piece_with(other) < 0 ? 0 : bytes; }
  HEDDLE_FN size_t offset_of(int other) const {
    const int piece = piece_with(other);
    return piece < 0 ? 0 : stride * static_cast<size_t>(piece);
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
  const domain_places& places = args.places;
  const int me = args.how.team.my_pe();
  const int here = places.domain[me];
  exchange_args<pieces_by_domain> stage = args.how;
  stage.to = stage.from = exchange_args<pieces_by_domain>::everybody;
  stage.sends = {.places = &places, .bytes = args.bytes, .pe = me, .sends = true};
  stage.receives = {.places = &places, .bytes = args.bytes, .stride = args.bytes, .pe = me};
  // What has not come is not handed on: who gets it would take it for the piece.
  if (!exchange(block, stage)) return;

  stage.input = args.how.output;
  stage.sends.stride = args.bytes;
  for (int domain = 0; domain < places.count; ++domain) {
    for (int round = 0; round * places.size_of(here) < places.size_of(domain); ++round) {
      stage.sends.of = stage.receives.of = domain;
      stage.sends.round = stage.receives.round = round;
      block.sync();  // what has come is there for all threads
      if (!exchange(block, stage)) return;
    }
  }
}

}  // namespace heddle
