// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "device/preloaded_kernels.hpp"

#include <heddle/device/impl/kernel_forms.hpp>
#include <mutex>
#include <new>

namespace heddle::exec {
namespace {

struct known_kernels {
  std::mutex mutex;
  std::vector<kernel> all;
};
/// There from the first call on, which may come before the library's own objects are made.
known_kernels& known() {
  static known_kernels kernels;
  return kernels;
}

}  // namespace

std::vector<kernel> preloaded_kernels() {
  const std::lock_guard lock(known().mutex);
  return known().all;
}

}  // namespace heddle::exec

/// What there is no memory for is loaded at its first launch.
void heddle_preload_kernel(const heddle_kernel_t* kernel) {
  auto& kernels = heddle::exec::known();
  const std::lock_guard lock(kernels.mutex);
  try {
    kernels.all.push_back(*kernel);
  } catch (const std::bad_alloc&) {
  }
}

void heddle_forget_kernel(const heddle_kernel_t* kernel) {
  auto& kernels = heddle::exec::known();
  const std::lock_guard lock(kernels.mutex);
  std::erase_if(kernels.all, [&](const auto& each) { return each.on_cuda == kernel->on_cuda; });
}
