// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The proxy and its queues, over a network that the test tells what to do.

#include <doctest/doctest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "host/proxy/proxy.hpp"
#include "scripted_transport.hpp"
#include "support/unique_fd.hpp"

namespace heddle::testing {
namespace {

using clock = std::chrono::steady_clock;

template <class Done>
bool within_seconds(int seconds, const Done& done) {
  for (const auto limit = clock::now() + std::chrono::seconds(seconds); !done();) {
    if (clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_CASE("a queue with room is never called full, whoever else takes slots") {
  const auto shared = std::make_unique<command_queue::shared_words>();
  command_queue_ref::head_words head{};
  const command_queue_ref queue{&head, &shared->consumed, shared->ring, shared->replies};
  constexpr int threads = 4;
  constexpr std::uint64_t n = 200'000;
  std::atomic<int> refused{0};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::jthread> producers;
  for (int t = 0; t < threads; ++t)
    producers.emplace_back([&] {
      command what{};
      for (std::uint64_t i = 0; i < n && refused == 0; ++i) {
        const auto at = queue.try_take(0);
        if (at == ~std::uint64_t{0}) {
          ++refused;
          return;
        }
        what.value = at;
        queue.submit(at, what, nullptr);
        // The ring is never near its end.
        while (at > load(&shared->consumed, acquire) + command_queue_ref::slots / 8)
          std::this_thread::yield();
      }
    });
  std::jthread consumer([&](const std::stop_token& ends) {
    for (std::uint64_t next = 0; !ends.stop_requested();) {
      const command& slot = shared->ring[next % command_queue_ref::slots];
      if (load(&slot.turn, acquire) != next + 1) {
        std::this_thread::yield();
        continue;
      }
      if (slot.value != next) ++wrong;
      store(&shared->consumed, ++next, release);
    }
  });
  producers.clear();
  CHECK(refused == 0);
  CHECK(wrong == 0);
}

TEST_CASE("who holds the lock of driving hears of all who came meanwhile") {
  drive_lock lock;
  std::atomic<int> posted{0};
  std::atomic<int> carried_out{0};
  const auto serve = [&] {
    while (lock.try_lock_or_ask()) {
      carried_out = posted.load();
      if (!lock.unlock()) return;
    }
  };
  std::jthread other([&](const std::stop_token& ends) {
    while (!ends.stop_requested()) {
      lock.lock();
      if (lock.unlock()) serve();
    }
  });
  constexpr int rounds = 5'000;
  constexpr int posters = 2;
  std::barrier meet(posters);
  std::atomic<int> lost{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < posters; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < rounds; ++i) {
          posted.fetch_add(1);
          serve();
          meet.arrive_and_wait();
          // Nobody posts now: what is not carried out never will be.
          if (lost == 0 && !within_seconds(20, [&] { return carried_out == posted; })) ++lost;
          meet.arrive_and_wait();
        }
      });
  }
  CHECK(lost == 0);
}

struct fixture {
  explicit fixture(transport::traits traits = {},
                   const std::function<void(scripted_transport&)>& prepare = {},
                   bool has_kernels_elsewhere = false) {
    auto made = std::make_unique<scripted_transport>(traits);
    network = made.get();
    if (prepare) prepare(*network);
    const proxy::options options{
        .engine = {.my_pe = 0, .n_pes = 2, .lanes = 1, .job = 1, .device = nullptr},
        .contexts = 1,
        .looks_by_itself = has_kernels_elsewhere,
        .make_shared_memory = zeros,
        .make_device_memory = zeros,
        .regions = {{reinterpret_cast<const byte*>(heap.data()), heap.size()}, {nullptr, 0}},
        .on_failure = [this](int pe, const std::string& reason) {
          const std::scoped_lock lock(guard);
          failures.emplace_back(pe, reason);
        }};
    tested = std::make_unique<proxy>(std::move(made), options);
    tested->add_memory(0, 0, heap.data(), heap.size());
    tested->expose(0, 0, heap.data(), heap.size());
  }
  static std::shared_ptr<void> zeros(std::size_t bytes) {
    std::shared_ptr<void> made(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096), std::free);
    std::memset(made.get(), 0, bytes);
    return made;
  }
  std::uint64_t submit(command_kind kind, std::size_t bytes) {
    command what{};
    what.kind = kind;
    what.flags = command::wants_reply;
    what.pe = kind == command_kind::quiet ? -1 : 1;
    what.bytes = bytes;
    what.local = reinterpret_cast<std::uint64_t>(local.data());
    const auto& queue = tested->host_ref().queues[0];
    const auto at = queue.try_take(0);
    queue.submit(at, what, nullptr);
    tested->host_ref().serve(tested->host_ref().proxy);
    return at;
  }
  [[nodiscard]] bool is_replied(std::uint64_t at) const {
    return load(&tested->host_ref().queues[0].replies[at % command_queue_ref::slots].stamp,
                acquire) == at + 1;
  }
  [[nodiscard]] std::vector<std::pair<int, std::string>> told() {
    const std::scoped_lock lock(guard);
    return failures;
  }
  std::vector<std::byte> heap = std::vector<std::byte>(100'000);
  std::vector<std::byte> local = std::vector<std::byte>(100'000);
  std::mutex guard;
  std::vector<std::pair<int, std::string>> failures;
  scripted_transport* network = nullptr;
  std::unique_ptr<proxy> tested;
};

TEST_CASE("a network that throws loses all PEs, and nothing else") {
  fixture f;
  const auto first = f.submit(command_kind::get, 64'000);  // waits for the peer's piece
  f.network->happens(
      [](transport::listener&) { throw std::runtime_error("the network is broken"); });
  f.tested->host_ref().help(f.tested->host_ref().proxy);
  CHECK(within_seconds(20, [&] { return f.is_replied(first); }));
  REQUIRE(within_seconds(20, [&] { return !f.told().empty(); }));
  CHECK(f.told()[0].first == -1);
  CHECK(f.told()[0].second == "the network is broken");
  // What comes later is answered at once.
  const auto put = f.submit(command_kind::put, 64'000);
  const auto quiet = f.submit(command_kind::quiet, 0);
  CHECK(within_seconds(20, [&] { return f.is_replied(put) && f.is_replied(quiet); }));
  CHECK(f.told().size() == 1);
}

TEST_CASE("a network that says that nobody can be reached ends every wait") {
  fixture f;
  const auto get = f.submit(command_kind::get, 64'000);
  f.network->happens([](transport::listener& to) { to.on_failure(-1, "the cable is out"); });
  f.tested->host_ref().help(f.tested->host_ref().proxy);
  CHECK(within_seconds(20, [&] { return f.is_replied(get); }));
  REQUIRE(within_seconds(20, [&] { return !f.told().empty(); }));
  CHECK(f.told()[0] == std::pair<int, std::string>{-1, "the cable is out"});
}

TEST_CASE("a network that throws when it is about to be waited for loses all PEs") {
  const unique_fd never(::eventfd(0, EFD_CLOEXEC));
  std::atomic<bool> is_broken{false};
  fixture f({}, [&](scripted_transport& network) {
    network.descriptor = never.get();
    network.when_may_wait = [&] {
      if (is_broken) throw std::runtime_error("the card is gone");
    };
  });
  const auto get = f.submit(command_kind::get, 64'000);
  is_broken = true;
  CHECK(within_seconds(20, [&] { return f.is_replied(get); }));
  REQUIRE(within_seconds(20, [&] { return !f.told().empty(); }));
  CHECK(f.told()[0] == std::pair<int, std::string>{-1, "the card is gone"});
}

TEST_CASE("a quiet of the host is about what kernels have posted in its context before it") {
  const bool has_kernels_elsewhere = true;
  fixture f(
      {}, [](scripted_transport& network) { network.no_room = {1}; }, has_kernels_elsewhere);
  const auto& host = f.tested->host_ref().queues[0];
  const auto take = [&](std::uint64_t at) {
    store(&host.replies[at % command_queue_ref::slots].taken, at + 1, release);
  };
  const auto before = f.submit(command_kind::quiet, 0);
  CHECK(within_seconds(20, [&] { return f.is_replied(before); }));
  take(before);
  command put{};
  put.kind = command_kind::put;
  put.flags = command::has_payload;
  put.pe = 1;
  put.bytes = 8;
  const auto& kernels = f.tested->kernel_ref().queues[0];
  kernels.submit(kernels.try_take(8), put, f.local.data());
  // Who gives it up is not in the way of what comes after it.
  const auto given_up = f.submit(command_kind::quiet, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(f.is_replied(given_up));
  take(given_up);
  CHECK(within_seconds(20, [&] { return load(host.consumed, acquire) > given_up; }));
  const auto quiet = f.submit(command_kind::quiet, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(f.is_replied(quiet));
  // There is room again; then the peer acknowledges all.
  auto* network = f.network;
  network->happens([network](transport::listener&) { network->no_room = {}; });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(f.is_replied(quiet));
  network->happens([network](transport::listener& to) {
    auto answer = frame_maker(1, 1, 0);
    answer.header().has_records = 0;
    answer.header().acknowledged = network->sent.back().header().sequence;
    to.on_message(answer.bytes());
  });
  CHECK(within_seconds(20, [&] { return f.is_replied(quiet); }));
}

TEST_CASE("what waits for room is tried again, but not all the time") {
  const unique_fd nothing(::eventfd(0, EFD_CLOEXEC));
  const fixture f({}, [&](scripted_transport& network) {
    network.descriptor = nothing.get();
    network.waits_for_room = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const int before = f.network->looks;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const int looks = f.network->looks - before;
  CHECK(looks >= 5);
  CHECK(looks < 20'000);
}

TEST_CASE("a command that comes while memory is exposed is carried out without its poster") {
  const unique_fd never(::eventfd(0, EFD_CLOEXEC));
  std::atomic<bool> exposes{false};
  std::atomic<bool> may_go_on{true};
  std::atomic<int> sleeps{0};
  fixture f({}, [&](scripted_transport& network) {
    network.descriptor = never.get();
    network.when_may_wait = [&] { ++sleeps; };
    network.when_expose = [&] {
      exposes = true;
      while (!may_go_on) std::this_thread::yield();
    };
  });
  // The proxy's thread sleeps for a second; that it was rung for shows within less, unless the
  // machine has no time for it.
  bool was_woken = false;
  for (int attempt = 0; attempt < 3 && !was_woken; ++attempt) {
    const int before = sleeps;
    REQUIRE(within_seconds(20, [&] { return sleeps > before; }));
    exposes = may_go_on = false;
    std::jthread exposer([&] { f.tested->expose(0, 50'000, f.heap.data(), 1'000); });
    REQUIRE(within_seconds(20, [&] { return exposes.load(); }));
    const auto quiet = f.submit(command_kind::quiet, 0);
    CHECK(!f.is_replied(quiet));
    const auto start = clock::now();
    may_go_on = true;
    REQUIRE(within_seconds(20, [&] { return f.is_replied(quiet); }));
    was_woken = clock::now() - start < std::chrono::milliseconds(500);
    store(&f.tested->host_ref().queues[0].replies[quiet % command_queue_ref::slots].taken,
          quiet + 1, release);
    exposer.join();
    f.tested->conceal(0, 50'000);
  }
  CHECK(was_woken);
}

}  // namespace
}  // namespace heddle::testing
