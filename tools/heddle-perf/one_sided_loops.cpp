// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "one_sided_loops.hpp"

#include <heddle/device/launch.hpp>

#include "moving_source.hpp"

namespace perf {

namespace {

struct put_loop {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, transfer what) const {
    const uint64_t end = what.made + static_cast<uint64_t>(what.calls);
    for (uint64_t call = what.made; call < end; ++call) {
      team.put(block, what.dst, what.src + moving_source::place(call), what.bytes, 1);
      team.quiet();
    }
  }
};

struct get_loop {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, transfer what) const {
    const uint64_t end = what.made + static_cast<uint64_t>(what.calls);
    for (uint64_t call = what.made; call < end; ++call)
      team.get(block, what.dst, what.src + moving_source::place(call), what.bytes, 1);
  }
};

struct ping_pong {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, transfer what, heddle::signal* word,
                            uint64_t before) const {
    const int other = 1 - team.my_pe();
    const uint64_t end = what.made + static_cast<uint64_t>(what.calls);
    for (uint64_t call = what.made; call < end; ++call) {
      const unsigned char* from = what.src + moving_source::place(call);
      const uint64_t count = before + call + 1;
      if (team.my_pe() == 0)
        team.put_signal(block, what.dst, from, what.bytes, word, count, heddle::signal_op::set,
                        other);
      if (team.wait_until(block, word, heddle::cmp::ge, count) != heddle::wait_status::ok) return;
      if (team.my_pe() == 1)
        team.put_signal(block, what.dst, from, what.bytes, word, count, heddle::signal_op::set,
                        other);
    }
  }
};

struct batch_loop {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, batches what) const {
    const int mine = block.block_rank();
    const heddle::team_ref queue = team.context(mine);
    const size_t bytes = what.each.bytes;
    unsigned char* const places =
        what.each.dst + static_cast<size_t>(mine) * static_cast<size_t>(what.size) * bytes;
    const uint64_t end = what.each.made + static_cast<uint64_t>(what.each.calls);
    for (uint64_t call = what.each.made; call < end; ++call) {
      for (int i = 0; i < what.size; ++i) {
        unsigned char* const dst = places + static_cast<size_t>(i) * bytes;
        const unsigned char* from =
            what.each.src + moving_source::place(put_in_batch(call, mine, i));
        if (what.words)
          queue.put_signal_nbi(block, dst, from, bytes, what.words + mine, 1,
                               heddle::signal_op::add, 1);
        else
          queue.put_nbi(block, dst, from, bytes, 1);
      }
      queue.quiet();
    }
  }
};

struct add_loop {
  template <heddle::block_group Block, class Word>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, Word* word, int calls) const {
    if (block.rank() != 0) return;
    for (int i = 0; i < calls; ++i) team.atomic_fetch_add(word, Word{1}, 1);
  }
};

}  // namespace

void launch_puts(const heddle::stream& queue, int threads, const heddle::team_ref& team,
                 const transfer& what) {
  heddle::launch(queue, 1, threads, put_loop{}, team, what);
}
void launch_gets(const heddle::stream& queue, int threads, const heddle::team_ref& team,
                 const transfer& what) {
  heddle::launch(queue, 1, threads, get_loop{}, team, what);
}
void launch_ping_pong(const heddle::stream& queue, int threads, const heddle::team_ref& team,
                      const transfer& what, heddle::signal* word, std::uint64_t before) {
  heddle::launch(queue, 1, threads, ping_pong{}, team, what, word, before);
}

void launch_batches(const heddle::stream& queue, int blocks, int threads,
                    const heddle::team_ref& team, const batches& what) {
  heddle::launch(queue, blocks, threads, batch_loop{}, team, what);
}

template <class Word>
void launch_adds(const heddle::stream& queue, const heddle::team_ref& team, Word* word, int calls) {
  heddle::launch(queue, 1, 1, add_loop{}, team, word, calls);
}
template void launch_adds(const heddle::stream&, const heddle::team_ref&, std::uint32_t*, int);
template void launch_adds(const heddle::stream&, const heddle::team_ref&, std::uint64_t*, int);

}  // namespace perf
