// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/reduction_calls.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "coll/topology.hpp"
#include "host/chosen_way.hpp"
#include "host/element_bytes.hpp"
#include "host/piece_list.hpp"
#include "host/runtime.hpp"
#include "host/team.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {

namespace {

collective collective_of(reduce_kind kind) {
  return kind == reduce_kind::reduce           ? collective::reduce
         : kind == reduce_kind::reduce_scatter ? collective::reduce_scatter
                                               : collective::all_reduce;
}

void require_buffers(const char* function, const void* input, const void* output, std::size_t count,
                     std::size_t size) {
  if (count > 0 && (!input || !output)) [[unlikely]]
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is NULL, with a count of {}", function,
                input ? "output" : "input", count);
  if (((reinterpret_cast<std::uintptr_t>(input) | reinterpret_cast<std::uintptr_t>(output)) &
       (size - 1)) != 0) [[unlikely]]
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: input {} and output {} must be aligned to the element's {} bytes", function,
                input, output, size);
}

/// In place, or apart: by the addresses that the buffers have in the heap, if they are registered.
/// `in_place` is where in the input the output is then.
inline void require_no_overlap(const char* function, const void* input, std::size_t input_bytes,
                               const void* output, std::size_t output_bytes, std::size_t in_place) {
  const auto from = reinterpret_cast<std::uintptr_t>(input);
  const auto to = reinterpret_cast<std::uintptr_t>(output);
  if (to == from + in_place || to >= from + input_bytes || from >= to + output_bytes) [[likely]]
    return;
  throw_error(
      HEDDLE_ERROR_INVALID_ARGUMENT,
      "{}: input {} of {} bytes and output {} of {} bytes overlap; they must be {} or apart",
      function, input, input_bytes, output, output_bytes,
      in_place == 0 ? "the same (in place)"
                    : fmt::format("in place (the output {} bytes into the input)", in_place));
}

/// "sum"; a number for one that was created.
std::string name_of_op(std::uint64_t op) {
  constexpr std::array names = {"sum", "prod", "min", "max", "avg"};
  return op < names.size() ? names[op] : std::to_string(op);
}

}  // namespace

/// As above, of a list: by the piece of each PE.
void reduction_calls::require_apart(const char* function, const void* input,
                                    const piece_list& pieces, const void* output) const {
  const auto me = static_cast<std::size_t>(team_.my_pe());
  if (pieces.bytes[me] == 0) return;
  const auto& heap = team_.runtime().heap();
  const auto from = reinterpret_cast<std::uintptr_t>(heap.translate(input, pieces.end()));
  const auto to = reinterpret_cast<std::uintptr_t>(heap.translate(output, pieces.bytes[me]));
  for (std::size_t pe = 0; pe < pieces.bytes.size(); ++pe) {
    const auto piece = from + pieces.offsets[pe];
    if (pieces.bytes[pe] == 0 || to >= piece + pieces.bytes[pe] || piece >= to + pieces.bytes[me])
      continue;
    if (pe == me && to == piece) continue;
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: output {} of {} bytes overlaps PE {}'s piece of input, {} bytes from byte {} "
                "on; it must be this PE's piece (in place) or apart",
                function, output, pieces.bytes[me], pe, pieces.bytes[pe], pieces.offsets[pe]);
  }
}

reduction_calls::reduction_calls(heddle_team& team, const team_topology& topology) : team_(team) {
  args_.team = team.ref();
  args_.topology = topology;
}

plan_question reduction_calls::question(collective what, std::size_t bytes,
                                        heddle_type_t type) const {
  auto asked = team_.question(what, bytes);
  if (team_.accumulates_f32() && is_floating_point(type) && bytes_of(type) < sizeof(float))
    asked.widening = static_cast<int>(sizeof(float) / bytes_of(type));
  return asked;
}

reduction_calls::reduction reduction_calls::find(const char* function, heddle_type_t type,
                                                 heddle_op_t op) const {
  if (op >= HEDDLE_FIRST_CREATED_OP) [[unlikely]]
    return {type, op, &scaled_sums_.find(function, op, type)};
  if (static_cast<unsigned>(op) >= num_ops) [[unlikely]]
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is not a heddle_op_t", function,
                static_cast<int>(op));
  return {type, op, nullptr};
}

const reduction_calls::cached_kernel& reduction_calls::kernel_for(reduce_kind kind,
                                                                  std::size_t bytes,
                                                                  const reduction& by) {
  const auto bucket = static_cast<std::size_t>(std::bit_width(bytes - 1));
  const auto& buckets = (*kernels_)[static_cast<std::size_t>(kind)][by.type][by.combines()];
  if (buckets && (*buckets)[bucket].kernel.on_host) [[likely]]
    return (*buckets)[bucket];
  return make_kernel(kind, bucket, by);
}

const reduction_calls::cached_kernel& reduction_calls::make_kernel(reduce_kind kind,
                                                                   std::size_t bucket,
                                                                   const reduction& by) {
  const auto asked = question(collective_of(kind), std::size_t{1} << bucket, by.type);
  const auto plan = choose_reduction(asked);
  if (log::enabled(log::level::info, log::subsystem::coll))
    log::info(log::subsystem::coll, "{} up to {} bytes, team {}: {}", name_of(asked.what),
              asked.bytes, team_.name(), heddle::explain(plan, asked));
  auto& buckets = (*kernels_)[static_cast<std::size_t>(kind)][by.type][by.combines()];
  if (!buckets) buckets = std::make_unique<cached_kernels>();
  return (*buckets)[bucket] = {all_reduce_kernel(by.type, by.combines()), plan,
                               parameters_of(by.type, by.combines(), team_.n_pes())};
}

std::string reduction_calls::explain(collective what, std::size_t count, heddle_type_t type) const {
  const std::size_t pieces = what == collective::reduce_scatter ? team_.n_pes() : 1;
  const std::size_t bytes = std::min(count, most_bytes / pieces) * pieces * bytes_of(type);
  const auto asked = question(what, bytes == 0 ? 0 : std::bit_ceil(bytes), type);
  return heddle::explain(choose_reduction(asked), asked);
}

/// Where calls are compared: all members have made the same.
void reduction_calls::compare(const call& call, std::size_t count, std::size_t bytes,
                              const reduction& by) {
  const auto told = [&](const heddle_team::words& words) {
    auto text = fmt::format("count {}, type {}, op {}", words[1],
                            name_of(static_cast<heddle_type_t>(words[2])), name_of_op(words[3]));
    if (call.kind == reduce_kind::reduce) text += fmt::format(", root {}", words[4]);
    if (words[3] >= HEDDLE_FIRST_CREATED_OP) text += fmt::format(", factor {:#x}", words[5]);
    return text + chosen_way::told(words[6]);
  };
  const chosen_way way([&] {
    if (bytes == 0) return std::uint64_t{0};
    const auto& plan = kernel_for(call.kind, bytes, by).plan;
    return chosen_way::word_of(plan.algo, plan.proto, plan.channels, plan.wide);
  });
  way.require_same([&](std::uint64_t word) {
    team_.require_same_call(
        call.function,
        {0, count, static_cast<std::uint64_t>(by.type), static_cast<std::uint64_t>(by.op),
         static_cast<std::uint64_t>(call.root), by.scaled ? by.scaled->factor : 0, word},
        told);
  });
}

/// In each of its callers, which know the kind.
[[gnu::always_inline]] inline void reduction_calls::run(const call& call, const void* input,
                                                        void* output, std::size_t count,
                                                        heddle_type_t type, heddle_op_t op,
                                                        heddle_stream_t stream) {
  const char* function = call.function;
  const std::size_t bytes = bytes_of_elements(function, count, type);
  const reduction by = find(function, type, op);
  const int n_pes = team_.n_pes();
  const bool scatters = call.kind == reduce_kind::reduce_scatter;
  if (scatters && bytes > most_bytes / static_cast<std::size_t>(n_pes)) [[unlikely]]
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: {} elements for each of {} PEs are more than an address can reach", function,
                count, n_pes);
  const bool has_output = call.kind != reduce_kind::reduce || team_.my_pe() == call.root;
  require_buffers(function, input, has_output ? output : input, count, bytes_of(type));
  team_.check();
  const std::size_t input_bytes = scatters ? bytes * static_cast<std::size_t>(n_pes) : bytes;
  if (team_.compares_calls()) [[unlikely]]
    compare(call, count, input_bytes, by);
  if (bytes == 0) return;
  team_.require_reachable(function);

  const auto& kernel = kernel_for(call.kind, input_bytes, by);
  const auto& heap = team_.runtime().heap();
  args_.input = heap.translate(input, input_bytes);
  args_.output = has_output ? heap.translate(output, bytes) : nullptr;
  if (has_output)
    require_no_overlap(function, args_.input, input_bytes, args_.output, bytes,
                       scatters ? bytes * static_cast<std::size_t>(team_.my_pe()) : 0);
  args_.count = count;
  args_.kind = call.kind;
  args_.root = call.root;
  if (call.kind == reduce_kind::reduce)
    set_root(args_.topology, n_pes, call.root, team_.ring_order());
  args_.set(kernel.plan);
  args_.set(kernel.parameters);
  if (by.scaled) [[unlikely]]
    args_.set(parameters_of_scaled_sum(by.scaled->factor, by.scaled->on_device));
  // In place, what is written has just been read, and is in a cache.
  const auto* in = static_cast<const byte*>(args_.input);
  if (args_.output >= in && args_.output < in + input_bytes) args_.stores = detail::stores::cached;
  team_.launch_collective({kernel.plan.channels, kernel.plan.threads}, kernel.kernel, &args_,
                          sizeof args_, stream);
}

void reduction_calls::all_reduce(const void* input, void* output, std::size_t count,
                                 heddle_type_t type, heddle_op_t op, heddle_stream_t stream) {
  run({"heddle_all_reduce", reduce_kind::all_reduce}, input, output, count, type, op, stream);
}

void reduction_calls::reduce_scatter(const void* input, void* output, std::size_t count,
                                     heddle_type_t type, heddle_op_t op, heddle_stream_t stream) {
  run({"heddle_reduce_scatter", reduce_kind::reduce_scatter}, input, output, count, type, op,
      stream);
}

void reduction_calls::reduce_scatter_v(const void* input, void* output, const std::size_t* counts,
                                       const std::size_t* displacements, heddle_type_t type,
                                       heddle_op_t op, heddle_stream_t stream) {
  constexpr auto function = "heddle_reduce_scatter_v";
  const int n_pes = team_.n_pes();
  const auto me = static_cast<std::size_t>(team_.my_pe());
  const auto pieces = list_pieces(function, "", counts, displacements, type, n_pes);
  const reduction by = find(function, type, op);
  team_.check();
  if (team_.compares_calls()) compare({function, reduce_kind::reduce_scatter}, 0, 0, by);
  require_alike(team_, function, counts);
  require_buffers(function, input, counts[me] > 0 ? output : input,
                  *std::max_element(counts, counts + n_pes), bytes_of(type));
  require_apart(function, input, pieces, output);
  for (int pe = 0; pe < n_pes; ++pe)
    run({function, reduce_kind::reduce, pe},
        static_cast<const byte*>(input) + pieces.offsets[static_cast<std::size_t>(pe)], output,
        counts[pe], type, op, stream);
}

void reduction_calls::reduce(const void* input, void* output, std::size_t count, heddle_type_t type,
                             heddle_op_t op, int root, heddle_stream_t stream) {
  team_.require_pe("heddle_reduce", root);
  run({"heddle_reduce", reduce_kind::reduce, root}, input, output, count, type, op, stream);
}

}  // namespace heddle
