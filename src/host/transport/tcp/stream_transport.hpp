// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/socket_address.hpp"
#include "host/transport/endings.hpp"
#include "host/transport/tcp/doorway.hpp"
#include "host/transport/tcp/message_pool.hpp"
#include "host/transport/tcp/stream.hpp"
#include "host/transport/tcp/tcp_transport.hpp"
#include "support/deadline.hpp"
#include "support/unique_fd.hpp"

namespace heddle::tcp {

/// The transport over TCP: a stream for each lane and peer. What is posted waits in the stream's
/// outbox until progress() sends it: what is posted together leaves in one call of the kernel. As
/// everything of a stream is carried out by the peer in the order of posting, messages follow
/// writes, and writes follow messages.
class stream_transport final : public transport {
 public:
  stream_transport(const tcp_options& options, const std::string& interface,
                   const std::vector<socket_address>& addresses);
  ~stream_transport() override;

  [[nodiscard]] const traits& about() const override { return traits_; }
  [[nodiscard]] bytes address() const override { return address_; }
  void set_addresses(std::vector<bytes> addresses) override;
  [[nodiscard]] std::string describe(int pe) const override;

  bytes expose(int region, std::uint64_t offset, void* start, std::size_t size) override;
  void conceal(int region, std::uint64_t offset) noexcept override;
  /// The peer itself sees to what it has exposed.
  void add_remote(int, int, std::uint64_t, std::size_t, std::span<const std::byte>) override {}
  void register_local(void*, std::size_t) override {}
  void forget_local(void*) noexcept override {}

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

  void drop(int pe) override;
  void leave() override;
  bool progress(listener& listener) override;
  void keep_given_up(listener& listener) override;
  [[nodiscard]] int wait_descriptor() const override { return poll_set_.get(); }
  [[nodiscard]] bool may_wait() override;

 private:
  using clock = std::chrono::steady_clock;
  class operations;

  struct peer {
    std::vector<socket_address> addresses;
    std::vector<std::unique_ptr<stream>> streams;  ///< by lane; null until it is used
    bool is_lost = false;
    bool is_leaving = false;  ///< it has said goodbye on a lane
    bool has_left = false;    ///< ... and on all that may have brought something
  };
  struct exposed {
    std::byte* start;
    std::size_t size;
  };

  // stream_transport.cpp
  stream& stream_of(int pe, int lane);
  /// Something waits in the stream's outbox.
  void note_unsent(stream& of);
  void forget_unsent(stream& of);
  bool send_unsent(listener& listener);
  void fail_to_send(stream& to, int error, listener& listener);
  bool receive(stream& from, listener& listener);
  bool look_at_all(listener& listener);
  void lose(int pe, const std::string& reason);
  [[nodiscard]] static bool may_bring(const std::unique_ptr<stream>& one) {
    return one && one->now >= stream::state::connecting && one->now <= stream::state::open;
  }
  /// Once nothing can come from a peer that is leaving, it has left.
  void note_leaving(int pe);
  [[nodiscard]] std::byte* exposed_place(const operation_header& header) const;
  /// An address as a key.
  static std::string name_of(std::span<const std::byte> address);

  // connecting.cpp
  void connect(stream& to);
  void try_next_address(stream& to);
  void note_refusal(stream& by, int error);
  /// The poll set has told of a connection that is not open yet.
  void go_on(stream& with);
  void greet(stream& with);
  void hear_answer(stream& with);
  void fail_to_connect(stream& with, const std::string& reason);
  void take(unique_fd socket, const hello& said);
  void open(stream& with);
  void close(stream& with);
  void give_up_socket(stream& with);
  /// Loses peers that have been stuck for too long.
  void look_at_the_time();
  /// Has the poll set tell of these events of the stream's socket; without memory for that the peer
  /// is lost.
  void watch(stream& with, unsigned events);
  void finish_connecting(deadline until);
  void say_goodbye(stream& to, deadline until);
  static void hear_out(stream& from, deadline until);

  const tcp_options options_;
  traits traits_;
  unique_fd poll_set_;
  doorway doorway_;
  bytes address_;
  message_pool pool_;
  std::vector<peer> peers_;
  std::map<std::string, int> pe_of_;  ///< by address
  std::vector<stream*> open_;         ///< those that may bring something
  std::vector<stream*> unsent_;       ///< open, and with something in the outbox
  std::vector<stream*> unfinished_;   ///< connecting, greeting or crossed
  std::map<std::pair<int, std::uint64_t>, exposed> exposed_;  ///< by region and offset
  endings endings_;                                           ///< not told yet
  unsigned looks_ = 0;
  unsigned sent_in_turn_ = 0;
  bool has_left_ = false;
};

}  // namespace heddle::tcp
