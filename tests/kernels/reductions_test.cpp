// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// AllReduce, ReduceScatter and Reduce as programs call them, wherever the PEs are: each way with
// each type and each operation is exact, on the device that HEDDLE_DEVICE chooses.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "kernels/draws.hpp"
#include "kernels/exact_reductions.hpp"
#include "kernels/forced_way.hpp"
#include "kernels/on_device.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

constexpr std::size_t most_bytes = 300'007;  // more than a slot, a packet and a half

constexpr way ways[] = {
    {HEDDLE_ALGORITHM_ONE_SHOT, HEDDLE_PROTOCOL_SIMPLE, "one_shot simple"},
    {HEDDLE_ALGORITHM_ONE_SHOT, HEDDLE_PROTOCOL_LL, "one_shot ll"},
    {HEDDLE_ALGORITHM_ONE_SHOT, HEDDLE_PROTOCOL_LL128, "one_shot ll128"},
    {HEDDLE_ALGORITHM_TWO_SHOT, HEDDLE_PROTOCOL_SIMPLE, "two_shot simple"},
    {HEDDLE_ALGORITHM_MULTICAST, HEDDLE_PROTOCOL_SIMPLE, "multicast simple"},
    {HEDDLE_ALGORITHM_RING, HEDDLE_PROTOCOL_SIMPLE, "ring simple"},
    {HEDDLE_ALGORITHM_RING, HEDDLE_PROTOCOL_LL, "ring ll"},
    {HEDDLE_ALGORITHM_RING, HEDDLE_PROTOCOL_LL128, "ring ll128"},
    {HEDDLE_ALGORITHM_TREE, HEDDLE_PROTOCOL_SIMPLE, "tree simple"},
    {HEDDLE_ALGORITHM_TREE, HEDDLE_PROTOCOL_LL, "tree ll"},
    {HEDDLE_ALGORITHM_TREE, HEDDLE_PROTOCOL_LL128, "tree ll128"},
    {HEDDLE_ALGORITHM_HIERARCHICAL, HEDDLE_PROTOCOL_SIMPLE, "hierarchical simple"},
};

constexpr heddle_collective_t reductions[] = {
    HEDDLE_COLLECTIVE_ALL_REDUCE, HEDDLE_COLLECTIVE_REDUCE_SCATTER, HEDDLE_COLLECTIVE_REDUCE};

/// Whether a collective has that way there; nothing falls back to another.
bool has(const way& wanted, heddle_collective_t what, const placement& at) {
  const bool simple = wanted.protocol == HEDDLE_PROTOCOL_SIMPLE;
  const bool all_reduces = what == HEDDLE_COLLECTIVE_ALL_REDUCE;
  if (!at.all_mapped && !simple) return false;
  switch (wanted.algorithm) {
    case HEDDLE_ALGORITHM_ONE_SHOT:
      return all_reduces || wanted.protocol != HEDDLE_PROTOCOL_LL128;
    case HEDDLE_ALGORITHM_MULTICAST:
      return !on_gpu() && what != HEDDLE_COLLECTIVE_REDUCE;
    case HEDDLE_ALGORITHM_TWO_SHOT:
      return at.all_mapped || !on_gpu();
    case HEDDLE_ALGORITHM_RING:
      return at.has_links;
    case HEDDLE_ALGORITHM_TREE:
      return at.has_links && what != HEDDLE_COLLECTIVE_REDUCE_SCATTER;
    case HEDDLE_ALGORITHM_HIERARCHICAL:
      return at.has_hierarchy;
    default:
      return true;
  }
}

/// Beside those that kernels call too: a sum that a factor in memory of the device scales.
constexpr int scaled_on_device = num_reductions;
constexpr int num_called = scaled_on_device + 1;

/// One PE's buffers and calls. Inputs and outputs are checked whole, and what follows an output.
/// What comes round by turns goes on from one number of PEs, and from one setting, to the next.
class reducer {
 public:
  reducer(const runtime& self, const placement& at)
      : self_(self),
        at_(at),
        world_(self.world()),
        n_pes_(static_cast<std::size_t>(self.n_pes())),
        setting_(setting_of(at)),
        queue_(self.create_stream()),
        heap_(self, 2 * room_),
        own_(self, 2 * room_),
        factors_on_device_(self, reduced_types.size() * factor_room) {
    for (std::size_t type = 0; type < reduced_types.size(); ++type) {
      const auto& each = reduced_types[type];
      for (const int factor : {1, 2}) factors_.push_back(each.factor(factor));
      twice_.push_back(scaled_sum(each.type, factors_.back().data(), HEDDLE_SCALAR_HOST));
      scaled_.push_back(scaled_sum(each.type, place_of_factor(type), HEDDLE_SCALAR_DEVICE));
      for (int reduction = 0; reduction < num_reductions; ++reduction)
        patterns_.push_back(each.pattern(reduction, self.my_pe(), self.n_pes()));
    }
  }

  void by(std::size_t number) {
    const way& wanted = ways[number];
    for (std::size_t i = 0; i < std::size(reductions); ++i) {
      const auto what = reductions[i];
      if (!has(wanted, what, at_)) continue;
      ++rounds_;
      const std::size_t round = number * std::size(reductions) + i;
      // Not in step with the counts, which come again with every fourth number of PEs.
      const int channels = (round + n_pes_ / 4 + setting_) % 2 == 0 ? 3 : 0;
      const forced here(world_, what, wanted, channels);
      if (n_pes_ > 1)
        for (const std::size_t count : {std::size_t{1}, std::size_t{50'000}}) {
          const auto plan = world_.plan(what, count, HEDDLE_FLOAT32);
          check(plan.rfind(wanted.name, 0) == 0, std::string(wanted.name) + " became " + plan);
        }
      // Few numbers of PEs have a hierarchy: with each of them it has two turns.
      const std::size_t turns = wanted.algorithm == HEDDLE_ALGORITHM_HIERARCHICAL ? 2 : 1;
      for (std::size_t turn = round; turn < round + turns; ++turn)
        for (std::size_t type = 0; type < reduced_types.size(); ++type)
          for (int reduction = 0; reduction < num_called; ++reduction)
            if (is_due(turn, type, reduction)) call(what, type, reduction, turn, wanted.name);
    }
  }

  /// After all ways: every type has met every operation, and, where that were many calls, in each
  /// kind of memory.
  void check_met() const {
    const bool were_many = !is_cut_short() && rounds_ >= 20;
    for (std::size_t i = 0; i < met_.size(); ++i)
      check(
          were_many ? met_[i] == (in_heap | in_private | is_aligned | is_misaligned) : met_[i] != 0,
          "type " + std::to_string(reduced_types[i / num_called].type) + ", reduction " +
              std::to_string(i % num_called) + " met but memory of kinds " +
              std::to_string(met_[i]));
  }

  /// By the way that is chosen: pieces of differing size.
  void pieces() {
    for (std::size_t type = 0; type < reduced_types.size(); ++type)
      for (int reduction = 0; reduction < num_called; ++reduction) {
        ++calls_;
        const bool is_private = draws_.one_in(3);
        std::vector<std::size_t> counts, places;
        std::size_t all = 0;
        for (std::size_t pe = 0; pe < n_pes_; ++pe) {
          counts.push_back((calls_ + 5 * pe) % 4 * (pe + 17));
          places.push_back(all);
          all += counts.back();
        }
        const auto& element = reduced_types[type];
        const auto& pattern = prepare(type, reduction);
        std::byte* in = base(is_private);
        std::byte* out = in + room_;
        const auto me = static_cast<std::size_t>(self_.my_pe());
        given_ = exact_pattern::cut(pattern.input, element.size, all, 0);
        run(
            in, out, false,
            exact_pattern::cut(pattern.result, element.size, counts[me], places[me]),
            [&](heddle_stream_t stream) {
              heddle::detail::check(heddle_reduce_scatter_v(world_.handle(), in, out, counts.data(),
                                                            places.data(), element.type,
                                                            op_of(type, reduction), stream));
            },
            describe("reduce_scatter_v", type, reduction, counts[me]));
      }
  }

 private:
  static constexpr std::size_t guard = 64;
  static constexpr std::size_t factor_room = 16;
  static constexpr std::byte poison{0x5a};
  enum kind_of_memory : unsigned { in_heap = 1, in_private = 2, is_aligned = 4, is_misaligned = 8 };

  /// The sanitizers' share: of the 98 of a turn one in 7, with 2, 4 and 5 PEs and in each setting
  /// others.
  [[nodiscard]] bool is_due(std::size_t turn, std::size_t type, int reduction) const {
    const std::size_t share = turn + (n_pes_ + 1) / 2 + 3 * setting_;
    return !is_cut_short() || (share + type + static_cast<std::size_t>(reduction)) % 7 == 0;
  }
  [[nodiscard]] heddle_op_t scaled_sum(heddle_type_t type, const void* factor,
                                       heddle_scalar_t where) const {
    heddle_op_t made{};
    heddle::detail::check(heddle_op_create_scaled_sum(world_.handle(), type, factor, where, &made));
    return made;
  }
  [[nodiscard]] heddle_op_t op_of(std::size_t type, int reduction) const {
    if (reduction == scaled_on_device) return scaled_[type];
    return reduction == scaled_by_two ? twice_[type] : static_cast<heddle_op_t>(reduction);
  }
  [[nodiscard]] std::byte* place_of_factor(std::size_t type) const {
    return factors_on_device_.data() + type * factor_room;
  }
  [[nodiscard]] std::byte* base(bool is_private) const {
    return is_private ? own_.data() : heap_.data();
  }

  /// What a call combines. The device's factor changes from call to call, on the stream just before
  /// them: with 1 it is the plain sum.
  const exact_pattern& prepare(std::size_t type, int reduction) {
    if (reduction == scaled_on_device) {
      const bool twice = draws_.one_in(2);
      const auto& factor = factors_[2 * type + (twice ? 1 : 0)];
      queue_.copy(place_of_factor(type), factor.data(), factor.size());
      reduction = twice ? scaled_by_two : HEDDLE_SUM;
    }
    return patterns_[type * num_reductions + static_cast<std::size_t>(reduction)];
  }

  /// `given_` goes in, and `right` must come out: in place it is part of the input, which must else
  /// stay what it was. Nothing waits in between, so that PEs enter when their streams are there.
  template <class Call>
  void run(std::byte* in, std::byte* out, bool in_place, octets right, const Call& call,
           const std::string& what) {
    queue_.copy(in, given_.data(), given_.size());
    if (!in_place) {
      right.resize(right.size() + guard, poison);
      queue_.copy(out, poison_.data(), right.size());
    }
    call(queue_.handle());
    found_.resize(right.size());
    queue_.copy<std::byte>(found_.data(), out, found_.size());
    kept_.resize(in_place ? 0 : given_.size());
    queue_.copy<std::byte>(kept_.data(), in, kept_.size());
    queue_.synchronize();
    check(found_ == right, what);
    if (!in_place) check(kept_ == given_, what + " changed its input");
  }

  void call(heddle_collective_t what, std::size_t type, int reduction, std::size_t turn,
            const std::string& name) {
    ++calls_;
    const auto& element = reduced_types[type];
    const auto& pattern = prepare(type, reduction);
    const bool scatters = what == HEDDLE_COLLECTIVE_REDUCE_SCATTER;
    const bool has_root = what == HEDDLE_COLLECTIVE_REDUCE;
    const std::size_t pieces = scatters ? n_pes_ : 1;
    const std::size_t large = (most_bytes / element.size + pieces - 1) / pieces;
    const std::size_t counts[] = {0, 1, 333, large};
    const auto combination = type * num_called + static_cast<std::size_t>(reduction);
    std::size_t at = (combination + turn + n_pes_ + setting_) % 4;
    if (is_cut_short() && at == 0) at = 2;  // a sanitizer sees nothing in a call of no elements
    const std::size_t count = counts[at];
    const bool is_private = draws_.one_in(2);
    const bool is_skewed = draws_.one_in(2);
    const int root = static_cast<int>(draws_.below(n_pes_));
    const std::size_t from = draws_.below(exact_pattern::period);
    const bool is_told = !has_root || self_.my_pe() == root;
    const bool in_place = draws_.one_in(3) && is_told;
    met_[combination] |=
        (is_private ? in_private : in_heap) | (is_skewed ? is_misaligned : is_aligned);

    const std::size_t place = scatters ? static_cast<std::size_t>(self_.my_pe()) * count : 0;
    std::byte* in = base(is_private) + (is_skewed ? element.size : 0);
    std::byte* out = in_place ? in + place * element.size : base(is_private) + room_;
    given_ = exact_pattern::cut(pattern.input, element.size, pieces * count, from);
    const auto op = op_of(type, reduction);
    const auto team = world_.handle();
    run(
        in, out, in_place,
        exact_pattern::cut(pattern.result, element.size, is_told ? count : 0, from + place),
        [&](heddle_stream_t stream) {
          heddle::detail::check(
              scatters   ? heddle_reduce_scatter(team, in, out, count, element.type, op, stream)
              : has_root ? heddle_reduce(team, in, is_told ? out : nullptr, count, element.type, op,
                                         root, stream)
                         : heddle_all_reduce(team, in, out, count, element.type, op, stream));
        },
        describe(name + (in_place ? " in place" : ""), type, reduction, count));
  }

  [[nodiscard]] std::string describe(const std::string& name, std::size_t type, int reduction,
                                     std::size_t count) const {
    return name + ", type " + std::to_string(reduced_types[type].type) + ", reduction " +
           std::to_string(reduction) + ", " + std::to_string(count) + " elements on PE " +
           std::to_string(self_.my_pe()) + " of " + std::to_string(n_pes_) + ", call " +
           std::to_string(calls_);
  }

  const std::size_t room_ = (most_bytes + 4096) / 64 * 64;
  const octets poison_ = octets(room_, poison);
  octets given_, found_, kept_;  ///< what the stream reads and writes outlives it
  std::vector<octets> factors_;  ///< of each type 1 and 2
  const runtime& self_;
  placement at_;
  team world_;
  std::size_t n_pes_;
  std::size_t setting_;
  stream queue_;
  symmetric_array<std::byte> heap_;
  device_array<std::byte> own_;
  device_array<std::byte> factors_on_device_;
  std::vector<exact_pattern> patterns_;
  std::vector<heddle_op_t> twice_, scaled_;
  std::vector<unsigned> met_ = std::vector<unsigned>(reduced_types.size() * num_called);
  draws draws_{n_pes_ + 16 * setting_};
  std::size_t rounds_ = 0;  ///< collectives by a way
  std::size_t calls_ = 0;
};

}  // namespace

TEST_CASE("every reduction is exact in every way, with every type and operation") {
  for (const int n_pes :
       is_cut_short() ? pe_counts({2, 4, 5}) : pe_counts({1, 2, 3, 4, 5, 6, 7, 8})) {
    CAPTURE(n_pes);
    run_pes(n_pes, [](runtime& self) {
      reducer pe(self, find_placement(self, self.create_stream()));
      for (std::size_t number = 0; number < std::size(ways); ++number) pe.by(number);
      pe.check_met();
      pe.pieces();
    });
  }
}

TEST_CASE("all PEs get the same bits, in every way, and get them again") {
  for (const int n_pes : is_cut_short() ? pe_counts({4}) : pe_counts({2, 3, 4, 8})) {
    CAPTURE(n_pes);
    run_pes(n_pes, [](runtime& self) {
      const auto world = self.world();
      const auto queue = self.create_stream();
      const auto at = find_placement(self, queue);
      constexpr std::size_t most = 100'003;
      const auto n = static_cast<std::size_t>(self.n_pes());
      const symmetric_array<float> memory(self, (3 + n) * most);
      float* in = memory.data();
      float* out = in + most;
      float* gathered = out + 2 * most;
      std::mt19937 random(static_cast<unsigned>(self.my_pe()) + 1);
      std::uniform_real_distribution<float> values(-1000, 1000);
      std::vector<float> mine(most);
      for (auto& each : mine) each = values(random);
      write(queue, in, mine);
      for (const auto& each : ways) {
        if (!has(each, HEDDLE_COLLECTIVE_ALL_REDUCE, at)) continue;
        const forced here(world, HEDDLE_COLLECTIVE_ALL_REDUCE, each);
        for (const std::size_t count : {std::size_t{3}, std::size_t{2001}, most}) {
          for (float* to : {out, out + most}) world.all_reduce(in, to, count, op::sum, queue);
          world.all_gather(out, gathered, count, queue);
          const auto first = read(queue, static_cast<const float*>(out), count);
          const auto what = std::string(each.name) + " of " + std::to_string(count);
          check(read(queue, static_cast<const float*>(out + most), count) == first,
                what + ", once more");
          for (std::size_t pe = 0; pe < n; ++pe)
            check(read(queue, static_cast<const float*>(gathered + pe * count), count) == first,
                  what + " on PE " + std::to_string(pe));
        }
      }
    });
  }
}
