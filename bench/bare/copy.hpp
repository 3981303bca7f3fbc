// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pair.hpp"

namespace bench::bare {

/// The larger of both processes' x, to both: a barrier.
double agree(pair& pair, double x);
/// Throws if the other process did not do its part in time.
void require_answer(bool arrived);

/// A way to copy bytes (a multiple of 8).
struct copy_method {
  std::string name;
  std::function<void(void* to, const void* from, std::size_t bytes)> run;
};

/// memcpy, and each instruction set's plain and streaming loop.
[[nodiscard]] std::vector<copy_method> copy_methods();

/// Copies into the other process's memory: a contender of sweep_puts, and the flag ping-pongs.
class copier {
 public:
  copier(pair& pair, const copy_method& method) : pair_(pair), method_(method) {}

  [[nodiscard]] int my_pe() const { return pair_.me(); }
  double agree(double x) { return bare::agree(pair_, x); }
  void puts(std::size_t bytes, std::uint64_t n);
  void verify(std::size_t bytes);

  /// A flag goes to and fro.
  void flag_round_trips(std::uint64_t n);
  /// An 8-byte payload and a flag go to and fro, in one line or in two; the payload is read and
  /// sent back increased.
  void payload_round_trips(std::uint64_t n, bool one_line);

 private:
  pair& pair_;
  const copy_method& method_;
};

}  // namespace bench::bare
