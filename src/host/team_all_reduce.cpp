// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>

#include "coll/all_reduce_kernels.hpp"
#include "host/element_bytes.hpp"
#include "host/runtime.hpp"
#include "host/team.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

using heddle::bytes_of_elements;
using heddle::element_bytes;
using heddle::throw_error;

namespace {

/// The bytes of a valid call; throws for one that is not.
std::size_t validated_bytes(const void* input, const void* output, std::size_t count,
                            heddle_type_t type, heddle_op_t op) {
  const std::size_t bytes = bytes_of_elements("heddle_all_reduce", count, type);
  if (static_cast<unsigned>(op) > HEDDLE_AVG)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "heddle_all_reduce: {} is not a heddle_op_t",
                static_cast<int>(op));
  if (bytes > 0 && (!input || !output))
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "heddle_all_reduce: {} is NULL, with a count of {}",
                input ? "output" : "input", count);
  const std::size_t size = element_bytes("heddle_all_reduce", type);
  if (((reinterpret_cast<std::uintptr_t>(input) | reinterpret_cast<std::uintptr_t>(output)) &
       (size - 1)) != 0)
    throw_error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        "heddle_all_reduce: input {} and output {} must be aligned to the element's {} bytes",
        input, output, size);
  return bytes;
}

/// In place, or apart: by the addresses that the buffers have in the heap, if they are registered.
void require_no_overlap(const void* input, const void* output, std::size_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(input);
  const auto to = reinterpret_cast<std::uintptr_t>(output);
  if (from != to && (from < to ? to - from : from - to) < bytes) [[unlikely]]
    throw_error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        "heddle_all_reduce: input {} and output {} of {} bytes overlap; they must be the same "
        "(in place) or apart",
        input, output, bytes);
}

}  // namespace

heddle::plan_question heddle_team::question(std::size_t bytes) const {
  const auto& settings = runtime_.environment();
  return {.bytes = bytes,
          .n_pes = n_pes(),
          .on_cuda = !runtime_.place().is_host(),
          .all_mapped = !host_ref().has_remote(),
          .has_domains = args_.topology.domains.count > 1,
          .has_multicast = ref().multicast_bytes() > 0,
          .whole_lines = runtime_.place().common().whole_lines,
          .max_blocks = runtime_.place().common().blocks,
          .cache_bytes = runtime_.cache_bytes(),
          .forced_algorithm = heddle::parse_algorithm(settings.algo),
          .forced_protocol = heddle::parse_protocol(settings.proto),
          .forced_channels = settings.channels,
          .forced_threads = settings.block_threads};
}

const heddle_team::cached_kernel& heddle_team::kernel_for(std::size_t bytes, heddle_type_t type,
                                                          heddle_op_t op) {
  const auto bucket = static_cast<std::size_t>(std::bit_width(bytes - 1));
  auto& buckets = kernels_[type][op];
  if (!buckets) [[unlikely]]
    buckets = std::make_unique<cached_kernels>();
  auto& cached = (*buckets)[bucket];
  if (!cached.kernel.on_host) [[unlikely]] {
    const auto asked = question(std::size_t{1} << bucket);
    cached.plan = heddle::choose_all_reduce(asked);
    cached.kernel = heddle::all_reduce_kernel(cached.plan, type, op);
    heddle::log::info(heddle::log::subsystem::coll, "all_reduce up to {} bytes, team {}: {}",
                      asked.bytes, name_, heddle::explain(cached.plan, asked));
  }
  return cached;
}

std::string heddle_team::explain_all_reduce(std::size_t count, heddle_type_t type) const {
  const std::size_t bytes =
      std::min(count, heddle::most_bytes) * heddle::element_bytes("heddle_all_reduce_plan", type);
  const auto asked = question(bytes == 0 ? 0 : std::bit_ceil(bytes));
  return heddle::explain(heddle::choose_all_reduce(asked), asked);
}

/// HEDDLE_CHECK=1: all members have made the same call.
void heddle_team::compare_calls(std::size_t count, heddle_type_t type, heddle_op_t op) const {
  const auto all =
      exchange({count, static_cast<std::uint64_t>(type), static_cast<std::uint64_t>(op)});
  for (std::size_t pe = 0; pe < all.size(); ++pe)
    if (all[pe] != all[0])
      throw_error(
          HEDDLE_ERROR_MISMATCH,
          "heddle_all_reduce on team {}: PE {} gave count {}, type {}, op {}; PE 0 gave count {}, "
          "type {}, op {}",
          name_, pe, all[pe][0], heddle::name_of(static_cast<heddle_type_t>(all[pe][1])),
          all[pe][2], all[0][0], heddle::name_of(static_cast<heddle_type_t>(all[0][1])), all[0][2]);
}

void heddle_team::all_reduce(const void* input, void* output, std::size_t count, heddle_type_t type,
                             heddle_op_t op, heddle_stream_t stream) {
  const std::size_t bytes = validated_bytes(input, output, count, type, op);
  check();
  if (runtime_.environment().check) compare_calls(count, type, op);
  if (bytes == 0) return;
  require_reachable("heddle_all_reduce");
  const auto& kernel = kernel_for(bytes, type, op);
  const auto& heap = runtime_.heap();
  args_.input = heap.translate(input, bytes);
  args_.output = heap.translate(output, bytes);
  require_no_overlap(args_.input, args_.output, bytes);
  args_.count = count;
  heddle::set_reduction(args_, type, op, n_pes());
  args_.stores =
      kernel.plan.streaming ? heddle::detail::stores::streaming : heddle::detail::stores::cached;
  launch_collective({kernel.plan.channels, kernel.plan.threads}, kernel.kernel, &args_,
                    sizeof args_, stream);
}
