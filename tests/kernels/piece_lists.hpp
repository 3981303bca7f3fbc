// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/types.hpp>

namespace heddle::testing {

/// What a kernel's collective with lists is given, by PE: how many elements, and where.
struct piece_lists {
  const heddle::size_t* in_counts;
  const heddle::size_t* in_places;
  const heddle::size_t* out_counts;
  const heddle::size_t* out_places;
};

}  // namespace heddle::testing
