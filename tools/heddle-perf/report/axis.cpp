// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text.hpp"

namespace perf::report {

namespace {

/// "0.01", "1", "20", "10,000": of the ticks, which have one digit that is not 0.
std::string tick_text(double value) {
  return value < 100 ? fmt::format("{:g}", value) : number_text(value);
}

/// The nearest of 1, 2 and 5 times a power of ten that is not above (or below) the value.
double round_down(double value) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
  const double digit = value / power * (1 + 1e-9);
  return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}
double round_up(double value) {
  const double below = round_down(value);
  if (value <= below * (1 + 1e-9)) return below;
  const double digit = below / std::pow(10, std::floor(std::log10(below) + 1e-9));
  return below * (digit > 1.5 && digit < 3 ? 2.5 : 2);
}

}  // namespace

double axis::place(double value) const {
  if (logarithmic_) return std::log(value / low_) / std::log(high_ / low_);
  return (value - low_) / (high_ - low_);
}

axis axis::of_sizes(std::size_t least, std::size_t most) {
  constexpr int most_labels = 7;
  axis made(static_cast<double>(least), static_cast<double>(most), true);
  if (least == most) {
    made.low_ /= 2;
    made.high_ *= 2;
  }
  const int first = static_cast<int>(std::ceil(std::log2(made.low_) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(made.high_) + 1e-9));
  const int step = std::max(1, (last - first + most_labels - 2) / (most_labels - 1));
  const auto add = [&](int power, bool labelled) {
    made.ticks_.push_back({std::pow(2, power), labelled ? size_text(std::size_t{1} << power) : ""});
  };
  for (int power = first; power < last; power += step) {
    const bool room = 4 * (last - power) >= 3 * step;
    add(power, room);
  }
  if (last >= first) add(last, true);
  return made;
}

axis axis::of_times(double least_us, double most_us) {
  axis made(round_down(least_us), round_up(most_us), true);
  if (made.high_ / made.low_ < 10) made.high_ = made.low_ * 10;
  const bool few = made.high_ / made.low_ < 150;
  double at = made.low_;
  while (at <= made.high_ * (1 + 1e-9)) {
    const double exponent = std::log10(at);
    const bool decade = std::fabs(exponent - std::round(exponent)) < 1e-6;
    if (decade || few) made.ticks_.push_back({at, tick_text(at)});
    at = round_up(at * 1.5);
  }
  return made;
}

axis axis::of_bandwidths(double most) {
  const double step = round_up(most / 6);
  const double steps = std::ceil(most / step - 1e-9);
  axis made(0, step * steps, false);
  for (int i = 0; i <= static_cast<int>(steps); ++i)
    made.ticks_.push_back({step * i, tick_text(step * i)});
  return made;
}

}  // namespace perf::report
