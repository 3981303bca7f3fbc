// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>

#include "symmetric_heap/device_heaps.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

/// `run` on a heap of each PE that asks for multicast.
std::function<void(bootstrap&)> with_multicast(const gpu::driver& driver, const device_body& run,
                                               const std::function<int(int)>& place = one_each) {
  return [&driver, run, place](bootstrap& self) {
    {
      device_heap mine(self, driver, place(self.rank()), {}, true);
      run(self, mine);
      self.barrier(soon());
    }
    self.barrier(soon());
  };
}

/// One store of each PE in turn reaches the same object in all heaps.
void store_everywhere(bootstrap& self, device_heap& mine, int* object) {
  const auto& memory = mine.heap.memory();
  const auto offset =
      static_cast<std::size_t>(reinterpret_cast<std::byte*>(object) - memory.base());
  expect(offset + sizeof(int) <= memory.multicast_size(), "the object is in the range");
  const auto at = reinterpret_cast<CUdeviceptr>(memory.multicast_base() + offset);
  for (int pe = 0; pe < self.size(); ++pe) {
    const int value = 100 + pe;
    if (pe == self.rank())
      expect(host_driver::multimem_store(at, &value, sizeof value, mine.device.ordinal()) ==
                 self.size(),
             "it reaches all");
    self.barrier(soon());
    expect(mine.read<int>(object) == value, "the store is here");
    self.barrier(soon());
  }
}

void store_before_and_after_growth(bootstrap& self, device_heap& mine) {
  const auto& memory = mine.heap.memory();
  expect(memory.why_no_multicast() == "", memory.why_no_multicast());
  expect(memory.multicast_size() >= memory.size(), "all of the heap is in the range");
  store_everywhere(self, mine, static_cast<int*>(mine.heap.calloc(10, sizeof(int))));
  auto* large = static_cast<int*>(mine.heap.malloc(70 * mebibyte));
  store_everywhere(self, mine, large);
  store_everywhere(self, mine, large + 69 * mebibyte / sizeof(int));
  store_everywhere(self, mine, static_cast<int*>(mine.heap.calloc(100, mebibyte)) + 17);
}

device_body has_none(const std::string& reason) {
  return [reason](bootstrap&, device_heap& mine) {
    const auto& memory = mine.heap.memory();
    mine.heap.malloc(40 * mebibyte);
    expect(memory.multicast_base() == nullptr && memory.multicast_size() == 0, "there is none");
    expect(memory.why_no_multicast().find(reason) == 0, memory.why_no_multicast());
  };
}

host_driver::machine three_devices() { return {.devices = 3, .multicast = {0, 1, 2}}; }

}  // namespace

TEST_CASE("heaps are mapped for multicast, as threads and as processes") {
  for (const bool fabric : {false, true}) {
    auto machine = three_devices();
    machine.fabric_handles = fabric;
    const auto& driver = host_driver::start(machine);
    for (int n : {2, 3}) {
      CAPTURE(n);
      CHECK(on_threads(n, with_multicast(driver, store_before_and_after_growth)) == "");
      CHECK(host_driver::in_use() == host_driver::usage{});
      CHECK(failed_processes(n, [&](bootstrap& self) {
              with_multicast(driver, store_before_and_after_growth)(self);
              expect(host_driver::in_use() == host_driver::usage{}, "something is left");
            }) == 0);
    }
  }
}

TEST_CASE("pieces keep to the granularity of multicast, the recommended one if it is not huge") {
  auto machine = three_devices();
  machine.multicast_granularity = 4 * mebibyte;
  for (const std::size_t recommended : {16 * mebibyte, 512 * mebibyte}) {
    CAPTURE(recommended);
    machine.multicast_recommended_granularity = recommended;
    const auto& driver = host_driver::start(machine);
    const auto check = [recommended](bootstrap& self, device_heap& mine) {
      const std::size_t unit = recommended > 100 * mebibyte ? 4 * mebibyte : recommended;
      expect(mine.heap.memory().size() == unit, "the first piece is of one unit");
      store_before_and_after_growth(self, mine);
    };
    CHECK(on_threads(3, with_multicast(driver, check)) == "");
    CHECK(failed_processes(3, with_multicast(driver, check)) == 0);
  }
}

TEST_CASE("there is no multicast where one PE cannot, and all say which and why") {
  const auto check = [](const host_driver::machine& machine, int n, const std::string& reason,
                        const std::function<int(int)>& place = one_each) {
    CAPTURE(reason);
    const auto& driver = host_driver::start(machine);
    CHECK(on_threads(n, with_multicast(driver, has_none(reason), place)) == "");
    CHECK(host_driver::in_use() == host_driver::usage{});
    CHECK(failed_processes(n, with_multicast(driver, has_none(reason), place)) == 0);
  };
  check(three_devices(), 1, "PE 0: it is the only one");
  check(three_devices(), 3, "PE 0: it shares device cuda:0 with PE 2",
        [](int rank) { return rank % 2; });
  check({.devices = 3, .multicast = {0, 2}}, 3,
        "PE 1: device cuda:1 (host memory as GPU 1) has none");
  check({.devices = 3, .apart = {{1, 2}, {2, 1}}, .multicast = {0, 1, 2}}, 3,
        "PE 1: PE 2 is not mapped: device cuda:1 has no peer access");
  const auto& driver = host_driver::start(three_devices());
  CHECK(on_threads(2, with_heap(driver, has_none("HEDDLE_MULTICAST is 0"), one_each)) == "");
  CHECK(failed_processes(3, [&](bootstrap& self) {
          if (self.rank() == 2) host_driver::fail("cuMulticastGetGranularity", CUDA_ERROR_UNKNOWN);
          with_multicast(driver, has_none("PE 2: asking for its granularity"))(self);
        }) == 0);
}

TEST_CASE("whatever call fails, on whatever PE, there is no multicast, or later no growth") {
  const auto& driver = host_driver::start(three_devices());
  const auto fail_here = [](const char* function, int rank) {
    // The piece's own and the peers' come before.
    const bool maps = std::strcmp(function, "cuMemMap") == 0;
    const bool exports = std::strcmp(function, "cuMemExportToShareableHandle") == 0;
    const bool imports = std::strcmp(function, "cuMemImportFromShareableHandle") == 0;
    if (rank >= 0)
      host_driver::fail(function, CUDA_ERROR_SYSTEM_NOT_READY,
                        maps ? 3 : (exports ? 1 : (imports ? 2 : 0)));
  };
  for (const auto& failing :
       std::vector<std::pair<const char*, int>>{{"cuMulticastCreate", 0},
                                                {"cuMemExportToShareableHandle", 0},
                                                {"cuMemExportToShareableHandle", 2},
                                                {"cuMemImportFromShareableHandle", 1},
                                                {"cuMulticastAddDevice", 0},
                                                {"cuMulticastAddDevice", 2},
                                                {"cuMulticastBindMem", 0},
                                                {"cuMulticastBindMem", 1},
                                                {"cuMemMap", 2}}) {
    const auto* function = failing.first;
    const int pe = failing.second;
    CAPTURE(function);
    CAPTURE(pe);
    const auto told = fmt::format("PE {}: ", pe);
    CHECK(failed_processes(3, [&, function = function, pe = pe](bootstrap& self) {
            if (self.rank() == pe) fail_here(function, pe);
            with_multicast(driver, has_none(told))(self);
            expect(host_driver::in_use() == host_driver::usage{}, "something is left");
          }) == 0);
    const auto later = [&, function = function, pe = pe](bootstrap& self, device_heap& mine) {
      auto* first = static_cast<int*>(mine.heap.malloc(64));
      if (self.rank() == pe) fail_here(function, pe);
      const auto before = host_driver::in_use();
      const auto message =
          message_of([&] { mine.heap.malloc(40 * mebibyte); }, HEDDLE_ERROR_SYSTEM);
      expect(message.find(told) == 0 && message.find("HEDDLE_MULTICAST=0") != std::string::npos,
             message);
      expect(host_driver::in_use() == before, "something is left");
      store_everywhere(self, mine, first);
      store_before_and_after_growth(self, mine);
    };
    CHECK(failed_processes(3, with_multicast(driver, later)) == 0);
  }
}

TEST_CASE("a PE that dies while multicast is set up ends it for all") {
  const auto& driver = host_driver::start(three_devices());
  CHECK(failed_processes(3, [&](bootstrap& self) {
          const auto message = message_of(
              [&] {
                device_heap mine(self, driver, self.rank(), {}, true);
                if (self.rank() == 1) ::_exit(0);
                for (;;) (void)mine.heap.malloc(40 * mebibyte);
              },
              HEDDLE_ERROR_PEER_LOST);
          expect(message.find('1') != std::string::npos, message);
        }) == 0);
}
