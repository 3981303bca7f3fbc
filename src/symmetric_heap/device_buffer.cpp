// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/device_buffer.hpp"

#include <algorithm>
#include <string>

#include "support/round_up.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

constexpr const char* what_to_use =
    "allocate it by heddle_malloc, or by what makes memory with cuMemCreate and a handle type for "
    "other processes (ncclMemAlloc, PyTorch's symmetric memory)";

/// Why there is no handle for the memory at an address.
[[noreturn]] void throw_no_handle(const gpu::driver& driver, CUresult refused,
                                  const std::string& buffer, CUdeviceptr at, CUdeviceptr start) {
  unsigned type = 0;
  if (driver.pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) != CUDA_SUCCESS) {
    if (at == start)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "{}: CUDA knows no memory there: it is the host's, or was freed; a heap in GPU "
                  "memory takes GPU memory; {}",
                  buffer, what_to_use);
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: only its first {} bytes are memory of the device; register no more", buffer,
                at - start);
  }
  if (type == CU_MEMORYTYPE_HOST)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: it is host memory; a heap in GPU memory takes GPU memory; {}", buffer,
                what_to_use);
  throw_error(
      HEDDLE_ERROR_NOT_SUPPORTED,
      "{}: it is memory of cudaMalloc, of a pool or managed, which CUDA cannot map at a "
      "second address ({}), as the symmetric heap needs; {}. Puts, gets and collectives take "
      "it unregistered as their local buffer",
      buffer, gpu::describe(driver, refused), what_to_use);
}

}  // namespace

device_buffer device_buffer::find(const gpu::gpu& device, const void* buffer, std::size_t bytes,
                                  std::size_t unit) {
  const auto& driver = device.functions();
  const auto called = fmt::format("heddle_register: buffer {} of {} bytes", buffer, bytes);
  if (!buffer || bytes == 0)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: give an address and a size above 0", called);
  const gpu::gpu::scope current(device);
  const auto start = reinterpret_cast<CUdeviceptr>(buffer);
  device_buffer found;
  found.handle_types = ~0ull;
  for (CUdeviceptr at = start; at - start < bytes;) {
    CUmemGenericAllocationHandle handle = 0;
    const CUresult retained =
        driver.mem_retain_allocation_handle(&handle, reinterpret_cast<void*>(at));
    if (retained != CUDA_SUCCESS) throw_no_handle(driver, retained, called, at, start);
    gpu::physical_memory memory(driver, handle);
    CUmemAllocationProp kind{};
    gpu::check(driver, driver.mem_get_allocation_properties(&kind, handle),
               "{}: asking what memory it is", called);
    if (kind.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "{}: it is host memory; a heap in GPU memory takes GPU memory; {}", called,
                  what_to_use);
    if (kind.location.id != device.ordinal())
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "{}: a buffer from another device, cuda:{}; this PE's is cuda:{}", called,
                  kind.location.id, device.ordinal());
    CUdeviceptr first = 0;
    std::size_t mapped = 0;
    gpu::check(driver, driver.mem_get_address_range(&first, &mapped, at),
               "{}: asking where its allocation begins", called);
    if (first != at)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "{}: it begins {} bytes inside of its allocation, and CUDA maps allocations from "
                  "their start only; register from {} on, on every PE: all in it is symmetric then",
                  called, at - first, reinterpret_cast<void*>(first));
    found.handle_types &= static_cast<unsigned long long>(kind.requestedHandleTypes);
    const std::size_t wanted = round_up(bytes, unit) - static_cast<std::size_t>(at - start);
    found.parts.push_back({std::move(memory), std::min(mapped, wanted)});
    at += mapped;
  }
  return found;
}

}  // namespace heddle
