// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "symmetric_heap/device_buffer.hpp"
#include "symmetric_heap/device_peers.hpp"

namespace heddle {

/// Where memory of a PE comes in its heap; no bytes: nowhere.
struct heap_part {
  std::size_t offset;
  std::size_t bytes;
};

/// The buffers that all PEs register in one call. Each may consist of other allocations than the
/// others': they are passed on in as many rounds as the buffer with the most of them needs.
class buffer_agreement {
 public:
  /// Throws on every PE alike, with the PE whose buffer cannot be taken, and why. Collective.
  buffer_agreement(bootstrap& bootstrap, const gpu::gpu& device, const device_peers& peers,
                   const void* buffer, std::size_t bytes, deadline until);

  [[nodiscard]] std::size_t rounds() const { return rounds_; }
  /// In which all buffers go to other processes.
  [[nodiscard]] CUmemAllocationHandleType kind() const { return kind_; }
  /// By PE, with the aliases at `offset`.
  [[nodiscard]] std::vector<heap_part> parts(std::size_t round, std::size_t offset) const;
  /// What this PE passes on; where it has no more parts, one that the others leave.
  [[nodiscard]] const gpu::physical_memory& mine(std::size_t round) const;

 private:
  device_buffer buffer_;
  std::vector<std::vector<std::size_t>> sizes_;  ///< by PE, of its parts
  std::size_t rounds_ = 0;
  CUmemAllocationHandleType kind_;
};

}  // namespace heddle
