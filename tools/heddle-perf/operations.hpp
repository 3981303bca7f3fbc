// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace perf {

enum class family {
  reduction,  ///< a collective that combines
  exchange,   ///< one that combines nothing, sends and receives too
  one_sided,  ///< between PE 0 and PE 1
  barrier,
  tune
};

struct operation {
  std::string_view name;
  family kind;
  bool has_root = false;
  bool has_in_place = false;  ///< a PE may send from where it receives
  bool is_uneven = false;     ///< its pieces differ; see pieces.hpp
};

const std::vector<operation>& operations();
/// The one of that name, which is one of them.
const operation& find_operation(std::string_view name);

inline bool is_collective(const operation& what) {
  return what.kind == family::reduction || what.kind == family::exchange;
}

}  // namespace perf
