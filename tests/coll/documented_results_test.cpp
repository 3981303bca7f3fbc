// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What is promised of results beside the values themselves: the order in which inputs are combined,
// the same bits on all PEs and in every run, and the corners of the operations. The other suites'
// inputs are exact in any order; these are not.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "coll/dealt_domains.hpp"
#include "coll/reduction_runner.hpp"
#include "kernels/forced_way.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

/// Every PE's elements.
template <class T>
using columns = std::vector<std::vector<T>>;

/// What there is of the combination of these inputs: all that each PE has of an AllReduce, what the
/// last PE has of a Reduce, the pieces of a ReduceScatter, which divides them, put together.
template <class T>
columns<T> combine(const local_team& team, const plan& chosen, const team_domains& domains,
                   heddle_type_t type, heddle_op_t op, const columns<T>& inputs, reduce_kind kind) {
  const std::size_t all = inputs[0].size();
  const std::size_t piece = kind == reduce_kind::reduce_scatter ? all / inputs.size() : all;
  const int root = team.n_pes() - 1;
  columns<T> outputs(inputs.size(), std::vector<T>(piece));
  team.run([&](int pe) {
    const auto i = static_cast<std::size_t>(pe);
    library_kernel kernel{all_reduce_kernel(type, op).on_host,
                          args_of(chosen, team.ref(pe), type, op, inputs[i].data(),
                                  outputs[i].data(), piece, team.ring())};
    kernel.args.kind = kind;
    kernel.args.root = root;
    set_root(kernel.args.topology, team.n_pes(), root, team.ring());
    set_domains(kernel.args.topology, domains, domains.pes.data());
    team.launch(pe, 2, kernel);
    if (team.ref(pe).aborted()) throw std::runtime_error("the team was aborted");
  });
  if (kind == reduce_kind::all_reduce) return outputs;
  if (kind == reduce_kind::reduce) return {outputs.back()};
  columns<T> together(1);
  for (const auto& each : outputs) together[0].insert(together[0].end(), each.begin(), each.end());
  return together;
}

/// check(reduce, n_pes, plan), where reduce<T>(type, op, inputs) is an AllReduce by that plan, or
/// reduce<T>(type, op, inputs, kind) of its kin.
template <class Check>
void with_every_plan(const Check& check) {
  std::vector<plan> plans(std::begin(all_plans), std::end(all_plans));
  plans.push_back({.algo = algorithm::hierarchical, .proto = protocol::simple});
  for (const int n_pes : fewer<int>({2, 3, 4, 7}, {3, 4}))
    for (const plan& chosen : plans) {
      const bool by_domains = chosen.algo == algorithm::hierarchical;
      if (by_domains && n_pes != 4) continue;
      const auto domains = by_domains ? domains_of(n_pes, n_pes / 2, false) : team_domains{};
      const local_team team(n_pes, {.threads = block_threads()});
      CAPTURE(n_pes);
      CAPTURE(name_of(chosen.algo));
      CAPTURE(name_of(chosen.proto));
      CAPTURE(chosen.wide);
      check(
          [&]<class T>(heddle_type_t type, heddle_op_t op, const columns<T>& inputs,
                       reduce_kind kind = reduce_kind::all_reduce) {
            return combine(team, chosen, domains, type, op, inputs, kind);
          },
          n_pes, chosen);
    }
}

template <class T>
T from_number(float value) {
  if constexpr (small_float<T>)
    return from_float<T>(value);
  else
    return static_cast<T>(value);
}

template <class T>
double value_of(T of) {
  if constexpr (small_float<T>)
    return static_cast<double>(to_float(of));
  else
    return static_cast<double>(of);
}

template <class T>
T sum_of(T a, T b) {
  if constexpr (small_float<T>)
    return from_float<T>(to_float(a) + to_float(b));
  else
    return a + b;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// The sum of x in that order of PEs, rounded at every step or once.
template <class T>
T folded(const std::vector<T>& x, bool once) {
  if constexpr (small_float<T>) {
    if (once) {
      float sum = to_float(x[0]);
      for (std::size_t i = 1; i < x.size(); ++i) sum += to_float(x[i]);
      return from_float<T>(sum);
    }
  }
  T sum = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) sum = sum_of(sum, x[i]);
  return sum;
}

template <class T>
std::vector<T> rotated(std::vector<T> x, std::size_t first) {
  std::rotate(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(first), x.end());
  return x;
}

template <class T>
T up_the_tree(const std::vector<T>& x, int pe, int tree) {
  const auto& mine = topology_of(pe, static_cast<int>(x.size())).trees[tree];
  const T own = x[static_cast<std::size_t>(pe)];
  if (mine.children[0] < 0 && mine.children[1] < 0) return own;
  // Children first, in order, then this PE's.
  std::vector<T> parts;
  for (const int child : mine.children)
    if (child >= 0) parts.push_back(up_the_tree(x, child, tree));
  parts.push_back(own);
  return folded(parts, true);
}

/// What the sum of one element may be: which of the ring's chunks or of the two trees it belongs
/// to, is not told here.
template <class T>
std::vector<T> sums_of(const plan& by, const std::vector<T>& x) {
  const std::size_t n = x.size();
  std::vector<T> all;
  switch (by.algo) {
    case algorithm::ring:
      for (std::size_t c = 0; c < n; ++c) all.push_back(folded(rotated(x, c), by.wide));
      return all;
    case algorithm::tree:
      for (const int tree : {0, 1})
        for (int pe = 0; pe < static_cast<int>(n); ++pe)
          if (topology_of(pe, static_cast<int>(n)).trees[tree].parent < 0)
            all.push_back(up_the_tree(x, pe, tree));
      return all;
    case algorithm::hierarchical: {
      const auto half = static_cast<std::ptrdiff_t>(n / 2);
      const std::vector<T> hosts = {folded(std::vector<T>(x.begin(), x.begin() + half), true),
                                    folded(std::vector<T>(x.begin() + half, x.end()), true)};
      return {folded(hosts, true)};
    }
    default:
      return {folded(x, true)};
  }
}

/// Of so different sizes, and both signs, that the order of a sum shows.
template <class T>
columns<T> uneven_inputs(int n_pes, std::size_t count) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> significand(1, 2);
  std::uniform_int_distribution<int> exponent(-6, 6), sign(0, 1);
  columns<T> all(static_cast<std::size_t>(n_pes), std::vector<T>(count));
  for (auto& column : all)
    for (auto& each : column) {
      const float value =
          std::ldexp(significand(random), exponent(random)) * (sign(random) ? 1.0f : -1.0f);
      each = from_number<T>(value);
      if constexpr (!small_float<T>) each /= 3;
    }
  return all;
}

template <class T>
void check_order(const auto& reduce, int n_pes, const plan& chosen, heddle_type_t type,
                 reduce_kind kind) {
  // A piece of a ReduceScatter is as odd.
  const auto n = static_cast<std::size_t>(n_pes);
  const std::size_t count = kind == reduce_kind::reduce_scatter ? 1001 * n : 3001;
  const auto inputs = uneven_inputs<T>(n_pes, count);
  const auto found = reduce(type, HEDDLE_SUM, inputs, kind);
  for (const auto& theirs : found)
    REQUIRE(first_difference(theirs.data(), found[0].data(), count) == count);
  const auto again = reduce(type, HEDDLE_SUM, inputs, kind);
  REQUIRE(first_difference(again[0].data(), found[0].data(), count) == count);
  std::size_t strange = 0, ordered = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<T> x;
    for (const auto& column : inputs) x.push_back(column[i]);
    const auto may_be = sums_of(chosen, x);
    strange += std::none_of(may_be.begin(), may_be.end(),
                            [&](const T& each) { return same_bits(each, found[0][i]); });
    std::reverse(x.begin(), x.end());
    ordered += !same_bits(folded(x, true), found[0][i]);
  }
  CHECK(strange == 0);
  // Small floats, whose sums have bits to spare, are hardly told apart.
  if (n_pes > 2 && !small_float<T>) CHECK(ordered > 0);
}

}  // namespace

TEST_CASE("inputs are combined in the order that is documented, alike on all PEs and every time" *
          doctest::test_suite("threads")) {
  with_every_plan([](const auto& reduce, int n_pes, const plan& chosen) {
    for (const auto kind :
         {reduce_kind::all_reduce, reduce_kind::reduce_scatter, reduce_kind::reduce}) {
      // That of a tree in rounds: see below.
      if (kind == reduce_kind::reduce_scatter && chosen.algo == algorithm::tree) continue;
      CAPTURE(kind);
      check_order<float>(reduce, n_pes, chosen, HEDDLE_FLOAT32, kind);
      check_order<double>(reduce, n_pes, chosen, HEDDLE_FLOAT64, kind);
      check_order<f16>(reduce, n_pes, chosen, HEDDLE_FLOAT16, kind);
      check_order<bf16>(reduce, n_pes, chosen, HEDDLE_BFLOAT16, kind);
    }
  });
}

namespace {

/// An AllReduce of a program's by that plan, each PE's elements.
template <class T>
void check_programs_order(const team& world, const plan& chosen, const std::string& name) {
  const auto n_pes = world.n_pes();
  const auto inputs = uneven_inputs<T>(n_pes, 3001);
  const auto& mine = inputs[static_cast<std::size_t>(world.my_pe())];
  std::vector<T> found(mine.size());
  world.all_reduce(mine.data(), found.data(), mine.size(), op::sum);
  std::size_t strange = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    std::vector<T> x;
    for (const auto& column : inputs) x.push_back(column[i]);
    const auto may_be = sums_of(chosen, x);
    strange += std::none_of(may_be.begin(), may_be.end(),
                            [&](const T& each) { return same_bits(each, found[i]); });
  }
  check(strange == 0, name + " of " + std::to_string(n_pes) + " PEs: " + std::to_string(strange) +
                          " sums in another order");
}

}  // namespace

TEST_CASE("a program's inputs are combined in that order wherever the PEs are") {
  struct known_way {
    way forced;
    plan documented;
  };
  const auto simple = HEDDLE_PROTOCOL_SIMPLE;
  const known_way ways[] = {
      {{HEDDLE_ALGORITHM_ONE_SHOT, simple, "one_shot"}, {.algo = algorithm::one_shot}},
      {{HEDDLE_ALGORITHM_TWO_SHOT, simple, "two_shot"}, {.algo = algorithm::two_shot}},
      {{HEDDLE_ALGORITHM_RING, simple, "ring"}, {.algo = algorithm::ring}},
      {{HEDDLE_ALGORITHM_RING, simple, "ring"}, {.algo = algorithm::ring, .wide = true}},
      {{HEDDLE_ALGORITHM_TREE, simple, "tree"}, {.algo = algorithm::tree}},
      {{HEDDLE_ALGORITHM_HIERARCHICAL, simple, "hierarchical"}, {.algo = algorithm::hierarchical}}};
  for (const int n_pes : pe_counts({2, 3, 4}))
    run_pes(n_pes, [&](runtime& self) {
      const auto world = self.world();
      const auto at = find_placement(self, self.create_stream());
      for (const auto& [wanted, documented] : ways) {
        if (wanted.algorithm == HEDDLE_ALGORITHM_HIERARCHICAL && !at.has_hierarchy) continue;
        const forced here(world, HEDDLE_COLLECTIVE_ALL_REDUCE, wanted);
        world.set_accumulate_f32(documented.wide);
        const auto told = world.plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 3001, HEDDLE_FLOAT32);
        check(told.rfind(wanted.name, 0) == 0, std::string(wanted.name) + " became " + told);
        check_programs_order<float>(world, documented, told);
        check_programs_order<f16>(world, documented, told);
        world.set_accumulate_f32(false);
      }
    });
}

namespace {

/// At the PE `distance` before the one that is to have the sum, when it sends it on or has it.
template <class T>
T in_rounds(const std::vector<T>& x, int owner, int distance) {
  const int n_pes = static_cast<int>(x.size());
  T sum = x[static_cast<std::size_t>((owner - distance + n_pes) % n_pes)];
  for (int hop = 1 << 15; hop > distance; hop /= 2)
    if (distance + hop < n_pes) sum = sum_of(in_rounds(x, owner, distance + hop), sum);
  return sum;
}

}  // namespace

TEST_CASE("a ReduceScatter in rounds combines in the order that is documented" *
          doctest::test_suite("threads")) {
  run_many_pes(66, [](runtime& self) {
    const auto world = self.world();
    constexpr std::size_t count = 7;
    const auto me = static_cast<std::size_t>(world.my_pe());
    const auto inputs = uneven_inputs<float>(world.n_pes(), 66 * count);
    std::vector<float> found(count);
    world.reduce_scatter(inputs[me].data(), found.data(), count, op::sum);
    const auto told = world.plan(HEDDLE_COLLECTIVE_REDUCE_SCATTER, count, HEDDLE_FLOAT32);
    check(told.rfind("tree simple", 0) == 0, told);
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<float> x;
      for (const auto& column : inputs) x.push_back(column[me * count + i]);
      check(same_bits(in_rounds(x, world.my_pe(), 0), found[i]), "a sum in another order");
    }
  });
}

TEST_CASE("calls in rounds and by hosts may follow each other at once" *
          doctest::test_suite("threads")) {
  if (std::getenv("HEDDLE_P2P_DISABLE")) return;  // each PE is a host then
  const environment_variable hosts("HEDDLE_PES_PER_HOST", "14");
  run_many_pes(70, [](runtime& self) {
    const auto world = self.world();
    const int n_pes = world.n_pes();
    constexpr std::size_t count = 160;
    const auto number = static_cast<float>(world.my_pe());
    const float sum = static_cast<float>(n_pes * (n_pes - 1) / 2);
    const std::vector<float> input(static_cast<std::size_t>(n_pes) * count, number);
    // What a neighbour brings for so few is where this PE has its own sum.
    constexpr std::size_t few = 3;
    std::vector<float> scattered(count), reduced(few);
    const auto wrong = [&](const std::vector<float>& found) {
      return std::count_if(found.begin(), found.end(), [&](float each) { return each != sum; });
    };
    std::ptrdiff_t of_rounds = 0, of_hosts = 0;
    for (int call = 0; call < (is_cut_short() ? 5 : 20); ++call) {
      world.reduce_scatter(input.data(), scattered.data(), count, op::sum);
      world.all_reduce(input.data(), reduced.data(), few, op::sum);
      of_rounds += wrong(scattered);
      of_hosts += wrong(reduced);
    }
    check(of_rounds == 0, std::to_string(of_rounds) + " wrong sums of reduce_scatter");
    check(of_hosts == 0, std::to_string(of_hosts) + " wrong sums of all_reduce");
    check(world.plan(HEDDLE_COLLECTIVE_REDUCE_SCATTER, count, HEDDLE_FLOAT32)
              .starts_with("tree simple"),
          "reduce_scatter in rounds");
    check(world.plan(HEDDLE_COLLECTIVE_ALL_REDUCE, few, HEDDLE_FLOAT32).starts_with("hierarchical"),
          "all_reduce by hosts");
  });
}

namespace {

template <class T>
void check_extremes(const auto& reduce, int n_pes, heddle_type_t type) {
  // As signed numbers, or by their low bits, these have another order.
  constexpr T high = std::numeric_limits<T>::max(), low = std::numeric_limits<T>::lowest();
  const std::vector<T> some = {high, low, static_cast<T>(high / 2 + 1), T{5}, T{0}};
  columns<T> inputs;
  for (int pe = 0; pe < n_pes; ++pe)
    inputs.push_back(rotated(some, static_cast<std::size_t>(pe) % 5));
  const auto least = reduce(type, HEDDLE_MIN, inputs);
  const auto largest = reduce(type, HEDDLE_MAX, inputs);
  for (std::size_t i = 0; i < some.size(); ++i) {
    T min = inputs[0][i], max = inputs[0][i];
    for (const auto& column : inputs) {
      min = std::min(min, column[i]);
      max = std::max(max, column[i]);
    }
    for (std::size_t pe = 0; pe < inputs.size(); ++pe) {
      CHECK(least[pe][i] == min);
      CHECK(largest[pe][i] == max);
    }
  }
}

template <class T>
void check_average(const auto& reduce, int n_pes, heddle_type_t type) {
  // Negative where there is such, and divided by nothing; the last wrap.
  constexpr std::size_t count = 40;
  columns<T> inputs(static_cast<std::size_t>(n_pes), std::vector<T>(count));
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t pe = 0; pe < inputs.size(); ++pe)
      inputs[pe][i] = i < 30 ? static_cast<T>(static_cast<int>(i + pe) - 17)
                             : static_cast<T>(std::numeric_limits<T>::max() - static_cast<T>(i));
  const auto found = reduce(type, HEDDLE_AVG, inputs);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t sum = 0;
    for (const auto& column : inputs) sum += static_cast<std::uint64_t>(column[i]);
    const T wrapped = static_cast<T>(sum);
    T expected;
    if constexpr (std::is_signed_v<T>)
      expected = static_cast<T>(static_cast<std::int64_t>(wrapped) / n_pes);
    else
      expected =
          static_cast<T>(static_cast<std::uint64_t>(wrapped) / static_cast<std::uint64_t>(n_pes));
    for (const auto& theirs : found) CHECK(theirs[i] == expected);
  }
}

template <class T>
void check_nan(const auto& reduce, int n_pes, heddle_type_t type) {
  // Element i has one from PE i, the last from none.
  const auto n = static_cast<std::size_t>(n_pes);
  columns<T> inputs(n, std::vector<T>(n + 1, from_number<T>(1)));
  for (std::size_t pe = 0; pe < n; ++pe)
    inputs[pe][pe] = from_number<T>(std::numeric_limits<float>::quiet_NaN());
  for (const auto op : {HEDDLE_MIN, HEDDLE_MAX})
    for (const auto& theirs : reduce(type, op, inputs)) {
      for (std::size_t i = 0; i < n; ++i) CHECK(std::isnan(value_of(theirs[i])));
      CHECK(value_of(theirs[n]) == 1);
    }
}

}  // namespace

TEST_CASE("minima and maxima are those of the type's own order" * doctest::test_suite("threads")) {
  with_every_plan([](const auto& reduce, int n_pes, const plan&) {
    for_each_type([&]<class T>(T, heddle_type_t type) {
      if constexpr (!small_float<T>) check_extremes<T>(reduce, n_pes, type);
    });
  });
}

TEST_CASE("averages of integers, whose sums wrap, are cut off towards zero" *
          doctest::test_suite("threads")) {
  with_every_plan([](const auto& reduce, int n_pes, const plan&) {
    for_each_type([&]<class T>(T, heddle_type_t type) {
      if constexpr (std::is_integral_v<T>) check_average<T>(reduce, n_pes, type);
    });
  });
}

TEST_CASE("a NaN of any PE is the minimum and the maximum" * doctest::test_suite("threads")) {
  with_every_plan([](const auto& reduce, int n_pes, const plan&) {
    for_each_type([&]<class T>(T, heddle_type_t type) {
      if constexpr (!std::is_integral_v<T>) check_nan<T>(reduce, n_pes, type);
    });
  });
}
