// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The reductions that kernels call: each is exact with each type and each operation, from every
// block of a grid and from one alone, wherever the PEs are.

#include <doctest/doctest.h>

#include <algorithm>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <string>
#include <vector>

#include "kernels/draws.hpp"
#include "kernels/exact_reductions.hpp"
#include "kernels/on_device.hpp"
#include "kernels/reduction_call.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

constexpr std::size_t most_bytes = 60'007;  // several pieces for each PE
constexpr int num_kinds = static_cast<int>(reducing::reduce_scatter_v) + 1;
constexpr const char* names[] = {"all_reduce", "reduce_scatter", "reduce", "reduce_scatter_v"};

using launcher = void (*)(const stream&, int, int, const reduction_call&);
/// As reduced_types.
constexpr std::array<launcher, reduced_types.size()> launchers = {
    launch_reduction<std::int8_t>,   launch_reduction<std::int16_t>,
    launch_reduction<std::int32_t>,  launch_reduction<std::int64_t>,
    launch_reduction<std::uint8_t>,  launch_reduction<std::uint16_t>,
    launch_reduction<std::uint32_t>, launch_reduction<std::uint64_t>,
    launch_reduction<f8_e4m3>,       launch_reduction<f8_e5m2>,
    launch_reduction<f16>,           launch_reduction<bf16>,
    launch_reduction<float>,         launch_reduction<double>};

/// One PE's buffers and calls. Inputs and outputs are checked whole, and what follows an output.
class reducer {
 public:
  reducer(const runtime& self, std::size_t most)
      : me_(static_cast<std::size_t>(self.my_pe())),
        n_pes_(static_cast<std::size_t>(self.n_pes())),
        queue_(self.create_stream()),
        room_((most + n_pes_ * 16 + 4096) / 64 * 64),
        heap_(self, 2 * room_),
        own_(self, 2 * room_),
        lists_(self, 2 * n_pes_) {}

  /// `turn` chooses the scope and whatever else should not matter.
  void call(const team& team, reducing what, std::size_t type, int reduction,
            const exact_pattern& pattern, std::size_t n, std::size_t turn) {
    const auto& element = reduced_types[type];
    const bool scatters = what == reducing::reduce_scatter;
    const bool has_lists = what == reducing::reduce_scatter_v;
    std::vector<heddle::size_t> lists(2 * n_pes_);
    std::size_t all = scatters ? n_pes_ * n : n;
    std::size_t mine = n;
    std::size_t place = scatters ? me_ * n : 0;
    if (has_lists) {
      // About n elements in all, of which some PEs have none.
      all = 0;
      for (std::size_t pe = 0; pe < n_pes_; ++pe) {
        lists[pe] = (turn + pe) % 3 * n / (2 * n_pes_) + (turn + pe) % 2;
        lists[n_pes_ + pe] = all;
        all += lists[pe];
      }
      mine = lists[me_];
      place = lists[n_pes_ + me_];
      write(queue_, lists_.data(), lists);
    }
    const bool in_place = draws_.one_in(3);
    const std::size_t skew = draws_.one_in(4) ? element.size : 0;
    const std::size_t root = draws_.below(n_pes_);
    const std::size_t from = draws_.below(exact_pattern::period);
    const int blocks = 1 + static_cast<int>(draws_.below(3));
    const int block_threads = draws_.one_in(4) ? threads() : 1;
    const bool is_told = what != reducing::reduce || me_ == root;
    std::byte* in = (draws_.one_in(3) ? own_.data() : heap_.data()) + skew;
    std::byte* out = in_place ? in + place * element.size : in + room_;

    const auto given = exact_pattern::cut(pattern.input, element.size, all, from);
    write(queue_, in, given);
    if (!in_place) write(queue_, out, octets(mine * element.size + guard, poison));
    launchers[type](queue_, blocks, block_threads,
                    {team.ref(), what, reduction, turn % 2 == 0, in, is_told ? out : nullptr, n,
                     static_cast<int>(root), lists_.data(), lists_.data() + n_pes_});
    const auto describe = [&](const char* kind) {
      return std::string(names[static_cast<int>(what)]) + (in_place ? " in place" : "") +
             (turn % 2 == 0 ? " by one block of " : " by a grid of ") + std::to_string(blocks) +
             ", type " + std::to_string(element.type) + ", reduction " + std::to_string(reduction) +
             ", " + std::to_string(mine) + " elements on PE " + std::to_string(me_) + " of " +
             std::to_string(n_pes_) + ": " + kind;
    };
    if (is_told) {
      auto right = exact_pattern::cut(pattern.result, element.size, mine, from + place);
      if (!in_place) right.resize(right.size() + guard, poison);
      check(read(queue_, static_cast<const std::byte*>(out), right.size()) == right,
            describe("the result"));
    }
    if (!in_place)
      check(read(queue_, static_cast<const std::byte*>(in), given.size()) == given,
            describe("the input"));
    else
      queue_.synchronize();
  }

 private:
  static constexpr std::size_t guard = 64;
  static constexpr std::byte poison{0x5a};

  std::size_t me_;
  std::size_t n_pes_;
  stream queue_;
  std::size_t room_;  ///< of a buffer, in bytes
  symmetric_array<std::byte> heap_;
  device_array<std::byte> own_;
  device_array<heddle::size_t> lists_;
  draws draws_{n_pes_};
};

/// How many elements, by turns: from no byte to more than a slot, in each way that a kernel has.
std::size_t count_of(std::size_t turn, std::size_t size, std::size_t pieces) {
  const std::size_t counts[] = {0, 1, 13, 333, (most_bytes / size + pieces - 1) / pieces};
  return counts[turn % 5];
}

}  // namespace

TEST_CASE("every reduction that kernels call is exact, with every type and operation") {
  for (const int n_pes :
       is_cut_short() ? pe_counts({2, 4, 5}) : pe_counts({1, 2, 3, 4, 5, 6, 7, 8})) {
    CAPTURE(n_pes);
    run_pes(n_pes, [n_pes](runtime& self) {
      const auto world = self.world();
      reducer pe(self, most_bytes);
      std::size_t combination = 0;
      for (std::size_t type = 0; type < reduced_types.size(); ++type)
        for (int reduction = 0; reduction < num_reductions; ++reduction) {
          const auto pattern = reduced_types[type].pattern(reduction, self.my_pe(), n_pes);
          for (int kind = 0; kind < num_kinds; ++kind) {
            // Over the numbers of PEs all combinations meet all counts, and most of them both
            // scopes.
            const std::size_t turn = ++combination + static_cast<std::size_t>(n_pes);
            // The sanitizers' share: 5 has no factor in common with the 24 of a type, and others
            // of them are due with each number of PEs.
            if (is_cut_short() && turn % 5 != 0) continue;
            const auto what = static_cast<reducing>(kind);
            const std::size_t pieces =
                what == reducing::reduce_scatter ? static_cast<std::size_t>(n_pes) : 1;
            pe.call(world, what, type, reduction, pattern,
                    count_of(turn, reduced_types[type].size, pieces), turn);
          }
        }
    });
  }
}

namespace {

/// Of a PE of many: eight give what eight PEs do, the others what changes nothing, so that results
/// are in every type's range. Not of averages, which all numbers of PEs divide.
exact_pattern pattern_of_many(std::size_t type, int reduction, int pe) {
  const auto& element = reduced_types[type];
  auto pattern = element.pattern(reduction, pe % 8, 8);
  const bool is_extremum = reduction == HEDDLE_MIN || reduction == HEDDLE_MAX;
  if (pe >= 8 && !is_extremum) pattern.input = element.neutral(reduction);
  return pattern;
}

}  // namespace

TEST_CASE("every reduction that kernels call is exact along the ring of a large team") {
  if (on_gpu() || is_cut_short()) return;  // teams of fewer take no ring here
  constexpr int n_pes = 66;
  constexpr int reductions[] = {HEDDLE_SUM, HEDDLE_PROD, HEDDLE_MIN, HEDDLE_MAX, scaled_by_two};
  run_many_pes(n_pes, [&](runtime& self) {
    const auto world = self.world();
    constexpr std::size_t n = 5;
    reducer pe(self, n_pes * n * sizeof(double));
    for (std::size_t type = 0; type < reduced_types.size(); ++type)
      // A call takes tens of milliseconds: a third of them.
      for (std::size_t i = type % 3; i < std::size(reductions); i += 3)
        pe.call(world, static_cast<reducing>((type + i) / 3 % 3), type, reductions[i],
                pattern_of_many(type, reductions[i], self.my_pe()), n, i);
  });
}
