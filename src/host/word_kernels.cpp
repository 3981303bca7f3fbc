// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Compiled by nvcc where there is one.

#include "host/word_kernels.hpp"

#include <heddle/device/impl/kernel_forms.hpp>

namespace heddle {

template <class Call>
heddle_kernel_t kernel_of() {
  return detail::forms_of<Call>();
}
template heddle_kernel_t kernel_of<update_signal_call>();
template heddle_kernel_t kernel_of<wait_call>();
template heddle_kernel_t kernel_of<barrier_call>();
template heddle_kernel_t kernel_of<atomic_call<uint32_t>>();
template heddle_kernel_t kernel_of<atomic_call<uint64_t>>();
template heddle_kernel_t kernel_of<local_atomic_call<uint32_t>>();
template heddle_kernel_t kernel_of<local_atomic_call<uint64_t>>();
template heddle_kernel_t kernel_of<copy_call>();

std::vector<heddle_kernel_t> every_word_kernel() {
  return {kernel_of<update_signal_call>(),
          kernel_of<wait_call>(),
          kernel_of<barrier_call>(),
          kernel_of<atomic_call<uint32_t>>(),
          kernel_of<atomic_call<uint64_t>>(),
          kernel_of<local_atomic_call<uint32_t>>(),
          kernel_of<local_atomic_call<uint64_t>>(),
          kernel_of<copy_call>()};
}

}  // namespace heddle
