// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/group.hpp>

namespace heddle {

namespace detail {

/// A block that is one of the first few of its grid, as if these were the grid.
template <block_group B>
class block_of_few : public B {
 public:
  HEDDLE_FN block_of_few(const B& block, int rank, int count)
      : B(block), rank_(rank), count_(count) {}
  HEDDLE_FN int block_rank() const { return rank_; }
  HEDDLE_FN int num_blocks() const { return count_; }

 private:
  int rank_;
  int count_;
};

template <block_group B>
HEDDLE_FN block_of_few<B> few_blocks(const B& block, int rank, int count) {
  return {block, rank, count};
}
/// Of few some are few: of the same type, so that what they run is compiled once.
template <block_group B>
HEDDLE_FN block_of_few<B> few_blocks(const block_of_few<B>& block, int rank, int count) {
  return {block, rank, count};
}

}  // namespace detail

/// The calling block as a grid of its own: for what one block of a grid does alone.
template <block_group B>
HEDDLE_FN auto one_block(const B& block) {
  return detail::few_blocks(block, 0, 1);
}

}  // namespace heddle
