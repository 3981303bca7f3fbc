// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/transport/gpu_memory.hpp"
#include "host/transport/verbs/library.hpp"

namespace heddle::verbs {

/// Makes [start, start + size) known to a card. Throws HEDDLE_ERROR_OUT_OF_MEMORY, with the limit
/// that was met, or HEDDLE_ERROR_SYSTEM.
owned_region register_memory(ibv_pd* domain, void* start, std::size_t size, int access);

/// How a card is shown a GPU's memory: by a dmabuf, or, with the module nvidia_peermem, as any
/// other memory.
enum class gpu_way : std::uint8_t { none, dmabuf, peer_memory };
/// None: `why_none` says why.
gpu_way way_to_gpu(ibv_pd* domain, const gpu_memory& gpu, std::string& why_none);
/// As register_memory, for memory of a GPU.
owned_region register_gpu_memory(ibv_pd* domain, gpu_way way, const gpu_memory& gpu, void* start,
                                 std::size_t size, int access);

/// Equal pieces of registered memory that are taken and given back.
class buffer_pool {
 public:
  buffer_pool() = default;
  buffer_pool(ibv_pd* domain, std::size_t piece_bytes, std::size_t pieces);

  [[nodiscard]] bool empty() const { return free_.empty(); }
  std::uint32_t take() {
    const auto piece = free_.back();
    free_.pop_back();
    return piece;
  }
  void give_back(std::uint32_t piece) { free_.push_back(piece); }

  [[nodiscard]] std::byte* at(std::uint32_t piece) const {
    return memory_.get() + piece * piece_bytes_;
  }
  [[nodiscard]] std::uint32_t index_of(const std::byte* start) const {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(start - memory_.get()) /
                                      piece_bytes_);
  }
  [[nodiscard]] std::uint32_t key() const { return region_->lkey; }
  [[nodiscard]] std::size_t piece_bytes() const { return piece_bytes_; }

 private:
  std::size_t piece_bytes_ = 0;
  std::unique_ptr<std::byte[]> memory_;
  owned_region region_;
  std::vector<std::uint32_t> free_;
};

}  // namespace heddle::verbs
