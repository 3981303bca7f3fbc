// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <heddle/stream.hpp>
#include <heddle/team.hpp>

namespace perf {

/// Calls made, made + 1, ... of `bytes` from a moving_source to dst.
struct transfer {
  unsigned char* dst;
  const unsigned char* src;
  std::size_t bytes;
  std::uint64_t made;
  int calls;
};

/// Each enqueues a kernel of one block that makes the calls, one after another.
void launch_puts(const heddle::stream& queue, int threads, const heddle::team_ref& team,
                 const transfer& what);
void launch_gets(const heddle::stream& queue, int threads, const heddle::team_ref& team,
                 const transfer& what);
/// PE 0 and PE 1 put and signal in turn. `word` only grows: `before` exchanges were made with it
/// before the first of this source.
void launch_ping_pong(const heddle::stream& queue, int threads, const heddle::team_ref& team,
                      const transfer& what, heddle::signal* word, std::uint64_t before);
/// Blocks that each make the calls in a context of its own: a call is a batch of puts to PE 1 and a
/// quiet. Each put of a batch has a place of its own at the target, after those of earlier blocks,
/// and brings its own bytes: see put_in_batch.
struct batches {
  transfer each;
  int size;               ///< puts of a batch
  heddle::signal* words;  ///< one for each block, which counts its puts; null: they tell nobody
};
void launch_batches(const heddle::stream& queue, int blocks, int threads,
                    const heddle::team_ref& team, const batches& what);
/// The call of a moving_source whose bytes a put brings.
HEDDLE_FN constexpr std::uint64_t put_in_batch(std::uint64_t call, int block, int put) {
  return call + static_cast<std::uint64_t>(3 * block + put);
}
/// Of 1, to PE 1's word. For uint32_t and uint64_t.
template <class Word>
void launch_adds(const heddle::stream& queue, const heddle::team_ref& team, Word* word, int calls);

}  // namespace perf
