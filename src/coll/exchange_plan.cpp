// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/exchange_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <heddle/device/coll/scratch.hpp>

#include "support/throw_error.hpp"

namespace heddle {

namespace {

constexpr std::size_t always = ~std::size_t{0};

bool is_rooted(collective what) {
  return what == collective::broadcast || what == collective::gather ||
         what == collective::scatter || what == collective::transfer;
}

/// Who copies what lies in the heap on both sides: where one PE sends to all, or all to one, the
/// many do it.
bool receiver_copies(collective what) { return what != collective::gather; }

/// As AllReduce's results (plan.cpp): from the bytes of a piece on with which the buffers of all
/// PEs are more than the caches hold.
std::size_t streaming_from(collective what, const plan_question& question) {
  if (question.on_cuda) return always;
  const bool has_many_pieces = what == collective::all_gather || what == collective::all_to_all;
  const auto n_pes = static_cast<std::size_t>(question.n_pes);
  return question.cache_bytes / (2 * n_pes * (has_many_pieces ? n_pes : 1)) + 1;
}

}  // namespace

exchange_plan choose_exchange(collective what, const plan_question& question) {
  if (question.n_pes > channel_scratch::max_direct_pes) {
    const int channels = what == collective::transfer ? 1 : channel_scratch::max_hop_channels;
    const auto shape = shape_for(question, channels, std::size_t{16} << 10, 16);
    return {.is_large = true,
            .streaming_from = streaming_from(what, question),
            .channels = shape.channels,
            .threads = shape.threads};
  }
  const auto up_to = limits_by(costs_of(question));
  const bool rooted = is_rooted(what);
  exchange_plan plan{.words_up_to = rooted ? up_to.rooted_words : up_to.words,
                     .slots_up_to = rooted ? up_to.rooted_slots : up_to.slots,
                     .network_slots_up_to = up_to.network_slots,
                     .pull = receiver_copies(what)};
  plan.streaming_from = streaming_from(what, question);
  if (question.forced_algorithm == algorithm::one_shot)
    plan.slots_up_to = plan.network_slots_up_to = always;
  if (question.forced_algorithm == algorithm::direct)
    plan.words_up_to = plan.slots_up_to = plan.network_slots_up_to = 0;
  if (question.forced_protocol == protocol::simple) plan.words_up_to = 0;
  if (question.forced_protocol == protocol::ll) plan.words_up_to = always;
  plan.slots_up_to = std::max(plan.slots_up_to, plan.words_up_to);
  const auto shape =
      shape_for(question, most_mailbox_channels(question), std::size_t{16} << 10, 16);
  plan.channels = shape.channels;
  plan.threads = shape.threads;
  return plan;
}

std::string explain(const exchange_plan& plan, const plan_question& question) {
  const auto limit = [](std::size_t bytes) {
    return bytes == always ? std::string("any size") : fmt::format("{} bytes", bytes);
  };
  std::string text;
  if (question.n_pes == 1) {
    text = "a copy";
  } else if (plan.is_large && question.what == collective::transfer) {
    text =
        fmt::format("directly where memory is symmetric on one side, else by landings of {} bytes",
                    channel_scratch::landing_bytes);
  } else if (plan.is_large) {
    text = fmt::format("by hops of 1 to {} of {} PEs",
                       std::bit_floor(static_cast<unsigned>(question.n_pes - 1)), question.n_pes);
  } else {
    text = fmt::format("words up to {}, slots up to {}", limit(plan.words_up_to),
                       limit(plan.slots_up_to));
    if (!question.all_mapped)
      text += fmt::format(" ({} by the network)", limit(plan.network_slots_up_to));
    text += fmt::format(", then directly by the {}", plan.pull ? "receiver" : "sender");
    if (plan.streaming_from != always)
      text += fmt::format(", round the caches from {}", limit(plan.streaming_from));
  }
  return fmt::format("{}, {} channel{} of {} thread{}", text, plan.channels,
                     plan.channels == 1 ? "" : "s", plan.threads, plan.threads == 1 ? "" : "s");
}

}  // namespace heddle
