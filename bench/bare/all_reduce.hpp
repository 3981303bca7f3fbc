// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pair.hpp"

namespace bench::bare {

/// AllReduce of two processes, written straight on shared memory.
///
///     words     out: {4 data, 4 flag} words into the peer's mailbox    in: look at each word
///     lines     out: {56 data, 8 flag} lines                           in: look at each line
///     one_shot  out: copy into the peer's slot, one flag               in: one flag, add
///     pull      flag, out = my input + the peer's input, flag
///     two_shot  flag, my half of both outputs = sum of both inputs, flag
///
/// The first three keep two mailboxes that alternate from call to call: a process enters call e + 1
/// with everything of call e received, hence its peer has left call e - 1, whose mailbox is free.
/// A receiver that writes to the lines that it has read (the _take variants, and every flag) takes
/// them back into its own cache alone. Left as they are, they are in both caches, and the next
/// write to them is an upgrade that has to invalidate the other copy: measured up to twice as slow.
///
/// The last two need the flag before, since they read the peer's input, and the flag after, since
/// then the peer may change it.
struct algorithm {
  std::string name;
  std::size_t min_bytes;
  std::size_t max_bytes;
  /// False if the other process did not do its part in time.
  bool (*run)(pair&, const kernels&, std::uint64_t epoch, const float* input, float* output,
              std::size_t count);
};

[[nodiscard]] const std::vector<algorithm>& algorithms();

/// The kernels that this processor can run, the baseline first.
[[nodiscard]] std::vector<const kernels*> usable_kernels();

/// Sets the peer's copy of a flag.
void raise(flag& theirs, std::uint64_t value);
/// Waits for mine and takes its line back; false after ten seconds.
[[nodiscard]] bool wait_for(flag& mine, std::uint64_t value);

/// One algorithm with one instruction set: a contender of all_reduce_sweep.
class contender {
 public:
  contender(pair& pair, const algorithm& algorithm, const kernels& kernels, std::uint64_t& epoch)
      : pair_(pair), algorithm_(algorithm), kernels_(kernels), epoch_(epoch) {}

  [[nodiscard]] int my_pe() const { return pair_.me(); }
  [[nodiscard]] int n_pes() const { return 2; }
  [[nodiscard]] std::size_t capacity() const { return pair_.capacity(); }
  [[nodiscard]] float* input() const { return pair_.input(pair_.me()); }
  [[nodiscard]] float* output() const { return pair_.output(pair_.me()); }
  void all_reduce(const float* input, float* output, std::size_t count);

 private:
  pair& pair_;
  const algorithm& algorithm_;
  const kernels& kernels_;
  std::uint64_t& epoch_;
};

}  // namespace bench::bare
