// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "line_tagger.hpp"

#include <algorithm>

namespace heddle::run {

std::string line_tagger::feed(std::string_view data) {
  constexpr std::size_t longest = std::size_t{64} << 10;
  std::string out;
  while (!data.empty()) {
    auto end = data.find('\n');
    auto size = std::min(end == std::string_view::npos ? data.size() : end, longest - line_.size());
    line_ += data.substr(0, size);
    data.remove_prefix(size);
    if (!data.empty() && data.front() == '\n')
      data.remove_prefix(1);
    else if (line_.size() < longest)
      continue;
    out += tag_ + line_ + '\n';
    line_.clear();
  }
  return out;
}

std::string line_tagger::finish() {
  if (line_.empty()) return {};
  auto last = tag_ + line_ + '\n';
  line_.clear();
  return last;
}

}  // namespace heddle::run
