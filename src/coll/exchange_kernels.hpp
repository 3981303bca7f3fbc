// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_gather_by_domains.hpp>
#include <heddle/device/coll/exchange.hpp>
#include <heddle/device/coll/exchange_by_leaders.hpp>
#include <heddle/device/coll/large_transfers.hpp>
#include <heddle/device/coll/relay.hpp>
#include <heddle/device/coll/rounds.hpp>
#include <heddle/device/coll/transfers.hpp>

#include <type_traits>

#include "coll/kernel_form.hpp"

namespace heddle {

/// The kernel of all collectives that combine nothing: takes exchange_args<Pieces>, for
/// equal_pieces and for listed_pieces.
template <class Pieces>
heddle_kernel_t exchange_kernel();
/// Broadcast down a tree: takes relay_args.
heddle_kernel_t relay_kernel();
/// AllGather host by host: takes domains_gather_args.
heddle_kernel_t domains_gather_kernel();
/// AllGather and AllToAll of few bytes by leaders: takes leaders_args.
heddle_kernel_t leaders_kernel();
/// That of the same of large teams: takes rounds_args.
heddle_kernel_t rounds_kernel();
/// That of sends and receives: takes Args, which are few_transfers_args or many_transfers_args.
template <class Args>
heddle_kernel_t transfers_kernel();
/// The same of large teams.
template <class Args>
heddle_kernel_t large_transfers_kernel();

template <class Pieces>
struct exchange_body {
  using arguments = exchange_args<Pieces>;
  static constexpr bool is_short = std::is_same_v<Pieces, equal_pieces>;
  template <block_group Block>
  HEDDLE_FN void operator()(const Block& block, const arguments& args) const {
    exchange(block, args);
  }
};

struct relay_body {
  using arguments = relay_args;
  template <block_group Block>
  HEDDLE_FN void operator()(const Block& block, const arguments& args) const {
    relay(block, args);
  }
};

struct domains_gather_body {
  using arguments = domains_gather_args;
  template <block_group Block>
  HEDDLE_FN void operator()(const Block& block, const arguments& args) const {
    all_gather_by_domains(block, args);
  }
};

struct leaders_body {
  using arguments = leaders_args;
  template <block_group Block>
  HEDDLE_FN void operator()(const Block& block, const arguments& args) const {
    exchange_by_leaders(block, args);
  }
};

struct rounds_body {
  using arguments = rounds_args;
  template <block_group Block>
  HEDDLE_FN void operator()(const Block& block, const arguments& args) const {
    exchange_in_rounds(block, args);
  }
};

template <class Args>
struct transfers_body {
  using arguments = Args;
  template <block_group Block>
  HEDDLE_FN void operator()(const Block& block, const arguments& args) const {
    run_transfers(block, args, args.list);
  }
};

template <class Args>
struct large_transfers_body {
  using arguments = Args;
  template <block_group Block>
  HEDDLE_FN void operator()(const Block& block, const arguments& args) const {
    run_large_transfers(block, args, args.list);
  }
};

}  // namespace heddle
