// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/device_arena.hpp"

#include <vector>

#include "support/environment.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"
#include "symmetric_heap/shared_arenas.hpp"

namespace heddle {
namespace {

CUdeviceptr address_of(const std::byte* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace

device_arena::device_arena(const gpu::driver& driver, int slots, std::size_t stride,
                           std::size_t alignment)
    : driver_(driver), slots_(slots), stride_(stride) {
  const std::size_t bytes = static_cast<std::size_t>(slots) * stride;
  CUdeviceptr start = 0;
  gpu::check(driver, driver.mem_address_reserve(&start, bytes, alignment, 0, 0),
             "reserving GPU addresses for {} heaps of {} ({}); lower HEDDLE_HEAP_SIZE", slots,
             format_bytes(stride), format_bytes(bytes));
  base_ = reinterpret_cast<std::byte*>(start);
}

device_arena::~device_arena() {
  for (const auto& [at, piece] : pieces_) driver_.mem_unmap(address_of(at), piece.bytes);
  const CUresult freed =
      driver_.mem_address_free(address_of(base_), static_cast<std::size_t>(slots_) * stride_);
  if (freed != CUDA_SUCCESS)
    log::warn(log::subsystem::heap, "the GPU addresses of the heaps could not be given back ({})",
              static_cast<int>(freed));
}

std::shared_ptr<device_arena> device_arena::shared_by_threads(const gpu::driver& driver,
                                                              const std::string& name, int slots,
                                                              std::size_t stride,
                                                              std::size_t alignment) {
  return shared_arenas<device_arena>::of_process().get(
      name, [&] { return std::make_shared<device_arena>(driver, slots, stride, alignment); });
}

void device_arena::map(int index, std::size_t offset, std::size_t bytes,
                       CUmemGenericAllocationHandle memory, std::span<const int> devices) {
  std::lock_guard lock(mutex_);
  std::byte* at = slot(index) + offset;
  if (const auto known = pieces_.find(at); known != pieces_.end()) {
    ++known->second.users;
    return;
  }
  gpu::check(driver_, driver_.mem_map(address_of(at), bytes, 0, memory, 0),
             "mapping {} of a heap into slot {} of the arena", format_bytes(bytes), index);
  std::vector<CUmemAccessDesc> access;
  for (const int device : devices) {
    auto& each = access.emplace_back();
    each.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    each.location.id = device;
    each.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  const CUresult allowed =
      driver_.mem_set_access(address_of(at), bytes, access.data(), access.size());
  if (allowed != CUDA_SUCCESS) driver_.mem_unmap(address_of(at), bytes);
  gpu::check(driver_, allowed, "making {} of the heap in slot {} readable and writable for {}",
             format_bytes(bytes), index,
             devices.size() == 1 ? fmt::format("device cuda:{}", devices[0])
                                 : fmt::format("{} devices", devices.size()));
  pieces_.emplace(at, piece{bytes, 1});
}

void device_arena::unmap(int index, std::size_t offset) noexcept {
  std::lock_guard lock(mutex_);
  const auto found = pieces_.find(slot(index) + offset);
  if (found == pieces_.end() || --found->second.users > 0) return;
  driver_.mem_unmap(address_of(found->first), found->second.bytes);
  pieces_.erase(found);
}

}  // namespace heddle
