// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "device/host_streams.hpp"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "support/quiet_thread.hpp"
#include "support/throw_error.hpp"

namespace heddle::exec {

namespace {

/// What a copy of a kernel and its arguments is made of: as aligned as those may be (launch.hpp).
struct alignas(128) argument_unit {
  std::byte bytes[128];
};

class host_event final : public event {
 public:
  using clock = std::chrono::steady_clock;

  /// A record has been enqueued for that thread; it is pending until complete() is called for it.
  /// Records on different streams complete in any order.
  std::uint64_t expect(std::thread::id by) {
    std::lock_guard lock(mutex_);
    pending_.emplace(++last_, by);
    return last_;
  }
  void complete(std::uint64_t record) {
    {
      std::lock_guard lock(mutex_);
      pending_.erase(record);
      if (record == last_) time_ = clock::now();
    }
    changed_.notify_all();
  }
  [[nodiscard]] std::uint64_t last_record() const {
    std::lock_guard lock(mutex_);
    return last_;
  }
  void wait_for(std::uint64_t record) {
    std::unique_lock lock(mutex_);
    if (const auto found = pending_.find(record);
        found != pending_.end() && found->second == std::this_thread::get_id())
      throw_error(HEDDLE_ERROR_INVALID_USAGE,
                  "waiting for an event: called by work on the stream that the event was recorded "
                  "on, which it would wait for");
    changed_.wait(lock, [&] { return !pending_.contains(record); });
  }

  void synchronize() override { wait_for(last_record()); }

  [[nodiscard]] double milliseconds_since(const event& start) const override {
    const auto& other = static_cast<const host_event&>(start);
    return std::chrono::duration<double, std::milli>(completion_time() - other.completion_time())
        .count();
  }

 private:
  [[nodiscard]] clock::time_point completion_time() const {
    std::lock_guard lock(mutex_);
    if (last_ == 0 || pending_.contains(last_))
      throw_error(HEDDLE_ERROR_INVALID_USAGE,
                  "elapsed time of an event that {}; record it and synchronize first",
                  last_ == 0 ? "was never recorded" : "is not complete");
    return time_;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t last_ = 0;                            ///< record; 0: never recorded
  std::map<std::uint64_t, std::thread::id> pending_;  ///< and who completes it
  clock::time_point time_{};
};

host_event& as_host(event& event) { return static_cast<host_event&>(event); }

void require_host_form(const kernel& kernel) {
  if (!kernel.on_host)
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "the kernel was compiled for CUDA alone, and this PE's device is the host");
}

class immediate_stream final : public stream {
 public:
  explicit immediate_stream(kernel_runner& runner) : runner_(runner) {}

  void launch(launch_shape shape, const kernel& kernel, const void* arguments, std::size_t,
              failure_callback on_failure) override {
    require_host_form(kernel);
    runner_.require_resident(shape);
    runner_.run(shape, kernel.on_host, arguments, on_failure);
  }
  void enqueue(std::function<void()> work) override { work(); }
  void copy(void* dst, const void* src, std::size_t bytes) override {
    std::memcpy(dst, src, bytes);
  }
  void record(std::shared_ptr<event> event) override {
    as_host(*event).complete(as_host(*event).expect(std::this_thread::get_id()));
  }
  void wait(std::shared_ptr<event> event) override { event->synchronize(); }
  void synchronize() override {}
  [[nodiscard]] bool is_immediate() const override { return true; }
  [[nodiscard]] bool runs_caller() const override { return false; }

 private:
  kernel_runner& runner_;
};

class queued_stream final : public stream {
 public:
  explicit queued_stream(kernel_runner& runner)
      : runner_(runner), thread_(start_quietly("run a stream", [this] { serve(); })) {}

  ~queued_stream() override {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void launch(launch_shape shape, const kernel& kernel, const void* arguments, std::size_t bytes,
              failure_callback on_failure) override {
    require_host_form(kernel);
    runner_.require_resident(shape);
    std::vector<argument_unit> copy((bytes + sizeof(argument_unit) - 1) / sizeof(argument_unit));
    if (bytes > 0) std::memcpy(copy.data(), arguments, bytes);
    enqueue([this, shape, entry = kernel.on_host, copy = std::move(copy),
             on_failure = std::move(on_failure)] {
      runner_.run(shape, entry, copy.data(), on_failure);
    });
  }

  void enqueue(std::function<void()> work) override {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }

  void copy(void* dst, const void* src, std::size_t bytes) override {
    enqueue([=] { std::memcpy(dst, src, bytes); });
  }

  void record(std::shared_ptr<event> event) override {
    enqueue([event, record = as_host(*event).expect(thread_.get_id())] {
      as_host(*event).complete(record);
    });
  }

  void wait(std::shared_ptr<event> event) override {
    enqueue([event, record = as_host(*event).last_record()] { as_host(*event).wait_for(record); });
  }

  void synchronize() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty(); });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  [[nodiscard]] bool is_immediate() const override { return false; }
  [[nodiscard]] bool runs_caller() const override {
    return std::this_thread::get_id() == thread_.get_id();
  }

 private:
  /// The work in front stays in the queue while it runs, so that an empty queue means all is done.
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closed_ || !queue_.empty(); });
      if (queue_.empty()) return;
      auto work = std::move(queue_.front());
      lock.unlock();
      std::exception_ptr failure;
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      work = nullptr;
      lock.lock();
      if (failure && !failure_) failure_ = failure;
      queue_.pop_front();
      if (queue_.empty()) changed_.notify_all();
    }
  }

  kernel_runner& runner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::exception_ptr failure_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<stream> create_immediate_stream(kernel_runner& runner) {
  return std::make_unique<immediate_stream>(runner);
}
std::unique_ptr<stream> create_queued_stream(kernel_runner& runner) {
  return std::make_unique<queued_stream>(runner);
}
std::shared_ptr<event> create_host_event() { return std::make_shared<host_event>(); }

}  // namespace heddle::exec
