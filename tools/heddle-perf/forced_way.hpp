// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session.hpp"
#include "ways.hpp"

namespace perf {

/// For as long as it lives, the collectives of the operation that is measured go one way; those
/// that heddle-perf calls for itself may, if they are of its family.
class forced_way {
 public:
  forced_way(const session& with, const way& to)
      : with_(with), wanted_{to, with.chosen.what.kind == family::reduction} {
    with_.world.set_chooser(answer, &wanted_);
  }
  ~forced_way() {
    try {
      with_.world.set_chooser(nullptr);
    } catch (const heddle::error&) {
      // The team goes on as it was.
    }
  }
  forced_way(const forced_way&) = delete;
  forced_way& operator=(const forced_way&) = delete;

 private:
  struct wish {
    way to;
    bool combines;
  };
  static void answer(void* user, heddle_collective_t what, std::size_t /*bytes*/, int /*n_pes*/,
                     heddle_choice_t* choice) {
    const auto& wanted = *static_cast<const wish*>(user);
    const bool combines = what == HEDDLE_COLLECTIVE_ALL_REDUCE ||
                          what == HEDDLE_COLLECTIVE_REDUCE_SCATTER ||
                          what == HEDDLE_COLLECTIVE_REDUCE;
    if (combines != wanted.combines) return;
    choice->algorithm = wanted.to.algorithm;
    choice->protocol = wanted.to.protocol;
  }

  const session& with_;
  wish wanted_;
};

}  // namespace perf
