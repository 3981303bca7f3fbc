// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/team.hpp>

#include "ways.hpp"

namespace perf {

/// For as long as it lives, a team's collectives that combine go one way, or those that do not;
/// those that heddle-perf calls for itself among them.
class forced_way {
 public:
  forced_way(const heddle::team& team, const way& to, bool combining)
      : team_(team), wanted_{to, combining} {
    team_.set_chooser(answer, &wanted_);
  }
  ~forced_way() {
    try {
      team_.set_chooser(nullptr);
    } catch (const heddle::error&) {
      // The team goes on as it was.
    }
  }
  forced_way(const forced_way&) = delete;
  forced_way& operator=(const forced_way&) = delete;

 private:
  struct wish {
    way to;
    bool combining;
  };
  static void answer(void* user, heddle_collective_t what, std::size_t /*bytes*/, int /*n_pes*/,
                     heddle_choice_t* choice) {
    const auto& wanted = *static_cast<const wish*>(user);
    const bool combines = what == HEDDLE_COLLECTIVE_ALL_REDUCE ||
                          what == HEDDLE_COLLECTIVE_REDUCE_SCATTER ||
                          what == HEDDLE_COLLECTIVE_REDUCE;
    if (combines != wanted.combining) return;
    choice->algorithm = wanted.to.algorithm;
    choice->protocol = wanted.to.protocol;
  }

  const heddle::team team_;
  wish wanted_;
};

}  // namespace perf
