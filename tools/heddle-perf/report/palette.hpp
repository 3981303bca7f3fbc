// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "measurements.hpp"

namespace perf::report {

/// How a curve is drawn: numbers of a colour and of a marker's shape.
struct look {
  int colour = 0;
  int marker = 0;
  role of = role::peer;
};

/// Gives every contender one look on the whole page; but what is heddle itself in one comparison
/// and a variant in another looks differently there. Colours are Okabe and Ito's, which people with
/// any colour vision tell apart; those that share one differ by their markers.
class palette {
 public:
  static constexpr int n_colours = 8;  ///< 0: heddle, 1: a limit, 2 and on: the others
  static constexpr int n_markers = 7;  ///< 0: heddle; the others take turns; limits have two more

  explicit palette(const std::vector<section>& sections);

  [[nodiscard]] look of(const curve& drawn) const { return looks_.at({drawn.name, drawn.of}); }

 private:
  /// One that none of these has.
  [[nodiscard]] look first_free(const std::set<std::pair<std::string, role>>& beside,
                                role of) const;

  std::map<std::pair<std::string, role>, look> looks_;
};

/// The shapes of the markers, for <use href="#m0"> and on: within 5 of the middle.
std::string marker_definitions();

}  // namespace perf::report
