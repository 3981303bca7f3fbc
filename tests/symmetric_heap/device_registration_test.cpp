// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "cuda_driver/program_buffer.hpp"
#include "device/cuda/shared_host_memory.hpp"
#include "symmetric_heap/device_heaps.hpp"

using namespace heddle;
using namespace heddle::testing;
using heddle::gpu::host_driver::program_buffer;

namespace {

/// Both addresses are the same memory, which peers reach, until it is given back.
void register_and_write(bootstrap& self, device_heap& mine) {
  auto& heap = mine.heap;
  const int next = (self.rank() + 1) % self.size();
  const int previous = (self.rank() + self.size() - 1) % self.size();
  // Of several allocations, which differ between PEs; what is registered ends inside of the last.
  const program_buffer buffer(
      mine.device, self.rank() % 2 == 0
                       ? std::vector<std::size_t>{6 * mebibyte, 4 * mebibyte}
                       : std::vector<std::size_t>{2 * mebibyte, 2 * mebibyte, 6 * mebibyte});
  const std::size_t bytes = 9 * mebibyte + 100;
  for (int round = 0; round < 2; ++round) {
    const auto before = host_driver::in_use();
    mine.write(buffer.data() + bytes - 1, 'k');
    auto* alias = static_cast<char*>(heap.register_buffer(buffer.data(), bytes));
    expect(heap.contains(alias, bytes) && !heap.contains(alias, bytes + 1), "the alias is known");
    expect(mine.read<char>(alias + bytes - 1) == 'k', "the content is there");
    expect(heap.translate(buffer.data() + 5, 10) == alias + 5, "its addresses are translated");
    // Beside it the heap grows and shrinks as ever.
    auto* block = static_cast<char*>(heap.malloc(40 * mebibyte));
    expect(heap.contains(block, 40 * mebibyte), "a block is known");
    for (const std::size_t at : {std::size_t{0}, 2 * mebibyte + 7, 6 * mebibyte + 1, bytes - 1})
      mine.write(static_cast<char*>(heap.ptr(alias, next)) + at,
                 static_cast<char>('A' + self.rank() + round));
    self.barrier(soon());
    for (const std::size_t at : {std::size_t{0}, 2 * mebibyte + 7, 6 * mebibyte + 1, bytes - 1})
      expect(mine.read<char>(buffer.data() + at) == 'A' + previous + round,
             "a peer's store is in the buffer");
    heap.free(block);

    const auto overlap =
        message_of([&] { heap.register_buffer(buffer.data(), 10); }, HEDDLE_ERROR_INVALID_ARGUMENT);
    expect(overlap.find("overlaps one that is registered") != std::string::npos, overlap);
    const auto twice =
        message_of([&] { heap.register_buffer(alias, 10); }, HEDDLE_ERROR_INVALID_ARGUMENT);
    expect(twice.find("in the symmetric heap already") != std::string::npos, twice);
    const auto freed = message_of([&] { heap.free(alias + 64); }, HEDDLE_ERROR_INVALID_ARGUMENT);
    expect(freed.find("heddle_unregister") != std::string::npos, freed);
    heap.unregister_buffer(buffer.data());
    expect(!heap.contains(alias, 1), "the alias is unknown again");
    expect(mine.read<char>(buffer.data()) == 'A' + previous + round, "the content stays");
    self.barrier(soon());
    if (round == 1) expect(host_driver::in_use() == before, "something is left");
    self.barrier(soon());
  }
  // What the program frees is there for its peers until the end.
  program_buffer gone(mine.device, {2 * mebibyte});
  auto* alias = static_cast<int*>(heap.register_buffer(gone.data(), gone.bytes()));
  gone.unmap();
  mine.write(static_cast<int*>(heap.ptr(alias, next)), self.rank());
  self.barrier(soon());
  expect(mine.read<int>(alias) == previous, "memory lives as long as it is registered");
}

using refusal = std::function<void(device_heap&, const std::function<void(void*, std::size_t)>&)>;

/// One PE of three has a buffer that cannot be taken: all are told why, and the heap stays usable.
void refuse(const gpu::driver& driver, heddle_status_t status, const std::string& part,
            const refusal& give, const std::function<int(int)>& place = all_on_one) {
  CAPTURE(part);
  const auto check = [&](bootstrap& self, device_heap& mine) {
    const program_buffer good(mine.device, {2 * mebibyte});
    const auto before = host_driver::in_use();
    const auto told = [&](void* buffer, std::size_t bytes) {
      const auto message = message_of([&] { mine.heap.register_buffer(buffer, bytes); }, status);
      expect(message.find("PE 1: ") == 0 && message.find(part) != std::string::npos, message);
    };
    if (self.rank() == 1)
      give(mine, told);
    else
      told(good.data(), mebibyte);
    expect(host_driver::in_use() == before, "something is left");
    self.barrier(soon());
    register_and_write(self, mine);
  };
  CHECK(failed_processes(3, with_heap(driver, check, place)) == 0);
}

}  // namespace

TEST_CASE("a program's GPU memory becomes symmetric in place, for threads and for processes") {
  for (int n : {1, 3}) {
    CAPTURE(n);
    const auto& driver = host_driver::start({.devices = 3});
    CHECK(failed_processes(n, with_heap(driver, register_and_write, all_on_one)) == 0);
    CHECK(failed_processes(n, with_heap(driver, register_and_write, one_each)) == 0);
    CHECK(host_driver::in_use() == host_driver::usage{});
  }
}

TEST_CASE("threads need no handle that other processes could take") {
  const auto& driver = host_driver::start({.devices = 2});
  const auto write = [](bootstrap& self, device_heap& mine) {
    const program_buffer buffer(mine.device, {2 * mebibyte, 2 * mebibyte}, CU_MEM_HANDLE_TYPE_NONE);
    auto* alias = static_cast<int*>(mine.heap.register_buffer(buffer.data(), buffer.bytes()));
    mine.write(static_cast<int*>(mine.heap.ptr(alias, 1 - self.rank())), 40 + self.rank());
    self.barrier(soon());
    expect(mine.read<int>(buffer.data()) == 41 - self.rank(), "the other's store");
    self.barrier(soon());
    mine.heap.unregister_buffer(buffer.data());
    self.barrier(soon());
  };
  CHECK(on_threads(2, with_heap(driver, write, one_each)) == "");
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("a buffer that cannot be symmetric is refused on all PEs, with what to do") {
  const auto& driver = host_driver::start({.devices = 3});
  const auto invalid = HEDDLE_ERROR_INVALID_ARGUMENT;
  refuse(driver, invalid, "give an address", [](auto&, auto& told) { told(nullptr, mebibyte); });
  refuse(driver, invalid, "a size above 0", [](auto& mine, auto& told) {
    const program_buffer buffer(mine.device, {2 * mebibyte});
    told(buffer.data(), 0);
  });
  refuse(driver, HEDDLE_ERROR_NOT_SUPPORTED, "memory of cudaMalloc", [](auto& mine, auto& told) {
    const gpu::gpu::scope current(mine.device);
    CUdeviceptr memory = 0;
    mine.device.functions().mem_alloc_async(&memory, mebibyte, mine.device.own_stream());
    told(reinterpret_cast<void*>(memory), mebibyte);
    mine.device.functions().mem_free_async(memory, mine.device.own_stream());
  });
  refuse(driver, invalid, "CUDA knows no memory there", [](auto&, auto& told) {
    std::vector<char> host(mebibyte);
    told(host.data(), host.size());
  });
  refuse(driver, invalid, "it is host memory", [](auto& mine, auto& told) {
    std::vector<char> host(mebibyte);
    gpu::share_host_memory(
        std::make_shared<const gpu::gpu>(mine.device.functions(), mine.device.ordinal()),
        host.data(), host.size());
    told(host.data(), host.size());
    gpu::unshare_host_memory(host.data());
  });
  refuse(driver, invalid, "it is host memory", [](auto& mine, auto& told) {
    const program_buffer buffer(mine.device, {2 * mebibyte}, CU_MEM_HANDLE_TYPE_NONE,
                                CU_MEM_LOCATION_TYPE_HOST_NUMA);
    told(buffer.data(), mebibyte);
  });
  refuse(driver, invalid, "was freed", [](auto& mine, auto& told) {
    program_buffer buffer(mine.device, {2 * mebibyte});
    buffer.unmap();
    told(buffer.data(), mebibyte);
  });
  refuse(driver, invalid, "only its first 2097152 bytes", [](auto& mine, auto& told) {
    const program_buffer buffer(mine.device, {2 * mebibyte});
    told(buffer.data(), 2 * mebibyte + 1);
  });
  refuse(driver, invalid, "begins 512 bytes inside", [](auto& mine, auto& told) {
    const program_buffer buffer(mine.device, {2 * mebibyte});
    told(buffer.data() + 512, 1024);
  });
  refuse(
      driver, invalid, "a buffer from another device, cuda:0; this PE's is cuda:1",
      [&](auto&, auto& told) {
        const gpu::gpu other(driver, 0);
        const program_buffer buffer(other, {2 * mebibyte});
        told(buffer.data(), mebibyte);
      },
      one_each);
  refuse(driver, invalid, "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR", [](auto& mine, auto& told) {
    const program_buffer buffer(mine.device, {2 * mebibyte}, CU_MEM_HANDLE_TYPE_NONE);
    told(buffer.data(), mebibyte);
  });
  refuse(driver, invalid, "in the symmetric heap already",
         [](auto& mine, auto& told) { told(mine.heap.base(), mebibyte); });
}

TEST_CASE("whatever call of the driver fails while buffers are registered, nothing is left") {
  for (const char* function :
       {"cuMemRetainAllocationHandle", "cuMemGetAllocationPropertiesFromHandle",
        "cuMemGetAddressRange", "cuMemExportToShareableHandle", "cuMemMap", "cuMemSetAccess",
        "cuMemImportFromShareableHandle"})
    for (int skip : {0, 1, 3}) {
      CAPTURE(function);
      CAPTURE(skip);
      // How often each is called: to look at two allocations twice, to map both of three PEs.
      const bool exports = std::strstr(function, "Export");
      if (exports && skip == 3) continue;
      const auto& driver = host_driver::start({});
      const auto check = [&](bootstrap& self, device_heap& mine) {
        const program_buffer buffer(mine.device, {2 * mebibyte, 2 * mebibyte});
        const auto before = host_driver::in_use();
        if (self.rank() == 2) host_driver::fail(function, CUDA_ERROR_UNKNOWN, skip);
        const bool retains = std::strstr(function, "Retain");
        const auto message =
            message_of([&] { mine.heap.register_buffer(buffer.data(), buffer.bytes()); },
                       retains ? HEDDLE_ERROR_NOT_SUPPORTED : HEDDLE_ERROR_SYSTEM);
        expect(message.find("PE 2: ") == 0, message);
        expect(host_driver::in_use() == before, "something is left");
        register_and_write(self, mine);
      };
      CHECK(failed_processes(3, with_heap(driver, check, all_on_one)) == 0);
    }
}

TEST_CASE("buffers of differing sizes, and more of them than there are addresses, are told") {
  const auto& driver = host_driver::start({});
  const auto check = [](bootstrap& self, device_heap& mine) {
    const program_buffer buffer(mine.device, {4 * mebibyte});
    const auto differs =
        message_of([&] { mine.heap.register_buffer(buffer.data(), self.rank() == 0 ? 100 : 200); },
                   HEDDLE_ERROR_MISMATCH);
    expect(differs.find("PE 1 gives a buffer of 200 bytes, PE 0 one of 100") != std::string::npos,
           differs);
    // The heap's 204 MiB of addresses are as many for registered buffers.
    const program_buffer large(mine.device, {206 * mebibyte});
    const auto full = message_of([&] { mine.heap.register_buffer(large.data(), large.bytes()); },
                                 HEDDLE_ERROR_OUT_OF_MEMORY);
    expect(full.find("HEDDLE_HEAP_SIZE") != std::string::npos, full);
    register_and_write(self, mine);
  };
  CHECK(failed_processes(2, with_heap(driver, check, all_on_one)) == 0);
}

TEST_CASE("a PE that ends alone leaves its registered buffer to the others") {
  const auto& driver = host_driver::start({});
  const auto check = [](bootstrap& self, const gpu::driver& driver) {
    auto mine = std::make_unique<device_heap>(self, driver, 0);
    const program_buffer buffer(mine->device, {2 * mebibyte});
    auto* alias = static_cast<int*>(mine->heap.register_buffer(buffer.data(), buffer.bytes()));
    if (self.rank() == 1) mine.reset();
    self.barrier(soon());
    if (mine) mine->write(static_cast<int*>(mine->heap.ptr(alias, 1)), 7);
    self.barrier(soon());
    mine.reset();
    self.barrier(soon());
  };
  CHECK(on_threads(2, [&](bootstrap& self) { check(self, driver); }) == "");
  CHECK(host_driver::in_use() == host_driver::usage{});
}
