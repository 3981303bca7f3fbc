// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "program.hpp"

/// The put benchmark of every contender: two processes.
namespace bench {

/// `puts` does n puts of `bytes` to the other process, each complete before the next, each after a
/// change of the source's first word. `agree` is time_per_iteration's.
template <class T>
concept put_contender = requires(T& contender, std::size_t bytes, std::uint64_t n, double x) {
  { contender.my_pe() } -> std::convertible_to<int>;
  { contender.agree(x) } -> std::convertible_to<double>;
  contender.puts(bytes, n);
  contender.verify(bytes);
};

/// Measures puts from PE 0 alone, then both ways at once, over the sizes.
template <put_contender Contender>
void sweep_puts(Contender& contender, const std::string& variant, const options& options) {
  const auto agree = [&](double x) { return contender.agree(x); };
  for (const std::size_t bytes : options.sizes()) {
    const double one_way = time_per_iteration(
        [&](std::uint64_t n) {
          if (contender.my_pe() == 0) contender.puts(bytes, n);
        },
        agree, options.measure.for_size(bytes));
    const double both_ways = time_per_iteration([&](std::uint64_t n) { contender.puts(bytes, n); },
                                                agree, options.measure.for_size(bytes));
    contender.verify(bytes);
    if (contender.my_pe() != 0) continue;
    report("put_one_way", variant, bytes, one_way);
    report("put_both_ways", variant, bytes, both_ways);
  }
}

/// Half the time of a round trip. `round_trips(n)` does n of them.
template <class Contender, class RoundTrips>
void time_ping_pong(Contender& contender, const std::string& what, const std::string& variant,
                    std::size_t bytes, const options& options, RoundTrips round_trips) {
  const double us = time_per_iteration(
      round_trips, [&](double x) { return contender.agree(x); }, options.measure);
  if (contender.my_pe() == 0) report(what, variant, bytes, us / 2);
}

}  // namespace bench
