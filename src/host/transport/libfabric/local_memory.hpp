// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "host/transport/gpu_memory.hpp"
#include "host/transport/libfabric/endpoint.hpp"
#include "host/transport/transport.hpp"

namespace heddle::libfabric {

/// A range of this process's memory that the network may use.
class registration {
 public:
  registration() = default;
  /// Throws HEDDLE_ERROR_OUT_OF_MEMORY with the limit that was met, or HEDDLE_ERROR_SYSTEM.
  /// `gpu`: whose memory it is; null: the host's.
  registration(const endpoint& endpoint, void* start, std::size_t size, std::uint64_t access,
               const gpu_memory* gpu = nullptr);

  [[nodiscard]] std::uint64_t key() const { return ::fi_mr_key(region_.get()); }
  [[nodiscard]] void* descriptor() const { return region_ ? ::fi_mr_desc(region_.get()) : nullptr; }
  [[nodiscard]] std::byte* end() const { return end_; }

 private:
  owned<fid_mr> region_;
  std::byte* end_ = nullptr;
};

/// The memory of this PE: what peers may reach, and what may be the local side of an operation.
class local_memory {
 public:
  /// What add_remote of a peer makes of a key.
  struct remote_key {
    std::uint64_t key;
    std::uint64_t start;  ///< what the provider calls the first byte: its address there, or 0
  };

  /// `gpu`: of region 0; null if that is the host's.
  local_memory(const endpoint& endpoint, const gpu_memory* gpu);

  [[nodiscard]] bool needs_registered_local() const { return needs_registered_local_; }

  transport::bytes expose(int region, std::uint64_t offset, void* start, std::size_t size);
  void conceal(int region, std::uint64_t offset) noexcept;
  void register_local(void* start, std::size_t size);
  void forget_local(void* start) noexcept;
  void forget_all() noexcept {
    exposed_.clear();
    local_.clear();
  }

  /// What the provider wants to be told of the local side of an operation; null where it wants
  /// nothing. Throws HEDDLE_ERROR_INTERNAL if it wants to and the range was never registered.
  [[nodiscard]] void* descriptor(const void* start, std::size_t size) const {
    return needs_registered_local_ || is_on_gpu(start) ? find_descriptor(start, size) : nullptr;
  }
  /// Whether no processor reads what is there.
  [[nodiscard]] bool is_on_gpu(const void* start) const;

 private:
  [[nodiscard]] void* find_descriptor(const void* start, std::size_t size) const;

  const endpoint& endpoint_;
  const gpu_memory* gpu_;
  const std::byte* gpu_base_ = nullptr;  ///< of region 0
  bool needs_registered_local_;
  bool keeps_addresses_;
  struct exposed_piece {
    std::byte* start;
    registration registered;
  };
  std::map<std::pair<int, std::uint64_t>, exposed_piece> exposed_;
  std::map<const std::byte*, registration> local_;
};

transport::bytes write_key(const local_memory::remote_key& key);
/// Throws HEDDLE_ERROR_INTERNAL if `key` is none.
local_memory::remote_key read_key(std::span<const std::byte> key);

}  // namespace heddle::libfabric
