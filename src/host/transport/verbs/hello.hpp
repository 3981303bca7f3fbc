// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle::verbs {

/// What PEs of one job know and nobody else does.
using job_token = std::array<std::byte, 16>;

/// The datagram by which two PEs join the queue pairs of a lane:
///
///     A: post              hello(queue a)              ->  B: makes its queue pair, joins it to a
///     A: joins b, may send <-  answer(queue b, joined a)
///                          answer(queue a, joined b)   ->  B: may send
///
/// A side may send once the other has joined its queue pair: nothing that is sent meets a queue
/// pair that is not ready. Whoever wants to send repeats its hello until then; a hello is answered,
/// an answer is not, except the first. Both may begin at once: each answers the other's hello.
struct hello {
  bool is_answer = false;
  std::uint64_t from = 0;  ///< peer_address::id
  std::uint64_t to = 0;
  std::int32_t lane = 0;
  std::uint32_t queue = 0;   ///< number of the sender's queue pair
  std::uint32_t first = 0;   ///< number of its first packet
  std::uint32_t joined = 0;  ///< the receiver's queue pair that it is joined to; 0: none yet

  static constexpr std::size_t most_bytes = 128;
};

std::vector<std::byte> encode(const hello& message, const job_token& token);
/// Nothing if it is no hello of this job.
std::optional<hello> decode_hello(std::span<const std::byte> bytes, const job_token& token);

}  // namespace heddle::verbs
