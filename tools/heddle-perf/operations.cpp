// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "operations.hpp"

#include <algorithm>

namespace perf {

const std::vector<operation>& operations() {
  using enum family;
  static const std::vector<operation> all = {
      {.name = "all_reduce", .kind = reduction, .has_in_place = true},
      {.name = "reduce_scatter", .kind = reduction, .has_in_place = true},
      {.name = "reduce_scatter_v", .kind = reduction, .has_in_place = true, .is_uneven = true},
      {.name = "reduce", .kind = reduction, .has_root = true, .has_in_place = true},
      {.name = "broadcast", .kind = exchange, .has_root = true, .has_in_place = true},
      {.name = "all_gather", .kind = exchange, .has_in_place = true},
      {.name = "all_gather_v", .kind = exchange, .has_in_place = true, .is_uneven = true},
      {.name = "all_to_all", .kind = exchange},
      {.name = "all_to_all_v", .kind = exchange, .is_uneven = true},
      {.name = "gather", .kind = exchange, .has_root = true, .has_in_place = true},
      {.name = "scatter", .kind = exchange, .has_root = true, .has_in_place = true},
      {.name = "sendrecv", .kind = exchange},
      {.name = "put", .kind = one_sided},
      {.name = "get", .kind = one_sided},
      {.name = "signal", .kind = one_sided},
      {.name = "atomic", .kind = one_sided},
      {.name = "barrier", .kind = family::barrier},
      {.name = "rate", .kind = one_sided},
      {.name = "tune", .kind = family::tune}};
  return all;
}

const operation& find_operation(std::string_view name) {
  return *std::find_if(operations().begin(), operations().end(),
                       [&](const operation& each) { return each.name == name; });
}

}  // namespace perf
