// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The half of fabric_transport that hears from the network: completions, messages and failures.

#include <rdma/fi_errno.h>

#include <array>
#include <utility>

#include "host/transport/libfabric/fabric_transport.hpp"
#include "support/log.hpp"

namespace heddle::libfabric {
namespace {

constexpr std::size_t batch = 32;
/// Batches that one progress() takes at most: the caller has other things to do.
constexpr int most_batches = 8;

}  // namespace

bool fabric_transport::progress(listener& listener) {
  std::array<fi_cq_data_entry, batch> entries;
  bool any = false;
  for (int i = 0; i < most_batches; ++i) {
    const auto count = ::fi_cq_read(endpoint_.completions(), entries.data(), entries.size());
    if (count == -FI_EAGAIN || count == 0) break;
    any = true;
    if (count == -FI_EAVAIL) {
      complete_with_error();
    } else if (count < 0) {
      lose_all(fmt::format("fi_cq_read: {}", endpoint_.functions().text(count)));
      break;
    } else {
      for (std::size_t at = 0; at < static_cast<std::size_t>(count); ++at)
        complete(entries[at], listener);
      if (static_cast<std::size_t>(count) < entries.size()) break;
    }
  }
  if (!idle_receives_.empty()) any |= receive_again();
  if (!waiting_peers_.empty()) any |= send_waiting();
  any |= endings_.tell(listener);
  return any;
}

void fabric_transport::complete(const fi_cq_data_entry& entry, listener& listener) {
  if ((entry.flags & FI_REMOTE_WRITE) != 0) {
    if ((entry.flags & FI_REMOTE_CQ_DATA) != 0)
      listener.on_write(static_cast<std::uint32_t>(entry.data));
    return;
  }
  operation* one = operation::of(entry.op_context);
  if (!one) return;
  switch (one->kind) {
    case operation::kind::receive:
      listener.on_message({one->buffer, entry.len});
      receive_into(one);
      return;
    case operation::kind::transfer: {
      const auto token = one->token;
      const auto found = one->found;
      const bool lost = peer_of(one->pe).lost;
      end(one);
      if (token != no_token && !lost) listener.on_complete(token, found);
      return;
    }
    default:
      end(one);
  }
}

void fabric_transport::complete_with_error() {
  fi_cq_err_entry entry{};
  if (::fi_cq_readerr(endpoint_.completions(), &entry, 0) < 0) return;
  std::array<char, 256> said{};
  const char* detail = ::fi_cq_strerror(endpoint_.completions(), entry.prov_errno, entry.err_data,
                                        said.data(), said.size());
  const auto reason =
      fmt::format("{} ({})", endpoint_.functions().text(entry.err), detail ? detail : "no detail");
  operation* one = operation::of(entry.op_context);
  if (!one) {
    log::info(log::subsystem::transport, "{}: an operation of no known peer failed: {}",
              traits_.name, reason);
  } else if (one->kind == operation::kind::receive) {
    // A stranger's message that was too long, or a connection that went.
    if (entry.err != FI_ECANCELED)
      log::info(log::subsystem::transport, "{}: a message was not received: {}", traits_.name,
                reason);
    idle_receives_.push(one);
  } else {
    peer& to = peer_of(one->pe);
    end(one);
    lose(to, reason);
  }
}

void fabric_transport::receive_into(operation* place) {
  const iovec local{place->buffer, traits_.most_message_bytes};
  void* descriptor = registered_buffers_.descriptor();
  const fi_msg wanted{&local, &descriptor, 1, FI_ADDR_UNSPEC, &place->context, 0};
  const auto code = ::fi_recvmsg(endpoint_.get(), &wanted, FI_COMPLETION);
  if (code == 0) return;
  idle_receives_.push(place);
  if (code != -FI_EAGAIN) lose_all(fmt::format("fi_recvmsg: {}", endpoint_.functions().text(code)));
}

bool fabric_transport::receive_again() {
  operation_queue all = std::exchange(idle_receives_, {});
  while (operation* one = all.pop()) receive_into(one);
  return idle_receives_.empty();
}

bool fabric_transport::send_waiting() {
  bool any = false;
  std::erase_if(waiting_peers_, [&](int pe) {
    peer& to = peer_of(pe);
    while (operation* message = to.waiting.pop()) {
      if (!send_now(to, message)) {
        to.waiting.push_front(message);
        return false;
      }
      any = true;
    }
    return true;
  });
  return any;
}

bool fabric_transport::may_wait() { return endings_.empty() && endpoint_.may_wait(); }

bool fabric_transport::tries_again() const {
  return !waiting_peers_.empty() || !idle_receives_.empty();
}

void fabric_transport::lose(peer& to, const std::string& reason) {
  if (to.lost) return;
  to.lost = true;
  last_loss_ = clock::now();
  while (operation* one = to.waiting.pop()) give_back(one);
  const int pe = to.silent.pe;
  endings_.lost(pe, fmt::format("PE {} at {} cannot be reached through {}: {}", pe, describe(pe),
                                traits_.name, reason));
}

void fabric_transport::lose_all(const std::string& reason) {
  if (std::exchange(lost_all_, true)) return;
  for (auto& each : peers_)
    if (each) each->lost = true;
  endings_.lost(-1, fmt::format("{} does not work any more: {}", traits_.name, reason));
}

}  // namespace heddle::libfabric
