// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/atomic.hpp>
#include <heddle/device/group.hpp>

/// The LL128 protocol's lines: data and one flag in 128 bytes that arrive together, so that there
/// is nothing to order, and 15 of 16 bytes are data where LL has half.
///
// clang-format off
///     | word 0 | word 1 | ... | word 14 | flag |     a line: 16 words of 8 bytes
// clang-format on
///
/// CUDA: eight threads in a row store a line by one instruction of their warp, 16 bytes each.
/// Between GPUs joined by NVLink, and in the memory of one, the 128 bytes stay together: who sees
/// the flag can load the data. PCI Express may split them, so a plan has LL128 only where they are
/// known to stay together (plan_question::whole_lines). Only stores do: a reader loads the data
/// after it has seen the flag.
/// Host: one thread writes a line and then its flag, with release; the reader acquires it.
///
/// A flag is a count of 64 bits plus one. It never comes again, so nothing is cleared or written
/// anew, as LL's flags of 32 bits demand. (Idea: NCCL's LL128.)
namespace heddle {

struct alignas(128) ll128_line {
  static constexpr int words = 15;
  static constexpr size_t bytes = size_t{words} * 8;  ///< of data

  /// How many lines have room for that many bytes of data.
  HEDDLE_FN static constexpr size_t count_for(size_t data) { return (data + bytes - 1) / bytes; }

  uint64_t word[words];
  uint64_t flag;
};

/// The threads that move a line together. The group's lines go to its threads in turn.
template <group G>
class line_team {
 public:
#if HEDDLE_ON_CUDA
  static constexpr int threads = 8;
  static constexpr int words = 2;  ///< of a line that a thread has; the last thread has the flag
  static constexpr int agreeing = 32;
  static_assert(!standard::is_same_v<G, thread_group>, "LL128 is for groups of whole warps");
#else
  static constexpr int threads = 1;
  static constexpr int words = ll128_line::words;
  static constexpr int agreeing = 1;
#endif

  HEDDLE_FN explicit line_team(const G& group)
      : rank_(group.rank()), lines_(static_cast<size_t>(group.size() / threads)) {}

  /// Which thread of its line's this is.
  HEDDLE_FN int part() const { return rank_ % threads; }
  /// The first line of this thread, and of those that agree with it (a warp).
  HEDDLE_FN size_t line() const { return static_cast<size_t>(rank_ / threads); }
  HEDDLE_FN size_t first_line() const {
    return static_cast<size_t>(rank_ / agreeing) * (agreeing / threads);
  }
  /// From each line of a thread to its next: what the group moves at once.
  HEDDLE_FN size_t apart() const { return lines_; }

  /// Whether it holds on all threads that agree; afterwards they are converged, and each may load
  /// what the others have seen the flag of.
  HEDDLE_FN bool all(bool condition) const {
#if HEDDLE_ON_CUDA
    return cuda_warp{}.all(condition);
#else
    return condition;
#endif
  }

 private:
  int rank_;
  size_t lines_;
};

/// What a thread has of a line. On CUDA thread p has words p and p + 8 of the user's data, side by
/// side in the line, so that eight threads read and write user memory without gaps.
template <group G>
using line_words = uint64_t[line_team<G>::words];

/// Stores a line; nothing where it is null. On CUDA all threads of the warp make the call, the
/// eight of a line alike.
template <group G>
HEDDLE_FN void ll128_store(const line_team<G>& team, ll128_line* line, const line_words<G>& words,
                           uint64_t flag) {
#if HEDDLE_ON_CUDA
  const uint64_t second = team.part() == line_team<G>::threads - 1 ? flag : words[1];
  __syncwarp();
  // No branch that the eight could take apart.
  asm volatile(
      "{\n"
      ".reg .pred there;\n"
      "setp.ne.u64 there, %0, 0;\n"
      "@there st.relaxed.sys.v2.u64 [%1], {%2, %3};\n"
      "}" ::"l"(line),
      "l"(reinterpret_cast<uintptr_t>(line) + 16 * static_cast<unsigned>(team.part())),
      "l"(words[0]), "l"(second)
      : "memory");
#else
  (void)team;
  if (!line) return;
  memcpy(line->word, words, sizeof words);
  store(&line->flag, flag, release);
#endif
}

/// The flag that a line carries now. After it the data may be loaded.
HEDDLE_FN inline uint64_t ll128_flag(const ll128_line* line) {
#if HEDDLE_ON_CUDA
  return load(&line->flag, relaxed);
#else
  return load(&line->flag, acquire);
#endif
}

/// The data of a line whose flag has been seen; zeros where it is null.
template <group G>
HEDDLE_FN void ll128_load(const line_team<G>& team, const ll128_line* line, line_words<G>& words) {
#if HEDDLE_ON_CUDA
  asm volatile(
      "{\n"
      ".reg .pred there;\n"
      "setp.ne.u64 there, %2, 0;\n"
      "mov.u64 %0, 0;\n"
      "mov.u64 %1, 0;\n"
      "@there ld.relaxed.sys.v2.u64 {%0, %1}, [%3];\n"
      "}"
      : "=&l"(words[0]), "=&l"(words[1])
      : "l"(line), "l"(reinterpret_cast<uintptr_t>(line) + 16 * static_cast<unsigned>(team.part()))
      : "memory");
#else
  (void)team;
  if (line) {
    memcpy(words, line->word, sizeof words);
  } else {
    memset(words, 0, sizeof words);
  }
#endif
}

}  // namespace heddle
