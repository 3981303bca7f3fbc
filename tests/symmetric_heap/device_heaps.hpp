// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <heddle/error.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "cuda_driver/host_driver.hpp"
#include "symmetric_heap/device_heap_memory.hpp"
#include "symmetric_heap/jobs.hpp"
#include "symmetric_heap/symmetric_heap.hpp"

/// Heaps in GPU memory over the driver of host memory, for tests.
namespace heddle::testing {

using namespace std::chrono_literals;
namespace host_driver = gpu::host_driver;

inline constexpr std::size_t mebibyte = std::size_t{1} << 20;
inline constexpr heap_options small{.heap_bytes = 200 * mebibyte,
                                    .internal_bytes = 3 * mebibyte,
                                    .timeout = 20s,
                                    .init_timeout = 20s};

inline void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

/// One PE's heap on a device of the driver, and what a user of the CUDA runtime would do with it.
struct device_heap {
  device_heap(bootstrap& self, const gpu::driver& driver, int ordinal,
              const handle_options& handles = {}, bool multicast = false)
      : device(driver, ordinal),
        heap(self, small,
             [&, handles, multicast](auto& bootstrap, auto bytes, auto stride, auto until) {
               auto made = std::make_unique<device_heap_memory>(
                   bootstrap, device,
                   device_heap_memory::options{.bytes = bytes,
                                               .stride = stride,
                                               .until = until,
                                               .timeout = 20s,
                                               .handles = handles,
                                               .multicast = multicast});
               memory = made.get();
               return made;
             }) {}

  template <class T>
  T read(const void* from) const {
    T value;
    device.copy(&value, from, sizeof value);
    return value;
  }
  template <class T>
  void write(void* to, T value) const {
    device.copy(to, &value, sizeof value);
  }

  gpu::gpu device;
  const device_heap_memory* memory = nullptr;
  symmetric_heap heap;
};

using device_body = std::function<void(bootstrap&, device_heap&)>;

/// body on a heap of each PE, on the device that `place` gives it.
inline std::function<void(bootstrap&)> with_heap(const gpu::driver& driver, const device_body& run,
                                                 const std::function<int(int)>& place) {
  return [&driver, run, place](bootstrap& self) {
    {
      device_heap mine(self, driver, place(self.rank()));
      run(self, mine);
      self.barrier(soon());
    }
    // The arena goes with the last PE of a process.
    self.barrier(soon());
  };
}

inline int all_on_one(int) { return 0; }
inline int one_each(int rank) { return rank; }

inline std::string message_of(const std::function<void()>& call, heddle_status_t status) {
  try {
    call();
  } catch (const error& failure) {
    expect(failure.status() == status, std::string("another status: ") + failure.what());
    return failure.what();
  }
  throw std::runtime_error("no error");
}

}  // namespace heddle::testing
