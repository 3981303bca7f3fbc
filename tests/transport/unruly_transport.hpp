// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/transport/transport.hpp"

namespace heddle::conformance {

/// A transport that keeps to the contract and to nothing else: it refuses, delays and reorders what
/// it may, as a seed has it, and loses the peers it is told to. What works on it does not lean on
/// the habits of one network.
///
///   post ---> queue of the lane and peer ---> inner transport ---> told, late ---> listener
///                what may pass what:              completions in any order, messages in theirs
///                see may_pass()
class unruly_transport final : public transport {
 public:
  unruly_transport(std::unique_ptr<transport> inner, std::uint64_t seed)
      : inner_(std::move(inner)), traits_(inner_->about()), random_(static_cast<unsigned>(seed)) {
    traits_.is_ordered = false;
  }

  /// From now on nothing reaches `pe`; told by progress(), once nothing is under way by which the
  /// inner transport, which knows of no loss, would touch this PE's memory.
  void lose(int pe) {
    if (!lost_.insert(pe).second) return;
    forget(pe);
    failures_.push_back({pe, "PE " + std::to_string(pe) + " was lost by the test", true});
  }

  /// The same, of any thread: at the next progress().
  void lose_soon(int pe) { loses_soon_.store(pe); }

  [[nodiscard]] const traits& about() const override { return traits_; }
  [[nodiscard]] bytes address() const override { return inner_->address(); }
  void set_addresses(std::vector<bytes> addresses) override {
    inner_->set_addresses(std::move(addresses));
  }
  [[nodiscard]] std::string describe(int pe) const override { return inner_->describe(pe); }
  bytes expose(int region, std::uint64_t offset, void* start, std::size_t size) override {
    return inner_->expose(region, offset, start, size);
  }
  void conceal(int region, std::uint64_t offset) noexcept override {
    inner_->conceal(region, offset);
  }
  void add_remote(int pe, int region, std::uint64_t offset, std::size_t size,
                  std::span<const std::byte> key) override {
    inner_->add_remote(pe, region, offset, size, key);
  }
  void register_local(void* start, std::size_t size) override {
    inner_->register_local(start, size);
  }
  void forget_local(void* start) noexcept override { inner_->forget_local(start); }

  [[nodiscard]] bool post_write(int lane, const remote_place& to, const void* from,
                                std::size_t size, std::uint64_t token,
                                std::uint32_t immediate) override {
    item posted{.kind = item::kind::write, .lane = lane, .place = to, .size = size, .token = token};
    posted.local = const_cast<void*>(from);
    posted.immediate = immediate;
    return post(std::move(posted));
  }
  [[nodiscard]] bool post_read(int lane, void* to, const remote_place& from, std::size_t size,
                               std::uint64_t token) override {
    item posted{
        .kind = item::kind::read, .lane = lane, .place = from, .size = size, .token = token};
    posted.local = to;
    return post(std::move(posted));
  }
  [[nodiscard]] bool post_atomic(int lane, network_atomic op, const remote_place& word,
                                 std::uint64_t value, std::uint64_t compare,
                                 std::uint64_t token) override {
    item posted{.kind = item::kind::atomic, .lane = lane, .place = word, .size = 8, .token = token};
    posted.op = op;
    posted.value = value;
    posted.compare = compare;
    return post(std::move(posted));
  }
  [[nodiscard]] std::span<std::byte> begin_message(int /*lane*/, int pe) override {
    if (lost_.contains(pe) || (!one_in(4) && n_messages_ < most_messages)) {
      auto& place = begun_.emplace_back(about().most_message_bytes);
      return place;
    }
    return {};
  }
  void post_message(int lane, int pe, std::span<std::byte> message, std::size_t size) override {
    const auto place = std::find_if(begun_.begin(), begun_.end(),
                                    [&](auto& each) { return each.data() == message.data(); });
    item posted{.kind = item::kind::message, .lane = lane, .place = {pe, 0, 0}, .size = size};
    posted.text = std::move(*place);
    begun_.erase(place);
    if (size == 0 || lost_.contains(pe)) return;
    ++n_messages_;
    queues_[{pe, lane}].push_back(std::move(posted));
  }

  bool progress(listener& listener) override {
    bool any = false;
    if (const int pe = loses_soon_.exchange(nobody); pe != nobody) lose(pe);
    for (auto& [name, queue] : queues_)
      while (!queue.empty() && !one_in(3) && forward_one(queue)) any = true;
    std::erase_if(queues_, [](auto& each) { return each.second.empty(); });
    late_.told = &listener;
    any |= inner_->progress(late_);
    any |= tell(listener);
    for (auto& each : std::exchange(failures_, {})) {
      if (each.is_by_test && is_under_way(each.pe)) {
        failures_.push_back(std::move(each));
        continue;
      }
      listener.on_failure(each.pe, each.reason);
      any = true;
    }
    if (late_.messages.empty() && late_.events.empty())
      for (const int pe : std::exchange(late_.left, {})) {
        lost_.insert(pe);
        end(pe);
        listener.on_left(pe);
      }
    return any;
  }

  void keep_given_up(listener& listener) override {
    for (auto& [name, queue] : queues_)
      for (auto& each : queue)
        if (each.kind == item::kind::write && each.token != no_token && !each.is_kept &&
            !listener.is_wanted(each.token)) {
          const auto* from = static_cast<const std::byte*>(each.local);
          each.local = kept_.emplace_back(from, from + each.size).data();
          each.is_kept = true;
        }
    inner_->keep_given_up(listener);
  }
  void drop(int pe) override {
    lost_.insert(pe);
    end(pe);
    inner_->drop(pe);
  }
  void leave() override {
    for (auto& [name, queue] : queues_)
      while (!queue.empty() && forward_one(queue)) {
      }
    inner_->leave();
  }

  [[nodiscard]] int wait_descriptor() const override { return inner_->wait_descriptor(); }
  [[nodiscard]] bool may_wait() override {
    return loses_soon_ == nobody && queues_.empty() && late_.messages.empty() &&
           late_.events.empty() && late_.left.empty() && failures_.empty() && inner_->may_wait();
  }
  [[nodiscard]] bool tries_again() const override { return inner_->tries_again(); }

 private:
  struct item {
    enum class kind : std::uint8_t { write, read, atomic, message };
    kind kind = kind::write;
    int lane = 0;
    remote_place place;
    void* local = nullptr;
    std::size_t size = 0;
    std::uint64_t token = 0;
    std::uint32_t immediate = 0;
    network_atomic op{};
    std::uint64_t value = 0;
    std::uint64_t compare = 0;
    std::vector<std::byte> text{};
    bool is_kept = false;
  };
  using queue = std::deque<item>;

  /// What the inner transport told and the listener was not told yet.
  struct late_listener final : listener {
    struct event {
      bool is_write = false;
      std::uint64_t what = 0;  ///< token or immediate
      std::uint64_t value = 0;
    };
    explicit late_listener(unruly_transport& owner) : owner(owner) {}
    void on_message(std::span<const std::byte> message) override {
      messages.emplace_back(message.begin(), message.end());
    }
    void on_write(std::uint32_t immediate) override { events.push_back({true, immediate, 0}); }
    void on_complete(std::uint64_t token, std::uint64_t value) override {
      events.push_back({false, token, value});
    }
    void on_failure(int pe, const std::string& reason) override {
      owner.end(pe);
      if (pe >= 0 && !owner.lost_.insert(pe).second) return;
      owner.failures_.push_back({pe, reason, false});
    }
    void on_left(int pe) override { left.push_back(pe); }
    bool is_wanted(std::uint64_t token) override { return told->is_wanted(token); }
    unruly_transport& owner;
    listener* told = nullptr;  ///< later
    std::vector<int> left;
    std::deque<std::vector<std::byte>> messages;
    std::vector<event> events;
  };

  bool one_in(unsigned n) { return random_() / 7 % n == 0; }

  bool post(item posted) {
    if (lost_.contains(posted.place.pe)) return true;
    if (one_in(5)) return false;
    auto& queue = queues_[{posted.place.pe, posted.lane}];
    if (queue.size() >= most_items) return false;
    if (posted.kind != item::kind::message && posted.token != no_token)
      tokens_[posted.token] = posted.place.pe;
    queue.push_back(std::move(posted));
    return true;
  }

  /// Messages keep their order. Where they come after the writes before them, those and the writes
  /// after them keep to their side of it. All else has no order.
  [[nodiscard]] bool may_pass(const item& later, const item& earlier) const {
    if (later.kind == item::kind::message && earlier.kind == item::kind::message) return false;
    if (about().order != message_order::after_writes) return true;
    return later.kind != item::kind::message && earlier.kind != item::kind::message;
  }

  bool forward_one(queue& from) {
    std::vector<std::size_t> able;
    for (std::size_t i = 0; i < std::min<std::size_t>(from.size(), 16); ++i)
      if (std::all_of(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](auto& earlier) { return may_pass(from[i], earlier); }))
        able.push_back(i);
    const auto chosen = able[random_() / 7 % able.size()];
    if (!forward(from[chosen])) return false;
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(chosen));
    return true;
  }

  bool forward(item& one) {
    switch (one.kind) {
      case item::kind::write:
        return inner_->post_write(one.lane, one.place, one.local, one.size, one.token,
                                  one.immediate);
      case item::kind::read:
        return inner_->post_read(one.lane, one.local, one.place, one.size, one.token);
      case item::kind::atomic:
        return inner_->post_atomic(one.lane, one.op, one.place, one.value, one.compare, one.token);
      case item::kind::message:
        break;
    }
    const auto place = inner_->begin_message(one.lane, one.place.pe);
    if (place.empty()) return false;
    std::copy_n(one.text.begin(), one.size, place.begin());
    inner_->post_message(one.lane, one.place.pe, place, one.size);
    --n_messages_;
    return true;
  }

  bool tell(listener& listener) {
    bool any = false;
    while (!late_.messages.empty() && !one_in(3)) {
      const auto message = std::move(late_.messages.front());
      late_.messages.pop_front();
      listener.on_message(message);
      any = true;
    }
    while (!late_.events.empty() && !one_in(3)) {
      std::swap(late_.events[random_() / 7 % late_.events.size()], late_.events.back());
      const auto event = late_.events.back();
      late_.events.pop_back();
      any = true;
      if (event.is_write) {
        listener.on_write(static_cast<std::uint32_t>(event.what));
        continue;
      }
      const auto of = tokens_.extract(event.what);
      if (of.empty() || !lost_.contains(of.mapped())) listener.on_complete(event.what, event.value);
    }
    return any;
  }

  /// What waits here for that PE (-1: for all) does not go.
  void forget(int pe) {
    for (auto& [name, queue] : queues_) {
      if (name.first != pe && pe >= 0) continue;
      for (const auto& one : queue) {
        if (one.kind == item::kind::message)
          --n_messages_;
        else
          tokens_.erase(one.token);
      }
      queue.clear();
    }
  }
  /// Nor does the inner transport carry anything for it any more.
  void end(int pe) {
    forget(pe);
    ended_.insert(pe);
  }
  [[nodiscard]] bool is_under_way(int pe) const {
    if (ended_.contains(pe) || ended_.contains(-1)) return false;
    return std::any_of(tokens_.begin(), tokens_.end(),
                       [pe](const auto& each) { return each.second == pe; });
  }

  struct failure {
    int pe;
    std::string reason;
    bool is_by_test;
  };
  static constexpr int nobody = -2;
  static constexpr std::size_t most_items = 64;
  static constexpr std::size_t most_messages = 64;

  std::unique_ptr<transport> inner_;
  traits traits_;  ///< of the inner one, without what it breaks
  std::minstd_rand random_;
  std::map<std::pair<int, int>, queue> queues_;  ///< by peer and lane
  std::size_t n_messages_ = 0;
  std::deque<std::vector<std::byte>> begun_;
  std::deque<std::vector<std::byte>> kept_;  ///< of writes that were given up, until the end
  std::map<std::uint64_t, int> tokens_;      ///< whose they are
  std::set<int> lost_;
  std::set<int> ended_;  ///< of these the inner transport knows too
  std::atomic<int> loses_soon_{nobody};
  std::vector<failure> failures_;
  late_listener late_{*this};
};

}  // namespace heddle::conformance
