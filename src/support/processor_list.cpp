// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "support/processor_list.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <sstream>

namespace heddle {

cpu_set_t set_of_processors(const std::string& list) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::istringstream text(list);
  for (std::string range; std::getline(text, range, ',');) {
    std::istringstream numbers(range);
    unsigned first = 0;
    if (!(numbers >> first)) continue;
    unsigned last = first;
    if (numbers.get() == '-') numbers >> last;
    for (unsigned i = first; i <= last && i < CPU_SETSIZE; ++i) CPU_SET(i, &set);
  }
  return set;
}

std::string list_of_processors(const cpu_set_t& set) {
  std::string list;
  for (std::size_t first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &set)) continue;
    std::size_t last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    list += fmt::format("{}{}", list.empty() ? "" : ",", first);
    if (last > first) list += fmt::format("-{}", last);
    first = last;
  }
  return list;
}

}  // namespace heddle
