// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/handle.hpp>

namespace heddle {

class runtime;

/// An ordered queue of work. The default stream (runtime::default_stream) is borrowed, others are
/// owned.
class stream {
 public:
  /// Waits for the work queued so far and throws its first error: see heddle_stream_synchronize.
  void synchronize() const { detail::check(heddle_stream_synchronize(runtime_, owned_.get())); }

  /// Copies n elements between host, device and symmetric memory of this PE, in stream order.
  template <class T>
  void copy(T* dst, const T* src, std::size_t n) const {
    detail::check(heddle_copy_on_stream(runtime_, dst, src, detail::bytes_of<T>(n), owned_.get()));
  }

  [[nodiscard]] heddle_stream_t handle() const { return owned_.get(); }
  [[nodiscard]] heddle_runtime_t runtime_handle() const { return runtime_; }

 private:
  friend class runtime;
  stream(heddle_runtime_t runtime, heddle_stream_t stream) : runtime_(runtime), owned_(stream) {}

  heddle_runtime_t runtime_;
  detail::owned<heddle_stream_t, heddle_stream_destroy> owned_;
};

/// A point in a stream's work.
class event {
 public:
  void record(const stream& stream) {
    detail::check(heddle_event_record(owned_.get(), stream.handle()));
  }
  void synchronize() const { detail::check(heddle_event_synchronize(owned_.get())); }
  /// Work queued on `stream` after this waits for the last record.
  void block(const stream& stream) const {
    detail::check(heddle_stream_wait_event(stream.handle(), owned_.get()));
  }
  [[nodiscard]] double milliseconds_since(const event& start) const {
    double milliseconds;
    detail::check(heddle_event_elapsed(start.owned_.get(), owned_.get(), &milliseconds));
    return milliseconds;
  }

 private:
  friend class runtime;
  explicit event(heddle_event_t event) : owned_(event) {}
  detail::owned<heddle_event_t, heddle_event_destroy> owned_;
};

}  // namespace heddle
