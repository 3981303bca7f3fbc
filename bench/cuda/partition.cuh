// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// How every contender moves an array: the same grids, sizes and parts.
namespace bench {

/// Of a block. 128 of them are to fit beside another PE, with the registers that a put takes.
inline constexpr int bandwidth_threads = 256;
inline constexpr int bandwidth_blocks[] = {1, 8, 32, 64, 128};

/// Groups of threads each move one contiguous part, its borders on lines of 128 bytes.
struct array_part {
  std::size_t begin, count;  ///< in words of 8 bytes

  __host__ __device__ static array_part of(std::size_t words, std::size_t index,
                                           std::size_t parts) {
    constexpr std::size_t line = 16;
    const std::size_t lines = (words + line - 1) / line;
    const std::size_t each = (lines + parts - 1) / parts * line;
    const std::size_t begin = each * index < words ? each * index : words;
    return {begin, each < words - begin ? each : words - begin};
  }
};

/// Sizes that so many blocks move in bearable time.
inline std::vector<std::size_t> bandwidth_sizes(int blocks) {
  std::vector<std::size_t> sizes;
  for (const std::size_t bytes : {std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{8} << 20,
                                  std::size_t{64} << 20, std::size_t{256} << 20})
    if (bytes <= static_cast<std::size_t>(blocks) * (std::size_t{8} << 20)) sizes.push_back(bytes);
  return sizes;
}

inline std::string blocks_name(const char* operation, int blocks) {
  return std::string(operation) + ", " + std::to_string(blocks) +
         (blocks == 1 ? " block" : " blocks");
}

/// Arrays of up to this size are looked at, word by word, before they are timed.
inline constexpr std::size_t verified_bytes = std::size_t{8} << 20;

/// What word i of the source holds.
inline std::size_t pattern(std::size_t i) { return i * 0x9e3779b97f4a7c15u + 1; }

}  // namespace bench
