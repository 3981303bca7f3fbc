// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "collective.hpp"

#include "all_reduce.hpp"

namespace bench::bare {

void collectives::copy(float* to, const float* from, std::size_t n) const {
  (streaming_ ? kernels_.copy_streaming : kernels_.copy)(to, from, n);
}

void collectives::say_ready() { raise(pair_.box(pair_.other()).ready, epoch_); }
void collectives::await_ready() { require_answer(wait_for(pair_.box(pair_.me()).ready, epoch_)); }
void collectives::say_done() { raise(pair_.box(pair_.other()).done, epoch_); }
void collectives::await_done() { require_answer(wait_for(pair_.box(pair_.me()).done, epoch_)); }

void collectives::broadcast(std::size_t piece) {
  ++epoch_;
  const std::size_t n = piece / sizeof(float);
  const std::size_t begin = is_root() ? 0 : n / 2;
  const std::size_t mine = is_root() ? n / 2 : n - n / 2;
  say_ready();
  await_ready();
  copy(pair_.output(1) + begin, pair_.output(0) + begin, mine);
  say_done();
  await_done();
}

void collectives::all_gather(std::size_t piece) {
  ++epoch_;
  const std::size_t n = piece / sizeof(float);
  float* out = pair_.output(pair_.me());
  say_ready();
  copy(out + static_cast<std::size_t>(pair_.me()) * n, pair_.input(pair_.me()), n);
  await_ready();
  copy(out + static_cast<std::size_t>(pair_.other()) * n, pair_.input(pair_.other()), n);
  say_done();
  await_done();
}

void collectives::all_to_all(std::size_t piece) {
  ++epoch_;
  const std::size_t n = piece / sizeof(float);
  const std::size_t mine = static_cast<std::size_t>(pair_.me()) * n;
  float* out = pair_.output(pair_.me());
  say_ready();
  copy(out + mine, pair_.input(pair_.me()) + mine, n);
  await_ready();
  copy(out + static_cast<std::size_t>(pair_.other()) * n, pair_.input(pair_.other()) + mine, n);
  say_done();
  await_done();
}

void collectives::gather(std::size_t piece) {
  ++epoch_;
  const std::size_t n = piece / sizeof(float);
  say_ready();
  await_ready();  // the root's output may be written
  copy(pair_.output(0) + (is_root() ? 0 : n), pair_.input(pair_.me()), n);
  say_done();
  await_done();
}

void collectives::scatter(std::size_t piece) {
  ++epoch_;
  const std::size_t n = piece / sizeof(float);
  if (is_root()) {
    say_ready();
    copy(pair_.output(0), pair_.input(0), n);
    return await_done();
  }
  await_ready();
  copy(pair_.output(1), pair_.input(0) + n, n);
  say_done();
}

void collectives::reduce_scatter(std::size_t piece) {
  ++epoch_;
  const std::size_t n = piece / sizeof(float);
  const std::size_t mine = static_cast<std::size_t>(pair_.me()) * n;
  say_ready();
  await_ready();
  kernels_.add(pair_.output(pair_.me()), pair_.input(0) + mine, pair_.input(1) + mine, n);
  say_done();
  await_done();
}

void collectives::reduce(std::size_t piece) {
  ++epoch_;
  const std::size_t n = piece / sizeof(float);
  const std::size_t begin = is_root() ? 0 : n / 2;
  const std::size_t mine = is_root() ? n / 2 : n - n / 2;
  say_ready();
  await_ready();
  kernels_.add(pair_.output(0) + begin, pair_.input(0) + begin, pair_.input(1) + begin, mine);
  say_done();
  await_done();
}

}  // namespace bench::bare
