// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/mapped_pes.hpp"

#include <algorithm>
#include <utility>

#include "bootstrap/byte_stream.hpp"

namespace heddle {

mapped_pes::bytes mapped_pes::find(int n_pes, const std::function<bool(int pe)>& is_mapped) {
  byte_writer told;
  bool before = false;
  for (int pe = 0; pe <= n_pes; ++pe) {
    const bool now = pe < n_pes && is_mapped(pe);
    if (now != before) told.number(static_cast<std::int32_t>(pe));  // where a range begins or ends
    before = now;
  }
  return told.take();
}

mapped_pes::mapped_pes(const std::vector<bytes>& told) {
  for (const auto& theirs : told) {
    begins_.push_back(static_cast<std::uint32_t>(ranges_.size()));
    byte_reader reader(theirs);
    while (!reader.left().empty()) {
      const auto begin = reader.number<std::int32_t>();
      ranges_.push_back({begin, reader.number<std::int32_t>()});
    }
  }
  begins_.push_back(static_cast<std::uint32_t>(ranges_.size()));
}

std::span<const mapped_pes::range> mapped_pes::ranges_of(std::size_t pe) const {
  return std::span(ranges_).subspan(begins_[pe], begins_[pe + 1] - begins_[pe]);
}

bool mapped_pes::is_all() const {
  const auto n_pes = begins_.size() - 1;
  for (std::size_t pe = 0; pe < n_pes; ++pe) {
    const auto theirs = ranges_of(pe);
    if (theirs.size() != 1 || theirs[0].begin != 0 ||
        theirs[0].end != static_cast<std::int32_t>(n_pes))
      return false;
  }
  return true;
}

bool mapped_pes::map(std::vector<std::int32_t> pes, std::size_t n) const {
  std::sort(pes.begin(), pes.end());
  return std::all_of(pes.begin(), pes.end(), [&](std::int32_t pe) {
    std::ptrdiff_t found = 0;
    for (const auto& [begin, end] : ranges_of(static_cast<std::size_t>(pe)))
      found += std::lower_bound(pes.begin(), pes.end(), end) -
               std::lower_bound(pes.begin(), pes.end(), begin);
    return found == static_cast<std::ptrdiff_t>(n);
  });
}

bool mapped_pes::map_each_other(std::vector<std::int32_t> pes) const {
  const auto all = pes.size();
  return map(std::move(pes), all);
}

bool mapped_pes::are_apart(std::vector<std::int32_t> pes) const { return map(std::move(pes), 1); }

}  // namespace heddle
