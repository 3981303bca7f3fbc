// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/runtime.hpp>

#include <memory>

namespace heddle {

/// Memory of the caller that is symmetric, in place, while this lives: n elements, of what
/// heddle_register takes. Made and destroyed collectively. Destroyed by an exception, it aborts the
/// world instead, and the buffer stays registered until the runtime ends.
template <class T>
class registration {
 public:
  registration(const runtime& runtime, T* buffer, std::size_t n)
      : buffer_(buffer, deleter{runtime.handle()}) {
    void* symmetric;
    const auto status =
        heddle_register(runtime.handle(), buffer, detail::bytes_of<T>(n), &symmetric);
    if (status != HEDDLE_SUCCESS) (void)buffer_.release();
    detail::check(status);
    data_ = static_cast<T*>(symmetric);
  }

  /// Its address in the heap, which kernels take. Host calls take the buffer's own as well.
  [[nodiscard]] T* data() const { return data_; }

 private:
  struct deleter {
    heddle_runtime_t runtime;
    detail::unwinding unwinds{};
    void operator()(T* buffer) const noexcept {
      if (unwinds) return detail::abort_by_exception(runtime);
      heddle_unregister(runtime, buffer);
    }
  };
  std::unique_ptr<T, deleter> buffer_;
  T* data_ = nullptr;
};

}  // namespace heddle
