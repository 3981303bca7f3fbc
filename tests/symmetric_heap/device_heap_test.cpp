// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "symmetric_heap/device_heaps.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

/// Every PE writes to every other's copy of a block, and finds what they wrote, before and after
/// growth.
void write_to_all(bootstrap& self, device_heap& mine) {
  auto& heap = mine.heap;
  const auto size = static_cast<std::size_t>(self.size());
  auto* table = static_cast<int*>(heap.calloc(size, sizeof(int)));
  for (int pe = 0; pe < self.size(); ++pe) expect(mine.read<int>(table + pe) == 0, "calloc: zero");
  self.barrier(soon());
  for (const std::size_t bytes : {std::size_t{100}, 5 * mebibyte, 70 * mebibyte}) {
    auto* block = static_cast<char*>(heap.malloc(bytes));
    expect(heap.contains(block, bytes), "a block is in the heap");
    for (int pe = 0; pe < self.size(); ++pe) {
      mine.write(static_cast<int*>(heap.ptr(table, pe)) + self.rank(), 1000 + self.rank());
      if (pe == (self.rank() + 1) % self.size())
        mine.write(static_cast<char*>(heap.ptr(block, pe)) + bytes - 1, 'x');
    }
    self.barrier(soon());
    for (int pe = 0; pe < self.size(); ++pe)
      expect(mine.read<int>(table + pe) == 1000 + pe, "a peer's store is here");
    expect(mine.read<char>(block + bytes - 1) == 'x', "a store at the end of a grown heap is here");
    heap.free(block);
  }
  auto* first = static_cast<int*>(heap.malloc(64));
  mine.write(first, 42 + self.rank());
  auto* grown = static_cast<int*>(heap.realloc(first, mebibyte));
  expect(mine.read<int>(grown) == 42 + self.rank(), "realloc keeps the content");
}

}  // namespace

TEST_CASE("PEs on one GPU reach each other's memory, as threads and as processes") {
  for (int n : {1, 2, 3, 8}) {
    CAPTURE(n);
    const auto& driver = host_driver::start({});
    CHECK(on_threads(n, with_heap(driver, write_to_all, all_on_one)) == "");
    CHECK(host_driver::in_use() == host_driver::usage{});
    if (n == 8) continue;
    CHECK(failed_processes(n, [&](bootstrap& self) {
            with_heap(driver, write_to_all, all_on_one)(self);
            expect(host_driver::in_use() == host_driver::usage{}, "something is left");
          }) == 0);
  }
}

TEST_CASE("threads of one process map the heaps of another once, for as long as one needs them") {
  const auto& driver = host_driver::start({});
  const auto id = make_unique_id("=lo");
  const auto run_rank = [&](int rank) {
    auto self = join_unique_id(id, rank, 4, "=lo", soon());
    {
      auto mine = std::make_unique<device_heap>(*self, driver, 0);
      auto* table = static_cast<int*>(mine->heap.calloc(50 * mebibyte, 1));
      self->barrier(soon());
      if (rank % 2 == 0) mine.reset();
      self->barrier(soon());
      for (int pe = 1; mine && pe < 4; pe += 2)
        mine->write(static_cast<int*>(mine->heap.ptr(table, pe)) + rank, 1000 + rank);
      self->barrier(soon());
      for (int pe = 1; mine && pe < 4; pe += 2)
        expect(mine->read<int>(table + pe) == 1000 + pe, "a peer's store is here");
      self->barrier(soon());
    }
    self->leave();
  };
  const auto run_two = [&](int first) {
    int failed = 0;
    std::mutex mutex;
    std::vector<std::jthread> threads;
    for (int rank : {first, first + 1})
      threads.emplace_back([&, rank] {
        try {
          run_rank(rank);
        } catch (const std::exception& problem) {
          std::fprintf(stderr, "rank %d: %s\n", rank, problem.what());
          std::lock_guard lock(mutex);
          ++failed;
        }
      });
    threads.clear();
    return failed;
  };
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(run_two(2));
  CHECK(run_two(0) == 0);
  int state = 0;
  REQUIRE(::waitpid(child, &state, 0) == child);
  CHECK((WIFEXITED(state) && WEXITSTATUS(state) == 0));
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("PEs on several GPUs reach each other's memory") {
  const auto& driver = host_driver::start({.devices = 3});
  const auto own = [](int rank) { return rank % 3; };
  CHECK(on_threads(4, with_heap(driver, write_to_all, own)) == "");
  CHECK(failed_processes(3, with_heap(driver, write_to_all, own)) == 0);
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("devices of differing granularity agree on one that fits all") {
  const auto& driver = host_driver::start({.granularity = 8 * mebibyte});
  CHECK(on_threads(2, with_heap(driver, write_to_all, all_on_one)) == "");
}

TEST_CASE("a PE whose device cannot be reached is not mapped, and it is said why") {
  const auto& driver = host_driver::start({.devices = 2, .apart = {{0, 1}, {1, 0}}});
  const auto check = [](bootstrap& self, device_heap& mine) {
    const int other = 1 - self.rank();
    auto* block = mine.heap.malloc(64);
    expect(mine.heap.ptr(block, self.rank()) == block, "a PE reaches itself");
    expect(mine.heap.ptr(block, other) == nullptr, "the other is not mapped");
    expect(mine.memory->why_not_mapped(other).find("no peer access") != std::string::npos,
           mine.memory->why_not_mapped(other));
  };
  const auto own = [](int rank) { return rank; };
  CHECK(on_threads(2, with_heap(driver, check, own)) == "");
  CHECK(failed_processes(2, with_heap(driver, check, own)) == 0);
}

TEST_CASE("a device without memory for a larger heap leaves the heap usable on every PE") {
  // Two heaps on one GPU: the memory is there for one of them to grow, not for both.
  const auto& driver = host_driver::start({.memory = 100 * mebibyte});
  const auto exhaust = [](bootstrap& self, device_heap& mine) {
    auto* block = mine.heap.malloc(1000);
    const auto before = mine.heap.bytes_backed();
    const auto message =
        message_of([&] { (void)mine.heap.malloc(60 * mebibyte); }, HEDDLE_ERROR_OUT_OF_MEMORY);
    expect(message.find("cannot grow") != std::string::npos, message);
    expect(message.find("cuda:0") != std::string::npos, message);
    expect(mine.heap.bytes_backed() == before, "the heap is as large as before");
    mine.heap.free(block);
    auto* table = static_cast<int*>(mine.heap.malloc(20 * mebibyte));
    mine.write(static_cast<int*>(mine.heap.ptr(table, 1 - self.rank())), self.rank());
    self.barrier(soon());
    expect(mine.read<int>(table) == 1 - self.rank(), "the heap works on");
  };
  CHECK(on_threads(2, with_heap(driver, exhaust, all_on_one)) == "");
  CHECK(host_driver::in_use() == host_driver::usage{});
  // One of two processes alone is short of memory.
  CHECK(failed_processes(2, with_heap(
                                driver,
                                [](auto& self, auto& mine) {
                                  if (self.rank() == 1)
                                    host_driver::fail("cuMemCreate", CUDA_ERROR_OUT_OF_MEMORY);
                                  const auto before = host_driver::in_use();
                                  const auto message =
                                      message_of([&] { (void)mine.heap.malloc(60 * mebibyte); },
                                                 HEDDLE_ERROR_OUT_OF_MEMORY);
                                  expect(message.find("PE 1: ") == 0, message);
                                  expect(host_driver::in_use() == before, "something is left");
                                },
                                all_on_one)) == 0);
}

TEST_CASE(
    "whatever call of the driver fails while a heap grows, all PEs are told and nothing is left") {
  for (const char* function : {"cuMemCreate", "cuMemMap", "cuMemSetAccess",
                               "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle"}) {
    for (int skip : {0, 1}) {
      CAPTURE(function);
      CAPTURE(skip);
      const auto& driver = host_driver::start({});
      CHECK(failed_processes(3, with_heap(
                                    driver,
                                    [&](auto& self, auto& mine) {
                                      const bool imports = std::strstr(function, "Import");
                                      const bool maps = !std::strstr(function, "Create") &&
                                                        !std::strstr(function, "Export");
                                      if (skip == 1 && !maps && !imports) return;
                                      if (self.rank() == 2)
                                        host_driver::fail(function, CUDA_ERROR_UNKNOWN, skip);
                                      const auto before = host_driver::in_use();
                                      const auto message =
                                          message_of([&] { (void)mine.heap.malloc(40 * mebibyte); },
                                                     HEDDLE_ERROR_SYSTEM);
                                      expect(message.find("PE 2: ") == 0, message);
                                      expect(host_driver::in_use() == before, "something is left");
                                      write_to_all(self, mine);
                                    },
                                    all_on_one)) == 0);
    }
  }
}

TEST_CASE("a PE that dies while a heap grows is named") {
  const auto& driver = host_driver::start({});
  CHECK(failed_processes(3, [&](bootstrap& self) {
          // The death may be told before the end of what comes before the growth.
          const auto message = message_of(
              [&] {
                device_heap mine(self, driver, 0);
                if (self.rank() == 1) ::_exit(0);
                (void)mine.heap.malloc(40 * mebibyte);
              },
              HEDDLE_ERROR_PEER_LOST);
          expect(message.find('1') != std::string::npos, message);
        }) == 0);
}

TEST_CASE("mistakes with devices are told") {
  const auto& driver = host_driver::start({.devices = 2});
  CHECK(message_of([&] { gpu::gpu none(driver, 2); }, HEDDLE_ERROR_INVALID_ARGUMENT)
            .find("cuda:0 to cuda:1") != std::string::npos);
  host_driver::fail("cuDevicePrimaryCtxRetain", CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(message_of([&] { gpu::gpu full(driver, 0); }, HEDDLE_ERROR_OUT_OF_MEMORY).find("context") !=
        std::string::npos);
  host_driver::fail("cuStreamCreate", CUDA_ERROR_UNKNOWN);
  CHECK(message_of([&] { gpu::gpu broken(driver, 0); }, HEDDLE_ERROR_SYSTEM).find("stream") !=
        std::string::npos);
  CHECK(host_driver::in_use() == host_driver::usage{});
  std::string why_not;
  if (!gpu::find_driver(why_not)) CHECK(why_not.find("CUDA driver") != std::string::npos);
  CHECK(gpu::why_version_is_too_old(CUDA_VERSION) == "");
  CHECK(gpu::why_version_is_too_old(CUDA_VERSION / 1000 * 1000 - 10).find("install a driver") !=
        std::string::npos);
}
