// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "support/last_cache.hpp"

#include <fstream>
#include <string>

#include "support/environment.hpp"

namespace heddle {

std::size_t last_cache_bytes() {
  std::size_t last = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    std::string text;
    if (!(file >> text)) break;
    if (const auto bytes = parse_bytes(text)) last = *bytes;
  }
  return last > 0 ? last : std::size_t{32} << 20;
}

}  // namespace heddle
