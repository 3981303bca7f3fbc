// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "support/unique_fd.hpp"

namespace heddle {

/// A GPU's memory, as network cards are let at it. Region 0 of a PE that has one lies in it.
class gpu_memory {
 public:
  virtual ~gpu_memory() = default;
  /// The GPU's number, as CUDA's driver counts in this process.
  [[nodiscard]] virtual int ordinal() const = 0;
  /// Whether share_with_cards works; else cards reach it by the module nvidia_peermem alone.
  [[nodiscard]] virtual bool has_dmabufs() const = 0;
  /// [start, start + size), both multiples of pages, as a dmabuf. Throws HEDDLE_ERROR_SYSTEM with
  /// the driver's reason.
  [[nodiscard]] virtual unique_fd share_with_cards(void* start, std::size_t size) const = 0;
};

}  // namespace heddle
