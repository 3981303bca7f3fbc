// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "copy.hpp"

#include <cstring>
#include <stdexcept>

#include "all_reduce.hpp"
#include "spin.hpp"

namespace bench::bare {

namespace {

// The epoch of agree() and the count of ping-pongs go on through the whole program, as the flags
// do.
std::uint64_t agree_epoch = 0;
std::uint64_t ping_epoch = 0;

}  // namespace

void require_answer(bool arrived) {
  if (!arrived) throw std::runtime_error("the other process did not answer within ten seconds");
}

double agree(pair& pair, double x) {
  // Two slots that alternate, as in the one_shot AllReduce.
  ++agree_epoch;
  mailbox& mine = pair.box(pair.me());
  mailbox& theirs = pair.box(pair.other());
  std::memcpy(theirs.slot[agree_epoch % 2], &x, sizeof x);
  raise(theirs.arrived[agree_epoch % 2], agree_epoch);
  require_answer(wait_for(mine.arrived[agree_epoch % 2], agree_epoch));
  double other;
  std::memcpy(&other, mine.slot[agree_epoch % 2], sizeof other);
  return x > other ? x : other;
}

std::vector<copy_method> copy_methods() {
  std::vector<copy_method> methods = {
      {"memcpy", [](void* to, const void* from, std::size_t n) { std::memcpy(to, from, n); }}};
  for (const kernels* kernels : usable_kernels()) {
    const auto elements = [](auto copy) {
      return [copy](void* to, const void* from, std::size_t n) {
        copy(static_cast<float*>(to), static_cast<const float*>(from), n / sizeof(float));
      };
    };
    methods.push_back({std::string("loop ") + kernels->name, elements(kernels->copy)});
    methods.push_back(
        {std::string("streaming ") + kernels->name, elements(kernels->copy_streaming)});
  }
  return methods;
}

void copier::puts(std::size_t bytes, std::uint64_t n) {
  float* from = pair_.input(pair_.me());
  float* to = pair_.output(pair_.other());
  for (std::uint64_t i = 0; i < n; ++i) {
    from[0] = static_cast<float>(i & 1023);
    method_.run(to, from, bytes);
    asm volatile("" ::: "memory");
  }
}

void copier::verify(std::size_t bytes) {
  const std::size_t count = bytes / sizeof(float);
  float* source = pair_.input(pair_.me());
  for (std::size_t i = 0; i < count; ++i)
    source[i] = static_cast<float>((i + static_cast<std::size_t>(pair_.me())) & 1023);
  agree(0);
  puts(bytes, 1);
  agree(0);
  const float* arrived = pair_.output(pair_.me());
  for (std::size_t i = 1; i < count; i += 1 + count / 509)
    if (arrived[i] != static_cast<float>((i + static_cast<std::size_t>(pair_.other())) & 1023))
      throw std::runtime_error("the bare copy delivered wrong data");
  agree(0);
}

void copier::flag_round_trips(std::uint64_t n) {
  mailbox& mine = pair_.box(pair_.me());
  mailbox& theirs = pair_.box(pair_.other());
  for (std::uint64_t i = 0; i < n; ++i) {
    ++ping_epoch;
    if (pair_.me() == 0) raise(theirs.ping, ping_epoch);
    require_answer(wait_for(mine.ping, ping_epoch));
    if (pair_.me() == 1) raise(theirs.ping, ping_epoch);
  }
}

void copier::payload_round_trips(std::uint64_t n, bool one_line) {
  mailbox& mine = pair_.box(pair_.me());
  mailbox& theirs = pair_.box(pair_.other());
  std::uint64_t* payload = one_line ? &mine.together.payload : &mine.ready.value;
  std::uint64_t* target = one_line ? &theirs.together.payload : &theirs.ready.value;
  std::uint64_t* signal = one_line ? &mine.together.signal : &mine.done.value;
  std::uint64_t* ring = one_line ? &theirs.together.signal : &theirs.done.value;
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    ++ping_epoch;
    const auto send = [&] {
      __atomic_store_n(target, value, __ATOMIC_RELAXED);
      __atomic_store_n(ring, ping_epoch, __ATOMIC_RELEASE);
    };
    if (pair_.me() == 0) send();
    require_answer(
        spin_until([&] { return __atomic_load_n(signal, __ATOMIC_ACQUIRE) == ping_epoch; }));
    value = __atomic_load_n(payload, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(payload, 0, __ATOMIC_RELAXED);  // takes the lines back: see all_reduce.hpp
    mine.done.taken = ping_epoch;
    if (pair_.me() == 1) send();
  }
  if (pair_.me() == 0 && value != 2 * n)
    throw std::runtime_error("the bare ping-pong delivered wrong payloads");
}

}  // namespace bench::bare
