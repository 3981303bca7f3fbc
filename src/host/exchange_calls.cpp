// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/exchange_calls.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "coll/exchange_kernels.hpp"
#include "coll/relay_tree.hpp"
#include "coll/transfer_list.hpp"
#include "host/chosen_way.hpp"
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
  if (bytes > 0 && !buffer) [[unlikely]]
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is NULL, and has {} bytes", function, which,
                bytes);
}

}  // namespace

exchange_calls::exchange_calls(heddle_team& team) : team_(team) { equal_.team = team.ref(); }

[[gnu::always_inline]] inline exchange_calls::elements exchange_calls::checked(
    const char* function, std::size_t count, heddle_type_t type) const {
  const std::size_t piece = bytes_of_elements(function, count, type);
  const auto n_pes = static_cast<std::size_t>(team_.n_pes());
  std::size_t all = 0;
  if (!fits(n_pes, piece, all)) [[unlikely]]
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: {} elements for each of {} PEs are more than an address can reach", function,
                count, n_pes);
  return {piece, all};
}

/// Where calls are compared: all members have made the same.
void exchange_calls::compare(const char* function, collective what, std::size_t count,
                             heddle_type_t type, int root, std::size_t piece) {
  const auto told = [](const heddle_team::words& words) {
    return fmt::format("count {}, type {}, root {}{}", words[1],
                       name_of(static_cast<heddle_type_t>(words[2])), static_cast<int>(words[3]),
                       chosen_way::told(words[4]));
  };
  const chosen_way way([&] {
    if (piece == 0) return std::uint64_t{0};
    const auto& plan = plan_for(what, piece);
    return chosen_way::word_of(plan.algo, protocol::simple, plan.channels, false);
  });
  way.require_same([&](std::uint64_t word) {
    team_.require_same_call(
        function,
        {0, count, static_cast<std::uint64_t>(type), static_cast<std::uint64_t>(root), word}, told);
  });
}

void exchange_calls::check(const char* function, collective what, std::size_t count,
                           heddle_type_t type, int root, std::size_t piece) {
  team_.check();
  if (team_.compares_calls()) [[unlikely]]
    compare(function, what, count, type, root, piece);
}

const exchange_plan& exchange_calls::plan_for(collective what, std::size_t piece) {
  const auto bucket = static_cast<std::size_t>(std::bit_width(piece - 1));
  const auto& plan = (*plans_)[static_cast<std::size_t>(what)][bucket];
  return plan ? *plan : make_plan(what, bucket);
}

const exchange_plan& exchange_calls::make_plan(collective what, std::size_t bucket) {
  const auto asked = team_.question(what, std::size_t{1} << bucket);
  const auto plan = choose_exchange(what, asked);
  if (log::enabled(log::level::info, log::subsystem::coll))
    log::info(log::subsystem::coll, "{} of up to {} bytes, team {}: {}", name_of(what), asked.bytes,
              team_.name(), heddle::explain(plan, asked));
  return (*plans_)[static_cast<std::size_t>(what)][bucket].emplace(plan);
}

std::string exchange_calls::explain(collective what, std::size_t count, heddle_type_t type) const {
  const std::size_t bytes = std::min(count, most_bytes) * bytes_of(type);
  const auto asked = team_.question(what, bytes == 0 ? 0 : std::bit_ceil(bytes));
  return heddle::explain(choose_exchange(what, asked), asked);
}

/// In each of its callers, as run(): all that they know of a call is not asked again.
[[gnu::always_inline]] inline exchange_calls::buffers exchange_calls::checked(const call& call,
                                                                              const void* input,
                                                                              void* output) const {
  require_buffer(call.function, "input", input, call.input_bytes);
  require_buffer(call.function, "output", output, call.output_bytes);
  team_.require_reachable(call.function);
  const auto& heap = team_.runtime().heap();
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
  return {in, out};
}

namespace {

template <class Args>
void set_limits(Args& args, const exchange_plan& plan) {
  args.words_up_to = plan.words_up_to;
  args.packets_up_to = plan.packets_up_to;
  args.slots_up_to = plan.slots_up_to;
  args.network_slots_up_to = plan.network_slots_up_to;
  args.streaming_from = plan.streaming_from;
}

}  // namespace

void exchange_calls::run_relay(const call& call, const buffers& at, const exchange_plan& plan,
                               heddle_stream_t stream) const {
  const auto mine = relay_place_of(plan.algo, team_.domains(), team_.my_pe(), call.root);
  relay_args args{.team = team_.ref(),
                  .input = at.input,
                  .output = at.output,
                  .bytes = call.piece,
                  .parent = mine.parent,
                  .num_children = static_cast<int>(mine.children.size())};
  std::copy(mine.children.begin(), mine.children.end(), args.children);
  args.chunk = plan.chunk;
  set_limits(args, plan);
  team_.launch_collective({plan.channels, plan.threads}, relay_kernel(), &args, sizeof args,
                          stream);
}

void exchange_calls::run_by_domains(const call& call, const buffers& at, const exchange_plan& plan,
                                    heddle_stream_t stream) const {
  domains_gather_args args{
      .how = {.team = team_.ref(), .what = call.waits_in, .input = at.input, .output = at.output},
      .places = places_by(team_.domains()),
      .bytes = call.piece};
  args.how.pull = plan.pull;
  set_limits(args.how, plan);
  team_.launch_collective({plan.channels, plan.threads}, domains_gather_kernel(), &args,
                          sizeof args, stream);
}

void exchange_calls::run_by_leaders(const call& call, const buffers& at, const exchange_plan& plan,
                                    heddle_stream_t stream) const {
  const leaders_args args{.team = team_.ref(),
                          .what = call.waits_in,
                          .input = at.input,
                          .output = at.output,
                          .bytes = call.piece,
                          .to_each = call.what == collective::all_to_all,
                          .places = places_by(team_.domains())};
  team_.launch_collective({plan.channels, plan.threads}, leaders_kernel(), &args, sizeof args,
                          stream);
}

void exchange_calls::run_in_rounds(const call& call, const buffers& at, const exchange_plan& plan,
                                   heddle_stream_t stream) const {
  const rounds_args args{.team = team_.ref(),
                         .what = call.waits_in,
                         .input = at.input,
                         .output = at.output,
                         .bytes = call.piece,
                         .root = call.root};
  team_.launch_collective({plan.channels, plan.threads}, rounds_kernel(), &args, sizeof args,
                          stream);
}

void exchange_calls::run_otherwise(const call& call, const buffers& at, const exchange_plan& plan,
                                   heddle_stream_t stream) const {
  if (plan.is_large) return run_in_rounds(call, at, plan, stream);
  if (call.what == collective::broadcast) return run_relay(call, at, plan, stream);
  if (plan.by_leaders) return run_by_leaders(call, at, plan, stream);
  run_by_domains(call, at, plan, stream);
}

template <class Pieces>
[[gnu::always_inline]] inline void exchange_calls::run(const call& call,
                                                       exchange_args<Pieces>& args,
                                                       const void* input, void* output,
                                                       heddle_stream_t stream) {
  const auto [in, out] = checked(call, input, output);
  const auto& plan = plan_for(call.what, call.piece);
  const bool has_equal = std::is_same_v<Pieces, equal_pieces>;
  if (plan.is_large || (has_equal && plan.algo != algorithm::direct)) [[unlikely]]
    return run_otherwise(call, {in, out}, plan, stream);
  args.what = call.waits_in;
  args.input = in;
  args.output = out;
  args.pull = plan.pull;
  set_limits(args, plan);
  team_.launch_collective({plan.channels, plan.threads}, exchange_kernel<Pieces>(), &args,
                          sizeof args, stream);
}

void exchange_calls::broadcast(const void* input, void* output, std::size_t count,
                               heddle_type_t type, int root, heddle_stream_t stream) {
  constexpr auto function = "heddle_broadcast";
  const auto [piece, all] = checked(function, count, type);
  team_.require_pe(function, root);
  check(function, collective::broadcast, count, type, root, piece);
  if (piece == 0) return;
  const bool is_root = team_.my_pe() == root;
  equal_.to = is_root ? everybody : nobody;
  equal_.from = root;
  equal_.sends = {piece, 0};
  equal_.receives = {piece, 0};
  run({function, collective::broadcast, operation::broadcast, is_root ? piece : 0, piece, 0, piece,
       root},
      equal_, input, output, stream);
}

void exchange_calls::all_gather(const void* input, void* output, std::size_t count,
                                heddle_type_t type, heddle_stream_t stream) {
  constexpr auto function = "heddle_all_gather";
  const auto [piece, all] = checked(function, count, type);
  check(function, collective::all_gather, count, type, 0, piece);
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
  check(function, collective::all_to_all, count, type, 0, piece);
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
  check(function, collective::gather, count, type, root, piece);
  if (piece == 0) return;
  const bool is_root = team_.my_pe() == root;
  equal_.to = root;
  equal_.from = is_root ? everybody : nobody;
  equal_.sends = {piece, 0};
  equal_.receives = {piece, piece};
  run({function, collective::gather, operation::gather, piece, is_root ? all : 0,
       offset_of(root, piece), piece, root},
      equal_, input, output, stream);
}

void exchange_calls::scatter(const void* input, void* output, std::size_t count, heddle_type_t type,
                             int root, heddle_stream_t stream) {
  constexpr auto function = "heddle_scatter";
  const auto [piece, all] = checked(function, count, type);
  team_.require_pe(function, root);
  check(function, collective::scatter, count, type, root, piece);
  if (piece == 0) return;
  const bool is_root = team_.my_pe() == root;
  equal_.to = is_root ? everybody : nobody;
  equal_.from = root;
  equal_.sends = {piece, piece};
  equal_.receives = {piece, 0};
  run({function, collective::scatter, operation::scatter, is_root ? all : 0, piece,
       -offset_of(root, piece), piece, root},
      equal_, input, output, stream);
}

namespace {

listed_pieces listed(const piece_list& list) {
  listed_pieces pieces;
  std::copy(list.bytes.begin(), list.bytes.end(), pieces.bytes);
  std::copy(list.offsets.begin(), list.offsets.end(), pieces.offset);
  return pieces;
}

}  // namespace

void exchange_calls::all_gather_v(const void* input, void* output, const std::size_t* counts,
                                  const std::size_t* displacements, heddle_type_t type,
                                  heddle_stream_t stream) {
  constexpr auto function = "heddle_all_gather_v";
  const int n_pes = team_.n_pes();
  const int me = team_.my_pe();
  const auto out = list_pieces(function, "", counts, displacements, type, n_pes);
  require_apart(function, out);
  check(function, collective::all_gather, 0, type, 0, 0);
  require_alike(team_, function, counts);
  check(function, collective::all_gather, out.largest() / bytes_of(type), type, 0, out.largest());
  if (out.largest() == 0) return;
  const std::size_t mine = out.bytes[static_cast<std::size_t>(me)];
  const call call{function,
                  collective::all_gather,
                  operation::all_gather,
                  mine,
                  out.end(),
                  static_cast<std::ptrdiff_t>(out.offsets[static_cast<std::size_t>(me)]),
                  out.largest()};
  if (n_pes > listed_pieces::most) {
    (void)checked(call, input, output);
    for (int pe = 0; pe < n_pes; ++pe)
      broadcast(input, static_cast<byte*>(output) + out.offsets[static_cast<std::size_t>(pe)],
                counts[pe], type, pe, stream);
    return;
  }
  listed_args args{
      .team = team_.ref(), .to = everybody, .from = everybody, .receives = listed(out)};
  std::fill_n(args.sends.bytes, n_pes, mine);
  run(call, args, input, output, stream);
}

void exchange_calls::all_to_all_v(const void* input, const std::size_t* input_counts,
                                  const std::size_t* input_displacements, void* output,
                                  const std::size_t* output_counts,
                                  const std::size_t* output_displacements, heddle_type_t type,
                                  heddle_stream_t stream) {
  constexpr auto function = "heddle_all_to_all_v";
  const int n_pes = team_.n_pes();
  const auto in = list_pieces(function, "input_", input_counts, input_displacements, type, n_pes);
  const auto out =
      list_pieces(function, "output_", output_counts, output_displacements, type, n_pes);
  require_apart(function, out);
  check(function, collective::all_to_all, 0, type, 0, unknown_piece);
  require_matching(team_, function, input_counts, output_counts);
  const auto own = static_cast<std::size_t>(team_.my_pe());
  if (in.bytes[own] != out.bytes[own])
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: input_counts[{}] of {} and output_counts[{}] of {} are what this PE sends to "
                "itself, and must be the same",
                function, own, input_counts[own], own, output_counts[own]);
  const call call{function, collective::all_to_all, operation::all_to_all, in.end(), out.end(),
                  {},       unknown_piece};
  if (n_pes > listed_pieces::most) {
    const auto [from, to] = checked(call, input, output);
    return exchange_by_transfers(from, in, to, out, stream);
  }
  // A PE without pieces takes part as well, since it must be there where others have some with it.
  listed_args args{.team = team_.ref(),
                   .to = everybody,
                   .from = everybody,
                   .sends = listed(in),
                   .receives = listed(out)};
  run(call, args, input, output, stream);
}

/// As many as a kernel takes at a time, all PEs with the PEs at the same distances.
void exchange_calls::exchange_by_transfers(const byte* input, const piece_list& in, byte* output,
                                           const piece_list& out, heddle_stream_t stream) const {
  const int n_pes = team_.n_pes();
  constexpr int at_a_time = transfers_args::most_lanes / 2;
  for (int first = 0; first < n_pes; first += at_a_time) {
    transfer_list list;
    const auto add = [&](bool is_send, byte* memory, const piece_list& pieces, int distance) {
      const auto pe = static_cast<std::size_t>((team_.my_pe() + distance) % n_pes);
      if (pieces.bytes[pe] > 0)
        list.add(is_send, memory + pieces.offsets[pe], pieces.bytes[pe], static_cast<int>(pe));
    };
    for (int i = first; i < std::min(first + at_a_time, n_pes); ++i) {
      add(true, const_cast<byte*>(input), in, i);
      add(false, output, out, n_pes - i);
    }
    if (list.size() > 0) team_.transfers().run(list, stream);
  }
}

}  // namespace heddle
