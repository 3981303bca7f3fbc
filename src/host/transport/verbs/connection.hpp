// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/transport/verbs/rail.hpp"

namespace heddle::verbs {

/// One lane to one peer: a reliable queue pair and what is under way on it.
///
///   add() -> chain -> flush() -> card -> completion -> retire()
///
/// Operations end in the order in which they were added, so that one completion stands for all
/// before it. Those are asked for that somebody waits for, and one in every quarter of the queue.
class connection {
 public:
  using clock = std::chrono::steady_clock;

  enum class phase : std::uint8_t {
    opening,      ///< the peer has not said that it joined
    established,  ///< operations may be posted
    lost
  };

  /// What it joins: a lane, on one of this PE's rails and one of the peer's.
  struct route {
    int pe = -1;
    int lane = 0;
    std::size_t local_rail = 0;
    std::size_t remote_rail = 0;
  };

  /// What an operation holds until it has ended.
  struct operation {
    std::uint64_t token = transport::no_token;
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    std::uint32_t message = none;  ///< its buffer in rail::messages()
    std::uint32_t word = none;     ///< where its result comes, in rail::words()
    bool is_signaled = false;      ///< the card says its end, as of any that holds something
  };

  /// Throws HEDDLE_ERROR_SYSTEM if the card has no more queue pairs. `id` comes back in the upper
  /// half of the wr_id of its completions.
  connection(rail& local, const rail_address& remote, const verbs_options& options,
             const route& route, std::uint32_t id);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  [[nodiscard]] int pe() const { return route_.pe; }
  [[nodiscard]] int lane() const { return route_.lane; }
  [[nodiscard]] std::size_t local_rail() const { return route_.local_rail; }
  [[nodiscard]] std::size_t remote_rail() const { return route_.remote_rail; }
  [[nodiscard]] rail& local() { return rail_; }
  [[nodiscard]] phase state() const { return state_; }
  [[nodiscard]] std::uint32_t queue() const { return queue_ ? queue_->qp_num : 0; }
  [[nodiscard]] std::uint32_t first_packet() const { return first_packet_; }
  [[nodiscard]] std::uint32_t joined_queue() const { return joined_queue_; }
  [[nodiscard]] std::size_t most_inline() const { return most_inline_; }
  [[nodiscard]] const rail_address& remote() const { return remote_; }
  /// The way to the peer's datagram queue; null, with errno set, if there is none.
  ibv_ah* path();

  /// Makes ready for a peer's queue pair. What went wrong; empty if nothing did.
  std::string join(std::uint32_t queue, std::uint32_t first_packet);
  void establish() { state_ = phase::established; }
  /// Ends it: what was under way is lost, and its buffers are free.
  void lose();

  /// Operations that may be added now.
  [[nodiscard]] int room() const { return depth - static_cast<int>(added_ - retired_) - reserved_; }
  void reserve(int change) { reserved_ += change; }
  /// Adds an operation, of which the caller fills in opcode, target and memory. Needs room() and a
  /// chain that is not full.
  ibv_send_wr& add(const operation& held);
  /// The memory of an operation that was added; null: it has none.
  void set_memory(ibv_send_wr& work, const void* start, std::size_t size, std::uint32_t key,
                  bool is_inline);
  /// Nothing is under way.
  [[nodiscard]] bool is_idle() const { return added_ == retired_; }
  /// The card will say the end of something, or that it failed.
  [[nodiscard]] bool awaits_card() const { return signaled_ > 0; }
  [[nodiscard]] bool has_chain() const { return chained_ != 0; }
  [[nodiscard]] bool chain_is_full() const { return chained_ == chain_.size(); }
  /// Gives what was added to the card; drops it if the connection is lost, which add() may have
  /// met. What went wrong, an errno; 0 if nothing did.
  int flush();

  /// The next operation that ended, up to the one whose completion has this wr_id. Null: no more.
  const operation* next_retired(std::uint64_t label);
  /// Takes it off, after next_retired.
  void retire();

  // Of whoever repeats hellos (rc_transport).
  bool wanted = false;  ///< something is to be sent
  clock::time_point give_up_at{}, repeat_at{};
  clock::duration repeat_after{};

  static constexpr int depth = 128;

 private:
  struct added_work {
    ibv_send_wr work;
    ibv_sge memory;
  };
  /// Frees what operations hold that no card carries out.
  void forget();

  rail& rail_;
  const rail_address& remote_;
  const verbs_options& options_;
  route route_;
  std::uint32_t id_;
  phase state_ = phase::opening;
  send_completions& completions_;
  owned_queue_pair queue_;
  owned_path path_;
  std::size_t most_inline_ = 0;
  std::uint32_t first_packet_ = 0;
  std::uint32_t joined_queue_ = 0;

  std::array<added_work, 16> chain_{};
  std::size_t chained_ = 0;
  std::vector<operation> operations_;  ///< by number modulo depth
  std::uint32_t added_ = 0;            ///< number of the next operation
  std::uint32_t retired_ = 0;          ///< number of the oldest one under way
  int reserved_ = 0;
  int silent_ = 0;    ///< operations added since one whose completion was asked for
  int signaled_ = 0;  ///< operations under way whose completion was asked for
};

}  // namespace heddle::verbs
