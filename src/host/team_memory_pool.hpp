// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <heddle/device/coll/scratch.hpp>
#include <heddle/device/team_memory.hpp>

#include "symmetric_heap/heap_memory.hpp"

namespace heddle {

/// Where the teams live in the front of each heap: a fixed number of places, each with a team's
/// barriers, a mail slot per PE, and the collectives' scratch, and before them the control words of
/// all places. Sparse: what is not used is not touched, and all is zero before. The place of a team
/// is the same on all its members, which agree on it from the places they have free.
class team_memory_pool {
 public:
  static constexpr int max_places = 64;

  /// A message of a host call to all members of its team.
  struct alignas(cache_line) mail {
    std::array<std::uint64_t, 8> words;
    std::array<char, 184> abort_text;  ///< why this PE's user aborted the team
    std::uint64_t has_left;  ///< the id of the team whose place this PE uses no more: its last word
  };

  /// The same on all PEs of the job.
  struct shape {
    int places = max_places;
    int world_size = 1;
    bool with_links = true;  ///< memory for rings and trees
    bool of_cuda = false;    ///< for kernels on a GPU
  };

  /// In the front of this PE's heap of that memory, which has bytes_needed() and outlives it.
  team_memory_pool(heap_memory& memory, const shape& shape);

  [[nodiscard]] static std::size_t bytes_needed(const shape& shape);
  /// At the front of the region: what kernels of every device see.
  [[nodiscard]] static std::size_t control_bytes();

  /// A bit for each place that this PE has free.
  [[nodiscard]] std::uint64_t free_places() const { return free_; }
  void take(int place) { free_ &= ~(std::uint64_t{1} << place); }
  /// Makes the place zero, but for its control words, and free again. No member of the team that
  /// had it writes to it any more.
  void give_back(int place);

  /// All of a place but its control words.
  [[nodiscard]] std::byte* start(int place) const;
  [[nodiscard]] std::size_t bytes_per_place() const { return bytes_per_place_; }
  [[nodiscard]] team_control* control(int place) const;
  [[nodiscard]] team_memory* words(int place) const;
  [[nodiscard]] mail* mail_slots(int place) const;
  [[nodiscard]] std::byte* scratch(int place) const;

 private:
  heap_memory& memory_;
  int world_size_;
  std::size_t bytes_per_place_;
  std::uint64_t free_;
};

}  // namespace heddle
