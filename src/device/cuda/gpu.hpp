// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "device/cuda/driver.hpp"

namespace heddle::gpu {

/// What names a device on every process of a host, whatever CUDA_VISIBLE_DEVICES shows of it.
using device_uuid = std::array<char, sizeof(CUuuid)>;

/// One CUDA device as one PE uses it: its primary context, which it shares with the CUDA runtime of
/// the program, held for as long as this lives.
class gpu {
 public:
  /// Throws HEDDLE_ERROR_INVALID_ARGUMENT for an ordinal that there is not,
  /// HEDDLE_ERROR_NOT_SUPPORTED for a device that cannot map memory as the heap needs it.
  gpu(const driver& driver, int ordinal);
  ~gpu();
  gpu(const gpu&) = delete;
  gpu& operator=(const gpu&) = delete;

  /// Makes the context current on the calling thread, until the end of its scope.
  class scope {
   public:
    explicit scope(const gpu& device);
    ~scope();
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

   private:
    const driver& driver_;
  };

  /// The same for destructors: what fails in it, fails in the calls that it is for.
  class quiet_scope {
   public:
    explicit quiet_scope(const gpu& device) noexcept;
    ~quiet_scope();
    quiet_scope(const quiet_scope&) = delete;
    quiet_scope& operator=(const quiet_scope&) = delete;

   private:
    const driver& driver_;
    const bool entered_;
  };

  [[nodiscard]] const driver& functions() const { return driver_; }
  [[nodiscard]] int ordinal() const { return ordinal_; }
  [[nodiscard]] CUdevice handle() const { return handle_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const device_uuid& uuid() const { return uuid_; }
  /// As the folders of /sys/bus/pci/devices are called: "0000:3b:00.0".
  [[nodiscard]] std::string pci_address() const;
  [[nodiscard]] int attribute(CUdevice_attribute which) const;
  /// Whether a stream of the program runs its work here.
  [[nodiscard]] bool has(CUstream stream) const;
  /// Beside the streams of the program; copy() and clear() use it.
  [[nodiscard]] CUstream own_stream() const { return stream_; }
  /// Physical memory of that kind is made, mapped and given access in multiples of this.
  [[nodiscard]] std::size_t granularity(CUmemAllocationHandleType handles) const;
  /// Free and whole memory of the device, in bytes.
  [[nodiscard]] std::pair<std::size_t, std::size_t> memory() const;

  /// Whether CUDA knows memory: a device's, or the host's that it shares. In the device's context.
  [[nodiscard]] bool knows(const void* memory) const;
  /// The ordinal in this process of the device of that uuid; -1 if it is not visible here.
  [[nodiscard]] int find(const device_uuid& uuid) const;
  /// Copies between any memory that the device reaches; complete on return, whatever runs on other
  /// streams.
  void copy(void* to, const void* from, std::size_t bytes) const;
  void clear(void* to, std::size_t bytes) const;
  /// Writes a word of device memory as a whole, after what was written there before: without a
  /// kernel, for which those that run may leave no room. Complete on return.
  void store(std::uint64_t* word, std::uint64_t value) const;

  /// What physical memory of the heap is: of this device, to be passed by such handles.
  [[nodiscard]] CUmemAllocationProp memory_kind(CUmemAllocationHandleType handles) const;

 private:
  const driver& driver_;
  int ordinal_;
  CUdevice handle_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;  ///< of copy(), clear() and store()
  std::string name_;
  device_uuid uuid_{};
};

/// How many devices CUDA shows to this process.
int count_devices(const driver& driver);

/// Whether kernels of a device can load and store memory of another.
bool can_access(const driver& driver, int from, int to);

/// Whether NVLink joins a device to another, or they are the same: CUDA says whether atomics of the
/// one are native to the other, which they are over NVLink and not over PCI Express.
bool has_nvlink(const driver& driver, int from, int to);

}  // namespace heddle::gpu
