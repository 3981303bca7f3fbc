// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/transport/isolated_transport.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <future>
#include <mutex>
#include <utility>

#include "support/log.hpp"
#include "support/quiet_thread.hpp"
#include "support/throw_error.hpp"
#include "support/unique_fd.hpp"

namespace heddle {

namespace {

using clock = std::chrono::steady_clock;

/// Requests of one peer that wait here; no more are taken.
constexpr std::size_t most_of_a_peer = 256;
/// How long the thread looks on after something has happened, or while somebody looks for events
/// again and again, at least so often.
constexpr std::chrono::microseconds watchful{50};
/// Between looks at what gives no event: this part of how long nothing has happened.
constexpr int nap_part = 64;
constexpr std::chrono::microseconds shortest_nap{50}, longest_nap{8000};
/// A call that does not return holds up leave() for no longer than this.
constexpr std::chrono::duration<double> most_to_leave = std::chrono::seconds(5);

// For called_at_.
constexpr clock::time_point in_no_call = clock::time_point::max();
constexpr clock::time_point given_up = clock::time_point::min();

unique_fd make_bell() {
  unique_fd bell(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!bell) throw_system_error(errno, "making a descriptor for a network's thread (eventfd)");
  return bell;
}

void ring(const unique_fd& bell) {
  const std::uint64_t one = 1;
  (void)!::write(bell.get(), &one, sizeof one);
}

void hear(const unique_fd& bell) {
  std::uint64_t rings = 0;
  (void)!::read(bell.get(), &rings, sizeof rings);
}

}  // namespace

/// What the thread and the callers share. Whoever of them is the last ends it.
class isolated_transport::worker {
 public:
  /// False: not now, to be tried again.
  using request = std::function<bool(transport&)>;
  using event = std::function<void(listener&)>;
  static constexpr int of_no_peer = -2;

  explicit worker(std::unique_ptr<transport> inner) : inner_(std::move(inner)) {}

  // For callers.

  [[nodiscard]] bool has_room(int pe) {
    const std::lock_guard lock(guard_);
    return waiting_[pe] < most_of_a_peer;
  }
  [[nodiscard]] bool post_if_room(int pe, request one) {
    if (!has_room(pe)) return false;
    post(pe, std::move(one));
    return true;
  }
  void post(int pe, request one) { post({pe, false, std::move(one)}); }
  /// What waits for the peer is not carried out; what has begun may go on.
  void drop(int pe) { post({pe, true, {}}); }
  [[nodiscard]] std::vector<event> take_events() {
    const auto now = clock::now();
    const bool is_watched = now - looked_at_.exchange(now) < watchful;
    if (is_watched) watched_at_ = now;
    std::vector<event> events;
    {
      const std::lock_guard lock(guard_);
      events.swap(events_);
      if (!is_watched || !std::exchange(is_asleep_, false)) return events;
    }
    ring(doorbell_);
    return events;
  }
  /// Whether event_bell() will tell of all that comes.
  [[nodiscard]] bool await_events() {
    const std::lock_guard lock(guard_);
    if (!events_.empty()) return false;
    if (!is_awaited_) hear(event_bell_);
    is_awaited_ = true;
    return true;
  }
  [[nodiscard]] int event_bell() const { return event_bell_.get(); }
  /// Whether the call that the thread is in, if it is in one, has taken that long.
  [[nodiscard]] bool is_stuck(std::chrono::duration<double> limit) const {
    return clock::now() >= latest_return(limit);
  }
  /// Whether it comes, while no call takes that long.
  [[nodiscard]] bool await(const std::future<void>& what,
                           std::chrono::duration<double> limit) const {
    while (what.wait_until(latest_return(limit)) != std::future_status::ready)
      if (is_stuck(limit)) return false;
    return true;
  }
  /// Whether it is the first time that somebody is told that nobody can be reached.
  [[nodiscard]] bool lose_all() { return !has_lost_all_.exchange(true); }
  /// Whether the thread has left the network, while no call takes that long; else it calls it no
  /// more.
  [[nodiscard]] bool end(std::chrono::duration<double> limit) {
    {
      const std::lock_guard lock(guard_);
      ends_ = true;
      is_asleep_ = false;
    }
    ring(doorbell_);
    if (await(left_.get_future(), limit)) return true;
    called_at_ = given_up;
    return false;
  }

  // The thread.

  void run() {
    ::pthread_setname_np(::pthread_self(), "heddle-network");
    while (called_at_.load() != given_up) {
      const bool ends = take_posted();
      const bool moved = move_on();
      if (ends) break;
      const auto now = clock::now();
      if (moved) moved_at_ = now;
      const auto quiet = now - std::max(moved_at_, watched_at_.load());
      // Whoever watches may need this very processor.
      quiet < watchful ? std::this_thread::yield() : sleep(quiet);
    }
    (void)begin_call();
    inner_.reset();  // which leaves
    left_.set_value();
  }

 private:
  struct posted_request {
    int pe;
    bool drops;  ///< the peer, and what waits for it
    request carry_out;
  };

  [[nodiscard]] clock::time_point latest_return(std::chrono::duration<double> limit) const {
    return std::min(called_at_.load(), clock::now()) +
           std::chrono::duration_cast<clock::duration>(limit);
  }

  void post(posted_request one) {
    {
      const std::lock_guard lock(guard_);
      ++waiting_[one.pe];
      has_dropped_ = has_dropped_ || one.drops;
      posted_.push_back(std::move(one));
      if (!std::exchange(is_asleep_, false)) return;
    }
    ring(doorbell_);
  }

  /// Keeps what the network tells.
  struct recorder final : listener {
    explicit recorder(worker& owner) : owner(owner) {}
    void on_message(std::span<const std::byte> message) override {
      events.push_back(
          [text = bytes(message.begin(), message.end())](listener& to) { to.on_message(text); });
    }
    void on_write(std::uint32_t immediate) override {
      events.push_back([=](listener& to) { to.on_write(immediate); });
    }
    void on_complete(std::uint64_t token, std::uint64_t value) override {
      events.push_back([=](listener& to) { to.on_complete(token, value); });
    }
    void on_failure(int pe, const std::string& reason) override {
      if (pe >= 0 || owner.lose_all())
        events.push_back([=](listener& to) { to.on_failure(pe, reason); });
    }
    void on_left(int pe) override {
      events.push_back([=](listener& to) { to.on_left(pe); });
    }
    worker& owner;
    std::vector<event> events;
  };

  /// Whether there will be no more.
  bool take_posted() {
    bool ends = false;
    std::vector<posted_request> all;
    {
      const std::lock_guard lock(guard_);
      ends = ends_;
      all.swap(posted_);
      has_dropped_ = false;
    }
    for (auto& one : all) {
      auto& requests = taken_[one.pe];
      if (one.drops) {
        done_[one.pe] += requests.size();
        requests.clear();
        one.carry_out = [pe = one.pe](transport& inner) {
          inner.drop(pe);
          return true;
        };
      }
      requests.push_back(std::move(one));
    }
    return ends;
  }

  /// Whether anything happened.
  bool move_on() {
    bool moved = false;
    for (auto& of_a_peer : taken_) {
      const int pe = of_a_peer.first;
      auto& requests = of_a_peer.second;
      const bool is_in_vain = is_broken_ && pe != of_no_peer;
      while (!requests.empty() && !has_dropped_ &&
             (is_in_vain || calls([&] { return requests.front().carry_out(*inner_); }))) {
        ++done_[pe];
        requests.pop_front();
      }
    }
    if (!is_broken_) moved = calls([&] { return inner_->progress(heard_); });
    moved |= !done_.empty() || !heard_.events.empty();
    tell();
    return moved;
  }

  /// Calls the network, if the thread is not given up: a step of its own, so that nothing is begun
  /// afterwards. What a network that has thrown is like is not known: it is left alone.
  bool calls(const std::function<bool()>& step) {
    if (!begin_call()) return false;
    bool result = true;
    try {
      result = step();
    } catch (const std::exception& broken) {
      is_broken_ = true;
      heard_.on_failure(-1, broken.what());
    }
    auto began = called_at_.load();
    if (began != given_up) called_at_.compare_exchange_strong(began, in_no_call);
    return result;
  }
  [[nodiscard]] bool begin_call() {
    auto free = in_no_call;
    return called_at_.compare_exchange_strong(free, clock::now());
  }

  void tell() {
    const std::lock_guard lock(guard_);
    for (const auto& [pe, count] : done_) waiting_[pe] -= count;
    done_.clear();
    if (heard_.events.empty()) return;
    std::move(heard_.events.begin(), heard_.events.end(), std::back_inserter(events_));
    heard_.events.clear();
    if (std::exchange(is_awaited_, false)) ring(event_bell_);
  }

  void sleep(clock::duration quiet) {
    const bool is_done = std::all_of(taken_.begin(), taken_.end(),
                                     [](const auto& each) { return each.second.empty(); });
    int descriptor = -1;
    bool tells_all = false;
    if (!is_broken_)
      calls([&] {
        descriptor = inner_->wait_descriptor();
        if (descriptor >= 0 && !inner_->may_wait())
          quiet = {};  // there is something to do
        else
          tells_all = descriptor >= 0 && !inner_->tries_again();
        return true;
      });
    if (!heard_.events.empty()) return;  // it has broken down
    std::chrono::nanoseconds most = std::chrono::seconds(1);
    if (!is_done || !tells_all)
      most = std::clamp<std::chrono::nanoseconds>(quiet / nap_part, shortest_nap, longest_nap);
    {
      const std::lock_guard lock(guard_);
      if (!posted_.empty() || ends_) return;
      is_asleep_ = true;
    }
    std::array<pollfd, 2> watched = {pollfd{doorbell_.get(), POLLIN, 0},
                                     pollfd{descriptor, POLLIN, 0}};
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(most);
    const timespec time{whole.count(), (most - whole).count()};
    if (::ppoll(watched.data(), descriptor >= 0 ? 2 : 1, &time, nullptr) > 0 && watched[0].revents)
      hear(doorbell_);
    const std::lock_guard lock(guard_);
    is_asleep_ = false;
  }

  // Of the thread alone:
  std::unique_ptr<transport> inner_;
  std::map<int, std::deque<posted_request>> taken_;  ///< by PE
  std::map<int, std::size_t> done_;                  ///< of taken_, since the last tell()
  recorder heard_{*this};
  bool is_broken_ = false;
  clock::time_point moved_at_{};

  std::atomic<clock::time_point> called_at_{in_no_call};  ///< when the call began that it is in
  std::atomic<clock::time_point> looked_at_{}, watched_at_{};  ///< for events, by callers
  std::atomic<bool> has_dropped_{false};                       ///< a peer, of which taken_ has more
  std::atomic<bool> has_lost_all_{false};

  std::mutex guard_;  ///< of these:
  std::vector<posted_request> posted_;
  std::map<int, std::size_t> waiting_;  ///< posted or taken, by PE
  std::vector<event> events_;
  bool is_asleep_ = false;   ///< the thread, until the doorbell rings
  bool is_awaited_ = false;  ///< an event, by who waits for the bell
  bool ends_ = false;

  std::promise<void> left_;
  const unique_fd doorbell_ = make_bell();
  const unique_fd event_bell_ = make_bell();
};

isolated_transport::isolated_transport(std::unique_ptr<transport> inner,
                                       std::chrono::duration<double> timeout)
    : traits_(inner->about()),
      address_(inner->address()),
      timeout_(timeout),
      worker_(std::make_shared<worker>(std::move(inner))),
      thread_(start_quietly("make a network's calls", [worker = worker_] { worker->run(); })) {}

void isolated_transport::leave() {
  if (!worker_) return;
  worker_->end(std::min(timeout_, most_to_leave)) ? thread_.join() : thread_.detach();
  worker_.reset();
}

std::string isolated_transport::failure() const {
  return fmt::format(
      "{} has not returned from a call for {:.3g} s: whoever was killed or stopped in one may hold "
      "what others wait for there",
      traits_.name, timeout_.count());
}

void isolated_transport::call(const char* what, std::function<void(transport&)> of_inner) {
  if (!worker_) return;
  auto task = std::make_shared<std::packaged_task<void(transport&)>>(std::move(of_inner));
  auto done = task->get_future();
  worker_->post(worker::of_no_peer, [task](transport& inner) {
    (*task)(inner);
    return true;
  });
  if (!worker_->await(done, timeout_)) throw_error(HEDDLE_ERROR_TIMEOUT, "{}: {}", what, failure());
  done.get();
}

void isolated_transport::set_addresses(std::vector<bytes> addresses) {
  auto described = std::make_shared<std::vector<std::string>>();
  call("setting the addresses of peers", [=](transport& inner) {
    inner.set_addresses(addresses);
    for (std::size_t pe = 0; pe < addresses.size(); ++pe)
      described->push_back(inner.describe(static_cast<int>(pe)));
  });
  described_ = std::move(*described);
}

isolated_transport::bytes isolated_transport::expose(int region, std::uint64_t offset, void* start,
                                                     std::size_t size) {
  auto key = std::make_shared<bytes>();
  call("exposing memory",
       [=](transport& inner) { *key = inner.expose(region, offset, start, size); });
  return std::move(*key);
}

void isolated_transport::call_quietly(const char* what,
                                      std::function<void(transport&)> of_inner) noexcept {
  try {
    call(what, std::move(of_inner));
  } catch (const std::exception& stuck) {
    log::warn(log::subsystem::transport, "{}", stuck.what());
  }
}

void isolated_transport::conceal(int region, std::uint64_t offset) noexcept {
  call_quietly("concealing memory", [=](transport& inner) { inner.conceal(region, offset); });
}

void isolated_transport::register_local(void* start, std::size_t size) {
  if (!traits_.needs_registered_local) return;
  call("registering memory", [=](transport& inner) { inner.register_local(start, size); });
}

void isolated_transport::forget_local(void* start) noexcept {
  if (!traits_.needs_registered_local) return;
  call_quietly("forgetting memory", [=](transport& inner) { inner.forget_local(start); });
}

void isolated_transport::add_remote(int pe, int region, std::uint64_t offset, std::size_t size,
                                    std::span<const std::byte> key) {
  worker_->post(pe, [=, key = bytes(key.begin(), key.end())](transport& inner) {
    inner.add_remote(pe, region, offset, size, key);
    return true;
  });
}

bool isolated_transport::post_write(int lane, const remote_place& to, const void* from,
                                    std::size_t size, std::uint64_t token,
                                    std::uint32_t immediate) {
  return worker_->post_if_room(to.pe, [=](transport& inner) {
    return inner.post_write(lane, to, from, size, token, immediate);
  });
}

bool isolated_transport::post_read(int lane, void* to, const remote_place& from, std::size_t size,
                                   std::uint64_t token) {
  return worker_->post_if_room(
      from.pe, [=](transport& inner) { return inner.post_read(lane, to, from, size, token); });
}

bool isolated_transport::post_atomic(int lane, network_atomic op, const remote_place& word,
                                     std::uint64_t value, std::uint64_t compare,
                                     std::uint64_t token) {
  return worker_->post_if_room(word.pe, [=](transport& inner) {
    return inner.post_atomic(lane, op, word, value, compare, token);
  });
}

std::span<std::byte> isolated_transport::begin_message(int /*lane*/, int pe) {
  if (!worker_->has_room(pe)) return {};
  message_buffer buffer(new std::byte[traits_.most_message_bytes]);
  const std::span<std::byte> place(buffer.get(), traits_.most_message_bytes);
  begun_.emplace(place.data(), std::move(buffer));
  return place;
}

void isolated_transport::post_message(int lane, int pe, std::span<std::byte> message,
                                      std::size_t size) {
  const auto begun = begun_.extract(message.data());
  if (size == 0) return;
  worker_->post(pe, [=, from = begun.mapped()](transport& inner) {
    const auto place = inner.begin_message(lane, pe);
    if (place.empty()) return false;
    std::copy_n(from.get(), size, place.begin());
    inner.post_message(lane, pe, place, size);
    return true;
  });
}

bool isolated_transport::progress(listener& listener) {
  const auto events = worker_->take_events();
  for (const auto& each : events) each(listener);
  if (!worker_->is_stuck(timeout_) || !worker_->lose_all()) return !events.empty();
  listener.on_failure(-1, failure());
  return true;
}

void isolated_transport::drop(int pe) { worker_->drop(pe); }

int isolated_transport::wait_descriptor() const { return worker_ ? worker_->event_bell() : -1; }

bool isolated_transport::may_wait() { return worker_->await_events(); }

}  // namespace heddle
