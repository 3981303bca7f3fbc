// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tree_node.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>

#include "bootstrap/tree_place.hpp"
#include "support/log.hpp"
#include "support/quiet_thread.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

constexpr std::uint64_t doorbell_key = 0, link_keys = 1ull << 32, process_keys = 2ull << 32;

/// How long the thread may sleep, in milliseconds. Should the program close the descriptors under
/// it, no doorbell wakes it any more.
constexpr int leaving_pause = 1, longest_pause = 1000;

template <class Enum>
frame make_frame(Enum type, const byte_writer& payload) {
  return {static_cast<std::uint16_t>(type), payload.bytes()};
}

void encode(const collective_rounds::outcome& outcome, byte_writer& out) {
  std::size_t total = 0;
  for (auto& part : outcome.parts) total += part.size() + sizeof(std::uint32_t);
  constexpr std::size_t most = frame::longest - 1024;
  if (total > most) {
    out.number(static_cast<std::int32_t>(HEDDLE_ERROR_INVALID_ARGUMENT));
    out.text(fmt::format("all_gather of {} bytes in all; at most {} can be gathered at once", total,
                         most));
    return;
  }
  out.number(static_cast<std::int32_t>(outcome.status));
  if (outcome.status != HEDDLE_SUCCESS) {
    out.text(outcome.problem);
    return;
  }
  out.number(static_cast<std::uint32_t>(outcome.parts.size()));
  for (auto& part : outcome.parts) out.block(part);
}

collective_rounds::outcome decode(byte_reader& in) {
  collective_rounds::outcome outcome;
  outcome.status = read_status(in);
  if (outcome.status != HEDDLE_SUCCESS) {
    outcome.problem = in.text();
    return outcome;
  }
  auto count = in.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) {
    auto part = in.block();
    outcome.parts.emplace_back(part.begin(), part.end());
  }
  return outcome;
}

}  // namespace

tree_node::tree_node(int rank, tree_shape shape, int size, links links,
                     std::map<int, watched_process> watched, tree_events& events)
    : rank_(rank),
      size_(size),
      shape_(std::move(shape)),
      children_(shape_.children(rank)),
      links_(std::move(links)),
      watched_(std::move(watched)),
      events_(events),
      rounds_(size) {
  poller_.add(doorbell_.fd(), EPOLLIN, doorbell_key);
  for (auto& [other, link] : links_)
    poller_.add(link->fd(), EPOLLIN, link_keys + static_cast<std::uint64_t>(other));
  for (auto& [other, process] : watched_)
    poller_.add(process.handle.get(), EPOLLIN, process_keys + static_cast<std::uint64_t>(other));
  // Bytes that came with the handshake wake no poller.
  inbox_.emplace_back([this] {
    std::vector<int> others;
    for (auto& [other, link] : links_) others.push_back(other);
    for (int other : others) check(other);
  });
  doorbell_.ring();
  thread_ = start_quietly("serve the bootstrap", [this] { run(); });
  ::pthread_setname_np(thread_.native_handle(), "heddle-boot");
}

tree_node::~tree_node() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  doorbell_.ring();
  if (thread_.joinable()) thread_.join();
}

void tree_node::add_part(std::uint64_t number, collective_call call, bootstrap::bytes part) {
  if (rank_ == 0) {
    auto shared = std::make_shared<bootstrap::bytes>(std::move(part));
    post([this, number, call, shared] {
      rounds_.add(number, 0, call, std::move(*shared));
      announce_decided();
    });
    return;
  }
  byte_writer out;
  out.number(number).number(static_cast<std::uint8_t>(call)).number(std::int32_t{rank_}).raw(part);
  post([this, news = make_frame(message::part, out)] { send_to_parent(news); });
}

void tree_node::ask_who_is_absent(std::uint64_t number) {
  post([this, number] {
    if (rank_ == 0) return answer_who(number, 0);
    byte_writer out;
    out.number(number).number(std::int32_t{rank_});
    send_to_parent(make_frame(message::who, out));
  });
}

void tree_node::report_lost(int rank, std::string reason) {
  post([this, rank, reason = std::move(reason)] { lose(rank, reason); });
}

void tree_node::leave(deadline until) {
  post([this, until] {
    leaving_ = until;
    byte_writer out;
    out.number(std::int32_t{rank_});
    flood(make_frame(message::left, out), -1);
  });
  if (thread_.joinable()) thread_.join();
}

void tree_node::post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(work));
  }
  doorbell_.ring();
}

void tree_node::run() {
  log::set_pe(rank_);
  try {
    serve();
  } catch (const std::exception& failure) {
    give_up(failure.what());
  } catch (...) {
    give_up("an exception that is none of the library's");
  }
  links_.clear();
}

void tree_node::serve() {
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      if (stop_) break;
    }
    if (leaving_ && leaving_is_done()) break;
    for (auto& event : poller_.wait(leaving_ ? leaving_pause : longest_pause)) {
      const auto key = event.data.u64;
      if (key == doorbell_key) {
        doorbell_.silence();
        serve_inbox();
      } else if (key < process_keys) {
        check(static_cast<int>(key - link_keys));
      } else {
        process_ended(static_cast<int>(key - process_keys));
      }
    }
    flush_all();
  }
}

void tree_node::give_up(const std::string& problem) noexcept try {
  if (leaving_) return;
  const auto reason = fmt::format("rank {} can serve its connections no more: {}", rank_, problem);
  log::warn(log::subsystem::bootstrap, "{}", reason);
  for (int rank = 0; rank < size_; ++rank)
    // Alone, a rank has no other to lose, and nothing of it works any more.
    if ((rank != rank_ || size_ == 1) && !left_.contains(rank) && lost_.insert(rank).second)
      events_.lost(rank, reason);
} catch (...) {
  // Out of memory while telling: the deadlines of the collectives tell the rest.
}

void tree_node::serve_inbox() {
  std::vector<std::function<void()>> work;
  {
    std::lock_guard lock(mutex_);
    work.swap(inbox_);
  }
  for (auto& one : work) one();
}

void tree_node::check(int rank) {
  auto found = links_.find(rank);
  if (found == links_.end()) return;
  auto& link = *found->second;
  std::string malformed;
  link.receive([&](const frame& received) {
    try {
      if (malformed.empty()) handle(rank, received);
    } catch (const malformed_message& e) {
      malformed = e.what();
    }
  });
  if (link.current() == frame_link::state::open && malformed.empty()) return;
  std::string reason = "its connection ended without a goodbye";
  if (!malformed.empty())
    reason = "it sent what this rank does not understand: " + malformed;
  else if (link.current() == frame_link::state::failed)
    reason = "its connection failed: " + link.problem();
  poller_.remove(link.fd());
  writing_.erase(rank);
  links_.erase(found);
  if (!left_.contains(rank)) lose(rank, reason);
}

void tree_node::process_ended(int rank) {
  auto found = watched_.find(rank);
  if (found == watched_.end()) return;
  poller_.remove(found->second.handle.get());
  const bool left = found->second.page->has_left();
  auto reason = fmt::format("its process {} ended", found->second.pid);
  watched_.erase(found);
  // The link, if there is one, may still hold its last words.
  check(rank);
  if (!left) lose(rank, reason);
}

void tree_node::handle(int from, const frame& received) {
  byte_reader in(received.payload());
  switch (static_cast<message>(received.type())) {
    case message::part:
      return handle_part(received);
    case message::result:
      return handle_result(received);
    case message::absent:
      return handle_absent(received);
    case message::who: {
      auto number = in.number<std::uint64_t>();
      auto asker = read_rank(in, size_);
      return rank_ == 0 ? answer_who(number, asker) : send_to_parent(received);
    }
    case message::lost: {
      auto rank = read_rank(in, size_);
      return lose(rank, in.text(), from);
    }
    case message::left: {
      auto rank = read_rank(in, size_);
      return note_left(rank, received, from);
    }
    case message::failed: {
      read_status(in);
      return lose(from, "it could not join: " + in.text());
    }
  }
  throw malformed_message(fmt::format("message type {}", received.type()));
}

void tree_node::handle_part(const frame& received) {
  if (rank_ != 0) return send_to_parent(received);
  byte_reader in(received.payload());
  auto number = in.number<std::uint64_t>();
  auto call = static_cast<collective_call>(in.number<std::uint8_t>());
  auto rank = read_rank(in, size_);
  rounds_.add(number, rank, call, bootstrap::bytes(in.left().begin(), in.left().end()));
  announce_decided();
}

void tree_node::handle_result(const frame& received) {
  byte_reader in(received.payload());
  auto number = in.number<std::uint64_t>();
  auto outcome = decode(in);
  send_to_children(received);
  events_.decided(number, std::move(outcome));
}

void tree_node::handle_absent(const frame& received) {
  byte_reader in(received.payload());
  auto asker = read_rank(in, size_);
  if (asker != rank_) {
    auto next = links_.find(shape_.child_towards(rank_, asker));
    if (next != links_.end()) next->second->send(received);
    return;
  }
  auto number = in.number<std::uint64_t>();
  std::vector<int> ranks;
  for (auto count = in.number<std::uint32_t>(); count > 0; --count)
    ranks.push_back(read_rank(in, size_));
  events_.absent(number, std::move(ranks));
}

void tree_node::answer_who(std::uint64_t number, int asker) {
  auto ranks = rounds_.absent(number);
  if (asker == rank_) return events_.absent(number, std::move(ranks));
  byte_writer out;
  out.number(std::int32_t{asker}).number(number).number(static_cast<std::uint32_t>(ranks.size()));
  for (int rank : ranks) out.number(std::int32_t{rank});
  auto next = links_.find(shape_.child_towards(rank_, asker));
  if (next != links_.end()) next->second->send(make_frame(message::absent, out));
}

void tree_node::announce_decided() {
  for (auto number : rounds_.take_decided()) {
    byte_writer out;
    out.number(number);
    encode(*rounds_.result(number), out);
    rounds_.forget(number);
    frame news = make_frame(message::result, out);
    send_to_children(news);
    byte_reader in(news.payload());
    in.number<std::uint64_t>();
    events_.decided(number, decode(in));
  }
}

frame tree_node::loss_news(const bootstrap::loss& loss) {
  byte_writer out;
  out.number(std::int32_t{loss.rank}).text(loss.reason);
  return make_frame(message::lost, out);
}

void tree_node::lose(int rank, const std::string& reason, int except) {
  if (leaving_ || left_.contains(rank) || !lost_.insert(rank).second) return;
  log::info(log::subsystem::bootstrap, "rank {} is lost: {}", rank, reason);
  flood(loss_news({rank, reason}), except);
  flush_all();
  events_.lost(rank, reason);
}

void tree_node::note_left(int rank, const frame& news, int except) {
  if (rank == rank_ || !left_.insert(rank).second) return;
  flood(news, except);
  events_.departed(rank);
  if (rank_ == 0) {
    rounds_.leave(rank);
    announce_decided();
  } else if (shape_.is_above(rank, rank_)) {
    events_.cut_off(rank);
  }
}

void tree_node::flood(const frame& frame, int except) {
  for (auto& [other, link] : links_)
    if (other != except) link->send(frame);
}

void tree_node::send_to_children(const frame& frame) {
  for (int child : children_)
    if (auto link = links_.find(child); link != links_.end()) link->second->send(frame);
}

void tree_node::send_to_parent(const frame& frame) {
  if (auto link = links_.find(shape_.parent(rank_)); link != links_.end())
    link->second->send(frame);
}

void tree_node::flush_all() {
  for (auto& [other, link] : links_) {
    if (link->has_output()) link->flush();
    const bool waits = link->has_output();
    if (waits == writing_.contains(other)) continue;
    poller_.change(link->fd(), waits ? EPOLLIN | EPOLLOUT : EPOLLIN,
                   link_keys + static_cast<std::uint64_t>(other));
    if (waits)
      writing_.insert(other);
    else
      writing_.erase(other);
  }
}

bool tree_node::leaving_is_done() {
  if (leaving_->passed()) return true;
  flush_all();
  if (std::any_of(links_.begin(), links_.end(), [](auto& l) { return l.second->has_output(); }))
    return false;
  if (!shut_down_)
    for (auto& [other, link] : links_) link->shut_down();
  shut_down_ = true;
  // Closing a TCP socket with unread input discards what is still in flight.
  return std::none_of(links_.begin(), links_.end(), [](auto& l) { return l.second->in_flight(); });
}

}  // namespace heddle
