// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tree_place.hpp"

#include <fmt/format.h>

#include "bootstrap/byte_stream.hpp"

namespace heddle {

int read_rank(byte_reader& in, int size) {
  const auto rank = in.number<std::int32_t>();
  if (rank < 0 || rank >= size) throw malformed_message(fmt::format("rank {}", rank));
  return rank;
}

tree_place tree_place::in(const tree_shape& shape, std::span<const endpoint> table, int rank) {
  tree_place place;
  place.parent = shape.parent(rank);
  if (place.parent >= 0) place.parent_at = table[static_cast<std::size_t>(place.parent)];
  place.children = shape.children(rank);
  return place;
}

void tree_place::write(byte_writer& out) const {
  out.number(std::int32_t{parent});
  parent_at.value().write(out);
  out.number(static_cast<std::uint32_t>(children.size()));
  for (const int child : children) out.number(std::int32_t{child});
}

tree_place tree_place::read(byte_reader& in, int size) {
  tree_place place;
  place.parent = read_rank(in, size);
  place.parent_at = endpoint::read(in);
  for (auto count = in.number<std::uint32_t>(); count > 0; --count)
    place.children.push_back(read_rank(in, size));
  return place;
}

}  // namespace heddle
