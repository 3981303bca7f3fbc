// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The queue between producers and the proxy: full, wrapping, given up on; and contexts.

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>

#include "doctest/cut_short.hpp"
#include "proxy_job.hpp"

namespace heddle::testing {
namespace {

TEST_CASE("of more commands than slots, from several threads, none is lost or overwritten") {
  constexpr int threads = 4;
  const int n = rounds(3000);  // about three rings for each thread
  proxy_job job({.n_pes = 2,
                 .contexts = 1,
                 .user_bytes = static_cast<std::size_t>(threads) * (n + 1) * 8 + 4096});
  job.run([&](test_pe& self) {
    {
      std::vector<std::jthread> all;
      for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
          test_pe mine(job, self.pe);
          mine.random.seed(job.seed() + static_cast<std::uint64_t>(self.pe * threads + t));
          auto* words = mine.user<std::uint64_t>(4096) + static_cast<std::size_t>(t) * n;
          // Payloads of every length, so that they wrap round the ring's end at every slot.
          std::uint64_t values[command_queue_ref::usual_payload / 8];
          for (int i = 0; i < n;) {
            const auto most =
                std::min<std::size_t>(std::size(values), static_cast<std::size_t>(n - i));
            const auto count = 1 + mine.below(most);
            for (std::size_t k = 0; k < count; ++k)
              values[k] =
                  static_cast<std::uint64_t>(t) << 32 | (static_cast<std::uint64_t>(i) + k + 1);
            mine.team.put_nbi(one, words + i, values, count, mine.right());
            mine.team.update_signal(one, mine.user<std::uint64_t>(0), 1, signal_op::add,
                                    mine.right());
            i += static_cast<int>(count);
            mine.team.atomic_add(mine.user<std::uint64_t>(8), static_cast<std::uint64_t>(count),
                                 mine.right());
          }
        });
    }
    self.barrier();
    expect(load(self.user<std::uint64_t>(8), acquire) == static_cast<std::uint64_t>(threads) * n,
           "atomics were lost");
    for (int t = 0; t < threads; ++t)
      for (int i = 0; i < n; ++i) {
        const auto found = self.user<std::uint64_t>(4096)[t * n + i];
        expect(found == (static_cast<std::uint64_t>(t) << 32 | static_cast<std::uint64_t>(i + 1)),
               fmt::format("word {} of thread {} is {:#x}", i, t, found));
      }
  });
}

TEST_CASE("messages in a row, of every length that a command carries, come whole and in order") {
  constexpr std::size_t most = command_queue_ref::most_payload;
  const int n = rounds(400);
  proxy_job job(
      {.n_pes = 2, .contexts = 1, .user_bytes = static_cast<std::size_t>(n) * most + 4096});
  const auto length_of = [](int i) { return most - static_cast<std::size_t>(i) * 7919 % most; };
  std::vector<byte> source(most + static_cast<std::size_t>(n));
  for (auto& each : source) each = static_cast<byte>((&each - source.data()) * 31 % 251);
  job.run([&](test_pe& self) {
    auto* arrived = self.user<std::uint64_t>(0);
    const auto place_of = [&](int i) {
      return self.user<byte>(4096) + static_cast<std::size_t>(i) * most;
    };
    if (self.pe == 0)
      for (int i = 0; i < n; ++i)
        self.team.send(place_of(i), source.data() + i, length_of(i), arrived,
                       static_cast<std::uint64_t>(i) + 1, 1);
    else
      for (int i = 0; i < n; ++i) {
        self.wait(arrived, cmp::ge, static_cast<std::uint64_t>(i) + 1, "a message");
        expect(std::memcmp(place_of(i), source.data() + i, length_of(i)) == 0,
               fmt::format("message {} of {} bytes is not what was sent", i, length_of(i)));
      }
    self.barrier();
    self.team.quiet();
  });
}

TEST_CASE("memory that is lent keeps no command from the proxy, however late it is asked for") {
  constexpr std::size_t bytes = 5000;  // more than goes in a command
  proxy_job job({.n_pes = 2, .contexts = 1});
  job.run([&](test_pe& self) {
    std::vector<std::uint64_t> source(bytes / 8);
    std::iota(source.begin(), source.end(), 100);
    const int pe = self.right();
    const std::uint64_t sent =
        self.team.send_borrowed(self.user<byte>(4096), reinterpret_cast<byte*>(source.data()),
                                bytes, self.user<std::uint64_t>(0), 1, pe);
    // Others come round to its slot, with replies of their own.
    constexpr int n = 3 * command_queue_ref::slots;
    for (int i = 0; i < n; ++i) {
      self.team.atomic_add(self.user<std::uint64_t>(8), std::uint64_t{1}, pe);
      if (i % 50 == 0)
        (void)self.team.atomic_fetch_add(self.user<std::uint64_t>(16), std::uint64_t{1}, pe);
    }
    self.team.await_borrowed(sent, pe);
    source.assign(source.size(), 0);
    self.barrier();
    expect(load(self.user<std::uint64_t>(8), acquire) == n, "atomics were lost");
    expect(load(self.user<std::uint64_t>(0), acquire) == 1, "what was lent has not come");
    for (std::size_t i = 0; i < bytes / 8; ++i)
      expect(self.user<std::uint64_t>(4096)[i] == 100 + i, "what was lent came after it was gone");
  });
}

TEST_CASE("contexts keep to themselves") {
  proxy_job job({.n_pes = 3, .contexts = 4});
  job.run([&](test_pe& self) {
    expect(self.team.n_contexts() == 4, "four contexts were asked for");
    // Each context has its own queue; all of them reach the same words.
    for (int round = 1; round <= rounds(50); ++round)
      for (int c = 0; c < 4; ++c)
        for (int pe = 0; pe < self.n_pes; ++pe)
          self.team.context(c).atomic_add(
              self.user<std::uint64_t>(static_cast<std::size_t>(c) * 64), std::uint64_t{1}, pe);
    for (int c = 0; c < 4; ++c) self.team.context(c).quiet();
    self.barrier();
    for (int c = 0; c < 4; ++c)
      expect(load(self.user<std::uint64_t>(static_cast<std::size_t>(c) * 64), acquire) ==
                 static_cast<std::uint64_t>(rounds(50) * self.n_pes),
             fmt::format("context {} has lost some", c));
  });
}

/// What is not exposed there yet holds a put up for as long as the test wants.
TEST_CASE("a context's quiet is not held up by another's pending put") {
  if (!chosen_network().waits_for_places) return;
  constexpr std::size_t half = std::size_t{1} << 20;
  proxy_job job({.n_pes = 2, .user_bytes = 2 * half, .exposed_bytes = half});
  // This PE's own memory is all there, so that the addresses are good.
  job.run([&](test_pe& self) {
    std::vector<std::byte> source(256 << 10);
    fill(source, 3);
    if (self.pe == 0) {
      job.expose(0, half, 2 * half);
      self.team.context(1).put_nbi(one, self.user(half), source.data(), source.size(), 1);
      for (std::uint64_t i = 1; i <= 20; ++i) {
        self.team.put_nbi(one, self.user(64), source.data(), 100'000, 1);
        self.team.quiet();
        self.team.update_signal(one, self.user<std::uint64_t>(0), i, signal_op::set, 1);
      }
    } else {
      self.wait(self.user<std::uint64_t>(0), cmp::ge, std::uint64_t{20}, "20 quiets");
      job.expose(1, half, 2 * half);
    }
    if (self.pe == 0) self.team.context(1).quiet();
    self.barrier();
    if (self.pe == 1) expect_filled({self.user(half), source.size()}, 3, "the put that waited");
  });
}

TEST_CASE("waits that give up leave the queue fit, and replies that come late do no harm") {
  if (!chosen_network().waits_for_places) return;
  constexpr std::size_t half = std::size_t{1} << 20;
  proxy_job job({.n_pes = 2,
                 .contexts = 2,
                 .user_bytes = 2 * half,
                 .exposed_bytes = half,
                 .timeout = 0.2,
                 .meets_at_end = false});
  std::atomic<bool> gave_up{false};
  std::atomic<bool> is_done{false};
  job.run([&](test_pe& self) {
    if (self.pe == 1) {
      while (!gave_up) std::this_thread::yield();
      job.expose(1, half, 2 * half);
      while (!is_done) self.team.test(one, self.user<std::uint64_t>(0), cmp::eq, std::uint64_t{0});
      return;
    }
    job.expose(0, half, 2 * half);
    {
      std::vector<std::byte> got(200'000, std::byte{0x5a});
      std::vector<std::byte> put(200'000, std::byte{1});
      self.team.context(1).put(one, self.user(half), put.data(), put.size(), 1);
      expect(self.team.aborted(), "a put whose target is not there did not time out");
      // In an aborted team every wait ends at once; these come on top, behind the first.
      for (int i = 0; i < 50; ++i)
        self.team.context(1).get(one, got.data(), self.user(half + 1000), got.size(), 1);
      (void)self.team.context(1).g(self.user<std::uint64_t>(half), 1);
      expect(got == std::vector<std::byte>(200'000, std::byte{0x5a}), "got something");
    }  // the buffers are gone before the target comes
    gave_up = true;
    // The queue goes on: context 1 gets to the end of all that, then serves again.
    const auto& queue = job.proxy_of(0).host_ref().queues[1];
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (load(queue.consumed, acquire) != load(&queue.head->next, acquire)) {
      self.team.test(one, self.user<std::uint64_t>(0), cmp::eq, std::uint64_t{0});
      expect(std::chrono::steady_clock::now() < limit, "commands stay in the queue");
    }
    is_done = true;
  });
}

/// Private memory that is gone at the end: who touches it then crashes.
class passing_memory {
 public:
  explicit passing_memory(std::size_t size)
      : size_(size),
        start_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    expect(start_ != MAP_FAILED, "no memory");
    std::memset(start_, 1, size);
  }
  ~passing_memory() { ::munmap(start_, size_); }
  passing_memory(const passing_memory&) = delete;
  passing_memory& operator=(const passing_memory&) = delete;
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(start_); }

 private:
  std::size_t size_;
  void* start_;
};

TEST_CASE("memory of puts and gets that were given up is the caller's again") {
  const std::size_t size = std::size_t{is_cut_short() ? 32u : 128u} << 20;
  for (const bool puts : {false, true}) {
    proxy_job job(
        {.n_pes = 2, .contexts = 1, .user_bytes = size, .timeout = 0.01, .meets_at_end = false});
    std::atomic<bool> is_done{false};
    job.run([&](test_pe& self) {
      if (self.pe == 1) {
        while (!is_done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return;
      }
      {
        const passing_memory own(size);
        if (puts)
          self.team.put(one, self.user(0), own.data(), size, 1);
        else
          self.team.get(one, own.data(), self.user(0), size, 1);
      }
      // What is under way goes on. (A network that is memory may be through.)
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      is_done = true;
    });
    for (const auto& each : job.failures(0)) FAIL_CHECK(each.reason);
  }
}

}  // namespace
}  // namespace heddle::testing
