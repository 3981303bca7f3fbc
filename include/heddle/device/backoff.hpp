// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/platform.hpp>

#if !HEDDLE_ON_CUDA
#include <sched.h>

#include <ctime>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif
#endif

namespace heddle {

/// Nanoseconds of a clock that all threads of this PE share; for differences only.
HEDDLE_FN inline uint64_t clock_ns() {
#if HEDDLE_ON_CUDA
  uint64_t time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
#else
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
#endif
}

#if !HEDDLE_ON_CUDA
/// A signal may end it before.
inline void sleep_ns(uint64_t ns) {
  const timespec time{static_cast<time_t>(ns / 1'000'000'000),
                      static_cast<long>(ns % 1'000'000'000)};
  nanosleep(&time, nullptr);
}
#endif

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
/// without), and after 10 ms it sleeps between looks, for a 64th of the time that it has waited, up
/// to 8 ms. CUDA: nothing 2000 times, then nanosleep, up to a microsecond; how many PEs a processor
/// has does not matter there.
class backoff {
 public:
  HEDDLE_FN explicit backoff(uint32_t spin) : spin_(spin) {}

  HEDDLE_FN void pause() {
    pause([] { pause_processor(); },
          []([[maybe_unused]] uint64_t ns) {
#if !HEDDLE_ON_CUDA
            sleep_ns(ns);
#endif
          });
  }

  /// On the host `spin()` is what it does at first, and `sleep(ns)` sleeps; it may be woken before.
  template <class Spin, class Sleep>
  HEDDLE_FN void pause([[maybe_unused]] const Spin& spin, [[maybe_unused]] const Sleep& sleep) {
    ++polls_;
#if HEDDLE_ON_CUDA
    constexpr uint32_t eager_polls = 2000;
    if (polls_ > eager_polls) __nanosleep(polls_ < eager_polls + 64 ? 32 : 1000);
#else
    if (polls_ <= spin_) return spin();
    const uint64_t now = clock_ns();
    if (yields_since_ == 0) yields_since_ = now;
    waited_ns_ = now - yields_since_;
    is_napping_ = waited_ns_ >= 10'000'000;
    if (is_napping_)
      sleep(waited_ns_ < 512'000'000 ? waited_ns_ / 64 : 8'000'000);
    else
      sched_yield();
#endif
  }

  [[nodiscard]] HEDDLE_FN uint32_t polls() const { return polls_; }
  /// On the host: others want this core, so that each time slice that is given away takes a while.
  [[nodiscard]] HEDDLE_FN bool is_crowded() const {
    return waited_ns_ >= 50'000 && waited_ns_ >= uint64_t{2'000} * polls_;
  }
  /// Each pause is so long now that it may be followed by whatever else is to be looked at.
  [[nodiscard]] HEDDLE_FN bool is_napping() const { return is_napping_; }

 private:
  uint32_t spin_;
  uint32_t polls_ = 0;
  uint64_t yields_since_ = 0;  ///< host, as the next
  uint64_t waited_ns_ = 0;
  bool is_napping_ = false;
};

}  // namespace heddle
