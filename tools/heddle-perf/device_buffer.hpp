// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <heddle/device_array.hpp>
#include <heddle/registration.hpp>
#include <optional>

#include "host_pages.hpp"
#include "session.hpp"

namespace perf {

/// Memory for `bytes`, of the kind that the options name. Made and freed by all PEs.
class device_buffer {
 public:
  device_buffer(const session& with, std::size_t bytes) : runtime_(with.runtime.handle()) {
    switch (with.chosen.buffers) {
      case memory::symmetric:
        data_ = symmetric_ = with.runtime.malloc<std::byte>(bytes);
        break;
      case memory::own:
        data_ = own_.emplace(with.runtime, bytes).data();
        break;
      case memory::registered:
        if (!with.on_host)
          throw usage_error(
              "registered buffers of a GPU are memory of cuMemCreate, which heddle-perf does not "
              "make: take --buffers symmetric or private, or HEDDLE_DEVICE=host");
        pages_.emplace(bytes);
        registered_.emplace(with.runtime, pages_->data(), pages_->bytes());
        data_ = pages_->data();
        break;
    }
  }
  ~device_buffer() {
    if (!symmetric_) return;
    if (unwinds_)
      heddle::detail::abort_by_exception(runtime_);
    else
      heddle_free(runtime_, symmetric_);
  }
  device_buffer(const device_buffer&) = delete;
  device_buffer& operator=(const device_buffer&) = delete;

  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  heddle_runtime_t runtime_;
  heddle::detail::unwinding unwinds_{};
  std::byte* symmetric_ = nullptr;
  std::optional<heddle::device_array<std::byte>> own_;
  std::optional<host_pages> pages_;
  std::optional<heddle::registration<std::byte>> registered_;
  std::byte* data_ = nullptr;
};

}  // namespace perf
