// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/runtime.hpp>

#include <memory>

namespace heddle {

/// n elements of symmetric memory, zero at the start; made and destroyed collectively. Destroyed by
/// an exception, it aborts the world instead: the other PEs' waits end with an error.
///
/// Kernels use data() on every device. Element access and iteration are the host's own loads and
/// stores, which memory of a GPU does not take (heddle_device_name): code for every device copies
/// there and back by stream::copy, or by put and get.
template <detail::storable T>
class symmetric_array {
 public:
  symmetric_array(const runtime& runtime, std::size_t n)
      : data_(runtime.calloc<T>(n), deleter{runtime.handle()}), size_(n) {}

  [[nodiscard]] T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& operator[](std::size_t i) const { return data_.get()[i]; }
  [[nodiscard]] T* begin() const { return data(); }
  [[nodiscard]] T* end() const { return data() + size_; }

 private:
  struct deleter {
    heddle_runtime_t runtime;
    detail::unwinding unwinds{};
    void operator()(T* pointer) const noexcept {
      if (unwinds) return detail::abort_by_exception(runtime);
      heddle_free(runtime, pointer);
    }
  };
  std::unique_ptr<T, deleter> data_;
  std::size_t size_;
};

}  // namespace heddle
