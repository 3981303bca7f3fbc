// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace perf {

/// Pages of the process's own with room for `at_least` bytes, as heddle_register takes them.
class host_pages {
 public:
  explicit host_pages(std::size_t at_least) : bytes_((at_least + page - 1) / page * page) {
    void* mapped =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    data_ = static_cast<std::byte*>(mapped);
  }
  ~host_pages() { ::munmap(data_, bytes_); }
  host_pages(const host_pages&) = delete;
  host_pages& operator=(const host_pages&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t page = 4096;

  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace perf
