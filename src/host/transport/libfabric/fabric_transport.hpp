// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "host/transport/endings.hpp"
#include "host/transport/libfabric/endpoint.hpp"
#include "host/transport/libfabric/libfabric_transport.hpp"
#include "host/transport/libfabric/local_memory.hpp"
#include "host/transport/libfabric/operation.hpp"
#include "host/transport/libfabric/remote_memory.hpp"
#include "host/transport/transport.hpp"

namespace heddle::libfabric {

/// The transport over one endpoint of one provider.
///
///   post_message ----> send_now ----------------> fi_inject, fi_sendmsg
///                         | not now                   ^
///                         v                           | progress()
///                      peer::waiting, in order -------+
///   post_write ------> refused while messages to the peer wait, so that no write passes one
///
/// All lanes go through the one endpoint, whose operations to a peer are in order. Small messages
/// and small writes that nobody asks after are copied by the provider (inject) and leave no
/// completion, unless the operations to a peer are counted (most_to_one_peer). A peer takes part
/// once something is posted to it: its address is inserted then.
class fabric_transport final : public transport {
 public:
  /// Throws HEDDLE_ERROR_SYSTEM if the provider cannot be opened.
  fabric_transport(const library& functions, const fi_info& chosen, const std::string& interface,
                   ordering by, std::chrono::duration<double> timeout, const gpu_memory* gpu);
  ~fabric_transport() override { leave(); }

  [[nodiscard]] const traits& about() const override { return traits_; }
  [[nodiscard]] bytes address() const override { return endpoint_.name(); }
  void set_addresses(std::vector<bytes> addresses) override;
  [[nodiscard]] std::string describe(int pe) const override;

  bytes expose(int region, std::uint64_t offset, void* start, std::size_t size) override {
    return memory_.expose(region, offset, start, size);
  }
  void conceal(int region, std::uint64_t offset) noexcept override {
    memory_.conceal(region, offset);
  }
  void add_remote(int pe, int region, std::uint64_t offset, std::size_t size,
                  std::span<const std::byte> key) override;
  void register_local(void* start, std::size_t size) override {
    memory_.register_local(start, size);
  }
  void forget_local(void* start) noexcept override { memory_.forget_local(start); }

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
  /// Closes the endpoint, before the memory goes that was given to it.
  void leave() override;
  [[nodiscard]] int wait_descriptor() const override { return endpoint_.wait_descriptor(); }
  [[nodiscard]] bool may_wait() override;
  [[nodiscard]] bool tries_again() const override;

 private:
  using clock = std::chrono::steady_clock;

  struct peer {
    fi_addr_t address = FI_ADDR_UNSPEC;
    remote_memory memory;
    operation_queue waiting;    ///< messages that the network did not take yet
    operation silent;           ///< of all writes that nobody asks after
    std::size_t under_way = 0;  ///< operations that will tell of their completion
    bool to_fence = false;      ///< what was written after the last message
    bool lost = false;
    bool reached = false;  ///< an operation has ended
    bool refused = false;  ///< took nothing when asked last
    clock::time_point refused_since, refused_last;
  };

  /// The peer, which may be lost.
  peer& peer_of(int pe);
  /// Inserts its address at the first use; false if it cannot be, or was lost before.
  bool can_reach(peer& to);
  /// An operation with a completion; null if too many are under way.
  operation* begin_transfer(int pe, std::uint64_t token);
  /// Whether the network takes no more to this peer for now.
  [[nodiscard]] bool is_full(const peer& to) const { return to.under_way >= most_to_one_peer_; }
  /// Where there is a limit on those to one peer, each operation tells of its completion.
  [[nodiscard]] bool counts_operations() const { return most_to_one_peer_ != SIZE_MAX; }
  /// Whether so few bytes go without a completion.
  [[nodiscard]] bool is_injected(std::size_t size) const {
    return size <= inject_size_ && !counts_operations();
  }
  /// What became of a post: false if it must be made again. An operation (or null) that the network
  /// did not take goes back.
  bool taken(peer& to, operation* one, long long code, const char* call);
  /// Of one that the network took, with its completion.
  void end(operation* one);
  void give_back(operation* one);

  bool send_now(peer& to, operation* message);
  bool send_waiting();
  void receive_into(operation* place);
  bool receive_again();

  void complete(const fi_cq_data_entry& entry, listener& listener);
  void complete_with_error();
  void lose(peer& to, const std::string& reason);
  void lose_all(const std::string& reason);

  endpoint endpoint_;
  ordering ordering_;
  traits traits_;
  local_memory memory_;
  std::chrono::duration<double> timeout_;
  std::size_t most_to_one_peer_;
  std::size_t inject_size_;
  bool keeps_contexts_;  ///< the provider writes into them until the completion

  std::unique_ptr<std::byte[]> buffers_;  ///< of messages: those received, then those sent
  std::vector<operation> receives_, messages_, transfers_;
  registration registered_buffers_, registered_transfers_;
  operation_queue idle_receives_;  ///< to be given to the network again
  operation_queue free_messages_, free_transfers_;

  std::vector<bytes> addresses_;
  std::vector<std::unique_ptr<peer>> peers_;  ///< by PE; null until it is used
  std::vector<int> waiting_peers_;            ///< with messages in `waiting`
  endings endings_;                           ///< not told yet
  clock::time_point last_loss_;
  bool lost_all_ = false;
};

}  // namespace heddle::libfabric
