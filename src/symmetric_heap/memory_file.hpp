// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "support/unique_fd.hpp"

namespace heddle {

/// The memory of one heap: an anonymous file (memfd) that can grow and never shrink, so that no
/// peer that maps it is ever cut off. Sparse: what is not touched costs nothing. It is gone with
/// its last descriptor and mapping; there is no name to leave behind.
class memory_file {
 public:
  memory_file();

  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Grows to at least `bytes`, by whole granules of 2 MiB, in one step for owner and peers alike:
  /// they map beyond the end from the start. Throws HEDDLE_ERROR_OUT_OF_MEMORY if the system
  /// refuses.
  void grow_to(std::size_t bytes);

 private:
  unique_fd file_;
  std::size_t size_ = 0;
};

/// Whether and how the kernel gives huge pages for such memory, as a sentence.
const char* huge_page_support();

}  // namespace heddle
