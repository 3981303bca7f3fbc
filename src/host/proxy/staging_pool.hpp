// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "host/transport/transport.hpp"

namespace heddle {

/// Memory between the network and what it cannot reach itself: private buffers where the network
/// wants them registered, and a GPU's memory. Made when it is first needed.
class staging_pool {
 public:
  static constexpr std::size_t chunk_bytes = std::size_t{256} << 10;
  static constexpr int chunks = 16;

  explicit staging_pool(transport& network) : network_(network) {}
  ~staging_pool();
  staging_pool(const staging_pool&) = delete;
  staging_pool& operator=(const staging_pool&) = delete;

  /// -1: none is free.
  int take();
  void give_back(int chunk) { free_.push_back(chunk); }
  /// Instead, where the network may still read or write there: nobody takes that chunk any more,
  /// and there will be another.
  void abandon() { ++to_replace_; }
  [[nodiscard]] std::byte* at(int chunk) const { return places_[static_cast<std::size_t>(chunk)]; }

 private:
  void add(int count);

  struct unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const;
  };
  transport& network_;
  std::vector<std::unique_ptr<std::byte, unmap>> mappings_;
  std::vector<std::byte*> places_;  ///< of the chunks
  std::vector<int> free_;
  int to_replace_ = chunks;
};

}  // namespace heddle
