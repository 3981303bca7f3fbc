// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <heddle/device_array.hpp>
#include <optional>

#include "session.hpp"

namespace perf {

/// Memory for `bytes`: symmetric or the PE's own, as the options say.
class device_buffer {
 public:
  device_buffer(const session& with, std::size_t bytes) : runtime_(with.runtime.handle()) {
    if (with.chosen.buffers == memory::own) {
      own_.emplace(with.runtime, bytes);
    } else {
      symmetric_ = with.runtime.malloc<std::byte>(bytes);
    }
  }
  ~device_buffer() {
    if (symmetric_) heddle_free(runtime_, symmetric_);
  }
  device_buffer(const device_buffer&) = delete;
  device_buffer& operator=(const device_buffer&) = delete;

  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(symmetric_ ? symmetric_ : own_->data());
  }

 private:
  heddle_runtime_t runtime_;
  std::byte* symmetric_ = nullptr;
  std::optional<heddle::device_array<std::byte>> own_;
};

}  // namespace perf
