// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/transfers.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace heddle {

/// The sends and receives of one PE that run as one kernel, in the order in which they were asked
/// for.
class transfer_list {
 public:
  void add(bool is_send, void* memory, std::size_t bytes, int pe);
  [[nodiscard]] std::size_t size() const { return list_.size(); }
  /// Lane by lane, as their kernel takes them, to the begin of a place for them. Throws
  /// HEDDLE_ERROR_NOT_SUPPORTED if they are more than it holds or a kernel takes,
  /// HEDDLE_ERROR_INVALID_ARGUMENT if what one receives overlaps another's memory, and
  /// HEDDLE_ERROR_INVALID_USAGE if the PE does not receive what it sends to itself.
  void write_to(std::span<transfer> place, int my_pe) const;

 private:
  std::vector<transfer> list_;
};

}  // namespace heddle
