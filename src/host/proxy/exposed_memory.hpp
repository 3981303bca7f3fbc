// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <heddle/device/command_queue.hpp>
#include <vector>

namespace heddle {

constexpr symmetric_place place_at(int region, std::uint64_t offset) {
  return offset | static_cast<std::uint64_t>(region) << place_region_shift;
}
constexpr int region_of(symmetric_place place) {
  return static_cast<int>(place >> place_region_shift);
}
constexpr std::uint64_t offset_of(symmetric_place place) {
  return place & ((std::uint64_t{1} << place_region_shift) - 1);
}

/// How the proxy reads and writes memory of this PE's device, where a processor cannot.
class device_memory {
 public:
  virtual ~device_memory() = default;
  /// Any memory of the process or its device; complete on return.
  virtual void copy(void* to, const void* from, std::size_t bytes) const = 0;
  /// A word as a whole, after what was copied before.
  virtual void store(std::uint64_t* word, std::uint64_t value) const = 0;
  /// On a word of 4 or 8 bytes; what was there.
  virtual std::uint64_t atomic(void* word, std::size_t bytes, atomic_op op, std::uint64_t value,
                               std::uint64_t compare) const = 0;
  /// What a network has written there itself, and told of, is seen by the device from now on.
  virtual void flush() const = 0;
};

/// The memory of this PE that others may reach through the network: pieces of its regions. Every
/// place that a peer names is looked up here before it is touched.
class exposed_memory {
 public:
  /// More than any process has addresses for.
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 48;

  /// `device` reaches region 0 and local buffers, if host threads do not; else null.
  explicit exposed_memory(const device_memory* device) : device_(device) {}

  void add(int region, std::uint64_t offset, std::byte* start, std::size_t size);
  /// What was added, or a part of it, goes.
  void remove(int region, std::uint64_t offset, std::size_t size);

  struct piece {
    int region;
    std::uint64_t offset;
    std::size_t size;
    std::byte* start;
  };
  /// The piece with that place in it; null if there is none.
  [[nodiscard]] const piece* find(symmetric_place place) const {
    for (const auto& piece : pieces_)
      if (place - place_at(piece.region, piece.offset) < piece.size) return &piece;
    return nullptr;
  }
  /// The address of `bytes` at a place; null unless all of them are exposed.
  [[nodiscard]] std::byte* resolve(symmetric_place place, std::size_t bytes) const {
    const piece* found = find(place);
    if (!found) return nullptr;
    const std::uint64_t within = offset_of(place) - found->offset;
    return bytes <= found->size - within ? found->start + within : nullptr;
  }
  /// Whether host threads load and store that region.
  [[nodiscard]] bool on_host(int region) const { return !device_ || region != 0; }

  /// Between memory of that region, or any local buffer (region 0), and the host's.
  void write(int region, void* to, const void* from, std::size_t bytes) const;
  void read(int region, void* to, const void* from, std::size_t bytes) const;
  /// A word as a whole; release.
  void store_word(int region, void* word, std::uint64_t value) const;
  /// The word at the same offset of the device's memory, for kernels to look at beside one that the
  /// hosts' memory has: see team_control. Nothing where the device is the host.
  void store_twin(symmetric_place place, std::uint64_t value) const;
  /// As one step, for every processor that sees the word; release.
  std::uint64_t atomic(int region, void* word, std::size_t bytes, atomic_op op, std::uint64_t value,
                       std::uint64_t compare) const;

 private:
  const device_memory* device_;
  std::vector<piece> pieces_;  ///< few: adjacent ones are one
};

}  // namespace heddle
