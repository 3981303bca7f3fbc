// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Buffers in the symmetric heap, or registered, are used in place: of what calls move nothing comes
// to be in the teams' own memory. Others go by way of it. By memory and by the network alone.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <heddle/device/atomic.hpp>
#include <heddle/device/coll/scratch.hpp>
#include <heddle/heddle.hpp>
#include <heddle/registration.hpp>
#include <heddle/symmetric_array.hpp>
#include <memory>
#include <string>
#include <vector>

#include "kernels/forced_way.hpp"
#include "kernels/on_device.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

using word = std::uint32_t;

constexpr std::size_t n = std::size_t{1} << 18;  ///< of an input and of an output; as large pages
constexpr const char* kinds[] = {"symmetric", "registered", "private"};

/// Two buffers of one kind.
class two_buffers {
 public:
  two_buffers(const runtime& self, const std::string& kind) : heap_(self, 2 * n) {
    data_ = heap_.data();
    if (kind == "symmetric") return;
    own_.reset(static_cast<word*>(std::aligned_alloc(std::size_t{1} << 21, 2 * n * sizeof(word))));
    data_ = own_.get();
    if (kind == "registered")
      registered_ = std::make_unique<registration<word>>(self, data_, 2 * n);
  }
  [[nodiscard]] word* input() const { return data_; }
  [[nodiscard]] word* output() const { return data_ + n; }

 private:
  struct freed {
    void operator()(word* memory) const { std::free(memory); }
  };
  symmetric_array<word> heap_;
  std::unique_ptr<word, freed> own_;
  std::unique_ptr<registration<word>> registered_;
  word* data_ = nullptr;
};

/// How often words are in the team's own memory on this PE, where another's next call may write.
/// Not every word is looked at, which takes long under ThreadSanitizer: calls move thousands in a
/// row.
std::size_t count_in_slots(const team& team, word value) {
  constexpr std::size_t step = 5;  // none that protocols write flags in
  const auto* first = reinterpret_cast<const word*>(team.ref().scratch());
  const std::size_t words = channel_scratch::bytes_per_team(team.n_pes()) / sizeof(word);
  std::size_t count = 0;
  for (std::size_t i = 0; i < words; i += step) count += load(&first[i], relaxed) == value;
  return count;
}

/// The same on all PEs, and new in each call.
word new_number(const team& team) {
  static std::atomic<word> calls;
  word number = team.my_pe() == 0 ? ++calls : 0;
  team.all_reduce(&number, &number, 1, op::sum);
  return number;
}

struct moved {
  std::size_t inputs;
  std::size_t results;
};

/// A call whose inputs and results are words that no call before had, of which this PE gets so
/// many.
template <class Call>
moved move(const team& team, const two_buffers& of, bool combines, std::size_t results,
           const Call& call) {
  const word given = 0x5eed0000u + new_number(team);
  const word result = combines ? static_cast<word>(team.n_pes()) * given : given;
  std::fill_n(of.input(), n, given);
  std::fill_n(of.output(), n, 0);
  team.barrier();
  call();
  check(std::count(of.output(), of.output() + n, result) == static_cast<std::ptrdiff_t>(results),
        "the result");
  team.barrier();
  word all[2] = {static_cast<word>(count_in_slots(team, given)),
                 static_cast<word>(combines ? count_in_slots(team, result) : 0)};
  team.all_reduce(all, all, 2, op::sum);
  return {all[0], all[1]};
}

}  // namespace

TEST_CASE("what is in the symmetric heap or registered is not copied into slots, all else is") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    for (const std::string kind : kinds) {
      const two_buffers of(self, kind);
      const bool in_place = kind != "private";
      const bool mapped = self.ptr(symmetric_array<word>(self, 1).data(), 1 - self.my_pe());
      const auto tells = [&](heddle_collective_t what, std::size_t count, const char* part) {
        const auto plan = world.plan(what, count, HEDDLE_UINT32);
        check(plan.find(part) != std::string::npos, plan);
      };

      // In halves where the network joins two PEs: inputs meet in slots, results do not.
      tells(HEDDLE_COLLECTIVE_ALL_REDUCE, n, mapped ? "two_shot" : "ring");
      tells(HEDDLE_COLLECTIVE_ALL_REDUCE, n,
            mapped ? "symmetric buffers in place, others staged"
                   : "inputs from where they lie, large symmetric outputs in place");
      const auto reduced =
          move(world, of, true, n, [&] { world.all_reduce(of.input(), of.output(), n, op::sum); });
      check((reduced.inputs == 0) == (mapped && in_place), kind + ": all_reduce's inputs");
      check((reduced.results == 0) == in_place, kind + ": all_reduce's results");

      const std::size_t half = n / 2;
      const bool is_root = world.my_pe() == 0;
      // A part of its own each PE combines where the result is to be.
      const auto scattered = move(world, of, true, half, [&] {
        world.reduce_scatter(of.input(), of.output(), half, op::sum);
      });
      check((scattered.inputs == 0) == (mapped && in_place), kind + ": reduce_scatter's inputs");
      check(scattered.results == 0, kind + ": reduce_scatter's results");
      // Parts of the root's result come from both PEs, if memory joins them.
      const auto to_root = move(world, of, true, is_root ? n : 0, [&] {
        world.reduce(of.input(), is_root ? of.output() : nullptr, n, op::sum, 0);
      });
      check((to_root.inputs == 0) == (mapped && in_place), kind + ": reduce's inputs");
      check((to_root.results == 0) == (!mapped || in_place), kind + ": reduce's results");

      const auto exchange = [&](heddle_collective_t what, std::size_t results, const auto& call) {
        tells(what, half, "directly in place where buffers are symmetric, else by slots");
        const auto exchanged = move(world, of, false, results, call);
        check((exchanged.inputs == 0) == in_place, kind + ": collective " + std::to_string(what) +
                                                       " had " + std::to_string(exchanged.inputs) +
                                                       " words in slots");
      };
      exchange(HEDDLE_COLLECTIVE_BROADCAST, n,
               [&] { world.broadcast(of.input(), of.output(), n, 0); });
      exchange(HEDDLE_COLLECTIVE_ALL_GATHER, n,
               [&] { world.all_gather(of.input(), of.output(), half); });
      exchange(HEDDLE_COLLECTIVE_ALL_TO_ALL, n,
               [&] { world.all_to_all(of.input(), of.output(), half); });
      exchange(HEDDLE_COLLECTIVE_GATHER, is_root ? n : 0,
               [&] { world.gather(of.input(), is_root ? of.output() : nullptr, half, 0); });
      exchange(HEDDLE_COLLECTIVE_SCATTER, half,
               [&] { world.scatter(is_root ? of.input() : nullptr, of.output(), half, 0); });
      exchange(HEDDLE_COLLECTIVE_TRANSFER, n, [&] {
        grouped([&] {
          world.send(of.input(), n, 1 - world.my_pe());
          world.recv(of.output(), n, 1 - world.my_pe());
        });
      });
    }
  });
}

TEST_CASE("beside other hosts the PEs of a host use each other's symmetric buffers in place") {
  run_pes(4, [](runtime& self) {
    const auto world = self.world();
    if (!find_placement(self, self.create_stream()).has_hierarchy) return;
    const way hierarchical{HEDDLE_ALGORITHM_HIERARCHICAL, HEDDLE_PROTOCOL_SIMPLE,
                           "hierarchical simple"};
    const forced here(world, HEDDLE_COLLECTIVE_ALL_REDUCE, hierarchical);
    const auto plan = world.plan(HEDDLE_COLLECTIVE_ALL_REDUCE, n, HEDDLE_UINT32);
    check(plan.rfind(hierarchical.name, 0) == 0, plan);
    check(plan.find("symmetric buffers of a host in place, others staged") != std::string::npos,
          plan);
    for (const std::string kind : kinds) {
      const two_buffers of(self, kind);
      const auto reduced =
          move(world, of, true, n, [&] { world.all_reduce(of.input(), of.output(), n, op::sum); });
      check((reduced.inputs == 0) == (kind != "private"), kind + ": the inputs");
    }
  });
}
