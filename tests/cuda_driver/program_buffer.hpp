// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "device/cuda/gpu.hpp"

namespace heddle::gpu::host_driver {

/// A buffer as a program makes it by the driver: of one or more allocations, one behind the other.
class program_buffer {
 public:
  program_buffer(const class gpu& device, const std::vector<std::size_t>& allocations,
                 CUmemAllocationHandleType types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                 CUmemLocationType location = CU_MEM_LOCATION_TYPE_DEVICE)
      : driver_(device.functions()), allocations_(allocations) {
    for (const auto each : allocations) bytes_ += each;
    const auto done = [&](CUresult result) { check(driver_, result, "a buffer of the test"); };
    done(driver_.mem_address_reserve(&start_, bytes_, 0, 0, 0));
    auto at = start_;
    for (const auto each : allocations) {
      CUmemAllocationProp kind{};
      kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
      kind.location.type = location;
      kind.location.id = location == CU_MEM_LOCATION_TYPE_DEVICE ? device.ordinal() : 0;
      kind.requestedHandleTypes = types;
      CUmemGenericAllocationHandle handle = 0;
      done(driver_.mem_create(&handle, each, &kind, 0));
      done(driver_.mem_map(at, each, 0, handle, 0));
      done(driver_.mem_release(handle));
      at += each;
    }
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device.ordinal();
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    done(driver_.mem_set_access(start_, bytes_, &access, 1));
  }
  ~program_buffer() {
    unmap();
    driver_.mem_address_free(start_, bytes_);
  }
  program_buffer(const program_buffer&) = delete;
  program_buffer& operator=(const program_buffer&) = delete;

  void unmap() {
    auto at = start_;
    for (const auto each : allocations_) {
      driver_.mem_unmap(at, each);
      at += each;
    }
    allocations_.clear();
  }
  [[nodiscard]] char* data() const { return reinterpret_cast<char*>(start_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  const driver& driver_;
  std::vector<std::size_t> allocations_;
  std::size_t bytes_ = 0;
  CUdeviceptr start_ = 0;
};

}  // namespace heddle::gpu::host_driver
