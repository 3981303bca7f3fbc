// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "coll/all_reduce_kernels.hpp"
#include "coll/exact_values.hpp"
#include "coll/topology.hpp"
#include "device/local_team.hpp"
#include "doctest/cut_short.hpp"

namespace heddle::testing {

/// Those of teams whose PEs memory joins.
inline constexpr plan all_plans[] = {
    {.algo = algorithm::one_shot, .proto = protocol::ll},
    {.algo = algorithm::one_shot, .proto = protocol::ll128},
    {.algo = algorithm::one_shot, .proto = protocol::simple},
    {.algo = algorithm::two_shot, .proto = protocol::simple},
    {.algo = algorithm::multicast, .proto = protocol::simple},
    {.algo = algorithm::ring, .proto = protocol::simple},
    {.algo = algorithm::ring, .proto = protocol::simple, .wide = true},
    {.algo = algorithm::ring, .proto = protocol::ll},
    {.algo = algorithm::ring, .proto = protocol::ll128},
    {.algo = algorithm::tree, .proto = protocol::simple},
    {.algo = algorithm::tree, .proto = protocol::ll},
    {.algo = algorithm::tree, .proto = protocol::ll128},
};

/// Where a sum that is doubled has its factor, if it is.
enum class doubled { no, by_argument, by_memory };

enum class buffers { symmetric, misaligned, private_memory, private_on_odd_pes };

/// A kernel of the library's with its arguments, as local_team launches it.
struct library_kernel {
  heddle_kernel_entry_t entry;
  typed_all_reduce_args args;
  void operator()(host_block block) const { entry(&args, &block); }
};

template <class T>
typed_all_reduce_args args_of(const plan& chosen, const team_ref& team, heddle_type_t type,
                              heddle_op_t op, const T* input, T* output, std::size_t count,
                              const team_order& order = {}) {
  typed_all_reduce_args args;
  args.set(chosen);
  args.team = team;
  args.topology = topology_of(team.my_pe(), team.n_pes(), order);
  args.input = input;
  args.output = output;
  args.count = count;
  args.set(parameters_of(type, op, team.n_pes()));
  return args;
}

template <class T>
reduction_parameters parameters_of_doubled(doubled by) {
  static constexpr typename accumulator<T>::type two{2};
  std::uint64_t bits = 0;
  if (by == doubled::by_argument) std::memcpy(&bits, &two, sizeof two);
  return parameters_of_scaled_sum(bits, by == doubled::by_memory ? &two : nullptr);
}

/// body(an element, its type)
template <class Body>
void for_each_type(const Body& body) {
  body(std::int32_t{}, HEDDLE_INT32);
  body(std::int64_t{}, HEDDLE_INT64);
  body(std::int8_t{}, HEDDLE_INT8);
  body(std::int16_t{}, HEDDLE_INT16);
  body(std::uint8_t{}, HEDDLE_UINT8);
  body(std::uint16_t{}, HEDDLE_UINT16);
  body(std::uint32_t{}, HEDDLE_UINT32);
  body(std::uint64_t{}, HEDDLE_UINT64);
  body(f8_e4m3{}, HEDDLE_FLOAT8_E4M3);
  body(f8_e5m2{}, HEDDLE_FLOAT8_E5M2);
  body(f16{}, HEDDLE_FLOAT16);
  body(bf16{}, HEDDLE_BFLOAT16);
  body(float{}, HEDDLE_FLOAT32);
  body(double{}, HEDDLE_FLOAT64);
}

/// One AllReduce after the other on all PEs of a team, each checked element by element.
struct runner {
  const local_team& team;
  plan chosen;
  int channels = 1;
  int call = 0;
  team_domains domains{};  ///< for what goes by them
  doubled sums = doubled::no;

  template <class T>
  void all_reduce(heddle_type_t type, heddle_op_t op, std::size_t count, bool in_place,
                  buffers where = buffers::symmetric) {
    ++call;
    const auto entry = all_reduce_kernel(type, op).on_host;
    const exact_call<T> exact(op, count, call, team.n_pes(), scale());
    team.run([&](int pe) {
      const std::size_t skew = where == buffers::misaligned ? sizeof(T) : 0;
      const bool is_private =
          where == buffers::private_memory || (where == buffers::private_on_odd_pes && pe % 2 == 1);
      std::vector<T> own(is_private ? 2 * count + 2 : 0);
      T* input = own.empty() ? team.user<T>(pe, skew) : own.data();
      T* output = in_place      ? input
                  : own.empty() ? team.user<T>(pe, (std::size_t{24} << 20) + 2 * skew)
                                : own.data() + count + 1;
      std::ranges::copy(exact.input(pe), input);
      output[count] = guard<T>();
      library_kernel kernel{
          entry, args_of(chosen, team.ref(pe), type, op, input, output, count, team.ring())};
      set_domains(kernel.args.topology, domains, domains.pes.data());
      if (sums != doubled::no) kernel.args.set(parameters_of_doubled<T>(sums));
      team.launch(pe, channels, kernel);
      if (team.ref(pe).aborted()) throw std::runtime_error("the team was aborted");
      expect_result(pe, output, exact.result.data(), count);
      expect_guard(output[count]);
      if (!in_place && first_difference(input, exact.input(pe).data(), count) != count)
        throw std::runtime_error("an input was changed");
    });
  }

  /// ReduceScatter or Reduce: `count` elements of the output, on the PE or the PEs that have one.
  template <class T>
  void reduce(reduce_kind kind, heddle_type_t type, heddle_op_t op, std::size_t count,
              bool in_place, buffers where = buffers::symmetric) {
    ++call;
    const auto entry = all_reduce_kernel(type, op).on_host;
    const int n_pes = team.n_pes();
    const int root = call % n_pes;
    const bool scatters = kind == reduce_kind::reduce_scatter;
    const std::size_t all = scatters ? count * static_cast<std::size_t>(n_pes) : count;
    const exact_call<T> exact(op, all, call, n_pes, scale());
    team.run([&](int pe) {
      const std::size_t skew = where == buffers::misaligned ? sizeof(T) : 0;
      const bool is_private =
          where == buffers::private_memory || (where == buffers::private_on_odd_pes && pe % 2 == 1);
      const bool has_output = scatters || pe == root;
      const std::size_t mine = scatters ? static_cast<std::size_t>(pe) * count : 0;
      std::vector<T> own(is_private ? all + count + 2 : 0);
      T* input = own.empty() ? team.user<T>(pe, skew) : own.data();
      T* output = !has_output   ? nullptr
                  : in_place    ? input + mine
                  : own.empty() ? team.user<T>(pe, (std::size_t{48} << 20) + 2 * skew)
                                : own.data() + all + 1;
      std::ranges::copy(exact.input(pe), input);
      if (has_output && !in_place) output[count] = guard<T>();
      library_kernel kernel{
          entry, args_of(chosen, team.ref(pe), type, op, input, output, count, team.ring())};
      kernel.args.kind = kind;
      kernel.args.root = root;
      set_root(kernel.args.topology, n_pes, root, team.ring());
      set_domains(kernel.args.topology, domains, domains.pes.data());
      if (sums != doubled::no) kernel.args.set(parameters_of_doubled<T>(sums));
      team.launch(pe, channels, kernel);
      if (team.ref(pe).aborted()) throw std::runtime_error("the team was aborted");
      if (has_output) expect_result(pe, output, exact.result.data() + mine, count);
      if (has_output && !in_place) expect_guard(output[count]);
      const auto is_kept = [&](std::size_t begin, std::size_t end) {
        const T* expected = exact.input(pe).data();
        return first_difference(input + begin, expected + begin, end - begin) == end - begin;
      };
      const bool is_overwritten = in_place && has_output;
      if (!is_kept(0, is_overwritten ? mine : all) ||
          (is_overwritten && !is_kept(mine + count, all)))
        throw std::runtime_error("an input was changed");
    });
  }
  template <class T>
  void reduce_both(heddle_type_t type, heddle_op_t op, std::size_t count, bool in_place,
                   buffers where = buffers::symmetric) {
    reduce<T>(reduce_kind::reduce, type, op, count, in_place, where);
    if (chosen.algo != algorithm::tree)  // which has no ReduceScatter
      reduce<T>(reduce_kind::reduce_scatter, type, op, count, in_place, where);
  }

  [[nodiscard]] int scale() const { return sums == doubled::no ? 1 : 2; }

  /// What is behind an output before the call, and after it.
  template <class T>
  static T guard() {
    return from_int<T>(77);
  }
  template <class T>
  static void expect_guard(const T& found) {
    const T expected = guard<T>();
    if (std::memcmp(&found, &expected, sizeof(T)) != 0)
      throw std::runtime_error("written past the end");
  }
  template <class T>
  static void expect_result(int pe, const T* found, const T* expected, std::size_t count) {
    const std::size_t wrong = first_difference(found, expected, count);
    if (wrong < count)
      throw std::runtime_error("PE " + std::to_string(pe) + ": element " + std::to_string(wrong) +
                               " of " + std::to_string(count) + " is wrong");
  }

  void all_types(heddle_op_t op, std::size_t count, bool in_place) {
    for_each_type(
        [&]<class T>(T, heddle_type_t type) { all_reduce<T>(type, op, count, in_place); });
  }
  void reduce_all_types(heddle_op_t op, std::size_t count, bool in_place) {
    for_each_type(
        [&]<class T>(T, heddle_type_t type) { reduce_both<T>(type, op, count, in_place); });
  }
  /// Sums of all types, doubled.
  void all_doubled(std::size_t count) {
    for (const auto by : {doubled::by_argument, doubled::by_memory}) {
      sums = by;
      all_types(HEDDLE_SUM, count, by == doubled::by_memory);
      reduce_all_types(HEDDLE_SUM, count, by == doubled::by_argument);
    }
    sums = doubled::no;
  }
};

template <class T>
std::vector<T> fewer(std::vector<T> all, std::vector<T> if_cut_short) {
  return is_cut_short() ? if_cut_short : all;
}
inline std::vector<int> pe_counts(std::vector<int> all) { return fewer(std::move(all), {2, 3}); }
/// All five; cut short two of them for an even number (of PEs, of domains), the other three for an
/// odd one, from another on at each call: both numbers together have all.
inline std::vector<heddle_op_t> some_ops(int number) {
  static std::array<std::size_t, 2> drawn{};
  const std::vector<heddle_op_t> all = {HEDDLE_SUM, HEDDLE_PROD, HEDDLE_MIN, HEDDLE_MAX,
                                        HEDDLE_AVG};
  const bool odd = number % 2 == 1;
  const std::size_t first = 2 * drawn[odd ? 1 : 0]++ + (odd ? 2 : 0);
  std::vector<heddle_op_t> some;
  for (std::size_t i = 0; i < (odd ? 3 : 2); ++i) some.push_back(all[(first + i) % all.size()]);
  return fewer<heddle_op_t>(all, some);
}

}  // namespace heddle::testing
