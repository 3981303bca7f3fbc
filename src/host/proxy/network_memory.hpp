// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <heddle/device/command_queue.hpp>
#include <heddle/device/proxy_ref.hpp>
#include <map>

#include "host/transport/transport.hpp"

namespace heddle {

/// The memory of this PE that the network itself reaches: ranges that are offered, and the pieces
/// of them that the transport has been shown, each with its key. A network that takes physical
/// memory for what it is shown is shown a piece when somebody asks for a place in it, others a
/// range at once.
class network_memory {
 public:
  /// Of a range that is shown piece by piece.
  static constexpr std::size_t piece_bytes = std::size_t{4} << 20;

  struct piece {
    int region;
    std::uint64_t offset;
    std::byte* start;
    std::size_t size;
    transport::bytes key;
  };

  explicit network_memory(transport& network) : network_(network) {}

  void offer(int region, std::uint64_t offset, std::byte* start, std::size_t size);
  /// Ends that for the range that begins there; its size, 0 if there was none.
  std::size_t withdraw(int region, std::uint64_t offset);
  /// Nothing of that region is shown any more: it cannot be.
  void hide(int region) { hidden_ |= 1u << region; }
  [[nodiscard]] bool is_hidden(int region) const {
    return region >= proxy_ref::max_regions || (hidden_ >> region & 1) != 0;
  }

  /// The piece with that place in it; null if it is in no range, or hidden. Throws what the
  /// transport does if it cannot be shown (HEDDLE_ERROR_OUT_OF_MEMORY or SYSTEM).
  const piece* find(symmetric_place place);
  /// The piece with that address in it; null if it is in no range, or cannot be shown.
  const piece* find_local(const void* address);

 private:
  struct range {
    int region;
    std::uint64_t offset;
    std::byte* start;
    std::size_t size;
  };
  const piece* find_in(const range& around, std::uint64_t within);
  void show(const range& around, std::uint64_t first, std::size_t size);

  transport& network_;
  bool was_refused_ = false;
  unsigned hidden_ = 0;                      ///< regions, as bits
  std::map<symmetric_place, range> ranges_;  ///< by their first place
  std::map<const std::byte*, range> by_address_;
  std::map<symmetric_place, piece> pieces_;
};

}  // namespace heddle
