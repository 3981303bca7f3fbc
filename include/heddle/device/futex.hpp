// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/platform.hpp>

#if !HEDDLE_ON_CUDA
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/// Threads of one process that sleep until a word changes. By the kernel's word for it alone: what
/// the standard library has keeps lists, of which a program and a library that it loads may have
/// one each, so that one's threads are not woken by the other's.
namespace heddle::detail {

/// Sleeps if the word is `value`, until it is woken; may return without.
inline void sleep_while([[maybe_unused]] const uint32_t* word, [[maybe_unused]] uint32_t value) {
#if !HEDDLE_ON_CUDA
  (void)::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
#endif
}

/// Wakes all that sleep there.
inline void wake_all([[maybe_unused]] const uint32_t* word) {
#if !HEDDLE_ON_CUDA
  (void)::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, nullptr, nullptr, 0);
#endif
}

}  // namespace heddle::detail
