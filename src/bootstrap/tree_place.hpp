// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bootstrap/endpoint.hpp"
#include "bootstrap/tree_shape.hpp"

namespace heddle {

/// Throws malformed_message for a rank that `size` does not allow.
int read_rank(byte_reader& in, int size);

/// What a rank has to know to join the tree: whom it calls, and who will call it.
struct tree_place {
  int parent = -1;  ///< -1 for rank 0
  std::optional<endpoint> parent_at;
  std::vector<int> children;

  static tree_place in(const tree_shape& shape, std::span<const endpoint> table, int rank);

  void write(byte_writer& out) const;
  /// Throws malformed_message, also for ranks that `size` does not allow.
  static tree_place read(byte_reader& in, int size);
};

}  // namespace heddle
