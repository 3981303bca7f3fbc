// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernels.hpp"

namespace bench::bare {

/// A word that one process writes and the other watches, with two lines to itself: processors
/// fetch lines in pairs.
struct alignas(128) flag {
  std::uint64_t value;
  std::uint64_t taken;  ///< written by the watcher, for nobody to read: see take_back
};

/// What each process writes for the other to see.
struct mailbox {
  static constexpr std::size_t max_words = 4096;
  static constexpr std::size_t max_lines = 1280;
  static constexpr std::size_t max_slot = 64 << 10;

  flag ping;
  flag ready;
  flag done;
  flag arrived[2];
  struct alignas(128) {
    std::uint64_t payload;
    std::uint64_t signal;
  } together;
  alignas(4096) word words[2][max_words];
  alignas(4096) line lines[2][max_lines];
  alignas(4096) float slot[2][max_slot / sizeof(float)];
};

/// Two processes over one shared mapping. Made by `run_pair`.
class pair {
 public:
  pair(char* base, std::size_t capacity) : base_(base), capacity_(capacity) {}

  [[nodiscard]] int me() const { return me_; }
  [[nodiscard]] int other() const { return 1 - me_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] mailbox& box(int pe) const;
  [[nodiscard]] float* input(int pe) const { return array(2 * pe); }
  [[nodiscard]] float* output(int pe) const { return array(2 * pe + 1); }

  void become(int pe) { me_ = pe; }

  /// Bytes of the mapping that holds `capacity` elements an array.
  static std::size_t mapping_bytes(std::size_t capacity);

 private:
  [[nodiscard]] float* array(int index) const;

  char* base_;
  std::size_t capacity_;
  int me_ = 0;
};

/// Runs body(pair) in two processes, each bound to one processor (of two cores, if this process may
/// use two), over fresh shared memory with arrays of `capacity` elements. Throws if either failed.
void run_pair(std::size_t capacity, const std::function<void(pair&)>& body);

}  // namespace bench::bare
