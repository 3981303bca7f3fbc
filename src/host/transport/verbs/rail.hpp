// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <span>
#include <vector>

#include "host/transport/verbs/hello.hpp"
#include "host/transport/verbs/peer_address.hpp"
#include "host/transport/verbs/rdma_port.hpp"
#include "host/transport/verbs/registered_memory.hpp"
#include "host/transport/verbs/verbs_transport.hpp"

namespace heddle::verbs {

/// A completion queue that some connections send by. It has room for all that they have under way,
/// even if every one ends in an error, so that it never overflows.
struct send_completions {
  owned_completions queue;
  int free_entries = 0;
  int under_way = 0;  ///< operations whose end has not been seen
  int signaled = 0;   ///< those of them that the card says the end of
  bool event_asked = false;
};

/// One port that a PE uses: opened, with its queues for what arrives (messages of all peers in one
/// shared queue, hellos in a datagram queue) and the buffers that messages are sent from.
class rail {
 public:
  /// What a completion of arrivals() is of.
  enum class arrival : std::uint8_t { message, hello, hello_sent };

  static constexpr std::size_t message_bytes = 4096;
  static constexpr int most_reads = 16;

  /// Throws HEDDLE_ERROR_SYSTEM or OUT_OF_MEMORY.
  rail(const rdma_port& port, const verbs_options& options, std::uint32_t queue_key);

  [[nodiscard]] const rdma_port& port() const { return port_; }
  [[nodiscard]] const ibv_device_attr& device() const { return device_; }
  [[nodiscard]] const ibv_port_attr& attributes() const { return attributes_; }
  [[nodiscard]] ibv_context* context() const { return context_.get(); }
  [[nodiscard]] ibv_pd* domain() const { return domain_.get(); }
  [[nodiscard]] ibv_comp_channel* channel() const { return channel_.get(); }
  [[nodiscard]] ibv_srq* receives() const { return receives_.get(); }
  [[nodiscard]] ibv_cq* arrivals() const { return arrivals_.get(); }
  [[nodiscard]] const rail_address& address() const { return address_; }
  [[nodiscard]] buffer_pool& messages() { return messages_; }
  [[nodiscard]] buffer_pool& words() { return words_; }
  [[nodiscard]] std::list<send_completions>& sends() { return sends_; }

  /// How packets go from here to a peer's rail.
  [[nodiscard]] ibv_ah_attr path_to(const rail_address& peer) const;
  /// For a connection of `depth` operations, which it keeps.
  send_completions& completions_for(int depth);

  /// The channel tells of the next completion of each queue in use; what is there already has to be
  /// looked for after this.
  void ask_for_events();
  /// Those that came.
  void take_events();

  /// To a peer's datagram queue; lost if there is no room, as datagrams may be.
  void send_hello(ibv_ah* path, std::uint32_t queue, std::uint32_t queue_key,
                  std::span<const std::byte> text);
  /// What has arrived: the kind and the bytes, valid until receive_again(). Of hello_sent: nothing.
  [[nodiscard]] std::pair<arrival, std::span<const std::byte>> arrived(const ibv_wc& completion);
  /// The buffer of a completion that was looked at may be filled again.
  void receive_again(const ibv_wc& completion);
  /// Gives what receive_again() was called for back to the card, once that is enough for a call.
  void flush_receives();

 private:
  void receive_hello(std::uint32_t buffer);
  void make_datagram_queue(std::uint32_t queue_key);

  rdma_port port_;
  const verbs_options& options_;
  owned_context context_;
  ibv_device_attr device_{};
  ibv_port_attr attributes_{};
  owned_domain domain_;
  owned_channel channel_;
  buffer_pool received_messages_, received_hellos_, sent_hellos_, messages_, words_;
  owned_completions arrivals_;
  bool arrivals_event_asked_ = false;
  owned_receives receives_;
  owned_queue_pair datagrams_;
  std::list<send_completions> sends_;
  std::vector<std::uint32_t> idle_receives_;
  std::size_t receives_at_once_ = 1;
  rail_address address_;
};

/// The end of a completion queue that is looked at once.
constexpr int poll_batch = 16;

}  // namespace heddle::verbs
