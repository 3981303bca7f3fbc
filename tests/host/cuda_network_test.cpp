// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Host calls between PEs whose GPUs do not reach each other, over the driver of host memory: what
// goes by the network, to memory that no processor can touch. No kernel runs.

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <heddle/device/launch.hpp>
#include <heddle/heddle.hpp>
#include <heddle/run_as_threads.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cuda_driver/host_driver.hpp"
#include "cuda_driver/program_buffer.hpp"
#include "host/alarm_of.hpp"
#include "host/team.hpp"
#include "support/deadline.hpp"

using namespace heddle;
namespace host_driver = gpu::host_driver;

namespace {

/// Two PEs, each on a GPU of its own.
void on_gpus_apart(const std::function<void(const gpu::driver&, runtime&)>& body) {
  const auto& driver =
      host_driver::start({.devices = 2, .memory = std::size_t{4} << 30, .apart = {{0, 1}, {1, 0}}});
  gpu::use_driver(&driver);
  ::setenv("HEDDLE_DEVICE", "cuda", 1);
  ::setenv("HEDDLE_TIMEOUT", "20", 1);
  ::setenv("HEDDLE_HEAP_SIZE", "256M", 1);
  ::setenv("HEDDLE_MAX_TEAMS", "4", 1);
  run_as_threads(2, [&](runtime& self) { body(driver, self); });
  CHECK(host_driver::in_use() == host_driver::usage{});
}

void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

/// Puts to the other PE, and gets from it, at that place of its.
void exchange(const runtime& self, int* symmetric, std::size_t count) {
  const auto world = self.world();
  const int me = self.my_pe();
  std::vector<int> sent(count), here(count), there(count);
  std::iota(sent.begin(), sent.end(), 1000 * (1 + me));
  world.put(symmetric, sent.data(), count, 1 - me);
  world.fence();
  world.put(symmetric, sent.data(), 2, 1 - me);  // that travels with its command
  world.quiet();
  world.get(there.data(), symmetric, count, 1 - me);
  expect(there == sent, "what this PE has put is at the other");
  world.barrier();
  world.get(here.data(), symmetric, count, me);
  expect(
      here.front() == 1000 * (2 - me) && here.back() - here.front() == static_cast<int>(count) - 1,
      "what the other has put is here");
  world.barrier();
}

}  // namespace

TEST_CASE("host calls reach GPUs by the network") {
  on_gpus_apart([](const gpu::driver&, runtime& self) {
    expect(self.world().handle()->host_ref().is_remote(1 - self.my_pe()), "by the network");
    const symmetric_array<int> row(self, 10'000);
    exchange(self, row.data(), row.size());
    const symmetric_array<int> grown(self, std::size_t{12} << 20);
    exchange(self, grown.data(), grown.size());
    // A signal's word is written without a kernel: those that wait may have left no room for one.
    const symmetric_array<std::uint64_t> signals(self, 1);
    const int me = self.my_pe();
    const int sent = 70 + me;
    const auto kernels = host_driver::launches();
    self.world().put_signal(row.data(), &sent, 1, signals.data(), 5, signal_op::set, 1 - me);
    self.world().quiet();
    std::uint64_t signal = 0;
    self.world().get(&signal, signals.data(), 1, 1 - me);
    expect(signal == 5 && host_driver::launches() == kernels, "a signal without a kernel");
    self.world().barrier();
    // On a stream by a kernel of this PE, if there are any: here it is only counted.
    const auto stream = self.create_stream();
    const auto is_launched = [&](const auto& call) {
      const auto before = host_driver::launches();
      try {
        call();
      } catch (const error& failure) {
        return std::string(failure.what()).find("the kernel was not compiled") == 0;
      }
      return host_driver::launches() > before;
    };
    int word = 7;
    expect(is_launched([&] { self.world().put(row.data(), &word, 1, 1 - me, stream); }), "a put");
    expect(is_launched([&] { self.world().get(&word, row.data(), 1, 1 - me, stream); }), "a get");
    stream.synchronize();
    self.world().barrier();
  });
}

TEST_CASE("kernels of a GPU are told by the network that another PE has aborted their team") {
  on_gpus_apart([](const gpu::driver&, runtime& self) {
    const auto both = self.world().split_color(0, self.my_pe());
    const auto alarm = [&] { return testing::alarm_of(self, both); };
    expect(alarm() == 0, "before");
    self.world().barrier();
    if (self.my_pe() == 1) both.abort("enough");
    const auto until = deadline::after(std::chrono::seconds(20));
    while (alarm() == 0 && !until.passed()) std::this_thread::yield();
    expect(alarm() == 1, "after");
    self.world().barrier();
  });
}

TEST_CASE("the network reaches registered buffers of GPUs for as long as they are registered") {
  on_gpus_apart([](const gpu::driver& driver, runtime& self) {
    const gpu::gpu device(driver, self.my_pe());
    const std::size_t unit = std::size_t{2} << 20;
    const host_driver::program_buffer first(device, {unit, 2 * unit}), second(device, {unit});
    const auto count = [](const auto& buffer) { return buffer.bytes() / sizeof(int); };
    auto* one = reinterpret_cast<int*>(first.data());
    auto* other = reinterpret_cast<int*>(second.data());
    for (int round = 0; round < 2; ++round) {
      std::optional<registration<int>> registered(std::in_place, self, one, count(first));
      const registration<int> neighbour(self, other, count(second));
      exchange(self, registered->data(), count(first));
      exchange(self, other, count(second));
      registered.reset();
      exchange(self, neighbour.data(), count(second));
    }
  });
}
