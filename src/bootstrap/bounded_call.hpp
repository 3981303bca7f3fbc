// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "support/deadline.hpp"
#include "support/quiet_thread.hpp"

namespace heddle {

/// A value that another thread gives once, and that may be given after its receiver has gone.
template <class Value>
class promised {
 public:
  void give(Value value) {
    std::lock_guard lock(mutex_);
    value_ = std::move(value);
    given_.notify_all();
  }
  /// Nothing if the deadline passed.
  std::optional<Value> wait(deadline until) {
    std::unique_lock lock(mutex_);
    given_.wait_until(lock, until.at(), [&] { return value_.has_value(); });
    return value_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_;
  std::optional<Value> value_;
};

/// The result of `call`, which cannot be told how long it may take, or nothing if it has not
/// returned by the deadline. Then it is left behind, on a thread of its own: whatever it uses must
/// outlive it. Throws HEDDLE_ERROR_SYSTEM, with what the thread is for, if there is none to be had.
template <class Call>
auto call_until(deadline until, std::string_view purpose, Call call)
    -> std::optional<std::invoke_result_t<Call>> {
  auto result = std::make_shared<promised<std::invoke_result_t<Call>>>();
  std::thread caller =
      start_quietly(purpose, [result, call = std::move(call)]() mutable { result->give(call()); });
  auto value = result->wait(until);
  if (value)
    caller.join();
  else
    caller.detach();
  return value;
}

}  // namespace heddle
