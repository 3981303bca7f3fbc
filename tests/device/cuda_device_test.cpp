// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_device.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <heddle/error.hpp>
#include <stdexcept>
#include <string>

#include "cuda_driver/host_driver.hpp"
#include "device/cuda/card_access.hpp"
#include "device/cuda/cuda_stream.hpp"

using namespace heddle;
namespace host_driver = gpu::host_driver;

namespace {

void check_error(const std::function<void()>& call, heddle_status_t status,
                 const std::string& part) {
  try {
    call();
    FAIL_CHECK("no error");
  } catch (const error& failure) {
    const std::string text = failure.what();
    CAPTURE(text);
    CHECK(failure.status() == status);
    CHECK(text.find(part) != std::string::npos);
  }
}

/// A kernel that CUDA compiled, as far as the host can tell.
exec::kernel compiled() {
  static int function = 0;
  return {.on_host = nullptr, .on_cuda = [] { return static_cast<void*>(&function); }};
}

}  // namespace

TEST_CASE("streams copy, run host functions in order, and tell what those threw") {
  const auto& driver = host_driver::start({});
  {
    const auto gpu = std::make_shared<const gpu::gpu>(driver, 0);
    const auto device = exec::create_cuda_device(gpu, 1);
    CHECK(device->name() == "cuda:0");
    const auto stream = device->create_stream();
    int number = 42;
    auto* memory = static_cast<int*>(device->allocate(sizeof number));
    std::string order;
    stream->copy(memory, &number, sizeof number);
    stream->enqueue([&] { order += "a"; });
    stream->enqueue([&] {
      order += "b";
      CHECK(stream->runs_caller());
      throw std::runtime_error("a host function's");
    });
    int back = 0;
    stream->copy(&back, memory, sizeof back);
    CHECK_THROWS_WITH(stream->synchronize(), "a host function's");
    stream->synchronize();
    CHECK(order == "ab");
    CHECK(back == 42);
    CHECK(!stream->runs_caller());
    CHECK(!device->default_stream().is_immediate());
    device->free(memory);
    check_error([&] { device->free(memory); }, HEDDLE_ERROR_INVALID_ARGUMENT, "freed before");
    (void)device->allocate(100);  // goes with the device
  }
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("no copy waits for a kernel inside CUDA, where it would keep other PEs from launching") {
  const auto& driver = host_driver::start({.accepts_kernels = true});
  const auto gpu = std::make_shared<const gpu::gpu>(driver, 0);
  const auto device = exec::create_cuda_device(gpu, 1);
  const auto stream = device->create_stream();
  int number = 42;
  auto* memory = static_cast<int*>(device->allocate(2 * sizeof number));
  stream->launch({1, 32}, compiled(), nullptr, 0);
  stream->copy(memory, &number, sizeof number);
  stream->launch({1, 32}, compiled(), nullptr, 0);
  stream->copy(memory + 1, memory, sizeof number);
  stream->copy(&number, memory + 1, sizeof number);
  CHECK(number == 42);
  CHECK(host_driver::locked_waits() == 0);
}

TEST_CASE("streams that have ended are used again, and kernels have room for their variables") {
  const auto& driver = host_driver::start({});
  {
    const auto gpu = std::make_shared<const gpu::gpu>(driver, 0);
    const auto device = exec::create_cuda_device(gpu, 1);
    (void)device->create_stream();
    const auto streams = host_driver::in_use().streams;
    for (int i = 0; i < 40; ++i) (void)device->create_stream();
    CHECK(host_driver::in_use().streams == streams);
    const auto another = device->create_stream(), one_more = device->create_stream();
    CHECK(host_driver::in_use().streams == streams + 1);
    const gpu::gpu::scope current(*gpu);
    std::size_t stack = 0;
    CHECK(driver.ctx_get_limit(&stack, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS);
    CHECK(stack == 4096);
  }
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("events order streams and tell the time between them") {
  const auto& driver = host_driver::start({});
  {
    const auto gpu = std::make_shared<const gpu::gpu>(driver, 0);
    const auto device = exec::create_cuda_device(gpu, 1);
    const auto stream = device->create_stream();
    const auto start = device->create_event(true);
    const auto stop = device->create_event(true);
    check_error([&] { (void)stop->milliseconds_since(*start); }, HEDDLE_ERROR_INVALID_USAGE,
                "never recorded");
    stream->record(start);
    device->default_stream().wait(start);
    device->default_stream().record(stop);
    stop->synchronize();
    CHECK(stop->milliseconds_since(*start) >= 0);
    const auto untimed = device->create_event(false);
    stream->record(untimed);
    check_error([&] { (void)untimed->milliseconds_since(*start); }, HEDDLE_ERROR_INVALID_USAGE,
                "never recorded");
    host_driver::fail("cuEventElapsedTime", CUDA_ERROR_NOT_READY);
    check_error([&] { (void)stop->milliseconds_since(*start); }, HEDDLE_ERROR_INVALID_USAGE,
                "not complete");
  }
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("a grid that cannot all be resident is refused, with the room that there is") {
  const auto& driver = host_driver::start({.multiprocessors = 6, .blocks_on_each = 2});
  const auto gpu = std::make_shared<const gpu::gpu>(driver, 0);
  const auto launch = [&](int pes, int grid, int block) {
    const auto device = exec::create_cuda_device(gpu, pes);
    device->default_stream().launch({grid, block}, compiled(), nullptr, 0);
  };
  check_error([&] { launch(1, 13, 256); }, HEDDLE_ERROR_INVALID_ARGUMENT, "has room for 12");
  check_error([&] { launch(4, 4, 256); }, HEDDLE_ERROR_INVALID_ARGUMENT,
              "room for 3 of this kernel (2 on each of 6 multiprocessors, for 4 PEs)");
  check_error([&] { launch(1, 0, 256); }, HEDDLE_ERROR_INVALID_ARGUMENT, "at least 1");
  // What fits goes to the driver; this one runs no kernels.
  check_error([&] { launch(1, 12, 256); }, HEDDLE_ERROR_SYSTEM, "launching 12 blocks");
  check_error(
      [&] {
        exec::create_cuda_device(gpu, 1)->default_stream().launch({1, 1}, {}, nullptr, 0);
      },
      HEDDLE_ERROR_NOT_SUPPORTED, "compile the file");
}

TEST_CASE("a kernel is loaded before its first launch") {
  const auto& driver = host_driver::start({});
  const auto device = exec::create_cuda_device(std::make_shared<const gpu::gpu>(driver, 0), 1);
  device->preload(compiled());
  device->preload({});  // was not compiled for CUDA: a launch of it says so
  host_driver::fail("cuFuncLoad", CUDA_ERROR_OUT_OF_MEMORY);
  check_error([&] { device->preload(compiled()); }, HEDDLE_ERROR_OUT_OF_MEMORY,
              "loading a kernel to device cuda:0");
}

TEST_CASE("the program's own streams are taken as they are") {
  const auto& driver = host_driver::start({.devices = 2, .accepts_kernels = true});
  const CUstream own = host_driver::make_stream(0);
  const CUstream others = host_driver::make_stream(1);
  {
    const auto gpu = std::make_shared<const gpu::gpu>(driver, 0);
    const auto device = exec::create_cuda_device(gpu, 1);
    check_error([&] { (void)device->borrow_stream(others); }, HEDDLE_ERROR_INVALID_ARGUMENT,
                "not a stream of the primary context of this PE's device, cuda:0");
    static int no_stream = 0;
    check_error([&] { (void)device->borrow_stream(&no_stream); }, HEDDLE_ERROR_INVALID_ARGUMENT,
                "not a stream");
    const auto stream = device->borrow_stream(own);
    CHECK(stream->serial() != device->borrow_stream(own)->serial());
    stream->launch({1, 32}, compiled(), nullptr, 0);
    stream->synchronize();
    CHECK(host_driver::launches() == 1);
  }
  CHECK(host_driver::in_use().streams == 2);
}

TEST_CASE("what a graph cannot capture is refused, and the capture goes on") {
  const auto& driver = host_driver::start({.accepts_kernels = true});
  const CUstream own = host_driver::make_stream(0);
  const auto gpu = std::make_shared<const gpu::gpu>(driver, 0);
  const auto device = exec::create_cuda_device(gpu, 1);
  auto stream = device->borrow_stream(own);
  CHECK(stream->capture() == 0);
  host_driver::begin_capture(own);
  CHECK(stream->capture() != 0);
  CHECK(device->default_stream().capture() == 0);
  stream->launch({1, 32}, compiled(), nullptr, 0);
  check_error([&] { stream->enqueue([] {}); }, HEDDLE_ERROR_INVALID_USAGE, "cannot capture");
  check_error([&] { stream->synchronize(); }, HEDDLE_ERROR_INVALID_USAGE, "end the capture");
  stream.reset();
  stream = device->borrow_stream(own);
  CHECK(stream->capture() != 0);
  host_driver::end_capture(own);
  stream->synchronize();
}

TEST_CASE("a device's failures are told with what was asked") {
  const auto& driver = host_driver::start({.memory = 1 << 20});
  const auto gpu = std::make_shared<const gpu::gpu>(driver, 0);
  const auto device = exec::create_cuda_device(gpu, 1);
  check_error([&] { (void)device->allocate(2 << 20); }, HEDDLE_ERROR_OUT_OF_MEMORY,
              "no 2097152 bytes of memory: it has 1 MiB free");
  const auto stream = device->create_stream();
  host_driver::fail("cuStreamSynchronize", CUDA_ERROR_ILLEGAL_ADDRESS);
  check_error([&] { stream->synchronize(); }, HEDDLE_ERROR_SYSTEM, "device cuda:0");
  host_driver::fail("cuLaunchHostFunc", CUDA_ERROR_UNKNOWN);
  check_error([&] { stream->enqueue([] {}); }, HEDDLE_ERROR_SYSTEM, "host function");
}

TEST_CASE("a device that cannot map memory of other processes is refused") {
  const auto& driver = host_driver::start({.maps_memory = false});
  check_error([&] { const gpu::gpu old(driver, 0); }, HEDDLE_ERROR_NOT_SUPPORTED,
              "virtual memory management");
}

TEST_CASE("network cards are let at a device's memory where CUDA orders what they write") {
  const auto why_not = [](const host_driver::machine& machine) {
    const auto gpu = std::make_shared<const gpu::gpu>(host_driver::start(machine), 0);
    return gpu::card_access(gpu).why_not();
  };
  CHECK(why_not({}).empty());
  CHECK(why_not({.orders_card_writes = false}).empty());
  CHECK(why_not({.shares_with_cards = false}).find("does not let network cards") !=
        std::string::npos);
  CHECK(why_not({.orders_card_writes = false, .flushes_card_writes = false})
            .find("neither orders nor flushes") != std::string::npos);

  for (const bool orders : {true, false}) {
    const auto& driver = host_driver::start({.orders_card_writes = orders});
    const auto gpu = std::make_shared<const gpu::gpu>(driver, 0);
    gpu::card_access(gpu).flush();
    CHECK(host_driver::card_flushes() == (orders ? 0 : 1));
    host_driver::fail("cuFlushGPUDirectRDMAWrites", CUDA_ERROR_UNKNOWN);
    if (!orders)
      check_error([&] { gpu::card_access(gpu).flush(); }, HEDDLE_ERROR_SYSTEM, "network cards");
  }
}

TEST_CASE("a device's memory goes to network cards as a dmabuf") {
  const auto& driver = host_driver::start({});
  const auto gpu = std::make_shared<const gpu::gpu>(driver, 0);
  CHECK(gpu->pci_address() == "0000:a0:00.0");
  const gpu::gpu::scope current(*gpu);
  const std::size_t size = std::size_t{2} << 20;
  const auto kind = gpu->memory_kind(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CHECK(kind.allocFlags.gpuDirectRDMACapable == 1);
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr start = 0;
  REQUIRE(driver.mem_create(&handle, size, &kind, 0) == CUDA_SUCCESS);
  REQUIRE(driver.mem_address_reserve(&start, size, 0, 0, 0) == CUDA_SUCCESS);
  REQUIRE(driver.mem_map(start, size, 0, handle, 0) == CUDA_SUCCESS);
  const gpu::card_access access(gpu);
  CHECK(access.has_dmabufs());
  auto* memory = reinterpret_cast<std::byte*>(start);
  CHECK(access.share(memory, size));
  CHECK(access.share(memory + 4096, 4096));
  check_error([&] { (void)access.share(memory + size, 4096); }, HEDDLE_ERROR_SYSTEM,
              "sharing 4096 bytes of device cuda:0 with network cards");
  driver.mem_unmap(start, size);
  driver.mem_address_free(start, size);
  driver.mem_release(handle);
}
