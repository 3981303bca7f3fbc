// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What progress() and may_wait() do: completions, events of the devices.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/transport/verbs/device_event.hpp"
#include "host/transport/verbs/failure_text.hpp"
#include "host/transport/verbs/rc_transport.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle::verbs {
namespace {

constexpr auto look_every = std::chrono::milliseconds(10);
/// A call in this many looks at the clock, and at what rarely happens.
constexpr unsigned look_at_call = 64;

using completions = std::array<ibv_wc, poll_batch>;

std::span<const ibv_wc> poll(ibv_cq* queue, completions& found) {
  const int count = ibv_poll_cq(queue, poll_batch, found.data());
  return {found.data(), static_cast<std::size_t>(std::max(count, 0))};
}

/// As long as a card tries again before it gives up: a port that is back by then lost nothing.
std::chrono::duration<double> patience(const verbs_options& options) {
  return std::chrono::duration<double>(4.096e-6 * static_cast<double>(1u << options.timeout) *
                                       (options.retry_count + 1));
}

}  // namespace

bool rc_transport::progress(listener& listener) {
  bool happened = false;
  try {
    flush_chains();
    const bool has_waited = std::exchange(waited_, false);
    const bool has_event = has_waited && waits_.has_event();
    if (has_waited) happened = take_found(has_event, listener);
    const bool looks = has_waited || ++calls_ % look_at_call == 0;
    for (auto& one : rails_) {
      happened |= poll_arrivals(*one, listener);
      happened |= poll_sends(*one, listener, looks);
    }
    if (looks) {
      const auto now = clock::now();
      if (has_event || now >= look_at_) look_around(now);
    }
    flush_chains();
  } catch (const error& problem) {
    lose_all(problem.what());
  }
  return endings_.tell(listener) || happened;
}

/// What came before may_wait() said that one might.
bool rc_transport::take_found(bool has_event, listener& listener) {
  if (has_event)
    for (auto& one : rails_) one->take_events();
  const auto arrivals = std::exchange(found_arrivals_, {});
  const auto sends = std::exchange(found_sends_, {});
  for (const auto& [from, completion] : arrivals) take_arrival(*from, completion, listener);
  for (const auto& [from, completion] : sends) take_completion(completion, listener);
  return !arrivals.empty() || !sends.empty();
}

bool rc_transport::poll_arrivals(rail& from, listener& listener) {
  completions place;
  const auto found = poll(from.arrivals(), place);
  for (const auto& completion : found) take_arrival(from, completion, listener);
  return !found.empty();
}

void rc_transport::take_arrival(rail& from, const ibv_wc& completion, listener& listener) {
  const auto [kind, bytes] = from.arrived(completion);
  if (kind == rail::arrival::hello) {
    // Addresses may not be known here yet; whoever said hello repeats it.
    if (const auto message = decode_hello(bytes, options_.job_token); message && !peers_.empty())
      take_hello(*message);
  } else if (kind == rail::arrival::message && completion.status == IBV_WC_SUCCESS &&
             (completion.wc_flags & IBV_WC_WITH_IMM)) {
    take_goodbye(from, completion);
  } else if (kind == rail::arrival::message && !bytes.empty()) {
    listener.on_message(bytes);
  }
  // The buffers of a connection that ended come back with an error, and are as good as before.
  from.receive_again(completion);
  from.flush_receives();
}

bool rc_transport::poll_sends(rail& from, listener& listener, bool all) {
  bool happened = false;
  for (auto& queue : from.sends()) {
    if (all ? queue.under_way == 0 : queue.signaled == 0) continue;
    completions place;
    const auto found = poll(queue.queue.get(), place);
    for (const auto& completion : found) take_completion(completion, listener);
    happened |= !found.empty();
  }
  return happened;
}

void rc_transport::take_completion(const ibv_wc& completion, listener& listener) {
  auto& on = *connections_[completion.wr_id >> 32];
  if (on.state() == connection::phase::lost) return;
  if (completion.status != IBV_WC_SUCCESS) return take_failure(on, completion);
  while (const auto* ended = on.next_retired(completion.wr_id)) {
    const auto token = ended->token;
    std::uint64_t value = 0;
    if (ended->word != connection::operation::none)
      std::memcpy(&value, on.local().words().at(ended->word), sizeof value);
    on.retire();
    if (token != no_token) listener.on_complete(token, value);
  }
}

/// Whose own port is down, perhaps; the event that says so may come later.
void rc_transport::take_failure(connection& failed, const ibv_wc& completion) {
  auto reason =
      completion_failure(completion.status, found_library().wc_status_str(completion.status),
                         completion.vendor_err, describe(failed.pe()));
  const auto& port = failed.local().port();
  ibv_port_attr now{};
  if (query_port(failed.local().context(), port.port, now) && now.state != IBV_PORT_ACTIVE)
    reason += fmt::format("; {}, of this PE, is down: look at its cable and switch", port.name());
  lose(failed.pe(), reason);
}

void rc_transport::look_around(clock::time_point now) {
  look_at_ = now + look_every;
  repeat_hellos(now);
  probe_peers(now);
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    ibv_async_event event{};
    while (found_library().get_async_event(rails_[i]->context(), &event) == 0) {
      // First: a queue pair is not let go while an event of it is not acknowledged.
      found_library().ack_async_event(&event);
      take_event(*rails_[i], event, now);
    }
    check_port(i, now);
  }
}

void rc_transport::take_event(rail& from, const ibv_async_event& event, clock::time_point now) {
  const auto name = from.port().name();
  const char* text = found_library().event_type_str(event.event_type);
  log::info(log::subsystem::transport, "{}: {}", name, text);
  const auto at = static_cast<std::size_t>(
      std::find_if(rails_.begin(), rails_.end(), [&](auto& one) { return one.get() == &from; }) -
      rails_.begin());
  switch (effect_of(event.event_type, event.element.port_num, from.port().port)) {
    case event_effect::port_down:
      if (port_down_since_[at] > now) {
        port_down_since_[at] = now;
        log::warn(log::subsystem::transport,
                  "{} is down; peers are lost if it stays so for {:.1f} s", name,
                  patience(options_).count());
      }
      break;
    case event_effect::port_up:
      port_down_since_[at] = clock::time_point::max();
      break;
    case event_effect::device_lost:
      lose_all(device_failure(name, text));
      break;
    case event_effect::connection_lost: {
      const auto ended = std::find_if(connections_.begin(), connections_.end(), [&](auto& one) {
        return one && &one->local() == &from && one->queue() == event.element.qp->qp_num;
      });
      // The queue pair of the event is gone with its peer.
      if (ended != connections_.end())
        lose((*ended)->pe(), fmt::format("{} ended the connection to {}: {}", name,
                                         describe((*ended)->pe()), text));
      break;
    }
    case event_effect::none:
      break;
  }
}

void rc_transport::check_port(std::size_t rail, clock::time_point now) {
  const auto since = port_down_since_[rail];
  if (since == clock::time_point::max() || now - since < patience(options_)) return;
  port_down_since_[rail] = clock::time_point::max();  // nothing more is to be done about it
  lose_all(fmt::format("{} has been down for {:.1f} s: look at its cable and switch",
                       rails_[rail]->port().name(), patience(options_).count()));
}

bool rc_transport::may_wait() {
  if (!chained_.empty() || !endings_.empty()) return false;
  completions place;
  for (auto& one : rails_) {
    one->ask_for_events();
    for (const auto& completion : poll(one->arrivals(), place))
      found_arrivals_.emplace_back(one.get(), completion);
    for (auto& queue : one->sends()) {
      if (queue.under_way == 0) continue;
      for (const auto& completion : poll(queue.queue.get(), place))
        found_sends_.emplace_back(one.get(), completion);
    }
  }
  waited_ = true;
  auto wake = next_repeat();
  for (const auto since : port_down_since_)
    if (since != clock::time_point::max())
      wake =
          std::min(wake, since + std::chrono::duration_cast<clock::duration>(patience(options_)));
  waits_.wake_at(wake);
  return found_arrivals_.empty() && found_sends_.empty();
}

}  // namespace heddle::verbs
