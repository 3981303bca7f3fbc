// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/platform.hpp>

#if !HEDDLE_ON_CUDA && defined(__x86_64__)
#include <immintrin.h>
#endif

namespace heddle {

/// Nanoseconds of a clock that all threads of this PE share; for differences only.
HEDDLE_FN inline uint64_t clock_ns() {
#if HEDDLE_ON_CUDA
  uint64_t time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
#else
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
#endif
}

/// Tells the processor that this is a spin: leaves its units to the other thread of the core for a
/// moment.
HEDDLE_FN inline void pause_processor() {
#if !HEDDLE_ON_CUDA && defined(__x86_64__)
  _mm_pause();
#elif !HEDDLE_ON_CUDA && defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// The one spin policy: what a thread does between two looks at a word that has not changed yet.
///
/// Host: `spin` times a processor pause, then it gives its time slice away, since the thread it
/// waits for may need this very core (measured: 8 threads on 2 cores take 230 times longer
/// without), and after some milliseconds it sleeps between looks. CUDA: nothing at first, then
/// nanosleep, up to a microsecond.
class backoff {
 public:
  HEDDLE_FN explicit backoff(uint32_t spin) : spin_(spin) {}

  HEDDLE_FN void pause() {
    ++polls_;
#if HEDDLE_ON_CUDA
    if (polls_ > spin_) __nanosleep(polls_ < spin_ + 64 ? 32 : 1000);
#else
    if (polls_ <= spin_) {
      pause_processor();
    } else if (polls_ <= spin_ + yields_before_sleep) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
#endif
  }

  [[nodiscard]] HEDDLE_FN uint32_t polls() const { return polls_; }

 private:
  static constexpr uint32_t yields_before_sleep = 20'000;

  uint32_t spin_;
  uint32_t polls_ = 0;
};

}  // namespace heddle
