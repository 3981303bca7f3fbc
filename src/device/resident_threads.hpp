// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace heddle::exec {

/// Threads that wait for work, to run several bodies at the same time: each has a thread of its own
/// until it returns, so bodies may wait for one another. Threads are made when first needed and
/// kept.
class resident_threads {
 public:
  resident_threads();
  ~resident_threads();

  /// Runs body(0) on the caller and body(1) ... body(n - 1) on n - 1 other threads, all at once,
  /// and returns when all have. Throws the first exception a body threw;
  /// HEDDLE_ERROR_SYSTEM, with nothing run, if the system gives no more threads. Several callers at
  /// once each get their own threads.
  void run(int n, const std::function<void(int)>& body);

 private:
  struct shared_run;
  class worker;
  std::vector<std::unique_ptr<worker>> take(int n);

  std::mutex mutex_;
  std::vector<std::unique_ptr<worker>> idle_;
};

}  // namespace heddle::exec
