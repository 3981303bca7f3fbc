// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "device/resident_threads.hpp"

#include <atomic>
#include <exception>
#include <heddle/device/backoff.hpp>
#include <system_error>
#include <thread>

#include "support/throw_error.hpp"

namespace heddle::exec {

/// One call of run, as its threads see it.
struct resident_threads::shared_run {
  const std::function<void(int)>& body;
  std::atomic<int> remaining;
  std::atomic<bool> failed{false};
  std::exception_ptr failure{};

  void call(int index) {
    try {
      body(index);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  }
};

/// A parked thread. `turn_` counts the works it was given; the thread waits for it to change.
class resident_threads::worker {
 public:
  worker() : thread_([this] { serve(); }) {}
  ~worker() { give(nullptr, 0); }

  /// Null ends the thread.
  void give(shared_run* run, int index) {
    run_ = run;
    index_ = index;
    turn_.fetch_add(1, std::memory_order_release);
    turn_.notify_one();
  }

 private:
  void serve() {
    for (unsigned seen = 0;; ++seen) {
      turn_.wait(seen, std::memory_order_acquire);
      shared_run* run = run_;
      if (!run) return;
      run->call(index_);
      run->remaining.fetch_sub(1, std::memory_order_release);
    }
  }

  std::atomic<unsigned> turn_{0};
  shared_run* run_ = nullptr;
  int index_ = 0;
  std::jthread thread_;
};

resident_threads::resident_threads() = default;
resident_threads::~resident_threads() = default;

std::vector<std::unique_ptr<resident_threads::worker>> resident_threads::take(int n) {
  std::vector<std::unique_ptr<worker>> taken;
  std::lock_guard lock(mutex_);
  while (static_cast<int>(taken.size()) < n && !idle_.empty()) {
    taken.push_back(std::move(idle_.back()));
    idle_.pop_back();
  }
  try {
    while (static_cast<int>(taken.size()) < n) taken.push_back(std::make_unique<worker>());
  } catch (const std::system_error& failure) {
    const auto got = taken.size();
    for (auto& worker : taken) idle_.push_back(std::move(worker));
    throw_error(
        HEDDLE_ERROR_SYSTEM,
        "a launch needs {} more host threads at once; the system gave {} ({}); launch fewer "
        "blocks or threads, or raise ulimit -u",
        n, got, failure.what());
  }
  return taken;
}

void resident_threads::run(int n, const std::function<void(int)>& body) {
  auto workers = take(n - 1);
  shared_run run{body, n - 1};
  for (int i = 1; i < n; ++i) workers[static_cast<std::size_t>(i - 1)]->give(&run, i);
  run.call(0);
  backoff patience(64);
  while (run.remaining.load(std::memory_order_acquire) > 0) patience.pause();
  {
    std::lock_guard lock(mutex_);
    for (auto& worker : workers) idle_.push_back(std::move(worker));
  }
  if (run.failure) std::rethrow_exception(run.failure);
}

}  // namespace heddle::exec
