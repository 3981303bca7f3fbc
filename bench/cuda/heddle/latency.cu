// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How long one call of a kernel takes between two PEs: signals and put_signals there and back, puts
// that are complete, gets.
#include <heddle/symmetric_array.hpp>

#include "../partition.cuh"
#include "gpu_pe.hpp"

namespace {

using bench::gpu_pe;
using heddle::signal;
using heddle::team_ref;
using heddle::uint64_t;

/// n round trips of a signal.
template <class By>
struct signal_rounds {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, signal* word, uint64_t before,
                            uint64_t n) const {
    if (!bench::in_first_group<By>(block)) return;
    const auto group = By::of(block);
    const int peer = 1 - team.my_pe();
    for (uint64_t i = before + 1; i <= before + n; ++i) {
      if (team.my_pe() == 0) team.update_signal(group, word, i, heddle::signal_op::set, peer);
      if (team.wait_until(group, word, heddle::cmp::ge, i) != heddle::wait_status::ok) return;
      if (team.my_pe() == 1) team.update_signal(group, word, i, heddle::signal_op::set, peer);
    }
  }
};

struct mail {
  uint64_t* inbox;
  uint64_t* outbox;
  heddle::size_t words;
  signal* arrived;
  uint64_t* wrong;  ///< words that were not what the other PE has sent
};

/// n round trips of a put_signal. With Check each message is new, and looked at.
template <class By, bool Check>
struct put_signal_rounds {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, mail box, uint64_t before,
                            uint64_t n) const {
    if (!bench::in_first_group<By>(block)) return;
    const auto group = By::of(block);
    const auto rank = static_cast<heddle::size_t>(group.rank());
    const auto size = static_cast<heddle::size_t>(group.size());
    const int me = team.my_pe();
    for (uint64_t i = before + 1; i <= before + n; ++i) {
      const auto send = [&] {
        if constexpr (Check) {
          for (heddle::size_t w = rank; w < box.words; w += size) box.outbox[w] = sent(me, i, w);
          group.sync();
        }
        team.put_signal(group, box.inbox, box.outbox, box.words, box.arrived, i,
                        heddle::signal_op::set, 1 - me);
      };
      if (me == 0) send();
      if (team.wait_until(group, box.arrived, heddle::cmp::ge, i) != heddle::wait_status::ok)
        return;
      if constexpr (Check)
        for (heddle::size_t w = rank; w < box.words; w += size)
          if (box.inbox[w] != sent(1 - me, i, w)) team.atomic_add(box.wrong, uint64_t{1}, me);
      if (me == 1) send();
    }
  }

 private:
  HEDDLE_FN static uint64_t sent(int pe, uint64_t round, heddle::size_t w) {
    return round * 1'000'003 + w * 2 + static_cast<uint64_t>(pe);
  }
};

/// n puts of PE 0, each complete before the next.
template <class By>
struct complete_puts {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, uint64_t* to, uint64_t* from,
                            heddle::size_t words, uint64_t n) const {
    if (!bench::in_first_group<By>(block)) return;
    const auto group = By::of(block);
    for (uint64_t i = 0; i < n; ++i) {
      team.put(group, to, from, words, 1);
      if (group.rank() == 0) team.quiet();
      group.sync();
    }
  }
};

/// n gets of PE 0, one after the other.
template <class By>
struct gets {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, uint64_t* to, uint64_t* from,
                            heddle::size_t words, uint64_t n) const {
    if (!bench::in_first_group<By>(block)) return;
    for (uint64_t i = 0; i < n; ++i) team.get(By::of(block), to, from, words, 1);
  }
};

class latencies {
 public:
  explicit latencies(gpu_pe& pe)
      : pe_(pe),
        inbox_(pe.runtime(), most_words),
        outbox_(pe.runtime(), most_words),
        signal_(pe.runtime(), 1),
        wrong_(pe.runtime(), 1) {}

  template <class By>
  void measure() {
    measure_signal<By>();
    for (const std::size_t bytes : pe_.options().up_to_max({8, 64, 512, 4096, 32'768, 262'144}))
      if (bytes <= By::most_bytes) {
        measure_put_signal<By>(bytes);
        measure_put<By>(bytes);
        measure_get<By>(bytes);
      }
  }

 private:
  static constexpr std::size_t most_words = 262'144 / sizeof(uint64_t);

  template <class By>
  void measure_signal() {
    const double us = pe_.time([&](std::uint64_t n) {
      heddle::launch(pe_.stream(), 1, By::threads(), signal_rounds<By>{}, pe_.world().ref(),
                     signal_.data(), rounds_, n);
      rounds_ += n;
    });
    if (pe_.read(signal_.data(), 1)[0] != rounds_)
      throw std::runtime_error("the signal is not that of the last round");
    pe_.agree(0);  // both have looked before the next one comes
    pe_.report("signal", By::name, sizeof(signal), us / 2);
  }

  template <class By>
  void measure_put_signal(std::size_t bytes) {
    const mail box{inbox_.data(), outbox_.data(), bytes / sizeof(uint64_t), signal_.data(),
                   wrong_.data()};
    const auto run = [&](auto kernel, std::uint64_t n) {
      heddle::launch(pe_.stream(), 1, By::threads(), kernel, pe_.world().ref(), box, rounds_, n);
      rounds_ += n;
    };
    run(put_signal_rounds<By, true>{}, 50);
    const auto wrong = pe_.read(wrong_.data(), 1)[0];
    if (wrong != 0)
      throw std::runtime_error("put_signal by a " + std::string(By::name) + ": " +
                               std::to_string(wrong) + " wrong words in 50 messages of " +
                               std::to_string(bytes) + " bytes");
    const double us = pe_.time([&](std::uint64_t n) { run(put_signal_rounds<By, false>{}, n); });
    pe_.report("put_signal", By::name, bytes, us / 2);
  }

  template <class By>
  void measure_put(std::size_t bytes) {
    measure_copies<By>("put, complete", complete_puts<By>{}, bytes, 1);
  }
  template <class By>
  void measure_get(std::size_t bytes) {
    measure_copies<By>("get", gets<By>{}, bytes, 0);
  }

  /// `kernel` copies PE 0's outbox to PE 1's inbox, or PE 1's to PE 0's; `receiver` has it then.
  template <class By, class Kernel>
  void measure_copies(const char* what, Kernel kernel, std::size_t bytes, int receiver) {
    const std::size_t words = bytes / sizeof(uint64_t);
    const auto run = [&](std::uint64_t n) {
      if (pe_.my_pe() == 0)
        heddle::launch(pe_.stream(), 1, By::threads(), kernel, pe_.world().ref(), inbox_.data(),
                       outbox_.data(), words, n);
    };
    ++content_;
    const auto sent_by = [&](int pe) {
      std::vector<uint64_t> sent(words);
      for (std::size_t w = 0; w < words; ++w)
        sent[w] = bench::pattern(w + content_) + static_cast<uint64_t>(pe);
      return sent;
    };
    pe_.write(outbox_.data(), sent_by(pe_.my_pe()));
    pe_.agree(0);
    run(1);
    pe_.stream().synchronize();
    pe_.agree(0);
    if (pe_.my_pe() == receiver && pe_.read(inbox_.data(), words) != sent_by(1 - receiver))
      throw std::runtime_error(std::string(what) + " by a " + By::name + ": " +
                               std::to_string(bytes) + " bytes did not arrive as they were");
    const double us = pe_.time(run);
    pe_.report(what, By::name, bytes, us);
  }

  gpu_pe& pe_;
  heddle::symmetric_array<uint64_t> inbox_;
  heddle::symmetric_array<uint64_t> outbox_;
  heddle::symmetric_array<signal> signal_;
  heddle::symmetric_array<uint64_t> wrong_;
  std::uint64_t rounds_ = 0;
  std::size_t content_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_heddle_latency", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    if (options.pes != 2) throw std::invalid_argument("latencies are between 2 PEs");
    bench::run_gpu_pes(options, [](gpu_pe& pe) {
      latencies all(pe);
      all.measure<bench::by_thread>();
      all.measure<bench::by_warp>();
      all.measure<bench::by_block>();
    });
  });
}
