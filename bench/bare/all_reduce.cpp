// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "all_reduce.hpp"

#include <algorithm>
#include <stdexcept>

#include "spin.hpp"

namespace bench::bare {

void raise(flag& theirs, std::uint64_t value) {
  __atomic_store_n(&theirs.value, value, __ATOMIC_RELEASE);
}

bool wait_for(flag& mine, std::uint64_t value) {
  const bool here =
      spin_until([&] { return __atomic_load_n(&mine.value, __ATOMIC_ACQUIRE) == value; });
  mine.taken = value;
  return here;
}

namespace {

constexpr std::size_t line_elements = 64 / sizeof(float);

bool words(pair& pair, const kernels& kernels, std::uint64_t epoch, const float* input,
           float* output, std::size_t count) {
  const auto flag = static_cast<std::uint32_t>(epoch);
  kernels.send_words(pair.box(pair.other()).words[epoch % 2], input, count, flag);
  return kernels.receive_words(output, pair.box(pair.me()).words[epoch % 2], input, count, flag);
}

template <bool Take>
bool lines(pair& pair, const kernels& kernels, std::uint64_t epoch, const float* input,
           float* output, std::size_t count) {
  line* arriving = pair.box(pair.me()).lines[epoch % 2];
  kernels.send_lines(pair.box(pair.other()).lines[epoch % 2], input, count, epoch);
  if (!kernels.receive_lines(output, arriving, input, count, epoch)) return false;
  if (Take)
    for (std::size_t i = 0; i * line::elements < count; ++i) arriving[i].flag = 0;
  return true;
}

template <bool Take>
bool one_shot(pair& pair, const kernels& kernels, std::uint64_t epoch, const float* input,
              float* output, std::size_t count) {
  mailbox& theirs = pair.box(pair.other());
  mailbox& mine = pair.box(pair.me());
  float* slot = mine.slot[epoch % 2];
  kernels.copy(theirs.slot[epoch % 2], input, count);
  raise(theirs.arrived[epoch % 2], epoch);
  if (!wait_for(mine.arrived[epoch % 2], epoch)) return false;
  kernels.add(output, input, slot, count);
  if (Take)
    for (std::size_t i = 0; i < count; i += line_elements) slot[i] = 0;
  return true;
}

const float* peers_input(const pair& pair, const float* input) {
  return pair.input(pair.other()) + (input - pair.input(pair.me()));
}

bool pull(pair& pair, const kernels& kernels, std::uint64_t epoch, const float* input,
          float* output, std::size_t count) {
  mailbox& theirs = pair.box(pair.other());
  mailbox& mine = pair.box(pair.me());
  raise(theirs.ready, epoch);
  if (!wait_for(mine.ready, epoch)) return false;
  kernels.add(output, input, peers_input(pair, input), count);
  raise(theirs.done, epoch);
  return wait_for(mine.done, epoch);
}

template <bool Streaming>
bool two_shot(pair& pair, const kernels& kernels, std::uint64_t epoch, const float* input,
              float* output, std::size_t count) {
  const std::size_t half =
      std::min(count, (count / 2 + line_elements - 1) / line_elements * line_elements);
  const std::size_t begin = pair.me() == 0 ? 0 : half;
  const std::size_t mine_count = pair.me() == 0 ? half : count - half;
  float* theirs_output = pair.output(pair.other()) + (output - pair.output(pair.me()));
  mailbox& theirs = pair.box(pair.other());
  mailbox& mine = pair.box(pair.me());
  raise(theirs.ready, epoch);
  if (!wait_for(mine.ready, epoch)) return false;
  (Streaming ? kernels.add_to_both_streaming : kernels.add_to_both)(
      output + begin, theirs_output + begin, input + begin, peers_input(pair, input) + begin,
      mine_count);
  raise(theirs.done, epoch);
  return wait_for(mine.done, epoch);
}

}  // namespace

const std::vector<algorithm>& algorithms() {
  constexpr std::size_t largest = 1 << 30;
  static const std::vector<algorithm> all = {
      {"words", 8, 16 << 10, words},
      {"lines", 8, 64 << 10, lines<false>},
      {"lines_take", 8, 64 << 10, lines<true>},
      {"one_shot", 8, 64 << 10, one_shot<false>},
      {"one_shot_take", 8, 64 << 10, one_shot<true>},
      {"pull", 8, largest, pull},
      {"two_shot", 8, largest, two_shot<false>},
      {"two_shot_streaming", 512 << 10, largest, two_shot<true>},
  };
  return all;
}

std::vector<const kernels*> usable_kernels() {
  std::vector<const kernels*> usable = {&portable_kernels};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) usable.push_back(&avx2_kernels);
  if (__builtin_cpu_supports("avx512f")) usable.push_back(&avx512_kernels);
#endif
  return usable;
}

void contender::all_reduce(const float* input, float* output, std::size_t count) {
  if (!algorithm_.run(pair_, kernels_, ++epoch_, input, output, count))
    throw std::runtime_error("the other process did not answer within ten seconds, in the bare " +
                             algorithm_.name + " AllReduce");
}

}  // namespace bench::bare
