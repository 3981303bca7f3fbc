// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/gpu.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <map>
#include <mutex>

#include "device/cuda/shared_host_memory.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle::gpu {
namespace {

device_uuid uuid_of(const driver& driver, CUdevice device) {
  CUuuid raw{};
  check(driver, driver.device_get_uuid(&raw, device), "asking CUDA for a device's UUID");
  device_uuid uuid;
  std::memcpy(uuid.data(), raw.bytes, uuid.size());
  return uuid;
}

CUdevice open_device(const driver& driver, int ordinal) {
  CUdevice device = 0;
  check(driver, driver.device_get(&device, ordinal), "opening device cuda:{}", ordinal);
  return device;
}

}  // namespace

gpu::gpu(const driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {
  const int count = count_devices(driver);
  if (ordinal < 0 || ordinal >= count)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "device cuda:{}: CUDA shows {} device{} here; choose cuda:0{}, or see "
                "CUDA_VISIBLE_DEVICES",
                ordinal, count, count == 1 ? "" : "s",
                count > 1 ? fmt::format(" to cuda:{}", count - 1) : "");
  handle_ = open_device(driver, ordinal);
  std::array<char, 128> name{};
  check(driver, driver.device_get_name(name.data(), name.size(), handle_),
        "asking for the name of device cuda:{}", ordinal);
  name_ = name.data();
  uuid_ = uuid_of(driver, handle_);
  for (const auto needed : {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                            CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED}) {
    if (!attribute(needed))
      throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                  "device cuda:{} ({}) cannot map memory of other processes (virtual memory "
                  "management, file descriptors), which the symmetric heap needs",
                  ordinal, name_);
  }
  check(driver, driver.device_primary_ctx_retain(&context_, handle_),
        "making a context on device cuda:{} ({})", ordinal, name_);
  CUresult made = driver.ctx_push_current(context_);
  if (made == CUDA_SUCCESS) {
    made = driver.stream_create(&stream_, CU_STREAM_NON_BLOCKING);
    driver.ctx_pop_current(nullptr);
  }
  if (made != CUDA_SUCCESS) driver.device_primary_ctx_release(handle_);
  check(driver, made, "making a stream on device cuda:{}", ordinal);
}

gpu::~gpu() {
  {
    const quiet_scope current(*this);
    driver_.stream_destroy(stream_);
  }
  if (driver_.device_primary_ctx_release(handle_) != CUDA_SUCCESS)
    log::warn(log::subsystem::init, "the context of device cuda:{} was destroyed by the program",
              ordinal_);
}

gpu::scope::scope(const gpu& device) : driver_(device.driver_) {
  check(driver_, driver_.ctx_push_current(device.context_),
        "making the context of device cuda:{} current", device.ordinal_);
}

gpu::scope::~scope() { driver_.ctx_pop_current(nullptr); }

gpu::quiet_scope::quiet_scope(const gpu& device) noexcept
    : driver_(device.driver_),
      entered_(driver_.ctx_push_current(device.context_) == CUDA_SUCCESS) {}

gpu::quiet_scope::~quiet_scope() {
  if (entered_) driver_.ctx_pop_current(nullptr);
}

std::pair<std::size_t, std::size_t> gpu::memory() const {
  const scope current(*this);
  std::size_t free = 0;
  std::size_t total = 0;
  check(driver_, driver_.mem_get_info(&free, &total), "asking for the memory of device cuda:{}",
        ordinal_);
  return {free, total};
}

std::string gpu::pci_address() const {
  std::array<char, 32> text{};
  check(driver_, driver_.device_get_pci_bus_id(text.data(), text.size(), handle_),
        "asking for the PCI address of device cuda:{}", ordinal_);
  std::string address = text.data();
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char digit) { return static_cast<char>(std::tolower(digit)); });
  return address;
}

int gpu::attribute(CUdevice_attribute which) const {
  int value = 0;
  check(driver_, driver_.device_get_attribute(&value, which, handle_),
        "asking for attribute {} of device cuda:{}", static_cast<int>(which), ordinal_);
  return value;
}

bool gpu::has(CUstream stream) const {
  const scope current(*this);
  CUcontext context = nullptr;
  const CUresult found = driver_.stream_get_ctx(stream, &context);
  if (found == CUDA_ERROR_INVALID_HANDLE || found == CUDA_ERROR_INVALID_CONTEXT ||
      found == CUDA_ERROR_CONTEXT_IS_DESTROYED)
    return false;
  check(driver_, found, "asking for the context of a stream");
  return context == context_;
}

bool gpu::knows(const void* memory) const {
  unsigned kind = 0;
  return driver_.pointer_get_attribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       reinterpret_cast<CUdeviceptr>(memory)) == CUDA_SUCCESS;
}

int gpu::find(const device_uuid& uuid) const {
  for (int ordinal = 0; ordinal < count_devices(driver_); ++ordinal) {
    if (uuid_of(driver_, open_device(driver_, ordinal)) == uuid) return ordinal;
  }
  return -1;
}

void gpu::copy(void* to, const void* from, std::size_t bytes) const {
  const scope current(*this);
  copy_in_parts(to, from, bytes, [&](void* target, const void* source, std::size_t part) {
    check(driver_,
          driver_.memcpy_async(reinterpret_cast<CUdeviceptr>(target),
                               reinterpret_cast<CUdeviceptr>(source), part, stream_),
          "copying {} bytes on device cuda:{}", part, ordinal_);
  });
  check(driver_, driver_.stream_synchronize(stream_), "waiting for a copy on device cuda:{}",
        ordinal_);
}

void gpu::clear(void* to, std::size_t bytes) const {
  const scope current(*this);
  check(driver_, driver_.memset_d8_async(reinterpret_cast<CUdeviceptr>(to), 0, bytes, stream_),
        "clearing {} bytes on device cuda:{}", bytes, ordinal_);
  check(driver_, driver_.stream_synchronize(stream_), "waiting for device cuda:{}", ordinal_);
}

void gpu::store(std::uint64_t* word, std::uint64_t value) const {
  if (!attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS))
    return copy(word, &value, sizeof value);
  const scope current(*this);
  check(driver_,
        driver_.stream_write_value64(stream_, reinterpret_cast<CUdeviceptr>(word), value,
                                     CU_STREAM_WRITE_VALUE_DEFAULT),
        "writing a word on device cuda:{}", ordinal_);
  check(driver_, driver_.stream_synchronize(stream_), "waiting for a word on device cuda:{}",
        ordinal_);
}

std::size_t gpu::granularity(CUmemAllocationHandleType handles) const {
  const auto kind = memory_kind(handles);
  std::size_t bytes = 0;
  check(driver_,
        driver_.mem_get_allocation_granularity(&bytes, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        "asking for the granularity of the memory of device cuda:{}", ordinal_);
  return bytes;
}

CUmemAllocationProp gpu::memory_kind(CUmemAllocationHandleType handles) const {
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  kind.location.id = ordinal_;
  kind.requestedHandleTypes = handles;
  kind.allocFlags.gpuDirectRDMACapable =
      attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED) != 0 ? 1 : 0;
  return kind;
}

int count_devices(const driver& driver) {
  int count = 0;
  check(driver, driver.device_get_count(&count), "asking CUDA for the number of its devices");
  return count;
}

bool can_access(const driver& driver, int from, int to) {
  if (from == to) return true;
  int can = 0;
  check(driver,
        driver.device_can_access_peer(&can, open_device(driver, from), open_device(driver, to)),
        "asking whether device cuda:{} reaches cuda:{}", from, to);
  return can != 0;
}

bool has_nvlink(const driver& driver, int from, int to) {
  if (from == to) return true;
  int has = 0;
  check(driver,
        driver.device_get_p2p_attribute(&has, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                        open_device(driver, from), open_device(driver, to)),
        "asking for the link from device cuda:{} to cuda:{}", from, to);
  return has != 0;
}

}  // namespace heddle::gpu
