// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <heddle/error.hpp>
#include <list>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "host/proxy/frame.hpp"
#include "host/transport/transport.hpp"

namespace heddle::testing {

/// A network whose every event a test tells, for one engine: what that posts is kept, to be
/// read while no other thread drives the engine. Events may be told at any time.
class scripted_transport final : public transport {
 public:
  struct message {
    int lane;
    int pe;
    bytes data;

    [[nodiscard]] frame_header header() const {
      frame_header out;
      std::memcpy(&out, data.data(), sizeof out);
      return out;
    }
    /// Of its records.
    [[nodiscard]] std::vector<record_kind> kinds() const {
      std::vector<record_kind> out;
      frame_reader reader(std::span<const std::byte>(data).subspan(sizeof(frame_header)));
      record_header record;
      std::span<const std::byte> rest;
      while (reader.next(record, rest)) out.push_back(record.kind);
      return out;
    }
  };

  explicit scripted_transport(const traits& traits, bool refuses_memory = false)
      : traits_(traits), refuses_memory_(refuses_memory) {}

  std::vector<message> sent;
  std::set<int> no_room;             ///< peers to whom no message can be begun
  std::deque<std::uint64_t> writes;  ///< their tokens
  std::deque<std::uint64_t> reads;
  std::deque<void*> read_into;      ///< where those go
  std::function<void()> when_post;  ///< in post_write

  using event = std::function<void(listener&)>;
  /// One call of progress() each, in this order.
  void happens(event told) {
    const std::scoped_lock lock(guard_);
    events_.push_back(std::move(told));
  }
  /// A frame arrives: header and records as they stand.
  void arrives(bytes frame) {
    happens([frame = std::move(frame)](listener& to) { to.on_message(frame); });
  }
  void completes(std::uint64_t token) {
    happens([=](listener& to) { to.on_complete(token, 0); });
  }

  [[nodiscard]] const traits& about() const override { return traits_; }
  [[nodiscard]] bytes address() const override { return {}; }
  void set_addresses(std::vector<bytes> /*addresses*/) override {}
  [[nodiscard]] std::string describe(int /*pe*/) const override { return "a script"; }
  bytes expose(int, std::uint64_t, void*, std::size_t) override {
    if (when_expose) when_expose();
    if (refuses_memory_) throw error(HEDDLE_ERROR_SYSTEM, "the card takes none");
    ++exposed;
    return bytes(8);
  }
  std::function<void()> when_expose;
  int exposed = 0;
  void conceal(int, std::uint64_t) noexcept override {}
  void add_remote(int, int, std::uint64_t, std::size_t, std::span<const std::byte>) override {
    ++remotes;
  }
  int remotes = 0;
  void register_local(void*, std::size_t) override {}
  void forget_local(void*) noexcept override {}
  [[nodiscard]] bool post_write(int, const remote_place&, const void*, std::size_t,
                                std::uint64_t token, std::uint32_t) override {
    if (when_post) when_post();
    writes.push_back(token);
    return true;
  }
  [[nodiscard]] bool post_read(int, void* to, const remote_place&, std::size_t,
                               std::uint64_t token) override {
    reads.push_back(token);
    read_into.push_back(to);
    return true;
  }
  [[nodiscard]] bool post_atomic(int, network_atomic, const remote_place&, std::uint64_t,
                                 std::uint64_t, std::uint64_t) override {
    return true;
  }
  [[nodiscard]] std::span<std::byte> begin_message(int, int pe) override {
    if (no_room.contains(pe)) return {};
    return filling_.emplace_back(traits_.most_message_bytes);
  }
  void post_message(int lane, int pe, std::span<std::byte> message, std::size_t size) override {
    if (size > 0) sent.push_back({lane, pe, {message.data(), message.data() + size}});
    filling_.remove_if([&](const bytes& each) { return each.data() == message.data(); });
  }
  bool progress(listener& listener) override {
    looks.fetch_add(1);
    const auto next = take_event();
    if (next) next(listener);
    return next != nullptr;
  }
  std::atomic<int> looks{0};    ///< calls of progress()
  int descriptor = -1;          ///< what to wait for
  bool waits_for_room = false;  ///< of which no event tells
  [[nodiscard]] bool tries_again() const override { return waits_for_room; }
  std::function<void()> when_may_wait;
  [[nodiscard]] int wait_descriptor() const override { return descriptor; }
  [[nodiscard]] bool may_wait() override {
    if (when_may_wait) when_may_wait();
    const std::scoped_lock lock(guard_);
    return events_.empty();
  }

 private:
  [[nodiscard]] event take_event() {
    const std::scoped_lock lock(guard_);
    if (events_.empty()) return {};
    auto out = std::move(events_.front());
    events_.pop_front();
    return out;
  }

  const traits traits_;
  const bool refuses_memory_;
  std::list<bytes> filling_;
  std::mutex guard_;
  std::deque<event> events_;
};

/// A frame as a peer makes it.
class frame_maker {
 public:
  frame_maker(std::uint64_t job, int from, std::uint32_t sequence, int lane = 0) {
    header_.job = job;
    header_.from = static_cast<std::uint32_t>(from);
    header_.lane = static_cast<std::uint32_t>(lane);
    header_.sequence = sequence;
    header_.has_records = 1;
  }
  frame_maker& add(record_header record, std::span<const std::byte> data = {}) {
    record.data_bytes = static_cast<std::uint32_t>(data.size());
    const auto at = records_.size();
    records_.resize(at + record_bytes(data.size()));
    std::memcpy(&records_[at], &record, sizeof record);
    if (!data.empty()) std::memcpy(&records_[at + sizeof record], data.data(), data.size());
    return *this;
  }
  [[nodiscard]] transport::bytes bytes() const {
    const auto header = std::as_bytes(std::span(&header_, 1));
    transport::bytes out(header.begin(), header.end());
    out.insert(out.end(), records_.begin(), records_.end());
    return out;
  }
  frame_header& header() { return header_; }

 private:
  frame_header header_{};
  std::vector<std::byte> records_;
};

}  // namespace heddle::testing
