// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/transport/tcp/stream_transport.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "bootstrap/byte_stream.hpp"
#include "support/throw_error.hpp"

namespace heddle::tcp {

namespace {

/// Of a stream: beyond that, what is posted is refused.
constexpr std::size_t most_waiting_writes = 64;
constexpr std::size_t most_waiting = 128;
/// Up to so many streams it is quicker to ask each for what it has than to ask the kernel which
/// has something.
constexpr std::size_t few_streams = 2;
constexpr unsigned looks_between = 64;
/// Times that it sends at most before it looks for what has come.
constexpr unsigned most_sent_in_turn = 8;

}  // namespace

/// What the peer at the other end of one stream asks for.
class stream_transport::operations final : public inbox::reader {
 public:
  operations(stream_transport& all, stream& from, listener& told)
      : all_(all), from_(from), told_(told) {}

  void on_message(std::span<const std::byte> message) override { told_.on_message(message); }
  std::byte* place_of(const operation_header& header) override {
    if (header.kind == operation_kind::write) return all_.exposed_place(header);
    if (from_.reads.empty() || from_.reads.front().size != header.size) return nullptr;
    return from_.reads.front().to;
  }
  bool is_wanted(const operation_header& header) override {
    return header.kind == operation_kind::write || told_.is_wanted(from_.reads.front().token);
  }
  bool goes_on() const override { return static_cast<bool>(from_.socket); }
  void on_data(const operation_header& header) override {
    if (header.kind == operation_kind::write) return;
    const auto done = from_.reads.front();
    from_.reads.pop_front();
    told_.on_complete(done.token, 0);
  }
  bool on_read(const operation_header& header) override {
    const auto* place = all_.exposed_place(header);
    if (!place) return false;
    from_.out.add({operation_kind::data, 0, header.size, 0}, place, no_token);
    all_.note_unsent(from_);
    return true;
  }
  /// What waits to be sent is of no use to it any more.
  void on_goodbye() override {
    from_.now = stream::state::left;
    all_.forget_unsent(from_);
    all_.peers_[static_cast<std::size_t>(from_.pe)].is_leaving = true;
    all_.note_leaving(from_.pe);
  }

 private:
  stream_transport& all_;
  stream& from_;
  listener& told_;
};

stream_transport::stream_transport(const tcp_options& options, const std::string& interface,
                                   const std::vector<socket_address>& addresses)
    : options_(options),
      poll_set_(::epoll_create1(EPOLL_CLOEXEC)),
      doorway_(
          {addresses, poll_set_.get(), options.job_token, options.timeout, options.congestion}) {
  traits_.name = fmt::format("tcp ({})", interface);
  traits_.card = fmt::format("/sys/class/net/{}/device", interface);
  traits_.order = message_order::after_writes;
  traits_.is_ordered = true;
  traits_.asks_before_touching = true;
  traits_.ends_what_is_dropped = true;
  traits_.most_message_bytes = message_pool::most_message_bytes;
  traits_.eager_bytes = 4096;
  // Of one that is given up after 64 have been posted, as much is kept (keep_given_up).
  traits_.most_transfer_bytes = 4 << 20;
  byte_writer out;
  const auto mine = doorway_.addresses();
  out.number(static_cast<std::uint8_t>(mine.size()));
  for (const auto& each : mine) each.write(out);
  address_ = out.take();
}

stream_transport::~stream_transport() { leave(); }

void stream_transport::set_addresses(std::vector<bytes> addresses) {
  peers_.resize(addresses.size());
  for (std::size_t pe = 0; pe < addresses.size(); ++pe) {
    try {
      byte_reader in(addresses[pe]);
      for (int left = in.number<std::uint8_t>(); left > 0; --left)
        peers_[pe].addresses.push_back(socket_address::read(in));
      pe_of_[name_of(addresses[pe])] = static_cast<int>(pe);
    } catch (const malformed_message&) {
      peers_[pe].addresses.clear();  // who posts to it is told
    }
    peers_[pe].streams.resize(static_cast<std::size_t>(options_.lanes));
  }
}

std::string stream_transport::name_of(std::span<const std::byte> address) {
  return {reinterpret_cast<const char*>(address.data()), address.size()};
}

std::string stream_transport::describe(int pe) const {
  const auto& addresses = peers_.at(static_cast<std::size_t>(pe)).addresses;
  return addresses.empty() ? "no address" : addresses.front().text();
}

transport::bytes stream_transport::expose(int region, std::uint64_t offset, void* start,
                                          std::size_t size) {
  exposed_[{region, offset}] = {static_cast<std::byte*>(start), size};
  return {};
}

void stream_transport::conceal(int region, std::uint64_t offset) noexcept {
  const auto found = exposed_.find({region, offset});
  if (found == exposed_.end()) return;
  for (stream* each : open_) {
    each->in.forget_place(found->second.start, found->second.size);
    each->out.keep_copies(found->second.start, found->second.size);
  }
  exposed_.erase(found);
}

void stream_transport::keep_given_up(listener& listener) {
  for (const auto& peer : peers_)
    for (const auto& each : peer.streams)
      if (each) each->out.keep_unwanted(listener);
}

std::byte* stream_transport::exposed_place(const operation_header& header) const {
  auto above = exposed_.upper_bound({static_cast<int>(header.region), header.offset});
  if (above == exposed_.begin()) return nullptr;
  const auto& [key, memory] = *--above;
  const std::uint64_t within = header.offset - key.second;
  if (key.first != static_cast<int>(header.region) || within > memory.size ||
      header.size > memory.size - within)
    return nullptr;
  return memory.start + within;
}

stream& stream_transport::stream_of(int pe, int lane) {
  auto& place = peers_.at(static_cast<std::size_t>(pe)).streams.at(static_cast<std::size_t>(lane));
  if (!place) [[unlikely]] {
    place = std::make_unique<stream>(pool_, pe, lane);
    if (peers_[static_cast<std::size_t>(pe)].has_left) place->now = stream::state::left;
    if (peers_[static_cast<std::size_t>(pe)].is_lost) place->now = stream::state::lost;
  }
  return *place;
}

void stream_transport::note_unsent(stream& of) {
  if (of.now == stream::state::idle) connect(of);
  if (of.now == stream::state::left) of.out.clear();
  if (of.has_unsent || of.now != stream::state::open) return;
  of.has_unsent = true;
  unsent_.push_back(&of);
}

void stream_transport::forget_unsent(stream& of) {
  std::erase(unsent_, &of);
  of.has_unsent = of.is_blocked = false;
  if (of.watched & EPOLLOUT) watch(of, EPOLLIN);
  of.out.clear();
}

bool stream_transport::post_write(int lane, const remote_place& to, const void* from,
                                  std::size_t size, std::uint64_t token,
                                  std::uint32_t /*immediate*/) {
  stream& target = stream_of(to.pe, lane);
  if (target.now == stream::state::lost) return true;
  if (target.out.size() >= most_waiting_writes) return false;
  target.out.add({operation_kind::write, static_cast<std::uint32_t>(to.region), size, to.offset},
                 static_cast<const std::byte*>(from), token);
  note_unsent(target);
  return true;
}

bool stream_transport::post_read(int lane, void* to, const remote_place& from, std::size_t size,
                                 std::uint64_t token) {
  stream& target = stream_of(from.pe, lane);
  if (target.now == stream::state::lost || target.now == stream::state::left) return true;
  if (target.out.size() >= most_waiting_writes || target.reads.size() >= most_waiting) return false;
  target.reads.push_back({static_cast<std::byte*>(to), size, token});
  target.out.add({operation_kind::read, static_cast<std::uint32_t>(from.region), size, from.offset},
                 nullptr, no_token);
  note_unsent(target);
  return true;
}

bool stream_transport::post_atomic(int, network_atomic, const remote_place&, std::uint64_t,
                                   std::uint64_t, std::uint64_t) {
  throw_error(HEDDLE_ERROR_INTERNAL, "asked {} for an atomic, which it does not have",
              traits_.name);
}

std::span<std::byte> stream_transport::begin_message(int lane, int pe) {
  if (stream_of(pe, lane).out.size() >= most_waiting) return {};
  return {pool_.take(), message_pool::most_message_bytes};
}

void stream_transport::post_message(int lane, int pe, std::span<std::byte> message,
                                    std::size_t size) {
  if (size > message_pool::most_message_bytes)
    throw_error(HEDDLE_ERROR_INTERNAL, "a message of {} bytes to PE {}: {} takes {} at most", size,
                pe, traits_.name, message_pool::most_message_bytes);
  stream& target = stream_of(pe, lane);
  if (size == 0 || target.now == stream::state::lost) {
    pool_.give_back(message.data());
    return;
  }
  target.out.add_message(message.data(), size);
  note_unsent(target);
}

bool stream_transport::progress(listener& listener) {
  bool any = !unsent_.empty() && send_unsent(listener);
  // Who has just sent looks for an answer next time: what sends alone is not to look in vain each
  // time.
  if (any && ++sent_in_turn_ < most_sent_in_turn) return true;
  sent_in_turn_ = 0;
  const bool few = open_.size() <= few_streams;
  for (std::size_t i = 0; few && i < open_.size();) {
    stream* const from = open_[i];
    any |= receive(*from, listener);
    if (i < open_.size() && open_[i] == from) ++i;
  }
  if (!few || !unfinished_.empty() || ++looks_ % looks_between == 0) any |= look_at_all(listener);
  return endings_.tell(listener) || any;
}

bool stream_transport::send_unsent(listener& listener) {
  bool any = false;
  for (std::size_t i = 0; i < unsent_.size();) {
    stream& to = *unsent_[i];
    const auto outcome = to.out.send(to.socket.get(), listener);
    if (outcome == outbox::outcome::failed) {
      fail_to_send(to, errno, listener);
      any = true;
    }
    if (i >= unsent_.size() || unsent_[i] != &to) continue;  // it has been lost meanwhile
    any |= outcome == outbox::outcome::something;
    if (!std::exchange(to.is_blocked, outcome == outbox::outcome::nothing) && to.is_blocked)
      to.stuck_since = clock::now();
    if (to.out.empty())
      forget_unsent(to);
    else
      ++i;
  }
  return any;
}

/// What the peer has said before it went is heard first: that it ends in order, perhaps.
void stream_transport::fail_to_send(stream& to, int error, listener& listener) {
  if (error != EFAULT)
    while (to.now == stream::state::open && receive(to, listener)) {
    }
  if (to.now != stream::state::open) return;
  lose(to.pe, error == EFAULT
                  ? "memory of a put, or of a get by this peer, was given back before it "
                    "was sent (EFAULT)"
                  : std::generic_category().message(error));
}

bool stream_transport::receive(stream& from, listener& listener) {
  operations asked(*this, from, listener);
  const auto outcome = from.in.receive(from.socket.get(), asked);
  const int error = errno;
  switch (outcome) {
    case inbox::outcome::nothing:
      return false;
    case inbox::outcome::something:
      for (stream* each : unfinished_)
        if (each->pe == from.pe && each->now == stream::state::refused)
          each->stuck_since = clock::now();
      return true;
    case inbox::outcome::malformed:
      lose(from.pe, fmt::format("it has sent {}", from.in.complaint()));
      return true;
    case inbox::outcome::ended:
    case inbox::outcome::failed:
      break;
  }
  if (from.now == stream::state::left)
    close(from);
  else
    lose(from.pe,
         outcome == inbox::outcome::ended
             ? "it has closed the connection: its process has ended, or does not reach this "
               "PE"
             : std::generic_category().message(error));
  return true;
}

bool stream_transport::look_at_all(listener& listener) {
  if (peers_.empty()) return false;  // nobody is known yet
  std::array<epoll_event, 32> events;
  const int n = ::epoll_wait(poll_set_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool any = false;
  bool at_the_door = false;
  for (int i = 0; i < n; ++i) {
    auto* with = static_cast<stream*>(events[static_cast<std::size_t>(i)].data.ptr);
    if (!with)
      at_the_door = true;
    else if (with->now == stream::state::open || with->now == stream::state::left)
      any |= receive(*with, listener);
    else
      go_on(*with);
  }
  if (at_the_door)
    any |= doorway_.look(
        [this](unique_fd socket, const hello& said) { take(std::move(socket), said); });
  look_at_the_time();
  return any;
}

bool stream_transport::may_wait() {
  looks_ = looks_between - 1;  // whatever wakes this PE is looked at
  if (!endings_.empty()) return false;
  for (const stream* each : unsent_)
    if (!each->is_blocked) return false;
  // One that cannot be watched is lost, with all of its peer.
  const auto all = unsent_;
  for (stream* each : all)
    if (each->now == stream::state::open) watch(*each, EPOLLIN | EPOLLOUT);
  return endings_.empty();
}

void stream_transport::lose(int pe, const std::string& reason) {
  peer& lost = peers_[static_cast<std::size_t>(pe)];
  if (lost.is_lost) return;
  // Who has left in order refuses connections that come after.
  if (!lost.has_left)
    endings_.lost(pe, fmt::format("PE {} at {} cannot be reached through {}: {}", pe, describe(pe),
                                  traits_.name, reason));
  drop(pe);
}

void stream_transport::drop(int pe) {
  peer& lost = peers_.at(static_cast<std::size_t>(pe));
  lost.is_lost = true;
  for (auto& each : lost.streams) {
    if (!each) continue;
    close(*each);
    each->now = stream::state::lost;
  }
}

void stream_transport::note_leaving(int pe) {
  peer& other = peers_[static_cast<std::size_t>(pe)];
  if (!other.is_leaving) return;
  for (auto& each : other.streams)
    if (each && each->now == stream::state::refused) {
      close(*each);
      each->now = stream::state::left;
    }
  // The peer may have taken a connection of which this side has not heard yet, and used it.
  if (std::any_of(other.streams.begin(), other.streams.end(), may_bring)) return;
  if (!std::exchange(other.has_left, true)) endings_.left(pe);
}

}  // namespace heddle::tcp
