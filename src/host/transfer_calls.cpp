// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/transfer_calls.hpp"

#include "coll/exchange_kernels.hpp"
#include "coll/transfer_list.hpp"
#include "host/call_group.hpp"
#include "host/element_bytes.hpp"
#include "host/runtime.hpp"
#include "host/team.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {

transfer_calls::transfer_calls(heddle_team& team) : team_(team) { few_.team = team.ref(); }

void transfer_calls::send(const void* buffer, std::size_t count, heddle_type_t type, int peer,
                          heddle_stream_t stream) {
  transfer("heddle_send", true, const_cast<void*>(buffer), count, type, peer, stream);
}

void transfer_calls::receive(void* buffer, std::size_t count, heddle_type_t type, int peer,
                             heddle_stream_t stream) {
  transfer("heddle_recv", false, buffer, count, type, peer, stream);
}

void transfer_calls::transfer(const char* function, bool is_send, void* buffer, std::size_t count,
                              heddle_type_t type, int peer, heddle_stream_t stream) {
  const std::size_t bytes = bytes_of_elements(function, count, type);
  if (peer < 0 || peer >= team_.n_pes()) [[unlikely]]
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: peer {} is not one of the {} PEs of team {}",
                function, peer, team_.n_pes(), team_.name());
  if (count > 0 && !buffer) [[unlikely]]
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: buffer is NULL, with a count of {}", function,
                count);
  team_.check();
  if (bytes == 0) return;
  team_.require_reachable(function);
  auto* memory = const_cast<void*>(team_.runtime().heap().translate(buffer, bytes));
  auto& group = call_group::of_this_thread();
  if (group.is_open()) return group.add(team_, stream, is_send, memory, bytes, peer);
  transfer_list alone;
  alone.add(is_send, memory, bytes, peer);
  run(alone, stream);
}

void transfer_calls::run(const transfer_list& list, heddle_stream_t stream) {
  start(list, stream);
  team_.complete(stream);
}

void transfer_calls::start(const transfer_list& list, heddle_stream_t stream) {
  if (list.size() <= few_transfers_args::most) return launch(few_, list, stream);
  if (!many_) {
    many_ = std::make_unique<many_transfers_args>();
    many_->team = team_.ref();
  }
  launch(*many_, list, stream);
}

template <class Args>
void transfer_calls::launch(Args& args, const transfer_list& list, heddle_stream_t stream) {
  list.write_to(args.list, team_.my_pe());
  args.n = static_cast<int>(list.size());
  auto& plan = *plans_;
  if (!plan) {
    // The same for all sizes: what a PE groups, the others do not know.
    const auto asked = team_.question(collective::transfer, std::size_t{1} << 20);
    plan = choose_exchange(collective::transfer, asked);
    // Who meets, compares.
    if (team_.compares_calls())
      plan->words_up_to = plan->slots_up_to = plan->network_slots_up_to = 0;
    log::info(log::subsystem::coll, "sends and receives, team {}: {}", team_.name(),
              heddle::explain(*plan, asked));
  }
  args.words_up_to = plan->words_up_to;
  args.slots_up_to = plan->slots_up_to;
  args.network_slots_up_to = plan->network_slots_up_to;
  args.pull = plan->pull;
  args.streaming_from = plan->streaming_from;
  team_.start_collective({plan->channels, plan->threads},
                         plan->is_large ? large_transfers_kernel<Args>() : transfers_kernel<Args>(),
                         &args, sizeof args, stream);
}

}  // namespace heddle
