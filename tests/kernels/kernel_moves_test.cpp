// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The collectives that move bytes, as kernels call them: elements of every size arrive whole, from
// every block of a grid and from one alone, wherever the PEs are.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <heddle/device/collectives.hpp>
#include <heddle/device/launch.hpp>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <string>
#include <vector>

#include "kernels/call_scope.hpp"
#include "kernels/draws.hpp"
#include "kernels/on_device.hpp"
#include "kernels/piece_lists.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

enum class moving : int {
  broadcast,
  all_gather,
  all_to_all,
  gather,
  scatter,
  all_gather_v,
  all_to_all_v,
  sendrecv
};
constexpr const char* names[] = {"broadcast", "all_gather",   "all_to_all",   "gather",
                                 "scatter",   "all_gather_v", "all_to_all_v", "sendrecv"};

struct move_call {
  team_ref team;
  moving what;
  bool alone;  ///< by the last block, and not by the grid
  const std::byte* input;
  std::byte* output;
  heddle::size_t n;
  int root;
  piece_lists of;
};

struct sixteen {
  std::uint64_t words[2];
};
constexpr std::size_t sizes[] = {1, 2, 4, 8, 16};

struct call_move {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, int size, const move_call& call) const {
    call_in_scope(block, call.alone, [&](const auto& scope) { by_size(scope, size, call); });
  }

 private:
  template <block_group Block>
  HEDDLE_FN static void by_size(const Block& block, int size, const move_call& call) {
    switch (size) {
      case 1:
        return by<std::uint8_t>(block, call);
      case 2:
        return by<std::uint16_t>(block, call);
      case 4:
        return by<std::uint32_t>(block, call);
      case 8:
        return by<std::uint64_t>(block, call);
      default:
        return by<sixteen>(block, call);
    }
  }
  template <class T, block_group Block>
  HEDDLE_FN static void by(const Block& block, const move_call& call) {
    const team_ref& team = call.team;
    const auto* input = reinterpret_cast<const T*>(call.input);
    auto* output = reinterpret_cast<T*>(call.output);
    const piece_lists& of = call.of;
    const int next = (team.my_pe() + 1) % team.n_pes();
    const int previous = (team.my_pe() + team.n_pes() - 1) % team.n_pes();
    switch (call.what) {
      case moving::broadcast:
        return broadcast(block, team, input, output, call.n, call.root);
      case moving::all_gather:
        return all_gather(block, team, input, output, call.n);
      case moving::all_to_all:
        return all_to_all(block, team, input, output, call.n);
      case moving::gather:
        return gather(block, team, input, output, call.n, call.root);
      case moving::scatter:
        return scatter(block, team, input, output, call.n, call.root);
      case moving::all_gather_v:
        return all_gather_v(block, team, input, output, of.out_counts, of.out_places);
      case moving::all_to_all_v:
        return all_to_all_v(block, team, input, of.in_counts, of.in_places, output, of.out_counts,
                            of.out_places);
      case moving::sendrecv:
        return sendrecv(block, team, input, of.in_counts[next], next, output,
                        of.out_counts[previous], previous);
    }
  }
};

using octets = std::vector<std::byte>;

/// Byte i of a PE's input: of each call another.
std::byte value_of(std::size_t call, std::size_t pe, std::size_t i) {
  return static_cast<std::byte>((call * 31 + pe * 57 + i + i / 251) % 251);
}

/// One PE's buffers and calls. Outputs are checked whole, and what follows them.
class caller {
 public:
  explicit caller(const runtime& self, std::size_t most)
      : team_(self.world()),
        me_(static_cast<std::size_t>(self.my_pe())),
        n_pes_(static_cast<std::size_t>(self.n_pes())),
        room_((n_pes_ * (most + 64) + 4096) / 64 * 64),
        queue_(self.create_stream()),
        heap_(self, 2 * room_),
        own_(self, 2 * room_),
        lists_(self, 4 * n_pes_) {}

  void call(moving what, std::size_t size, std::size_t n) {
    ++calls_;
    const std::size_t root = draws_.below(n_pes_);
    const bool by_pair = what == moving::all_to_all_v || what == moving::sendrecv;
    // What PE a has for PE b, or, where all have the same lists, what b has.
    const auto count = [&](std::size_t from, std::size_t to) {
      return (by_pair ? 2 * from + to : to) % 3 * n / 2;
    };
    const auto place = [&](std::size_t from, std::size_t to) {
      std::size_t end = 0;
      for (std::size_t pe = 0; pe < to; ++pe) end += count(from, pe);
      return end;
    };
    std::vector<heddle::size_t> all(4 * n_pes_);
    for (std::size_t pe = 0; pe < n_pes_; ++pe) {
      all[pe] = count(me_, pe);
      all[n_pes_ + pe] = place(me_, pe);
      all[2 * n_pes_ + pe] = by_pair ? count(pe, me_) : count(0, pe);
      all[3 * n_pes_ + pe] = pe == 0 ? 0 : all[3 * n_pes_ + pe - 1] + all[2 * n_pes_ + pe - 1];
    }
    write(queue_, lists_.data(), all);

    const std::size_t skew = draws_.one_in(4) ? size : 0;
    std::byte* in = (draws_.one_in(3) ? own_.data() : heap_.data()) + skew;
    std::byte* out = in + room_ - skew + (draws_.one_in(4) ? size : 0);
    octets input((n_pes_ * n + 1) * size);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = value_of(calls_, me_, i);
    octets output(input.size() + guard, std::byte{0x5a});
    write(queue_, in, input);
    write(queue_, out, output);
    const heddle::size_t* list = lists_.data();
    const int n_pes = team_.n_pes();
    const int blocks = 1 + static_cast<int>(draws_.below(3));
    const bool alone = draws_.one_in(2);
    launch(queue_, blocks, draws_.one_in(4) ? threads() : 1, call_move{}, static_cast<int>(size),
           move_call{team_.ref(), what, alone, in, out, n, static_cast<int>(root),
                     piece_lists{list, list + n_pes, list + 2 * n_pes, list + 3 * n_pes}});

    const auto arrives = [&](std::size_t from, std::size_t first, std::size_t elements,
                             std::size_t at) {
      for (std::size_t i = 0; i < elements * size; ++i)
        output[at * size + i] = value_of(calls_, from, first * size + i);
    };
    const std::size_t previous = (me_ + n_pes_ - 1) % n_pes_;
    switch (what) {
      case moving::broadcast:
        arrives(root, 0, n, 0);
        break;
      case moving::scatter:
        arrives(root, me_ * n, n, 0);
        break;
      case moving::sendrecv:
        arrives(previous, 0, count(previous, me_), 0);
        break;
      default:
        for (std::size_t pe = 0; pe < n_pes_; ++pe) {
          const auto pieces_out = all[2 * n_pes_ + pe];
          const auto at = all[3 * n_pes_ + pe];
          if (what == moving::all_gather_v) arrives(pe, 0, pieces_out, at);
          if (what == moving::all_to_all_v) arrives(pe, place(pe, me_), pieces_out, at);
          if (what == moving::all_gather || (what == moving::gather && me_ == root))
            arrives(pe, 0, n, pe * n);
          if (what == moving::all_to_all) arrives(pe, me_ * n, n, pe * n);
        }
    }
    const auto describe = [&](const char* kind) {
      return std::string(names[static_cast<int>(what)]) + " of " + std::to_string(n) +
             " elements of " + std::to_string(size) + " bytes by " +
             (alone ? "one block of " : "a grid of ") + std::to_string(blocks) + ", PE " +
             std::to_string(me_) + " of " + std::to_string(n_pes_) + ": " + kind;
    };
    check(read(queue_, static_cast<const std::byte*>(out), output.size()) == output,
          describe("the output"));
    check(read(queue_, static_cast<const std::byte*>(in), input.size()) == input,
          describe("the input"));
  }

 private:
  static constexpr std::size_t guard = 64;

  team team_;
  std::size_t me_;
  std::size_t n_pes_;
  std::size_t room_;  ///< of a buffer, in bytes
  stream queue_;
  symmetric_array<std::byte> heap_;
  device_array<std::byte> own_;
  device_array<heddle::size_t> lists_;
  draws draws_{n_pes_};
  std::size_t calls_ = 0;
};

}  // namespace

TEST_CASE("elements of every size arrive whole from what kernels call") {
  for (const int n_pes : is_cut_short() ? pe_counts({2, 5}) : pe_counts({1, 2, 3, 5, 8})) {
    CAPTURE(n_pes);
    run_pes(n_pes, [](runtime& self) {
      constexpr std::size_t most = 40'009;
      caller pe(self, most);
      for (int what = 0; what <= static_cast<int>(moving::sendrecv); ++what)
        for (const std::size_t size : sizes)
          for (const std::size_t n :
               {std::size_t{0}, std::size_t{1}, std::size_t{13}, std::size_t{333}, most / size})
            pe.call(static_cast<moving>(what), size, n);
    });
  }
}
