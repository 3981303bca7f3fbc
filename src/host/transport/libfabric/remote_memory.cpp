// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/libfabric/remote_memory.hpp"

#include <algorithm>
#include <tuple>

#include "support/throw_error.hpp"

namespace heddle::libfabric {

void remote_memory::add(int region, std::uint64_t offset, std::size_t size, std::uint64_t start,
                        std::uint64_t key) {
  const piece added{region, offset, size, start, key};
  // What was there before is exposed no more, in whichever pieces it was.
  std::erase_if(pieces_, [&](const piece& one) {
    return one.region == region && one.offset < offset + size && offset < one.offset + one.size;
  });
  pieces_.insert(std::lower_bound(pieces_.begin(), pieces_.end(), added,
                                  [](auto& a, auto& b) {
                                    return std::tie(a.region, a.offset) <
                                           std::tie(b.region, b.offset);
                                  }),
                 added);
}

remote_memory::target remote_memory::find(const remote_place& place, std::size_t size) const {
  auto after = std::upper_bound(
      pieces_.begin(), pieces_.end(), place, [](const remote_place& wanted, const piece& one) {
        return std::tie(wanted.region, wanted.offset) < std::tie(one.region, one.offset);
      });
  if (after != pieces_.begin()) {
    const auto& found = *std::prev(after);
    const auto inside = place.offset - found.offset;
    if (found.region == place.region && inside <= found.size && size <= found.size - inside)
      return {found.start + inside, found.key};
  }
  throw_error(HEDDLE_ERROR_INTERNAL,
              "PE {} has exposed nothing that holds [{}, {} + {}) of region {}: add_remote was "
              "not called for it",
              place.pe, place.offset, place.offset, size, place.region);
}

}  // namespace heddle::libfabric
