// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/transport/transport.hpp"

namespace heddle::libfabric {

/// What one peer has exposed, as the network names it.
class remote_memory {
 public:
  struct target {
    std::uint64_t address;
    std::uint64_t key;
  };

  /// `start`: what the network calls the first byte.
  void add(int region, std::uint64_t offset, std::size_t size, std::uint64_t start,
           std::uint64_t key);
  /// Throws HEDDLE_ERROR_INTERNAL if [place, place + size) is not inside one piece.
  [[nodiscard]] target find(const remote_place& place, std::size_t size) const;

 private:
  struct piece {
    int region;
    std::uint64_t offset;
    std::uint64_t size;
    std::uint64_t start;
    std::uint64_t key;
  };
  std::vector<piece> pieces_;  ///< by region and offset
};

}  // namespace heddle::libfabric
