// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/runtime.hpp>

#include <memory>

namespace heddle {

/// n elements of device memory of this PE, content unspecified. Work that uses them ends before
/// they do.
template <detail::storable T>
class device_array {
 public:
  device_array(const runtime& runtime, std::size_t n) : size_(n) {
    void* pointer;
    detail::check(heddle_device_malloc(runtime.handle(), detail::bytes_of<T>(n), &pointer));
    data_ = {static_cast<T*>(pointer), deleter{runtime.handle()}};
  }

  [[nodiscard]] T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct deleter {
    heddle_runtime_t runtime = nullptr;
    void operator()(T* pointer) const noexcept { heddle_device_free(runtime, pointer); }
  };
  std::unique_ptr<T, deleter> data_;
  std::size_t size_;
};

}  // namespace heddle
