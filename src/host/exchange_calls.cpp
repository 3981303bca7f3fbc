// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/exchange_calls.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "coll/exchange_kernels.hpp"
#include "host/element_bytes.hpp"
#include "host/runtime.hpp"
#include "host/team.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {

namespace {

using equal_args = exchange_args<equal_pieces>;
using listed_args = exchange_args<listed_pieces>;
constexpr int nobody = equal_args::nobody;
constexpr int everybody = equal_args::everybody;

/// What a plan reckons with where the PEs do not know each other's pieces.
constexpr std::size_t unknown_piece = std::size_t{1} << 20;

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(a);
  const auto second = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && first < second + b_bytes && second < first + a_bytes;
}

std::ptrdiff_t offset_of(int pe, std::size_t piece) {
  return static_cast<std::ptrdiff_t>(piece) * pe;
}

void require_buffer(const char* function, const char* which, const void* buffer,
                    std::size_t bytes) {
  if (bytes > 0 && !buffer)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is NULL, and has {} bytes", function, which,
                bytes);
}

}  // namespace

exchange_calls::exchange_calls(heddle_team& team) : team_(team) { equal_.team = team.ref(); }

exchange_calls::elements exchange_calls::checked(const char* function, std::size_t count,
                                                 heddle_type_t type) const {
  const std::size_t piece = bytes_of_elements(function, count, type);
  const auto n_pes = static_cast<std::size_t>(team_.n_pes());
  if (piece > most_bytes / n_pes)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: {} elements for each of {} PEs are more than an address can reach", function,
                count, n_pes);
  return {piece, piece * n_pes};
}

/// HEDDLE_CHECK=1: all members have made the same call.
void exchange_calls::compare(const char* function, std::size_t count, heddle_type_t type,
                             int root) const {
  team_.check();
  if (!team_.runtime().environment().check) return;
  const auto told = [](const heddle_team::words& words) {
    return fmt::format("count {}, type {}, root {}", words[1],
                       name_of(static_cast<heddle_type_t>(words[2])), static_cast<int>(words[3]));
  };
  team_.require_same_call(function,
                          {std::hash<std::string_view>{}(function), count,
                           static_cast<std::uint64_t>(type), static_cast<std::uint64_t>(root)},
                          told);
}

const exchange_plan& exchange_calls::plan_for(collective what, std::size_t piece) {
  const auto bucket = static_cast<std::size_t>(std::bit_width(piece - 1));
  auto& plan = plans_[static_cast<std::size_t>(what)][bucket];
  if (!plan) [[unlikely]] {
    const auto asked = team_.question(what, std::size_t{1} << bucket);
    plan = choose_exchange(what, asked);
    log::info(log::subsystem::coll, "{} of up to {} bytes, team {}: {}", name_of(what), asked.bytes,
              team_.name(), heddle::explain(*plan, asked));
  }
  return *plan;
}

std::string exchange_calls::explain(collective what, std::size_t count, heddle_type_t type) const {
  const std::size_t bytes = std::min(count, most_bytes) * bytes_of(type);
  const auto asked = team_.question(what, bytes == 0 ? 0 : std::bit_ceil(bytes));
  return heddle::explain(choose_exchange(what, asked), asked);
}

template <class Pieces>
void exchange_calls::run(const call& call, exchange_args<Pieces>& args, const void* input,
                         void* output, heddle_stream_t stream) {
  require_buffer(call.function, "input", input, call.input_bytes);
  require_buffer(call.function, "output", output, call.output_bytes);
  team_.require_reachable(call.function);
  const auto& plan = plan_for(call.what, call.piece);
  auto& runtime = team_.runtime();
  const auto& heap = runtime.heap();
  if (call.input_bytes > 0) input = heap.translate(input, call.input_bytes);
  if (call.output_bytes > 0) output = heap.translate(output, call.output_bytes);
  const auto* in = static_cast<const byte*>(input);
  auto* out = static_cast<byte*>(output);
  const bool meets = overlap(in, call.input_bytes, out, call.output_bytes);
  const auto apart = reinterpret_cast<std::intptr_t>(in) - reinterpret_cast<std::intptr_t>(out);
  if (meets && call.in_place != apart) [[unlikely]]
    throw_error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        "{}: input {} of {} bytes and output {} of {} bytes overlap; they must be apart{}",
        call.function, input, call.input_bytes, output, call.output_bytes,
        !call.in_place ? ""
        : *call.in_place < 0
            ? fmt::format(", or, in place, the output {} bytes into the input", -*call.in_place)
            : fmt::format(", or, in place, the input {} bytes into the output", *call.in_place));
  args.what = call.waits_in;
  args.input = in;
  args.output = out;
  args.words_up_to = plan.words_up_to;
  args.slots_up_to = plan.slots_up_to;
  args.network_slots_up_to = plan.network_slots_up_to;
  args.pull = plan.pull;
  args.streaming_from = plan.streaming_from;
  team_.launch_collective({plan.channels, plan.threads}, exchange_kernel<Pieces>(), &args,
                          sizeof args, stream);
}

void exchange_calls::broadcast(const void* input, void* output, std::size_t count,
                               heddle_type_t type, int root, heddle_stream_t stream) {
  constexpr auto function = "heddle_broadcast";
  const auto [piece, all] = checked(function, count, type);
  team_.require_pe(function, root);
  compare(function, count, type, root);
  if (piece == 0) return;
  const bool is_root = team_.my_pe() == root;
  equal_.to = is_root ? everybody : nobody;
  equal_.from = root;
  equal_.sends = {piece, 0};
  equal_.receives = {piece, 0};
  run({function, collective::broadcast, operation::broadcast, is_root ? piece : 0, piece, 0, piece},
      equal_, input, output, stream);
}

void exchange_calls::all_gather(const void* input, void* output, std::size_t count,
                                heddle_type_t type, heddle_stream_t stream) {
  constexpr auto function = "heddle_all_gather";
  const auto [piece, all] = checked(function, count, type);
  compare(function, count, type, 0);
  if (piece == 0) return;
  equal_.to = everybody;
  equal_.from = everybody;
  equal_.sends = {piece, 0};
  equal_.receives = {piece, piece};
  run({function, collective::all_gather, operation::all_gather, piece, all,
       offset_of(team_.my_pe(), piece), piece},
      equal_, input, output, stream);
}

void exchange_calls::all_to_all(const void* input, void* output, std::size_t count,
                                heddle_type_t type, heddle_stream_t stream) {
  constexpr auto function = "heddle_all_to_all";
  const auto [piece, all] = checked(function, count, type);
  compare(function, count, type, 0);
  if (piece == 0) return;
  equal_.to = everybody;
  equal_.from = everybody;
  equal_.sends = {piece, piece};
  equal_.receives = {piece, piece};
  run({function, collective::all_to_all, operation::all_to_all, all, all, {}, piece}, equal_, input,
      output, stream);
}

void exchange_calls::gather(const void* input, void* output, std::size_t count, heddle_type_t type,
                            int root, heddle_stream_t stream) {
  constexpr auto function = "heddle_gather";
  const auto [piece, all] = checked(function, count, type);
  team_.require_pe(function, root);
  compare(function, count, type, root);
  if (piece == 0) return;
  const bool is_root = team_.my_pe() == root;
  equal_.to = root;
  equal_.from = is_root ? everybody : nobody;
  equal_.sends = {piece, 0};
  equal_.receives = {piece, piece};
  run({function, collective::gather, operation::gather, piece, is_root ? all : 0,
       offset_of(root, piece), piece},
      equal_, input, output, stream);
}

void exchange_calls::scatter(const void* input, void* output, std::size_t count, heddle_type_t type,
                             int root, heddle_stream_t stream) {
  constexpr auto function = "heddle_scatter";
  const auto [piece, all] = checked(function, count, type);
  team_.require_pe(function, root);
  compare(function, count, type, root);
  if (piece == 0) return;
  const bool is_root = team_.my_pe() == root;
  equal_.to = is_root ? everybody : nobody;
  equal_.from = root;
  equal_.sends = {piece, piece};
  equal_.receives = {piece, 0};
  run({function, collective::scatter, operation::scatter, is_root ? all : 0, piece,
       -offset_of(root, piece), piece},
      equal_, input, output, stream);
}

namespace {

/// What a PE's counts and displacements, in elements, say.
struct listed {
  listed_pieces pieces;
  std::size_t end = 0;  ///< of the last byte of any piece
  bool any = false;
};

listed list_of(const char* function, const char* which, const std::size_t* counts,
               const std::size_t* displacements, heddle_type_t type, int n_pes) {
  if (!counts || !displacements)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {}{} is NULL", function, which,
                counts ? "displacements" : "counts");
  const std::size_t size = element_bytes(function, type);
  listed list;
  for (int pe = 0; pe < n_pes; ++pe) {
    const std::size_t bytes = bytes_of_elements(function, counts[pe], type);
    if (displacements[pe] > (most_bytes - bytes) / size)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "{}: {}displacements[{}] is {} elements, more than an address can reach",
                  function, which, pe, displacements[pe]);
    list.pieces.bytes[pe] = bytes;
    list.pieces.offset[pe] = displacements[pe] * size;
    if (bytes == 0) continue;
    list.any = true;
    list.end = std::max(list.end, displacements[pe] * size + bytes);
  }
  return list;
}

/// The pieces that a PE receives must not overlap: which would be there in the end?
void require_apart(const char* function, const listed_pieces& pieces, int n_pes) {
  std::vector<int> order;
  for (int pe = 0; pe < n_pes; ++pe)
    if (pieces.bytes[pe] > 0) order.push_back(pe);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return pieces.offset[a] < pieces.offset[b]; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (pieces.offset[order[i - 1]] + pieces.bytes[order[i - 1]] > pieces.offset[order[i]])
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "{}: the pieces from PEs {} and {} overlap in the output", function, order[i - 1],
                  order[i]);
}

}  // namespace

void exchange_calls::all_gather_v(const void* input, void* output, const std::size_t* counts,
                                  const std::size_t* displacements, heddle_type_t type,
                                  heddle_stream_t stream) {
  constexpr auto function = "heddle_all_gather_v";
  const int n_pes = team_.n_pes();
  const int me = team_.my_pe();
  require_lists(function);
  const auto out = list_of(function, "", counts, displacements, type, n_pes);
  require_apart(function, out.pieces, n_pes);
  compare_lists(function, counts, counts, true, type);
  if (!out.any) return;
  listed_args args{.team = team_.ref(), .to = everybody, .from = everybody, .receives = out.pieces};
  std::size_t largest = 0;
  for (int pe = 0; pe < n_pes; ++pe) {
    args.sends.bytes[pe] = out.pieces.bytes[me];
    largest = std::max<std::size_t>(largest, out.pieces.bytes[pe]);
  }
  run({function, collective::all_gather, operation::all_gather, out.pieces.bytes[me], out.end,
       static_cast<std::ptrdiff_t>(out.pieces.offset[me]), largest},
      args, input, output, stream);
}

void exchange_calls::all_to_all_v(const void* input, const std::size_t* input_counts,
                                  const std::size_t* input_displacements, void* output,
                                  const std::size_t* output_counts,
                                  const std::size_t* output_displacements, heddle_type_t type,
                                  heddle_stream_t stream) {
  constexpr auto function = "heddle_all_to_all_v";
  const int n_pes = team_.n_pes();
  require_lists(function);
  const auto in = list_of(function, "input_", input_counts, input_displacements, type, n_pes);
  const auto out = list_of(function, "output_", output_counts, output_displacements, type, n_pes);
  require_apart(function, out.pieces, n_pes);
  compare_lists(function, input_counts, output_counts, false, type);
  // A PE without pieces takes part as well, since it must be there where others have some with it.
  listed_args args{.team = team_.ref(),
                   .to = everybody,
                   .from = everybody,
                   .sends = in.pieces,
                   .receives = out.pieces};
  run({function, collective::all_to_all, operation::all_to_all, in.end, out.end, {}, unknown_piece},
      args, input, output, stream);
}

void exchange_calls::require_lists(const char* function) const {
  if (team_.n_pes() > listed_pieces::most)
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED, "{} is for teams of at most {} PEs yet; team {} has {}",
                function, +listed_pieces::most, team_.name(), team_.n_pes());
}

/// HEDDLE_CHECK=1: what each PE sends is what the other receives; with `alike`, all lists are
/// equal.
void exchange_calls::compare_lists(const char* function, const std::size_t* sent,
                                   const std::size_t* received, bool alike,
                                   heddle_type_t type) const {
  compare(function, 0, type, 0);
  if (!team_.runtime().environment().check) return;
  const auto me = static_cast<std::size_t>(team_.my_pe());
  const auto n_pes = static_cast<std::size_t>(team_.n_pes());
  std::vector<std::vector<std::uint64_t>> lists(n_pes);
  for (std::size_t at = 0; at < n_pes; at += std::tuple_size_v<heddle_team::words>) {
    heddle_team::words mine{};
    for (std::size_t i = 0; i < mine.size() && at + i < n_pes; ++i) mine[i] = sent[at + i];
    const auto all = team_.exchange(mine);
    for (std::size_t pe = 0; pe < n_pes; ++pe)
      lists[pe].insert(lists[pe].end(), all[pe].begin(), all[pe].end());
  }
  // All look at all, so that all tell the same.
  std::string wrong;
  for (std::size_t pe = 0; pe < n_pes && wrong.empty(); ++pe)
    for (std::size_t other = 0; other < n_pes && wrong.empty(); ++other) {
      if (alike && lists[pe][other] != lists[0][other])
        wrong = fmt::format("PE {} gave count {} for PE {}, PE 0 gave {}", pe, lists[pe][other],
                            other, lists[0][other]);
      if (!alike && pe == me && received[other] != lists[other][me])
        wrong = fmt::format("PE {} receives {} elements from PE {}, which sends {}", me,
                            received[other], other, lists[other][me]);
    }
  // Of what one alone sees, the others are told.
  const auto outcomes = team_.exchange({wrong.empty() ? std::uint64_t{0} : 1});
  for (std::size_t pe = 0; pe < n_pes; ++pe)
    if (outcomes[pe][0] != 0)
      throw_error(
          HEDDLE_ERROR_MISMATCH, "{} on team {}: {}", function, team_.name(),
          wrong.empty() ? fmt::format("PE {} is sent other counts than it receives", pe) : wrong);
}

}  // namespace heddle
