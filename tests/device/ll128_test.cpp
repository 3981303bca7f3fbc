// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <atomic>
#include <heddle/device/ll128.hpp>

#include "device/local_team.hpp"
#include "doctest/cut_short.hpp"

// The one promise of LL128's lines, as a litmus test: see litmus_test.cpp for the others.

using namespace heddle;
using heddle::testing::block_threads;
using heddle::testing::local_team;

namespace {

constexpr uint64_t rounds = 2000;
constexpr size_t lines = 13;

/// PE 0 writes the same lines over and over, PE 1 waits for the flag of each, checks its words and
/// answers. Nothing but the flags orders the data.
struct line_passing {
  const local_team* team;
  int pe;
  std::atomic<bool>* wrong;

  void operator()(host_block block) const {
    const auto ref = team->ref(pe);
    const line_team<host_block> threads(block);
    auto* line = team->user<ll128_line>(1);
    auto* answer = team->user<heddle::signal>(pe);
    for (uint64_t round = 1; round <= rounds; ++round) {
      for (size_t l = threads.line(); l < lines; l += threads.apart()) {
        if (pe == 0) {
          write(threads, line + l, round);
        } else if (!read(ref, threads, line + l, round)) {
          *wrong = true;
        }
      }
      if (pe == 0) {
        if (ref.wait_until(block, answer, cmp::ge, round) != wait_status::ok) return;
      } else {
        ref.update_signal(block, answer, round, signal_op::set, 0);
      }
    }
  }

  static void write(const line_team<host_block>& threads, ll128_line* line, uint64_t round) {
    line_words<host_block> words;
    for (uint64_t& word : words) word = round * 1000 + static_cast<uint64_t>(&word - words);
    ll128_store(threads, line, words, round);
  }

  static bool read(const team_ref& ref, const line_team<host_block>& threads,
                   const ll128_line* line, uint64_t round) {
    const auto look = [&](uint64_t& seen) {
      seen = ll128_flag(line);
      return seen == round;
    };
    if (ref.wait_by_thread(look, line, cmp::eq, round, operation::link_receive, 0) !=
        wait_status::ok)
      return false;
    line_words<host_block> words;
    ll128_load(threads, line, words);
    for (const uint64_t& word : words)
      if (word != round * 1000 + static_cast<uint64_t>(&word - words)) return false;
    return true;
  }
};

}  // namespace

TEST_CASE("who sees the flag of a line sees its data") {
  for (const int threads : {1, block_threads(2)}) {
    local_team team(2, {.threads = threads, .user_bytes = 1 << 20});
    std::atomic<bool> wrong{false};
    team.run([&](int pe) { team.launch(pe, 1, line_passing{&team, pe, &wrong}); });
    CHECK_FALSE(wrong);
    CHECK_FALSE(team.ref(0).aborted());
  }
}
