// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/meeting.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <thread>

#include "bootstrap/rank_list.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

// Keys of the poller: listeners, accepted ranks and strangers each have a range.
constexpr std::uint64_t call_key = 0, listener_keys = 1ull << 32, rank_keys = 2ull << 32,
                        stranger_keys = 3ull << 32;

/// How long news of a lost rank may go unseen.
constexpr std::chrono::milliseconds loss_news_time(100);

bool send_all(int socket, std::span<const std::byte> bytes) {
  // A handshake message always fits in the empty buffer of a new socket.
  return bytes.empty() || ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
                              static_cast<ssize_t>(bytes.size());
}

/// Feeds what is there. Nothing if the connection goes on, else why it cannot.
template <class Side>
std::optional<std::string> exchange(int socket, Side& side, std::vector<std::byte>& early) {
  while (side.current() == handshake_side::state::going_on) {
    std::array<std::byte, 1024> buffer;
    ssize_t got = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got < 0) return std::generic_category().message(errno);
    if (got == 0) return "it closed the connection during the handshake";
    early = side.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
    if (!send_all(socket, side.take())) return std::generic_category().message(errno);
  }
  if (side.current() == handshake_side::state::failed) return side.problem();
  return std::nullopt;
}

}  // namespace

struct meeting::stranger {
  shielded_fd socket;
  std::uint64_t key;
  clock::time_point since;
  listener_handshake handshake;
};

struct meeting::call {
  shielded_fd socket;
  std::unique_ptr<caller_handshake> handshake;  // null while the connection is being made
  std::size_t address = 0;
  clock::time_point at;  // when to try next, or to give up on this try
  bool waiting = true;   // for `at`
  std::chrono::milliseconds pause{1};
  std::string last_problem = "it has not answered yet";
};

void prepare_stream(int socket) {
  auto set = [&](int level, int option, int value) {
    ::setsockopt(socket, level, option, &value, sizeof value);
  };
  // Unix sockets refuse the TCP options, and need none.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 4000);
}

meeting::meeting(request request) : request_(std::move(request)), next_key_(stranger_keys) {
  for (int listener : request_.listeners)
    poller_.add(listener, EPOLLIN, listener_keys + static_cast<std::uint64_t>(listener));
}

meeting::~meeting() {
  for (int listener : request_.listeners) poller_.remove(listener);
}

std::vector<int> meeting::missing() const {
  std::vector<int> ranks;
  for (int rank : request_.expected)
    if (!links_.contains(rank)) ranks.push_back(rank);
  return ranks;
}

void meeting::run(deadline until) {
  if (request_.callee >= 0) {
    call_ = std::make_unique<call>();
    call_->at = clock::now();
  }
  while (call_ || links_.size() < request_.expected.size() + (request_.callee >= 0 ? 1 : 0)) {
    auto now = clock::now();
    if (call_ && now >= call_->at) {
      if (call_->waiting)
        start_call();
      else
        retry_call(call_->handshake ? call_->last_problem : "it did not answer in time");
    }
    while (!strangers_.empty() && now >= strangers_.front().since + request_.patience)
      drop(strangers_.begin(), "it did not complete the handshake in time");
    throw_if_lost();
    if (until.passed()) time_out("the deadline");
    for (auto& event : poller_.wait(next_wake(until))) dispatch(event);
  }
}

int meeting::next_wake(deadline until) const {
  auto at = until.at();
  if (request_.first_loss) at = std::min(at, clock::now() + loss_news_time);
  if (call_) at = std::min(at, call_->at);
  if (!strangers_.empty()) at = std::min(at, strangers_.front().since + request_.patience);
  auto left = std::chrono::ceil<std::chrono::milliseconds>(at - clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000));
}

void meeting::dispatch(const epoll_event& event) {
  const auto key = event.data.u64;
  if (key == call_key) {
    if (call_ && call_->socket) advance_call();
  } else if (key < rank_keys) {
    accept_some(static_cast<int>(key - listener_keys));
  } else if (key < stranger_keys) {
    int rank = static_cast<int>(key - rank_keys);
    if (auto found = links_.find(rank); found != links_.end()) read_link(rank, *found->second);
  } else {
    auto who = std::find_if(strangers_.begin(), strangers_.end(),
                            [&](auto& one) { return one.key == key; });
    if (who != strangers_.end()) serve(who);
  }
}

void meeting::throw_if_lost() const {
  if (!request_.first_loss) return;
  if (const auto known = request_.first_loss())
    throw_error(HEDDLE_ERROR_PEER_LOST, "rank {} of {} is lost before all had met: {}", known->rank,
                request_.size, known->reason);
}

void meeting::read_link(int rank, frame_link& link) {
  reader_(rank, link);
  // It stays readable, and the rank will not come again: it is in the job already.
  if (link.current() == frame_link::state::open) return;
  const auto absent = missing();
  throw_error(HEDDLE_ERROR_PEER_LOST, "rank {} of {} left before all had met: {}{}", rank,
              request_.size, link.problem().empty() ? "its connection ended" : link.problem(),
              absent.empty() ? "" : fmt::format("; {} had not come", name_ranks(absent)));
}

void meeting::accept_some(int listener) {
  // The rest at the next turn of the loop: callers may come faster than they are accepted.
  constexpr int most = 64;
  for (int i = 0; i < most; ++i) {
    unique_fd socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if ((errno == EMFILE || errno == ENFILE) && free_descriptor(listener, errno)) continue;
      return;
    }
    if (strangers_.size() >= request_.most_strangers)
      drop(strangers_.begin(), "too many connections that prove nothing");
    prepare_stream(socket.get());
    auto key = next_key_++;
    strangers_.push_back(
        {shielded_fd(std::move(socket)), key, clock::now(),
         listener_handshake(request_.secret, [this](auto& hello) { return judge(hello); })});
    poller_.add(strangers_.back().socket.get(), EPOLLIN, key);
    serve(std::prev(strangers_.end()));
  }
}

bool meeting::free_descriptor(int listener, int reason) {
  // The kernel wants a descriptor before it looks whether anybody calls.
  pollfd caller{listener, POLLIN, 0};
  if (::poll(&caller, 1, 0) != 1) return false;
  if (strangers_.empty())
    throw_system_error(reason,
                       "rank {} of {} has {} connections of other ranks and no descriptor for the "
                       "next; raise ulimit -n",
                       request_.rank, request_.size, links_.size());
  // Strangers are the ones to give theirs up, but a rank is a stranger until it has proved itself.
  constexpr std::chrono::milliseconds time_for_a_handshake(100);
  if (clock::now() < strangers_.front().since + time_for_a_handshake) {
    // The listener stays readable: this is what keeps the loop from spinning.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return false;
  }
  drop(strangers_.begin(), "this process has no descriptors left (ulimit -n)");
  return true;
}

void meeting::serve(std::list<stranger>::iterator who) {
  std::vector<std::byte> early;
  if (auto problem = exchange(who->socket.get(), who->handshake, early)) return drop(who, *problem);
  if (who->handshake.current() != handshake_side::state::accepted) return;
  const int rank = who->handshake.hello().caller;
  const int fd = who->socket.get();
  links_[rank] = std::make_unique<frame_link>(std::move(who->socket), std::move(early));
  strangers_.erase(who);
  if (reader_)
    poller_.change(fd, EPOLLIN | EPOLLRDHUP, rank_keys + static_cast<std::uint64_t>(rank));
  else
    poller_.remove(fd);
}

void meeting::drop(std::list<stranger>::iterator who, const std::string& problem) {
  const bool member = who->handshake.proved();
  last_drop_ = fmt::format("{}: {}", peer_text(who->socket.get()), problem);
  if (!member && ++dropped_ == 1)
    log::warn(log::subsystem::bootstrap,
              "rank {} dropped a connection from {}; further ones are only counted", request_.rank,
              last_drop_);
  else
    log::info(log::subsystem::bootstrap, "rank {} dropped a connection from {}", request_.rank,
              last_drop_);
  poller_.remove(who->socket.get());
  strangers_.erase(who);
}

std::string meeting::judge(const caller_hello& hello) const {
  if (hello.purpose != request_.purpose)
    return fmt::format("rank {} has another phase of the start in progress", request_.rank);
  if (hello.listener != request_.rank)
    return fmt::format("this is rank {}, not rank {}", request_.rank, hello.listener);
  if (hello.size != request_.size)
    return fmt::format("the job has {} PEs here, rank {} says {}", request_.size, hello.caller,
                       hello.size);
  if (links_.contains(hello.caller))
    return fmt::format("rank {} is in the job already; each PE needs a rank of its own",
                       hello.caller);
  if (std::find(request_.expected.begin(), request_.expected.end(), hello.caller) ==
      request_.expected.end())
    return fmt::format("rank {} does not wait for a rank {} (the job has {} PEs)", request_.rank,
                       hello.caller, request_.size);
  return {};
}

void meeting::start_call() {
  auto& address = request_.at[call_->address % request_.at.size()];
  call_->waiting = false;
  call_->at = clock::now() + request_.patience;
  unique_fd socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // Names resolve to IPv6 addresses also where the kernel has no IPv6.
  if (!socket && errno == EAFNOSUPPORT)
    return retry_call(std::generic_category().message(EAFNOSUPPORT));
  if (!socket) throw_system_error(errno, "asked for a socket to call rank {}", request_.callee);
  prepare_stream(socket.get());
  call_->socket = shielded_fd(std::move(socket));
  if (::connect(call_->socket.get(), address.data(), address.size()) != 0 && errno != EINPROGRESS) {
    // A full queue of a Unix listener; anything else is a refusal.
    const bool full = errno == EAGAIN;
    auto problem = std::generic_category().message(errno);
    if (!full && !request_.callee_may_be_late && request_.at.size() == 1)
      fail_call(HEDDLE_ERROR_PEER_LOST, problem);
    return retry_call(problem);
  }
  poller_.add(call_->socket.get(), EPOLLOUT, call_key);
}

void meeting::advance_call() {
  if (!call_->handshake) {
    int failed = 0;
    socklen_t size = sizeof failed;
    ::getsockopt(call_->socket.get(), SOL_SOCKET, SO_ERROR, &failed, &size);
    if (failed != 0) {
      auto problem = std::generic_category().message(failed);
      if (failed == ECONNREFUSED && !request_.callee_may_be_late && request_.at.size() == 1)
        fail_call(HEDDLE_ERROR_PEER_LOST, problem);
      return retry_call(problem);
    }
    call_->handshake = std::make_unique<caller_handshake>(
        request_.secret,
        caller_hello{request_.purpose, request_.rank, request_.callee, request_.size});
    call_->last_problem = fmt::format(
        "there is a connection, but rank {} has not answered; see whether it has called init yet",
        request_.callee);
    poller_.change(call_->socket.get(), EPOLLIN, call_key);
    if (!send_all(call_->socket.get(), call_->handshake->take()))
      return retry_call(std::generic_category().message(errno));
  }
  std::vector<std::byte> early;
  if (auto problem = exchange(call_->socket.get(), *call_->handshake, early)) {
    if (call_->handshake->refused()) fail_call(HEDDLE_ERROR_INVALID_USAGE, *problem);
    return retry_call(*problem);
  }
  if (call_->handshake->current() != handshake_side::state::accepted) {
    // The listener may hold this rank for one that has joined: another call would be refused.
    if (call_->handshake->proved()) {
      call_->at = clock::time_point::max();
      call_->last_problem = "it has not said yet whether this rank may join";
    }
    return;
  }
  poller_.remove(call_->socket.get());
  links_[request_.callee] =
      std::make_unique<frame_link>(std::move(call_->socket), std::move(early));
  call_.reset();
}

void meeting::retry_call(std::string problem) {
  log::trace(log::subsystem::bootstrap, "rank {}: calling rank {} at {}: {}", request_.rank,
             request_.callee, request_.at[call_->address % request_.at.size()].text(), problem);
  if (call_->socket) poller_.remove(call_->socket.get());
  call_->socket.reset();
  call_->handshake.reset();
  call_->last_problem = std::move(problem);
  call_->waiting = true;
  call_->at = clock::now();
  // A pause after each round of the addresses.
  if (++call_->address % request_.at.size() == 0) {
    call_->at += call_->pause;
    call_->pause = std::min(call_->pause * 2, std::chrono::milliseconds(100));
  }
}

void meeting::fail_call(heddle_status_t status, const std::string& problem) {
  throw_error(status, "rank {} of {} called rank {} at {}: {}", request_.rank, request_.size,
              request_.callee, request_.at[call_->address % request_.at.size()].text(), problem);
}

void meeting::time_out(std::string_view when) const {
  std::string drops =
      dropped_ == 0
          ? ""
          : fmt::format(" ({} connections were dropped, the last from {})", dropped_, last_drop_);
  if (call_) {
    std::string places;
    for (const auto& address : request_.at) places += (places.empty() ? "" : ", ") + address.text();
    throw_error(HEDDLE_ERROR_TIMEOUT,
                "rank {} of {} could not reach rank {} at {} before the deadline: {}; see that the "
                "address can be reached from here (HEDDLE_SOCKET_IFNAME chooses the interface), or "
                "allow more time (HEDDLE_INIT_TIMEOUT)",
                request_.rank, request_.size, request_.callee, places, call_->last_problem);
  }
  throw_error(HEDDLE_ERROR_TIMEOUT,
              "rank {} of {} waited for {} until {}{}; see that every PE was started and can reach "
              "rank {}'s machine, or allow more time (HEDDLE_INIT_TIMEOUT)",
              request_.rank, request_.size, name_ranks(missing()), when, drops, request_.rank);
}

}  // namespace heddle
