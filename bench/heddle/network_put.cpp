// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What heddle's kernels do through a network, between two PEs whose memory is not mapped, in the
// shapes of what the network itself is measured by (bench/bare/fabric_loop.cpp, perftest):
//   network_signal        put_signal of 8 bytes, one way: half a ping-pong
//   network_put           each 1 MiB put, 16 and then a quiet
//   network_rate          each 8-byte put from 4 blocks, which each make 64 and then a quiet
//   network_signal_rate   the same of put_signal
//   network_atomic_rate   the same of atomic_add
//   network_wake          an atomic_fetch_add to a PE whose threads all sleep, until its answer
//   network_idle          microseconds of processor time in a second in which the PEs sleep
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <heddle/device/launch.hpp>
#include <thread>

#include "../program.hpp"

namespace {

constexpr int blocks = 4;
constexpr std::size_t window = 64;
constexpr std::size_t big = std::size_t{1} << 20;
constexpr std::size_t big_window = 16;

struct signals {
  heddle::signal ping;
  std::uint64_t padding[15];
  heddle::signal of_block[blocks];
  std::uint64_t padding_2[12];
  std::uint64_t words[blocks];  ///< of atomic_add
  std::uint64_t woken;          ///< network_wake is over
};

/// n round trips; who gets a payload sends back one more.
struct ping_pong {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, std::uint64_t* payload,
                            std::uint64_t* sent, signals* words, std::uint64_t before,
                            std::uint64_t n) const {
    const int peer = 1 - team.my_pe();
    for (std::uint64_t i = before + 1; i <= before + n; ++i) {
      const auto send = [&] {
        team.put_signal(block, payload, sent, 1, &words->ping, i, heddle::signal_op::set, peer);
      };
      if (team.my_pe() == 0) {
        *sent = *payload + 1;
        send();
      }
      if (team.wait_until(block, &words->ping, heddle::cmp::ge, i) != heddle::wait_status::ok)
        return;
      if (team.my_pe() == 1) {
        *sent = *payload + 1;
        send();
      }
    }
  }
};

/// n times a window of puts and a quiet.
struct put_windows {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, std::byte* dst,
                            const std::byte* src, std::uint64_t n) const {
    for (std::uint64_t i = 0; i < n; ++i) {
      for (std::size_t at = 0; at < big_window; ++at)
        team.put_nbi(block, dst + at * big, src + at * big, big, 1);
      team.quiet();
    }
  }
};

enum class small { put, put_signal, atomic_add };

/// Each block in a context of its own: n times a window of small operations and a quiet.
template <small What>
struct small_windows {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, std::uint64_t* dst,
                            std::uint64_t* src, signals* words, std::uint64_t n) const {
    const int mine = block.block_rank();
    const auto queue = team.context(mine);
    const std::size_t first = static_cast<std::size_t>(mine) * window;
    for (std::uint64_t i = 0; i < n; ++i) {
      for (std::size_t at = first; at < first + window; ++at) {
        if constexpr (What == small::atomic_add) {
          queue.atomic_add(&words->words[mine], std::uint64_t{1}, 1);
        } else {
          ++src[at];
          if constexpr (What == small::put)
            queue.put_nbi(block, dst + at, src + at, 1, 1);
          else
            queue.put_signal_nbi(block, dst + at, src + at, 1, &words->of_block[mine], 1,
                                 heddle::signal_op::add, 1);
        }
      }
      queue.quiet();
    }
  }
};

class network_putter {
 public:
  network_putter()
      : world_(runtime_.world()),
        stream_(runtime_.default_stream()),
        source_(runtime_, big_window * big),
        target_(runtime_, big_window * big),
        small_source_(runtime_, blocks * window),
        small_target_(runtime_, blocks * window),
        payload_(runtime_, 2),
        words_(runtime_, 1),
        times_(runtime_, 2) {
    if (world_.n_pes() != 2)
      throw std::runtime_error("network_put is for two PEs, and there are " +
                               std::to_string(world_.n_pes()));
    if (world_.ref().ptr(times_.data(), 1 - my_pe()))
      throw std::runtime_error(
          "the two PEs reach each other by memory: put them on two hosts, or set "
          "HEDDLE_P2P_DISABLE=1");
    for (std::size_t i = 0; i < source_.size(); ++i)
      source_.data()[i] = static_cast<std::byte>(i * 131 + i / 4096);
    world_.barrier();
  }

  [[nodiscard]] int my_pe() const { return world_.my_pe(); }

  double agree(double x) {
    times_.data()[0] = x;
    world_.all_reduce(times_.data(), times_.data() + 1, 1, heddle::op::max);
    return times_.data()[1];
  }

  void round_trips(std::uint64_t n) {
    heddle::launch(stream_, 1, 1, ping_pong{}, world_.ref(), payload_.data(), payload_.data() + 1,
                   words_.data(), trips_, n);
    trips_ += n;
    expect(payload_.data()[0], my_pe() == 0 ? 2 * trips_ : 2 * trips_ - 1, "the last payload");
  }
  void big_puts(std::uint64_t n) {
    big_puts_ += n;
    if (my_pe() == 0)
      heddle::launch(stream_, 1, 1, put_windows{}, world_.ref(), target_.data(), source_.data(), n);
  }
  template <small What>
  void small_operations(std::uint64_t n) {
    if (my_pe() == 0)
      heddle::launch(stream_, blocks, 1, small_windows<What>{}, world_.ref(), small_target_.data(),
                     small_source_.data(), words_.data(), n);
    if (What == small::atomic_add)
      adds_ += n * window;
    else
      small_puts_ += n;
    if (What == small::put_signal) signals_ += n * window;
  }

  /// All that was done since the start has arrived.
  void verify() {
    world_.barrier();
    if (my_pe() == 1) {
      for (std::size_t i = 0; big_puts_ > 0 && i < target_.size(); ++i)
        if (target_.data()[i] != source_.data()[i])
          throw std::runtime_error("put delivered wrong data at byte " + std::to_string(i));
      for (std::size_t i = 0; i < small_target_.size(); ++i)
        expect(small_target_.data()[i], small_puts_, "a small put");
      for (int i = 0; i < blocks; ++i) {
        expect(words_.data()->of_block[i], signals_, "a block's signal");
        expect(words_.data()->words[i], adds_, "a word that was added to");
      }
    }
    world_.barrier();
  }

  /// Of PE 0; PE 1 sleeps until it has done.
  double woken_us() {
    world_.barrier();
    double us = 0;
    if (my_pe() == 0) {
      us = bench::time_woken([&] { world_.atomic_fetch_add(&words_.data()->words[0], 0, 1); });
      world_.p(&words_.data()->woken, 1, 1);
    } else {
      const std::atomic_ref woken(words_.data()->woken);
      for (int i = 0; woken.load() == 0; ++i) {
        if (i == 400) throw std::runtime_error("PE 0 did not end network_wake within 20 s");
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    }
    return agree(us);
  }

  /// Processor time of this process for each second of sleep.
  double idle_us(double seconds) {
    world_.barrier();
    const double before = processor_us();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return agree((processor_us() - before) / seconds);
  }

 private:
  static void expect(std::uint64_t found, std::uint64_t expected, const char* what) {
    if (found != expected)
      throw std::runtime_error(std::string(what) + " is " + std::to_string(found) + ", not " +
                               std::to_string(expected));
  }
  static double processor_us() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto us = [](const timeval& time) {
      return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
    };
    return us(used.ru_utime) + us(used.ru_stime);
  }

  heddle::runtime runtime_;
  heddle::team world_;
  heddle::stream stream_;
  heddle::symmetric_array<std::byte> source_;
  heddle::symmetric_array<std::byte> target_;
  heddle::symmetric_array<std::uint64_t> small_source_;
  heddle::symmetric_array<std::uint64_t> small_target_;
  heddle::symmetric_array<std::uint64_t> payload_;
  heddle::symmetric_array<signals> words_;
  heddle::symmetric_array<double> times_;
  std::uint64_t trips_ = 0;
  std::uint64_t big_puts_ = 0;    ///< windows of them
  std::uint64_t small_puts_ = 0;  ///< to each place
  std::uint64_t signals_ = 0;     ///< of each block
  std::uint64_t adds_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  bench::effort effort;
  double idle_s = 3;
  std::string only;
  CLI::App app("heddle's one-sided operations through a network");
  app.add_option("--batch-us", effort.batch_us, "length of one timed batch");
  app.add_option("--batches", effort.batches, "timed batches (median)")->check(CLI::Range(1, 1000));
  app.add_option("--idle-s", idle_s, "how long the PEs sleep; 0: not")
      ->check(CLI::Range(0.0, 60.0));
  app.add_option("--only", only, "the one thing to measure, as it is called in the output")
      ->check(CLI::IsMember({"network_signal", "network_put", "network_rate", "network_signal_rate",
                             "network_atomic_rate", "network_wake", "network_idle"}));
  CLI11_PARSE(app, argc, argv);

  return bench::run_program("network_put", [&] {
    network_putter putter;
    bench::report_binding(putter.my_pe());
    const auto measure = [&](const char* what, std::size_t bytes, double parts, auto run) {
      if (!only.empty() && only != what) return;
      const double us = bench::time_per_iteration(
                            run, [&](double x) { return putter.agree(x); }, effort) /
                        parts;
      if (putter.my_pe() == 0) bench::report(what, "heddle", bytes, us);
    };
    constexpr double in_windows = blocks * static_cast<double>(window);
    measure("network_signal", 8, 2, [&](std::uint64_t n) { putter.round_trips(n); });
    measure("network_put", big, big_window, [&](std::uint64_t n) { putter.big_puts(n); });
    measure("network_rate", 8, in_windows,
            [&](std::uint64_t n) { putter.small_operations<small::put>(n); });
    measure("network_signal_rate", 8, in_windows,
            [&](std::uint64_t n) { putter.small_operations<small::put_signal>(n); });
    measure("network_atomic_rate", 8, in_windows,
            [&](std::uint64_t n) { putter.small_operations<small::atomic_add>(n); });
    if (only.empty() || only == "network_wake") {
      const double us = putter.woken_us();
      if (putter.my_pe() == 0) bench::report("network_wake", "heddle", 8, us);
    }
    putter.verify();
    if (idle_s <= 0 || !(only.empty() || only == "network_idle")) return;
    const double idle = putter.idle_us(idle_s);
    if (putter.my_pe() == 0) bench::report("network_idle", "heddle", 0, idle);
  });
}
