// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "pe_environment.hpp"

#include <unistd.h>

#include <map>

#include "support/throw_error.hpp"

namespace heddle::run {

std::vector<std::string> pe_environment(const std::vector<std::string>& exports) {
  // By name: of two entries with one name a PE would see the first.
  std::map<std::string, std::string> entries;
  const auto name_of = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
  for (char** entry = environ; *entry; ++entry) entries.try_emplace(name_of(*entry), *entry);
  for (const auto& entry : exports) {
    const auto name = name_of(entry);
    if (name != entry)
      entries[name] = entry;
    else if (!entries.contains(name))
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "-x {}: the variable is not set; set it, or give -x {}=VALUE", name, name);
  }
  std::vector<std::string> result;
  for (auto& [name, entry] : entries) result.push_back(std::move(entry));
  return result;
}

}  // namespace heddle::run
