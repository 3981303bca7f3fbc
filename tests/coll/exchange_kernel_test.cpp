// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <heddle/device/coll/exchange.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/local_team.hpp"
#include "doctest/cut_short.hpp"

using namespace heddle;
using heddle::testing::block_threads;
using heddle::testing::is_cut_short;
using heddle::testing::local_team;
using heddle::testing::patient;

namespace {

constexpr int nobody = exchange_args<equal_pieces>::nobody;
constexpr int everybody = exchange_args<equal_pieces>::everybody;

struct exchange_kernel {
  template <class Pieces>
  struct of {
    exchange_args<Pieces> args;
    void operator()(host_block block) const { exchange(block, args); }
  };
};

/// Up to how many bytes a piece goes by words, by slots, and, of a rooted call, by packets.
struct ways {
  const char* name;
  std::size_t words;
  std::size_t slots;
  bool pull = true;
  std::size_t streaming_from = ~std::size_t{0};
  std::size_t packets = 0;
};
constexpr std::size_t always = ~std::size_t{0};
constexpr ways all_ways[] = {{"words", always, always},
                             {"slots", 0, always},
                             {"direct, by the receiver", 0, 0},
                             {"direct, by the sender", 0, 0, false},
                             {"direct, round the caches", 0, 0, true, 1},
                             {"packets", 0, always, true, always, mailbox::simple_capacity},
                             {"by size", 100, 5000, true, always, 2000}};

enum class buffers { symmetric, private_input, private_output, private_both, mixed };
constexpr buffers all_buffers[] = {buffers::symmetric, buffers::private_input,
                                   buffers::private_output, buffers::private_both, buffers::mixed};

/// Byte i of what `from` sends to `to` in that call.
byte byte_of(int call, int from, int to, std::size_t i) {
  const auto mixed = static_cast<std::uint32_t>(i) * 2654435761u +
                     static_cast<std::uint32_t>(call * 7919 + from * 131 + to * 31);
  return static_cast<byte>(mixed >> 13);
}

/// One PE's part of one call, with its buffers, checked byte by byte, with guards round each piece.
template <class Pieces>
class call_of_pe {
 public:
  /// `same`: this PE sends one piece to all. `in_place`: from where it receives it.
  call_of_pe(const local_team& team, int pe, int call, exchange_args<Pieces> args, bool same,
             buffers where, std::size_t skew = 0, bool in_place = false)
      : team_(team), pe_(pe), call_(call), same_(same), args_(args) {
    std::size_t in = 0;
    std::size_t out = 0;
    for (int other = 0; other < team.n_pes(); ++other) {
      in = std::max(in, args.sends.offset_of(other) + args.sends.bytes_of(other));
      out = std::max(out, args.receives.offset_of(other) + args.receives.bytes_of(other));
    }
    out_bytes_ = out;
    const bool odd = pe % 2 == 1;
    const bool private_input = where == buffers::private_input || where == buffers::private_both ||
                               (where == buffers::mixed && odd);
    const bool private_output = where == buffers::private_output ||
                                where == buffers::private_both ||
                                (where == buffers::mixed && (odd != (call % 2 == 1)));
    own_input_.resize(private_input ? in + skew + 1 : 0);
    own_output_.resize(private_output ? out + 2 * skew + 1 : 0);
    input_ = private_input ? own_input_.data() + skew : team.user<byte>(pe, skew);
    output_ = private_output ? own_output_.data() + 2 * skew
                             : team.user<byte>(pe, (std::size_t{24} << 20) + 2 * skew);
    if (in_place) output_ = input_;
    args_.team = team.ref(pe);
    args_.what = operation::all_to_all;
    args_.input = input_;
    args_.output = output_;
    std::memset(output_, 0xee, out + 1);
    for (int other = 0; other < team.n_pes(); ++other)
      for (std::size_t i = 0; i < args.sends.bytes_of(other); ++i)
        input_[args.sends.offset_of(other) + i] = byte_of(call, pe, same ? 0 : other, i);
  }

  void launch(int channels) const {
    team_.launch(pe_, channels, exchange_kernel::of<Pieces>{args_});
    if (args_.team.aborted()) throw std::runtime_error("the team was aborted");
  }

  void check() const {
    std::vector<bool> written(out_bytes_ + 1);
    for (int other = 0; other < team_.n_pes(); ++other) {
      if (args_.from != everybody && args_.from != other) continue;
      for (std::size_t i = 0; i < args_.receives.bytes_of(other); ++i) {
        const std::size_t at = args_.receives.offset_of(other) + i;
        written[at] = true;
        if (output_[at] != byte_of(call_, other, same_ ? 0 : pe_, i))
          throw std::runtime_error("call " + std::to_string(call_) + ", PE " + std::to_string(pe_) +
                                   ": byte " + std::to_string(i) + " of " +
                                   std::to_string(args_.receives.bytes_of(other)) + " from PE " +
                                   std::to_string(other) + " is wrong");
      }
    }
    for (std::size_t at = 0; at < written.size(); ++at)
      if (!written[at] && output_[at] != 0xee)
        throw std::runtime_error("PE " + std::to_string(pe_) + ": byte " + std::to_string(at) +
                                 " was written and is nobody's");
  }

 private:
  const local_team& team_;
  int pe_;
  int call_;
  bool same_;
  exchange_args<Pieces> args_;
  std::vector<byte> own_input_;
  std::vector<byte> own_output_;
  byte* input_;
  byte* output_;
  std::size_t out_bytes_;
};

enum class pattern { broadcast, broadcast_in_place, all_gather, all_to_all, gather, scatter };
constexpr pattern all_patterns[] = {pattern::broadcast,  pattern::broadcast_in_place,
                                    pattern::all_gather, pattern::all_to_all,
                                    pattern::gather,     pattern::scatter};

exchange_args<equal_pieces> args_of(pattern what, int pe, int root, std::size_t bytes,
                                    const ways& by) {
  exchange_args<equal_pieces> args{};
  args.words_up_to = by.words;
  args.slots_up_to = by.slots;
  args.pull = by.pull;
  args.streaming_from = by.streaming_from;
  const equal_pieces whole{bytes, 0};
  const equal_pieces parts{bytes, bytes};
  const bool is_root = pe == root;
  if (what != pattern::all_gather && what != pattern::all_to_all) args.packets_up_to = by.packets;
  switch (what) {
    case pattern::broadcast:
    case pattern::broadcast_in_place:
      args.to = is_root ? everybody : nobody;
      args.from = root;
      args.sends = args.receives = whole;
      break;
    case pattern::all_gather:
      args.to = args.from = everybody;
      args.sends = whole;
      args.receives = parts;
      break;
    case pattern::all_to_all:
      args.to = args.from = everybody;
      args.sends = args.receives = parts;
      break;
    case pattern::gather:
      args.to = root;
      args.from = is_root ? everybody : nobody;
      args.sends = whole;
      args.receives = parts;
      break;
    case pattern::scatter:
      args.to = is_root ? everybody : nobody;
      args.from = root;
      args.sends = parts;
      args.receives = whole;
      break;
  }
  return args;
}

bool sends_the_same(pattern what) {
  return what != pattern::all_to_all && what != pattern::scatter;
}
bool is_in_place(pattern what, const exchange_args<equal_pieces>& args) {
  return what == pattern::broadcast_in_place && args.to == everybody;
}

}  // namespace

TEST_CASE("every pattern, way and kind of memory is exact on any number of PEs") {
  for (int n_pes :
       is_cut_short() ? std::vector<int>{2, 3} : std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}) {
    const local_team team(n_pes, {.threads = block_threads()});
    int call = 0;
    for (const ways& by : all_ways)
      for (const buffers where : all_buffers) {
        // Of 4 to 7 PEs each way in one kind of memory, which differs from number to number.
        const int turn = static_cast<int>(&by - all_ways) + n_pes;
        if (n_pes > 3 && n_pes < 8 && where != all_buffers[turn % 5]) continue;
        CAPTURE(n_pes);
        CAPTURE(by.name);
        CAPTURE(static_cast<int>(where));
        const int first = call;
        // More than a pair's slots hold at once.
        const bool by_slots = by.words == 0 && by.slots == always;
        const std::size_t most = is_cut_short() && !by_slots ? 30'001 : 70'001;
        CHECK_NOTHROW(team.run([&](int pe) {
          int mine = first;
          for (const pattern what : all_patterns)
            for (const std::size_t bytes :
                 {std::size_t{1}, std::size_t{8}, std::size_t{65}, std::size_t{2049}, most}) {
              ++mine;
              const auto args = args_of(what, pe, mine % n_pes, bytes, by);
              const call_of_pe<equal_pieces> one(team, pe, mine, args, sends_the_same(what), where,
                                                 0, is_in_place(what, args));
              one.launch(1);
              one.check();
            }
        }));
        call += 1000;
      }
  }
}

TEST_CASE("calls of many shapes follow each other, and no PE waits for another between them") {
  constexpr int n_pes = 4;
  const local_team team(n_pes, {.threads = block_threads(), .flag_period = 7, .table = true});
  CHECK_NOTHROW(team.run([&](int pe) {
    std::mt19937 random(1);  // the same on all PEs
    for (int call = 0; call < (is_cut_short() ? 500 : 1500); ++call) {
      const auto what = all_patterns[random() % 6];
      const ways& by = all_ways[random() % std::size(all_ways)];
      const auto where = all_buffers[random() % 5];
      const int root = static_cast<int>(random() % n_pes);
      const int channels = random() % 4 == 0 ? 1 + static_cast<int>(random() % 4) : 1;
      const std::size_t most = random() % 8 == 0 ? 70'000 : random() % 2 == 0 ? 3000 : 40;
      const std::size_t bytes = 1 + random() % most;
      const std::size_t skew = random() % 3;
      const auto args = args_of(what, pe, root, bytes, by);
      const call_of_pe<equal_pieces> one(team, pe, call, args, sends_the_same(what), where, skew,
                                         is_in_place(what, args));
      one.launch(channels);
      one.check();
    }
  }));
}

TEST_CASE("pieces of any size, of which many are of no bytes") {
  for (const int n_pes : {2, 3, 7, 1, 4, 5, 6, 8}) {
    const int calls = n_pes == 2 || n_pes == 3 || n_pes == 7 ? 150 : 15;
    if (is_cut_short() && calls < 150) break;
    const local_team team(n_pes, {.threads = block_threads()});
    CHECK_NOTHROW(team.run([&](int pe) {
      std::mt19937 random(static_cast<unsigned>(n_pes));
      for (int call = 0; call < calls; ++call) {
        std::vector<std::vector<std::size_t>> bytes(static_cast<std::size_t>(n_pes));
        for (auto& row : bytes)
          for (int to = 0; to < n_pes; ++to) {
            const auto kind = random() % 5;
            row.push_back(kind == 0 ? 0 : 1 + random() % (kind == 1 ? 100'000u : kind * 300u));
          }
        exchange_args<listed_pieces> args{};
        args.to = args.from = everybody;
        args.words_up_to = 64;
        args.slots_up_to = 800;
        args.pull = call % 2 == 0;
        std::size_t in = 0;
        std::size_t out = 0;
        for (std::size_t other = 0; other < bytes.size(); ++other) {
          args.sends.bytes[other] = bytes[static_cast<std::size_t>(pe)][other];
          args.sends.offset[other] = in;
          in += args.sends.bytes[other] + 3;
          args.receives.bytes[other] = bytes[other][static_cast<std::size_t>(pe)];
          args.receives.offset[other] = out;
          out += args.receives.bytes[other] + 5;
        }
        const auto where = all_buffers[random() % 5];
        const call_of_pe<listed_pieces> one(team, pe, call, args, false, where);
        one.launch(1 + call % 2);
        one.check();
      }
    }));
  }
}

TEST_CASE("the root of a broadcast in place brings the first of as many parts as there are PEs") {
  constexpr std::size_t bytes = 10'000;
  for (const std::size_t wanted : {bytes, std::size_t{6000}}) {
    const local_team team(2, {.threads = block_threads()});
    auto* source = team.user<byte>(0);
    auto* target = team.user<byte>(1, 4096);
    std::memset(source, 7, bytes);
    // PE 1 has come, and gone without its part.
    const auto receiver = team.ref(1);
    auto& box = channel_scratch(team.ref(0), 0, 1).mailbox_of(1);
    box.place[mailbox::both] = {1, 0, 0, receiver.symmetric_offset(target, wanted), wanted, 0, 0};
    box.left[mailbox::both].value = 1;
    team.run([&](int pe) {
      if (pe == 1) return;
      auto args = args_of(pattern::broadcast_in_place, 0, 0, bytes, {"direct", 0, 0});
      args.team = team.ref(0);
      args.what = operation::broadcast;
      args.input = args.output = source;
      team.launch(0, 1, exchange_kernel::of<equal_pieces>{args});
    });
    const auto brought = static_cast<std::size_t>(std::count(target, target + bytes, byte{7}));
    CHECK(brought == wanted / 2 / cache_line * cache_line);
    CHECK(std::count(target, target + brought, byte{7}) == static_cast<std::ptrdiff_t>(brought));
  }
}

TEST_CASE("who comes after the others have given up writes nothing into their memory") {
  for (const auto what : {pattern::broadcast_in_place, pattern::gather}) {
    const local_team team(2, {.threads = block_threads(), .timeout = 0.2});
    const int late = what == pattern::gather ? 1 : 0;  // who brings something
    std::atomic<bool> gave_up = false;
    team.run([&](int pe) {
      auto args = args_of(what, pe, 0, 100'000, {"direct", 0, 0, what != pattern::gather});
      const call_of_pe<equal_pieces> one(team, pe, 1, args, true, buffers::symmetric, 0,
                                         is_in_place(what, args));
      while (pe == late && !gave_up) std::this_thread::yield();
      CHECK_THROWS(one.launch(1));
      if (pe == late) return;
      gave_up = true;
    });
    const auto* output = team.user<byte>(1 - late, std::size_t{24} << 20);
    const auto own = what == pattern::gather ? std::size_t{100'000} : 0;  // the root's own piece
    CHECK(std::count(output + own, output + 100'000 + own, byte{0xee}) == 100'000);
  }
}

TEST_CASE("a PE that does not come is named by those that wait for it") {
  for (const ways& by : all_ways) {
    CAPTURE(by.name);
    const local_team team(3, {.threads = block_threads(), .timeout = patient(0.3)});
    team.run([&](int pe) {
      if (pe == 1) return;
      const auto args = args_of(pattern::all_gather, pe, 0, 200'000, by);
      const call_of_pe<equal_pieces> one(team, pe, 1, args, true, buffers::symmetric);
      CHECK_THROWS(one.launch(1));
    });
    const auto code = abort_code::from_word(load(&team.ref(0).control(0)->abort_word, acquire));
    CHECK(code.reason == abort_reason::timeout);
    CHECK(code.culprit == 1);
  }
}
