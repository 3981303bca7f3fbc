// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/one_block.hpp>

/// Who calls a collective in a kernel of the tests.
namespace heddle::testing {

/// Has the grid's last block alone, or the whole grid, call f(block). Both are of one type, so that
/// what f calls is compiled once.
template <block_group Block, class F>
HEDDLE_FN void call_in_scope(const Block& block, bool alone, const F& f) {
  if (!alone)
    f(detail::few_blocks(block, block.block_rank(), block.num_blocks()));
  else if (block.block_rank() == block.num_blocks() - 1)
    f(one_block(block));
}

}  // namespace heddle::testing
