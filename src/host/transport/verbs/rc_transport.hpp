// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/transport/endings.hpp"
#include "host/transport/transport.hpp"
#include "host/transport/verbs/connection.hpp"
#include "host/transport/verbs/memory.hpp"
#include "host/transport/verbs/peer_address.hpp"
#include "host/transport/verbs/rail.hpp"
#include "host/transport/verbs/verbs_transport.hpp"
#include "host/transport/verbs/wait_set.hpp"

namespace heddle::verbs {

/// The transport over reliable connections of libibverbs.
///
///   post_write, post_read, post_atomic -> chain of the connection --+-- progress(), or chain full
///   post_message ------------------------------------------------> card, with the chain before it
///
/// A lane to a peer is one connection on one pair of rails (rails_of), joined by hellos (hello.hpp)
/// when the first operation is posted, by either side. A reliable connection carries operations in
/// order and acknowledges a write when it has been taken at the target: a message comes after the
/// writes before it, and a completion is delivery.
class rc_transport final : public transport {
 public:
  rc_transport(verbs_options options, const std::vector<rdma_port>& ports);
  ~rc_transport() override = default;

  [[nodiscard]] const traits& about() const override { return traits_; }
  [[nodiscard]] bytes address() const override { return encode(address_); }
  void set_addresses(std::vector<bytes> addresses) override;
  [[nodiscard]] std::string describe(int pe) const override;

  bytes expose(int region, std::uint64_t offset, void* start, std::size_t size) override {
    return memory_->expose(region, offset, start, size);
  }
  void conceal(int region, std::uint64_t offset) noexcept override {
    memory_->conceal(region, offset);
  }
  void add_remote(int pe, int region, std::uint64_t offset, std::size_t size,
                  std::span<const std::byte> key) override;
  void register_local(void* start, std::size_t size) override {
    memory_->register_local(start, size);
  }
  void forget_local(void* start) noexcept override { memory_->forget_local(start); }

  [[nodiscard]] bool post_write(int lane, const remote_place& to, const void* from,
                                std::size_t size, std::uint64_t token,
                                std::uint32_t immediate) override;
  [[nodiscard]] bool post_read(int lane, void* to, const remote_place& from, std::size_t size,
                               std::uint64_t token) override;
  [[nodiscard]] bool post_atomic(int lane, network_atomic op, const remote_place& word,
                                 std::uint64_t value, std::uint64_t compare,
                                 std::uint64_t token) override;
  [[nodiscard]] std::span<std::byte> begin_message(int lane, int pe) override;
  void post_message(int lane, int pe, std::span<std::byte> message, std::size_t size) override;

  bool progress(listener& listener) override;
  void drop(int pe) override;
  void leave() override;
  [[nodiscard]] int wait_descriptor() const override { return waits_.descriptor(); }
  [[nodiscard]] bool may_wait() override;

 private:
  using clock = connection::clock;

  struct peer {
    peer_address address;
    std::string why_no_address;
    remote_memory memory;
    bool lost = false;
    bool has_left = false;
    std::uint32_t goodbyes = 0;  ///< one on each lane that it had
  };

  // Posting (rc_transport.cpp).
  peer& peer_of(int pe);
  [[nodiscard]] std::size_t index_of(int lane, int pe) const;
  /// Lost, or has left: what is posted to it is dropped.
  [[nodiscard]] bool is_gone(int pe) const {
    const auto& which = peers_[static_cast<std::size_t>(pe)];
    return lost_all_ || which.lost || which.has_left;
  }
  /// The connection, if operations may be posted on it; else null, and it is being opened unless
  /// the peer is lost.
  connection* ready(int lane, int pe);
  bool transfer(ibv_wr_opcode opcode, int lane, const remote_place& place, const void* here,
                std::size_t size, std::uint64_t token);
  ibv_send_wr& add(connection& to, const connection::operation& held);
  void flush(connection& to);
  void flush_chains();

  // Connecting (rc_connecting.cpp).
  connection* open(int lane, int pe);
  void send_hello(connection& to, bool is_answer);
  void take_hello(const hello& message);
  void repeat_hellos(clock::time_point now);
  [[nodiscard]] clock::time_point next_repeat() const;

  // Moving on (rc_progress.cpp).
  bool take_found(bool has_event, listener& listener);
  bool poll_arrivals(rail& from, listener& listener);
  /// `all`: also where only failures may have come, which cards tell of every operation.
  bool poll_sends(rail& from, listener& listener, bool all);
  void take_arrival(rail& from, const ibv_wc& completion, listener& listener);
  void take_completion(const ibv_wc& completion, listener& listener);
  void take_failure(connection& failed, const ibv_wc& completion);
  void look_around(clock::time_point now);
  void take_event(rail& from, const ibv_async_event& event, clock::time_point now);
  void check_port(std::size_t rail, clock::time_point now);

  // Ending (rc_ending.cpp).
  void take_goodbye(const rail& from, const ibv_wc& completion);
  /// Sends a write of no bytes to peers of which the card would tell nothing otherwise.
  void probe_peers(clock::time_point now);
  void lose(int pe, const std::string& reason);
  void lose_all(const std::string& reason);
  /// A connection for each lane, null where there is none.
  std::span<std::unique_ptr<connection>> lanes_of(int pe);
  void end_lanes(int pe);

  verbs_options options_;
  traits traits_;
  wait_set waits_;
  peer_address address_;
  std::vector<std::unique_ptr<rail>> rails_;
  std::unique_ptr<local_memory> memory_;
  std::vector<peer> peers_;
  std::unordered_map<std::uint64_t, int> pe_of_id_;
  std::vector<std::unique_ptr<connection>> connections_;  ///< by index_of
  std::vector<connection*> chained_;                      ///< with operations to flush
  std::vector<connection*> opening_;                      ///< whose hello is to be repeated
  endings endings_;                                       ///< not told yet
  /// Completions that may_wait() found.
  std::vector<std::pair<rail*, ibv_wc>> found_arrivals_, found_sends_;
  /// Since when a port is not active; max(): it is.
  std::array<clock::time_point, peer_address::most_rails> port_down_since_{};
  clock::time_point look_at_{}, probe_at_{};
  std::size_t next_probed_ = 0;
  bytes lost_message_;  ///< where messages to lost peers are filled in
  unsigned calls_ = 0;
  bool waited_ = false;
  bool lost_all_ = false;
};

}  // namespace heddle::verbs
