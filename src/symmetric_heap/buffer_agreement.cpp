// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/buffer_agreement.hpp"

#include <algorithm>

#include "bootstrap/byte_stream.hpp"
#include "support/throw_error.hpp"
#include "symmetric_heap/agreed_step.hpp"

namespace heddle {

buffer_agreement::buffer_agreement(bootstrap& bootstrap, const gpu::gpu& device,
                                   const device_peers& peers, const void* buffer, std::size_t bytes,
                                   deadline until)
    : kind_(peers.handles.kind) {
  // Descriptors do on one host, whatever the heap's own memory goes by.
  constexpr auto descriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const auto sufficient =
      static_cast<unsigned>(kind_ | (peers.handles.across_hosts ? 0 : descriptor));
  const char* what_to_do = peers.handles.across_hosts
                               ? "give cuMemCreate requestedHandleTypes with "
                                 "CU_MEM_HANDLE_TYPE_FABRIC, or allocate it by heddle_malloc"
                               : "give cuMemCreate requestedHandleTypes with "
                                 "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, or allocate it by "
                                 "heddle_malloc";
  const auto all = agreed_gather(bootstrap, until, [&] {
    buffer_ = device_buffer::find(device, buffer, bytes, peers.unit);
    const auto types = static_cast<unsigned>(buffer_.handle_types) & sufficient;
    if (peers.processes && types == 0)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "heddle_register: buffer {} of {} bytes: its memory was not made to be passed to "
                  "other processes as the heaps need it; {}",
                  buffer, bytes, what_to_do);
    byte_writer out;
    out.number(std::uint32_t{types});
    for (const auto& part : buffer_.parts) out.number(std::uint64_t{part.bytes});
    return out.take();
  });
  unsigned common = sufficient;
  for (const auto& said : all) {
    auto& theirs = sizes_.emplace_back();
    byte_reader in(said);
    common &= in.number<std::uint32_t>();
    while (!in.left().empty())
      theirs.push_back(static_cast<std::size_t>(in.number<std::uint64_t>()));
    rounds_ = std::max(rounds_, theirs.size());
  }
  if (peers.processes && common == 0)
    throw agreed_error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        fmt::format("heddle_register: the buffers of the PEs were not made to be passed to other "
                    "processes by one type of handle; {}, on every PE",
                    what_to_do));
  if ((common & static_cast<unsigned>(kind_)) == 0) kind_ = descriptor;
}

std::vector<heap_part> buffer_agreement::parts(std::size_t round, std::size_t offset) const {
  std::vector<heap_part> parts;
  for (const auto& sizes : sizes_) {
    std::size_t at = offset;
    for (std::size_t i = 0; i < std::min(round, sizes.size()); ++i) at += sizes[i];
    parts.push_back({at, round < sizes.size() ? sizes[round] : 0});
  }
  return parts;
}

const gpu::physical_memory& buffer_agreement::mine(std::size_t round) const {
  return buffer_.parts[std::min(round, buffer_.parts.size() - 1)].memory;
}

}  // namespace heddle
