// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace bench {

/// Where the threads of a program agree: a barrier that also gives the largest of what each brings.
class meeting {
 public:
  explicit meeting(int threads) : threads_(threads) {}

  /// Throws if a thread has failed, here or before.
  double largest(double x) {
    std::unique_lock lock(mutex_);
    brought_ = waiting_ == 0 ? x : std::max(brought_, x);
    const int round = round_;
    if (++waiting_ == threads_) {
      waiting_ = 0;
      agreed_ = brought_;
      ++round_;
      all_here_.notify_all();
    }
    all_here_.wait(lock, [&] { return round_ != round || failed_; });
    if (round_ == round) throw std::runtime_error("another PE of the benchmark failed");
    return agreed_;
  }

  /// A thread that fails tells the others, which would wait for it.
  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    all_here_.notify_all();
  }

 private:
  const int threads_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  int waiting_ = 0;
  int round_ = 0;
  double brought_ = 0;
  double agreed_ = 0;  // a thread reads it before it can come again, hence before it changes
  bool failed_ = false;
};

}  // namespace bench
