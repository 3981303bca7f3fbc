// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What heddle-perf expects of a call, and that it finds each byte that is wrong.

#include <doctest/doctest.h>

#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "exact_inputs.hpp"
#include "moving_source.hpp"
#include "piece_content.hpp"

using namespace perf;

namespace {

/// As heddle.h has it: integers wrap, and an average divides what has wrapped; of floating point
/// all is exact.
template <class T>
T combined(redop op, const std::vector<T>& values) {
  const auto n = static_cast<int>(values.size());
  if constexpr (std::is_integral_v<T>) {
    T result = values.front();
    for (int i = 1; i < n; ++i) {
      const T each = values[static_cast<std::size_t>(i)];
      if (op == redop::prod)
        result = static_cast<T>(result * each);
      else if (op == redop::min)
        result = std::min(result, each);
      else if (op == redop::max)
        result = std::max(result, each);
      else
        result = static_cast<T>(result + each);
    }
    if (op == redop::avg) result = static_cast<T>(static_cast<long long>(result) / n);
    if (op == redop::mulsum) result = static_cast<T>(result * mulsum_factor);
    return result;
  } else {
    const auto number = [](T value) -> double {
      if constexpr (heddle::small_float<T>) {
        return heddle::to_float(value);
      } else {
        return static_cast<double>(value);
      }
    };
    double result = number(values.front());
    for (int i = 1; i < n; ++i) {
      const double each = number(values[static_cast<std::size_t>(i)]);
      if (op == redop::prod)
        result *= each;
      else if (op == redop::min)
        result = std::min(result, each);
      else if (op == redop::max)
        result = std::max(result, each);
      else
        result += each;
    }
    if (op == redop::avg) result /= n;
    if (op == redop::mulsum) result *= mulsum_factor;
    if constexpr (heddle::small_float<T>)
      return heddle::from_float<T>(static_cast<float>(result));
    else
      return static_cast<T>(result);
  }
}

constexpr auto all_ops = {redop::sum, redop::prod, redop::min,
                          redop::max, redop::avg,  redop::mulsum};

template <class T>
void check_type(int n_pes, std::initializer_list<redop> ops = all_ops) {
  constexpr std::size_t count = 9000;  // more than a period
  for (const auto op : ops) {
    std::vector<std::vector<T>> inputs;
    for (int pe = 0; pe < n_pes; ++pe)
      exact_inputs<T>(op, pe, n_pes).fill(inputs.emplace_back(count).data(), count, 3, 5);
    std::vector<T> output;
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<T> each;
      for (const auto& input : inputs) each.push_back(input[i]);
      output.push_back(combined(op, each));
    }
    const exact_inputs<T> values(op, n_pes - 1, n_pes);
    CAPTURE(static_cast<int>(op));
    CAPTURE(n_pes);
    CAPTURE(sizeof(T));
    CHECK(values.count_wrong(output.data(), count, 3, 5) == 0);
    // Of another call; but an average of 8 bits has no room for the sum of many.
    const bool is_constant = sizeof(T) == 1 && op == redop::avg && n_pes > 8;
    if (!is_constant) CHECK(values.count_wrong(output.data(), count, 4, 5) > count / 16);
    for (const std::size_t at : {std::size_t{0}, std::size_t{8190}, count - 1})
      reinterpret_cast<unsigned char*>(&output[at])[sizeof(T) - 1] ^= 1;
    CHECK(values.count_wrong(output.data(), count, 3, 5) == 3);
  }
}

}  // namespace

TEST_CASE("the reductions that heddle-perf expects are those of its inputs") {
  for (const int n_pes : {1, 2, 3, 8, 9}) {
    check_type<std::int8_t>(n_pes);
    check_type<std::uint8_t>(n_pes);
    check_type<std::int16_t>(n_pes);
    check_type<std::uint16_t>(n_pes);
    check_type<std::int32_t>(n_pes);
    check_type<std::uint32_t>(n_pes);
    check_type<std::int64_t>(n_pes);
    check_type<std::uint64_t>(n_pes);
    check_type<heddle::f8_e4m3>(n_pes);
    check_type<heddle::f8_e5m2>(n_pes);
    check_type<heddle::f16>(n_pes);
    check_type<heddle::bf16>(n_pes);
    check_type<float>(n_pes);
    check_type<double>(n_pes);
  }
  // Each PE finds what all give: a second for each type.
  check_type<std::int8_t>(128, {redop::sum, redop::avg});
  check_type<std::uint8_t>(256, {redop::avg});
}

TEST_CASE("each byte of a piece that is wrong is found") {
  const piece_content content;
  constexpr std::size_t n = 2 * piece_content::period + 1;
  std::vector<unsigned char> piece(n);
  content.fill(piece.data(), n, 1, 2, 7);
  CHECK(content.count_wrong(piece.data(), n, 1, 2, 7) == 0);
  CHECK(content.count_wrong(piece.data(), n, 2, 1, 7) > n / 2);
  CHECK(content.count_wrong(piece.data(), n, 1, 2, 8) > n / 2);
  for (const std::size_t at : {std::size_t{0}, piece_content::period, n - 1}) piece[at] ^= 1;
  CHECK(content.count_wrong(piece.data(), n, 1, 2, 7) == 3);
}

TEST_CASE("each byte that a put has not brought is found") {
  constexpr std::size_t n = 40'000;
  const moving_source of_one(1);
  std::vector<unsigned char> source(moving_source::bytes_for(n));
  of_one.fill(source.data(), n);
  for (const std::uint64_t call : {0, 1, 8, 9}) {
    const auto* moved = source.data() + moving_source::place(call);
    std::vector<unsigned char> there(moved, moved + n);
    CHECK(of_one.count_wrong(there.data(), n, call) == 0);
    CHECK(of_one.count_wrong(there.data(), n, call + 1) == n);
    CHECK(moving_source(2).count_wrong(there.data(), n, call) == n);
    for (const std::size_t at : {std::size_t{0}, std::size_t{16'383}, n - 1}) there[at] ^= 1;
    CHECK(of_one.count_wrong(there.data(), n, call) == 3);
  }
}
