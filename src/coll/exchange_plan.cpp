// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/exchange_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <heddle/device/coll/exchange_by_leaders.hpp>
#include <heddle/device/coll/relay.hpp>
#include <vector>

#include "support/throw_error.hpp"

namespace heddle {

namespace {

constexpr std::size_t always = ~std::size_t{0};

struct exchange_way {
  algorithm algo;
  double expected;  ///< ns
};

bool is_rooted(collective what) {
  return what == collective::broadcast || what == collective::gather ||
         what == collective::scatter || what == collective::transfer;
}

/// Who copies what lies in the heap on both sides: where one PE sends to all, or all to one, the
/// many do it.
bool receiver_copies(collective what) { return what != collective::gather; }

/// From the bytes of a piece on with which the buffers of all PEs fill the caches. Results of
/// reductions (plan.cpp) begin beyond that: what they are combined from is still there then.
std::size_t streaming_from(collective what, const plan_question& question) {
  if (question.on_cuda) return always;
  const bool has_many_pieces = what == collective::all_gather || what == collective::all_to_all;
  const auto n_pes = static_cast<std::size_t>(question.n_pes);
  return question.cache_bytes / (2 * n_pes * (has_many_pieces ? n_pes : 1));
}

/// Of a relay: a PE's first chunk goes while the next comes, and each costs as many looks as a
/// small one.
std::size_t chunk_of_gpu(const plan_question& question, int channels) {
  const auto part = std::bit_ceil(question.bytes / static_cast<std::size_t>(channels) / 8);
  return std::clamp(part, std::size_t{32} << 10, std::size_t{256} << 10);
}

// ---- how a broadcast or an all_gather takes its way, by the model of cost_model.hpp ----

/// A piece of `bytes`: by the way that its limits say.
way_cost cost_of_piece(const exchange_plan& plan, const plan_question& question, bool remote) {
  const tuning& costs = costs_of(question);
  const bool rooted = is_rooted(question.what);
  if (remote)
    return question.bytes <= plan.network_slots_up_to ? costs.network_slots : costs.network_direct;
  if (question.bytes <= plan.words_up_to) return rooted ? costs.rooted_words : costs.words;
  if (question.bytes <= plan.slots_up_to) return rooted ? costs.rooted_slots : costs.slots;
  return rooted ? costs.rooted_direct : costs.direct;
}

/// What one PE sends to several leaves one after the other: half of a hop for each but the first.
double several(const way_cost& cost, int to, double kib) {
  return to == 0 ? 0 : cost.hop_ns * (to + 1) / 2 + to * cost.ns_per_kib * kib;
}

domain_sizes sizes_of(const plan_question& question) {
  return {question.n_pes, question.num_domains, question.largest_domain};
}

/// Of an exchange by leaders; none if it is no way.
leaders_args::rounds rounds_by_leaders(const plan_question& question) {
  const bool to_each = question.what == collective::all_to_all;
  const bool may_be = to_each || question.what == collective::all_gather;
  return {may_be ? sizes_of(question) : domain_sizes{}, to_each, question.bytes};
}

/// As cost_model.cpp's hierarchical AllReduce of few bytes: they take turns with two_shot's hops,
/// and leaders send as in one shot. Each PE takes a piece of every PE, and of an AllToAll brings as
/// many.
double expected_by_leaders(const plan_question& question) {
  const tuning& costs = costs_of(question);
  const bool to_each = question.what == collective::all_to_all;
  const auto rounds = rounds_by_leaders(question);
  const auto bytes = std::min(rounds.bytes, question.bytes);
  const double kib = static_cast<double>(bytes) / 1024;
  const int here = question.largest_domain;
  const int rows = leaders_args::rows_at_once(sizes_of(question), to_each, bytes);
  const int messages = (here + rows - 1) / rows;
  const double message_kib = kib * here * (to_each ? here : 1) / messages;
  const way_cost memory = costs.two_shot.times(2, (to_each ? 2 : 1) * question.n_pes);
  return static_cast<double>(rounds.count) *
         (memory.hop_ns + memory.ns_per_kib * kib +
          several(costs.network_one_shot, messages * (question.num_domains - 1), message_kib));
}

double expected_ns(const exchange_plan& plan, const plan_question& question, algorithm algo) {
  const double kib = static_cast<double>(question.bytes) / 1024;
  const double first_kib = std::min(kib, static_cast<double>(plan.chunk) * plan.channels / 1024);
  const auto memory = cost_of_piece(plan, question, false);
  const auto network = cost_of_piece(plan, question, true);
  const int n = question.n_pes;
  const int domains = question.all_mapped ? 1 : question.num_domains;
  const int in_domain = n / std::max(domains, 1);
  const auto by_network = [&](int to) { return several(network, to, kib); };
  // Processors read one memory together, as who shares a GPU, where others have their own to send
  // from.
  const bool has_own = question.on_cuda && !question.one_gpu;
  const auto memory_rate = [&](int to) {
    return std::min(to, has_own ? to : 1) * memory.ns_per_kib;
  };
  const auto by_memory = [&](int to, double some_kib) {
    return to == 0 ? 0 : memory.hop_ns + memory_rate(to) * some_kib;
  };
  // What a leader sends by memory goes on while more comes: the first of it, and what takes longer.
  const auto relayed_by_memory = [&](double network_rate) {
    const int to = in_domain - 1;
    return by_memory(to, first_kib) +
           std::max(0.0, memory_rate(to) - network_rate) * (kib - first_kib);
  };
  const bool gathers = question.what == collective::all_gather;
  switch (algo) {
    case algorithm::hierarchical:
      if (plan.by_leaders) return expected_by_leaders(question);
      return by_network(domains - 1) +
             (gathers ? domains * by_memory(in_domain - 1, kib)
                      : relayed_by_memory((domains - 1) * network.ns_per_kib));
    case algorithm::tree: {
      const bool mapped = domains == 1;
      const auto& edge = mapped ? memory : network;
      const auto levels = std::bit_width(static_cast<unsigned>(mapped ? n : domains)) - 1;
      return levels * (edge.hop_ns + 2 * edge.ns_per_kib * first_kib) +
             2 * edge.ns_per_kib * (kib - first_kib) +
             (mapped ? 0 : relayed_by_memory(2 * edge.ns_per_kib));
    }
    case algorithm::ring: {
      const auto& edge = domains == 1 ? memory : network;
      const int inside = n - domains;
      return (domains - 1) * (network.hop_ns + network.ns_per_kib * first_kib) +
             inside * (memory.hop_ns + memory.ns_per_kib * first_kib) +
             edge.ns_per_kib * (kib - first_kib);
    }
    default:
      return std::max(by_network(n - in_domain), by_memory(in_domain - 1, kib));
  }
}

/// What there is of each, the quickest first; direct, if they are alike.
std::vector<exchange_way> ways_of(const exchange_plan& plan, const plan_question& question) {
  std::vector<exchange_way> all;
  const auto add = [&](algorithm algo) {
    all.push_back({algo, expected_ns(plan, question, algo)});
  };
  add(algorithm::direct);
  if (question.n_pes > 2 || question.forced_algorithm) {
    const bool broadcasts = question.what == collective::broadcast;
    const bool has_hierarchy =
        broadcasts || question.what == collective::all_gather || plan.by_leaders;
    if (has_hierarchy && question.num_domains > 1 && question.num_domains < question.n_pes)
      add(algorithm::hierarchical);
    if (broadcasts) {
      add(algorithm::ring);
      add(algorithm::tree);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.expected < b.expected; });
  return all;
}

algorithm best_of(const std::vector<exchange_way>& ways, const plan_question& question) {
  const auto forced = question.forced_algorithm;
  // One shot is direct, by slots.
  if (forced == algorithm::one_shot) return algorithm::direct;
  for (const auto& way : ways)
    if (way.algo == forced) return way.algo;
  return ways.front().algo;
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
  // On CUDA a block for each step of words: more steps than one take longer than slots.
  const bool has_steps = question.on_cuda && question.forced_protocol != protocol::ll;
  const auto words_of = [](int channels) {
    return mailbox::ll_step * static_cast<std::size_t>(channels);
  };
  if (has_steps)
    plan.words_up_to = std::min(
        plan.words_up_to, words_of(channels_at_most(question, most_mailbox_channels(question))));
  plan.slots_up_to = std::max(plan.slots_up_to, plan.words_up_to);
  // A root whose leaves wait for its processor, and they for its, go on alone as far as there is
  // room. Where nobody waits for a processor, a few slots that stay in the caches are quicker.
  if (rooted && what != collective::transfer && question.is_crowded)
    plan.packets_up_to = std::min(plan.slots_up_to, mailbox::simple_capacity / 2);
  const auto shape = shape_of_pieces(question, question.bytes <= plan.words_up_to, 1);
  plan.channels = shape.channels;
  plan.threads = shape.threads;
  if (has_steps) plan.words_up_to = std::min(plan.words_up_to, words_of(plan.channels));
  if (question.on_cuda) plan.chunk = chunk_of_gpu(question, plan.channels);
  plan.by_leaders =
      rounds_by_leaders(question).count > 0 &&
      (what == collective::all_to_all ||
       expected_by_leaders(question) <= expected_ns(plan, question, algorithm::hierarchical));
  plan.algo = best_of(ways_of(plan, question), question);
  plan.by_leaders &= plan.algo == algorithm::hierarchical;
  if (plan.by_leaders) plan.channels = 1;
  return plan;
}

namespace {

std::string_view route_of(const exchange_plan& plan) {
  switch (plan.algo) {
    case algorithm::ring:
      return "ring, host by host: ";
    case algorithm::tree:
      return "tree of hosts: ";
    case algorithm::hierarchical:
      return plan.by_leaders ? "hierarchical, by leaders: in messages from host to host"
                             : "hierarchical, to each host once: ";
    default:
      return "direct: ";
  }
}

/// As plan.cpp tells it, where there was a choice.
std::string expectation(const exchange_plan& plan, const plan_question& question) {
  const auto ways = ways_of(plan, question);
  if (plan.is_large || ways.size() < 2 || question.forced_algorithm) return "";
  return fmt::format("; {:.3g} us expected, runner-up {} {:.3g} us", ways[0].expected / 1000,
                     name_of(ways[1].algo), ways[1].expected / 1000);
}

std::string_view buffers_by(const exchange_plan& plan, const plan_question& question) {
  if (question.n_pes == 1) return "";
  if (plan.is_large && question.what == collective::transfer) return "";
  if (plan.is_large || plan.by_leaders) return "; buffers through slots";
  return "; directly in place where buffers are symmetric, else by slots";
}

}  // namespace

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
  } else if (plan.by_leaders) {
    text = route_of(plan);
  } else {
    text = fmt::format("{}words up to {}, ", route_of(plan), limit(plan.words_up_to));
    if (plan.packets_up_to > plan.words_up_to)
      text += fmt::format("packets up to {}, ", limit(plan.packets_up_to));
    text += fmt::format("slots up to {}", limit(plan.slots_up_to));
    if (!question.all_mapped)
      text += fmt::format(" ({} by the network)", limit(plan.network_slots_up_to));
    text += fmt::format(", then directly by the {}", plan.pull ? "receiver" : "sender");
    if (plan.streaming_from != always)
      text += fmt::format(", round the caches from {}", limit(plan.streaming_from));
  }
  return fmt::format("{}, {} channel{} of {} thread{}{}", text, plan.channels,
                     plan.channels == 1 ? "" : "s", plan.threads, plan.threads == 1 ? "" : "s",
                     expectation(plan, question)) +
         std::string(buffers_by(plan, question));
}

}  // namespace heddle
