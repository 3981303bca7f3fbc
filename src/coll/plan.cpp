// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/plan.hpp"

#include <algorithm>
#include <array>
#include <heddle/device/coll/all_reduce_hierarchical.hpp>
#include <heddle/device/coll/reduce_scatter_in_rounds.hpp>
#include <heddle/device/coll/scratch.hpp>
#include <vector>

#include "coll/cost_model.hpp"
#include "support/throw_error.hpp"

namespace heddle {

namespace {

constexpr std::array<std::string_view, 9> collective_names = {
    "all_reduce", "broadcast",      "all_gather", "all_to_all", "gather",
    "scatter",    "reduce_scatter", "reduce",     "transfer"};
constexpr std::array<std::string_view, 7> algorithm_names = {
    "one_shot", "two_shot", "ring", "tree", "multicast", "hierarchical", "direct"};
constexpr std::array<std::string_view, 3> protocol_names = {"simple", "ll", "ll128"};

bool direct(const plan_question& question) {
  return question.n_pes <= channel_scratch::max_direct_pes;
}

bool has_ll128(const plan_question& question) {
  return question.all_mapped && question.whole_lines;
}

/// Of ReduceScatter: a tree for each piece, which large teams have memory for.
bool has_rounds(const plan_question& question) {
  return !direct(question) &&
         question.bytes + static_cast<std::size_t>(question.n_pes) * cache_line <=
             detail::most_in_rounds &&
         question.forced_protocol.value_or(protocol::simple) == protocol::simple;
}

bool has_hierarchy(const plan_question& question) { return question.domain_size > 1; }

int most_channels(algorithm algo, const plan_question& question) {
  if (is_two_shot(algo)) return channel_scratch::max_channels;
  if (algo == algorithm::tree && question.what == collective::reduce_scatter)
    return channel_scratch::max_hop_channels;
  return channel_scratch::max_slot_channels;
}

template <class Names>
std::optional<int> index_of(const Names& names, std::string_view variable, std::string_view name) {
  if (name.empty()) return {};
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<int>(i);
    all += (i ? ", " : "") + std::string(names[i]);
  }
  throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}={}: not one of {}", variable, name, all);
}

}  // namespace

const tuning& costs_of(const plan_question& question) {
  return question.tuned ? *question.tuned : built_in_tuning(question.on_cuda);
}

void apply(plan_question& question, const heddle_choice_t& choice) {
  const auto require = [](bool is_right, const char* field, int value) {
    if (!is_right)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "the team's chooser gave {} as {}", value, field);
  };
  const int algo = choice.algorithm;
  const int proto = choice.protocol;
  require(algo >= -1 && algo < static_cast<int>(algorithm_names.size()), "algorithm", algo);
  require(proto >= -1 && proto < static_cast<int>(protocol_names.size()), "protocol", proto);
  require(choice.channels >= 0, "channels", choice.channels);
  require(choice.threads >= 0, "threads", choice.threads);
  if (algo >= 0) question.forced_algorithm = static_cast<algorithm>(algo);
  if (proto >= 0) question.forced_protocol = static_cast<protocol>(proto);
  if (choice.channels > 0) question.forced_channels = choice.channels;
  if (choice.threads > 0) question.forced_threads = choice.threads;
}

namespace {

bool is_forced(const plan_question& question) {
  return question.forced_algorithm && question.forced_algorithm != algorithm::direct;
}

/// What there is of an algorithm that was asked for.
algorithm form_of(const plan_question& question, algorithm algo) {
  // A split team has no multicast where the world has one, and of a reduce the root alone tells
  // where its output is.
  if (algo == algorithm::multicast &&
      ((question.on_cuda && !question.has_multicast) || question.what == collective::reduce))
    algo = algorithm::two_shot;
  // A GPU's two-shot is for memory alone.
  if (is_two_shot(algo) && question.on_cuda && !question.all_mapped) algo = algorithm::ring;
  // Nor has a team of one domain a hierarchy.
  if (algo == algorithm::hierarchical && !has_hierarchy(question))
    algo = question.all_mapped && direct(question) ? algorithm::two_shot : algorithm::ring;
  if (algo == algorithm::tree && question.what == collective::reduce_scatter &&
      !has_rounds(question))
    algo = algorithm::ring;
  // These round between two hops.
  if (question.widening > 0 && (algo == algorithm::tree || algo == algorithm::hierarchical))
    algo = algorithm::ring;
  // A GPU's teams have memory for these where init could know that they would be chosen.
  if (!question.has_links && !is_direct(algo))
    algo = question.all_mapped &&
                   question.forced_protocol.value_or(protocol::simple) == protocol::simple
               ? algorithm::two_shot
               : algorithm::one_shot;
  return algo;
}

/// Whether the model is asked about it, where none is forced.
bool is_possible(const plan_question& question, algorithm algo) {
  const bool by_memory = direct(question) && question.all_mapped;
  switch (algo) {
    case algorithm::one_shot:
      return direct(question);
    case algorithm::two_shot:
      return by_memory && question.n_pes > 1;
    case algorithm::multicast:
      // Between two PEs a switch has nothing to combine that one of them would not.
      return by_memory && question.has_multicast && question.n_pes > 2 &&
             form_of(question, algo) == algo;
    case algorithm::direct:
      return false;
    default:  // links, which have more hops than memory needs
      return question.n_pes > 1 && !by_memory && form_of(question, algo) == algo;
  }
}

void require_possible(const plan_question& question) {
  const bool forced = is_forced(question);
  const auto proto = question.forced_protocol;
  if (forced && is_direct(*question.forced_algorithm) && !direct(question))
    throw_error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        "HEDDLE_ALGO={} needs a team of at most {} PEs; this one has {} PEs; unset it, or choose "
        "ring or tree",
        name_of(*question.forced_algorithm), channel_scratch::max_direct_pes, question.n_pes);
  if (forced && proto && *proto != protocol::simple &&
      is_simple_only(form_of(question, *question.forced_algorithm)))
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "HEDDLE_ALGO={} with HEDDLE_PROTO={}: it has the protocol simple alone",
                name_of(*question.forced_algorithm), name_of(*proto));
  if (question.all_mapped && proto == protocol::ll128 && !has_ll128(question))
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "HEDDLE_PROTO=ll128 needs 128 bytes of a store to arrive together at every PE, "
                "which is known of PEs on one GPU or on GPUs joined by NVLink that every process "
                "sees, and not of all of these; unset it, or choose simple or ll");
}

bool is_possible(const plan_question& question, algorithm algo, protocol proto) {
  const bool simple = proto == protocol::simple;
  // Over the network words with flags would be no quicker: it tells of what arrives by itself.
  if (!question.all_mapped) return simple;
  if (question.widening > 0 && algo == algorithm::ring) return simple;
  if (algo == algorithm::tree && question.what == collective::reduce_scatter) return simple;
  if (is_simple_only(algo) && !simple) return false;
  auto forced = question.forced_protocol;
  if (goes_by_mailbox(question.what, algo)) {
    // By words or by slots.
    if (proto == protocol::ll128) return false;
    if (forced == protocol::ll128) forced = protocol::simple;
  }
  if (forced) return proto == *forced;
  // Of a host's threads each line is one's work: never the quickest there.
  return proto != protocol::ll128 || (question.on_cuda && has_ll128(question));
}

/// Two PEs that go no round: all_reduce_of_two.hpp, all_reduce_in_halves.hpp.
bool is_pair_of_network(const plan_question& question) {
  return question.what != collective::reduce && !question.all_mapped && question.n_pes == 2;
}

plan shaped(const plan_question& question, algorithm algo, protocol proto) {
  plan plan{.algo = algo, .proto = proto};
  // Two PEs that the network joins round once in any case.
  plan.wide = question.widening > 0 && algo == algorithm::ring && !is_pair_of_network(question);
  const int pieces = question.what == collective::reduce_scatter ? question.n_pes : 1;
  const auto shape = goes_by_mailbox(question.what, algo)
                         ? shape_of_pieces(question, proto == protocol::ll, pieces)
                         : shape_for(question, most_channels(algo, question),
                                     proto == protocol::simple ? std::size_t{16} << 10
                                                               : channel_scratch::ll_capacity,
                                     // A thread moves 16 bytes at a time, or an LL word.
                                     proto == protocol::ll ? 8 : 16);
  plan.channels = shape.channels;
  plan.threads = shape.threads;
  plan.streaming =
      !question.on_cuda && is_two_shot(algo) &&
      2 * static_cast<std::size_t>(question.n_pes) * question.bytes > question.cache_bytes;
  return plan;
}

struct reduction_way {
  plan how;
  double expected;  ///< ns
};

/// All ways of a call, the quickest first; of equals in the order of their names.
std::vector<reduction_way> ways_of(const plan_question& question) {
  std::vector<reduction_way> all;
  for (std::size_t a = 0; a < algorithm_names.size(); ++a) {
    const auto algo = static_cast<algorithm>(a);
    if (is_forced(question) ? form_of(question, *question.forced_algorithm) != algo
                            : !is_possible(question, algo))
      continue;
    for (const auto proto : {protocol::simple, protocol::ll, protocol::ll128}) {
      if (!is_possible(question, algo, proto)) continue;
      const plan how = shaped(question, algo, proto);
      all.push_back({how, expected_ns(question, how)});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.expected < b.expected; });
  return all;
}

}  // namespace

plan choose_reduction(const plan_question& question) {
  require_possible(question);
  const auto all = ways_of(question);
  if (all.empty()) throw_error(HEDDLE_ERROR_INTERNAL, "{} has no way here", name_of(question.what));
  return all.front().how;
}

int most_mailbox_channels(const plan_question& question) {
  return question.all_mapped ? channel_scratch::max_slot_channels
                             : channel_scratch::network_channels(question.n_pes);
}

launch_shape shape_of_pieces(const plan_question& question, bool by_words, int pieces) {
  return shape_for(question, most_mailbox_channels(question),
                   bytes_of_step(by_words) * static_cast<std::size_t>(pieces),
                   (by_words ? 8u : 16u) * static_cast<std::size_t>(pieces));
}

int channels_at_most(const plan_question& question, int most_channels) {
  if (question.on_cuda) most_channels = std::min(most_channels, std::max(question.max_blocks, 1));
  if (question.max_channels > 0) most_channels = std::min(most_channels, question.max_channels);
  return question.forced_channels > 0 ? std::min(question.forced_channels, most_channels)
                                      : most_channels;
}

/// On the host a channel is a thread: more of them than idle cores only take turns. On CUDA it is a
/// block: one for each multiprocessor moves all that memory can, and a block is worth its start
/// where each of its threads has something to do.
launch_shape shape_for(const plan_question& question, int most_channels,
                       std::size_t bytes_of_channel, std::size_t bytes_of_thread) {
  most_channels = channels_at_most(question, most_channels);
  launch_shape shape{1, 1};
  if (question.forced_channels > 0) {
    shape.channels = most_channels;
  } else if (question.on_cuda) {
    shape.channels =
        static_cast<int>(std::clamp((question.bytes + bytes_of_channel - 1) / bytes_of_channel,
                                    std::size_t{1}, static_cast<std::size_t>(most_channels)));
  }
  if (question.forced_threads > 0) {
    shape.threads = question.forced_threads;
  } else if (question.on_cuda) {
    const std::size_t each = question.bytes / static_cast<std::size_t>(shape.channels);
    const std::size_t warps = (each / bytes_of_thread + 31) / 32;
    shape.threads = static_cast<int>(
        std::clamp(warps * 32, std::size_t{32}, static_cast<std::size_t>(most_cuda_threads)));
  }
  require_block(question, shape.threads);
  return shape;
}

void require_block(const plan_question& question, int threads) {
  if (!question.on_cuda) return;
  if (threads > most_cuda_threads)
    throw_error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        "HEDDLE_BLOCK_THREADS={}: kernels of a CUDA device have at most {} threads per block",
        threads, most_cuda_threads);
  if (threads % 32 != 0)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "HEDDLE_BLOCK_THREADS={}: blocks of a CUDA device are whole warps; choose a "
                "multiple of 32",
                threads);
}

namespace {

/// Where buffers are used as they lie, and what else becomes of them.
std::string_view buffers_by(const plan& plan, const plan_question& question) {
  switch (plan.algo) {
    case algorithm::two_shot:
    case algorithm::multicast:
      return question.all_mapped ? "symmetric buffers in place, others staged" : "buffers staged";
    case algorithm::hierarchical:
      if (detail::may_be_in_place(question.what == collective::all_reduce, question.n_pes,
                                  question.bytes / static_cast<std::size_t>(plan.channels)))
        return "symmetric buffers of a host in place, others staged";
      return "buffers staged";
    case algorithm::ring:
      if (is_pair_of_network(question))
        return question.what == collective::all_reduce
                   ? "inputs from where they lie, large symmetric outputs in place"
                   : "buffers where they lie";
      [[fallthrough]];
    default:
      return "buffers through slots";
  }
}

std::string in_us(double ns) { return fmt::format("{:.3g} us", ns / 1000); }

/// What the model says of it, and of the next best, if there was a choice.
std::string expectation(const plan_question& question) {
  if (question.n_pes == 1) return "";
  const auto all = ways_of(question);
  std::string text = "; " + in_us(all[0].expected) + " expected";
  if (all.size() > 1 && !question.forced_algorithm && !question.forced_protocol)
    text += fmt::format(", runner-up {} {} {}", name_of(all[1].how.algo), name_of(all[1].how.proto),
                        in_us(all[1].expected));
  return text;
}

}  // namespace

std::string explain(const plan& plan, const plan_question& question) {
  std::string reason;
  if (question.forced_algorithm)
    reason += plan.algo == *question.forced_algorithm ? "HEDDLE_ALGO; "
                                                      : "HEDDLE_ALGO, but that is not here; ";
  if (question.forced_protocol)
    reason += plan.proto == *question.forced_protocol
                  ? "HEDDLE_PROTO; "
                  : "HEDDLE_PROTO, but simple where PEs are remote, float32 goes along a ring, or "
                    "one_shot has no ll128; ";
  if (question.forced_channels > 0) {
    reason += "HEDDLE_CHANNELS";
    if (plan.channels < question.forced_channels)
      reason += fmt::format(" (at most {} here)", plan.channels);
    reason += "; ";
  }
  if (question.n_pes == 1) {
    reason += "one PE: a copy";
  } else {
    switch (plan.algo) {
      case algorithm::one_shot:
        reason += fmt::format("{} bytes among {} PEs: one hop with all of them is quickest",
                              question.bytes, question.n_pes);
        break;
      case algorithm::two_shot:
        reason +=
            fmt::format("{} bytes among {} PEs: each PE combines its part and writes it to all",
                        question.bytes, question.n_pes);
        if (plan.streaming) reason += "; more than the caches hold: written round them";
        break;
      case algorithm::multicast:
        reason += fmt::format("{} bytes among {} PEs: {} combines its part and writes it to all",
                              question.bytes, question.n_pes,
                              question.on_cuda ? "for each PE an NVLink switch"
                                               : "each PE, as no NVLink switch does on the host,");
        break;
      case algorithm::hierarchical:
        reason += fmt::format(
            "{} bytes among {} PEs of several domains: by memory in each, by the network across",
            question.bytes, question.n_pes);
        break;
      case algorithm::ring:
        reason += fmt::format("{} bytes among {} PEs: every link carries the least", question.bytes,
                              question.n_pes);
        if (plan.wide) reason += "; as float32, rounded once";
        break;
      case algorithm::tree:
        reason += fmt::format("{} bytes among {} PEs: few hops", question.bytes, question.n_pes);
        break;
      case algorithm::direct:
        break;  // not AllReduce's
    }
  }
  return fmt::format("{} {}, {} channel{} of {} thread{}: {}", name_of(plan.algo),
                     name_of(plan.proto), plan.channels, plan.channels == 1 ? "" : "s",
                     plan.threads, plan.threads == 1 ? "" : "s", reason + expectation(question)) +
         (question.n_pes == 1 ? "" : fmt::format("; {}", buffers_by(plan, question)));
}

std::string_view name_of(collective what) {
  return collective_names[static_cast<std::size_t>(what)];
}
std::string_view name_of(algorithm algo) { return algorithm_names[static_cast<std::size_t>(algo)]; }
std::string_view name_of(protocol proto) { return protocol_names[static_cast<std::size_t>(proto)]; }

std::optional<algorithm> parse_algorithm(std::string_view name) {
  const auto index = index_of(algorithm_names, "HEDDLE_ALGO", name);
  return index ? std::optional(static_cast<algorithm>(*index)) : std::nullopt;
}

std::optional<protocol> parse_protocol(std::string_view name) {
  const auto index = index_of(protocol_names, "HEDDLE_PROTO", name);
  return index ? std::optional(static_cast<protocol>(*index)) : std::nullopt;
}

}  // namespace heddle
