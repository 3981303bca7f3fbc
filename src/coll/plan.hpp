// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <heddle/device/coll/mailbox.hpp>
#include <heddle/device/link.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "coll/tuning.hpp"

namespace heddle {

enum class collective : int {
  all_reduce = 0,
  broadcast = 1,
  all_gather = 2,
  all_to_all = 3,
  gather = 4,
  scatter = 5,
  reduce_scatter = 6,
  reduce = 7,
  transfer = 8  ///< sends and receives
};

/// Whether it combines.
constexpr bool is_reduction(collective what) {
  return what == collective::all_reduce || what == collective::reduce_scatter ||
         what == collective::reduce;
}

/// `direct` is for collectives that combine nothing: see exchange_plan.hpp, which has of the others
/// what is for them.
/// `multicast` is two_shot, with an NVLink switch that combines where it can; on the host its twin.
/// `hierarchical` is for teams of several domains (domains.hpp).
enum class algorithm : int {
  one_shot = 0,
  two_shot = 1,
  ring = 2,
  tree = 3,
  multicast = 4,
  hierarchical = 5,
  direct = 6
};

/// Whether all inputs and outputs are read and written where they are.
constexpr bool is_direct(algorithm algo) {
  return algo == algorithm::one_shot || algo == algorithm::two_shot || algo == algorithm::multicast;
}
constexpr bool is_two_shot(algorithm algo) {
  return algo == algorithm::two_shot || algo == algorithm::multicast;
}

/// Of what combines: whether it goes by mailboxes, as what combines nothing (one_shot_pieces.hpp).
constexpr bool goes_by_mailbox(collective what, algorithm algo) {
  return algo == algorithm::one_shot && what != collective::all_reduce;
}

/// Whether it has the protocol Simple alone.
constexpr bool is_simple_only(algorithm algo) {
  return is_two_shot(algo) || algo == algorithm::hierarchical;
}

/// Threads of a block on a CUDA device, at most: kernels are compiled for it.
inline constexpr int most_cuda_threads = 512;

/// What the choice for one AllReduce depends on. The same on every PE of the team.
struct plan_question {
  collective what = collective::all_reduce;
  std::size_t bytes = 0;  ///< of the combination: of all pieces of a reduce_scatter
  int n_pes = 1;
  bool on_cuda = false;
  bool one_gpu = false;     ///< all PEs share one, and its memory
  bool is_crowded = false;  ///< on the host: PEs share processors
  bool all_mapped = true;
  int num_domains = 1;
  int domain_size = 1;         ///< PEs of each of several domains; 1: no hierarchy
  int largest_domain = 1;      ///< PEs of the largest
  bool has_links = true;       ///< memory for rings and trees
  bool has_multicast = false;  ///< by an NVLink switch, as the user has asked for
  /// Whether the 128 bytes of a line of LL128 arrive together at every PE (see ll128.hpp).
  bool whole_lines = true;
  int max_blocks = 1;    ///< on CUDA: as many are resident for certain, whatever the kernel
  int max_channels = 0;  ///< that the user allows; 0: any
  int widening = 0;      ///< float32's bytes for one of small floats that are to be rounded once
  const tuning* tuned = nullptr;        ///< null: as built in
  std::size_t cache_bytes = 32u << 20;  ///< of the last cache, which the PEs of a machine share

  // What the user has forced (HEDDLE_ALGO, HEDDLE_PROTO, HEDDLE_CHANNELS, HEDDLE_BLOCK_THREADS, or
  // the team's chooser).
  std::optional<algorithm> forced_algorithm{};
  std::optional<protocol> forced_protocol{};
  int forced_channels = 0;
  int forced_threads = 0;
};

/// What it is answered by.
const tuning& costs_of(const plan_question& question);
/// Forces what a chooser has chosen. Throws HEDDLE_ERROR_INVALID_ARGUMENT for what it cannot.
void apply(plan_question& question, const heddle_choice_t& choice);

/// The choice: each channel is one block of `threads`.
struct plan {
  algorithm algo = algorithm::one_shot;
  protocol proto = protocol::simple;
  int channels = 1;
  int threads = 1;
  bool streaming = false;  ///< results go round the caches
  bool wide = false;       ///< of a ring: combinations travel as float32
};

/// That which the model (cost_model.hpp) expects to be quickest. A pure function. Throws
/// HEDDLE_ERROR_INVALID_ARGUMENT if what is forced cannot be (the direct algorithms need few PEs,
/// LL128 whole lines, two_shot has Simple alone).
plan choose_reduction(const plan_question& question);
/// "two_shot simple, 1 channel of 1 thread: ", why, what time is expected, and what would be next
/// best.
std::string explain(const plan& plan, const plan_question& question);

/// Of what goes by mailboxes.
int most_mailbox_channels(const plan_question& question);
/// A channel for each `bytes_of_channel`, if that is not forced, and as many threads as move its
/// bytes, `bytes_of_thread` each; one of each on the host.
struct launch_shape {
  int channels;
  int threads;
};
launch_shape shape_for(const plan_question& question, int most_channels,
                       std::size_t bytes_of_channel, std::size_t bytes_of_thread);
/// What one step of a channel moves by mailboxes, at most, on CUDA.
constexpr std::size_t bytes_of_step(bool by_words) {
  return by_words ? mailbox::ll_step : std::size_t{16} << 10;
}
/// Of what goes by mailboxes, its bytes being `pieces` in all: a channel for what one step moves.
launch_shape shape_of_pieces(const plan_question& question, bool by_words, int pieces);
/// Of so many, those that the device and the user allow.
int channels_at_most(const plan_question& question, int most_channels);
/// Throws HEDDLE_ERROR_INVALID_ARGUMENT for a block that the device's kernels cannot have.
void require_block(const plan_question& question, int threads);

std::string_view name_of(collective what);
std::string_view name_of(algorithm algo);
std::string_view name_of(protocol proto);
/// By name; "" is nothing. Throws HEDDLE_ERROR_INVALID_ARGUMENT for any other, with the names.
std::optional<algorithm> parse_algorithm(std::string_view name);
std::optional<protocol> parse_protocol(std::string_view name);

}  // namespace heddle
