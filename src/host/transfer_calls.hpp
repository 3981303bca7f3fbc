// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <cstddef>
#include <heddle/device/coll/transfers.hpp>
#include <memory>
#include <optional>

#include "coll/exchange_plan.hpp"
#include "host/plans_by_limit.hpp"

namespace heddle {

class transfer_list;

/// A team's sends and receives: checks a call, and enqueues the kernel of several that were
/// grouped, or of one that was not.
class transfer_calls {
 public:
  /// Of a team that outlives it.
  explicit transfer_calls(heddle_team& team);

  // As the functions of heddle.h.
  void send(const void* buffer, std::size_t count, heddle_type_t type, int peer,
            heddle_stream_t stream);
  void receive(void* buffer, std::size_t count, heddle_type_t type, int peer,
               heddle_stream_t stream);

  void forget_plans() { plans_.forget(); }
  void set_limit(int channels) { plans_.set_limit(channels); }
  /// One kernel for them all; on the default stream it is complete on return.
  void run(const transfer_list& list, heddle_stream_t stream);
  /// The same, which a GPU's default stream may still be at: team.complete(stream) waits for it.
  void start(const transfer_list& list, heddle_stream_t stream);

 private:
  void transfer(const char* function, bool is_send, void* buffer, std::size_t count,
                heddle_type_t type, int peer, heddle_stream_t stream);

  template <class Args>
  void launch(Args& args, const transfer_list& list, heddle_stream_t stream);

  heddle_team& team_;
  few_transfers_args few_{};                   ///< with the team, which is copied once
  std::unique_ptr<many_transfers_args> many_;  ///< null before the first
  plans_by_limit<std::optional<exchange_plan>> plans_;
};

}  // namespace heddle
