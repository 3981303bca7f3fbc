// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <heddle/error.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "coll/domains.hpp"
#include "coll/plan.hpp"
#include "coll/team_order.hpp"
#include "device/device.hpp"
#include "device/host_kernel.hpp"
#include "host/collective_order.hpp"
#include "host/exchange_calls.hpp"
#include "host/live_handle.hpp"
#include "host/reduction_calls.hpp"
#include "host/team_members.hpp"
#include "host/team_memory_pool.hpp"
#include "host/transfer_calls.hpp"

/// A team: what the C handle points to. Its members meet at one place of the team memory pool.
struct heddle_team : heddle::live_handle {
 public:
  enum class kind { world, node, split };

  /// `world_pes` are its members in order; `place` is theirs in the pool. `id` is known to all of
  /// them, and no other team has it that one of them was or will be in.
  heddle_team(heddle_runtime& runtime, kind kind, std::string name, std::vector<int> world_pes,
              int place, std::uint64_t id);
  ~heddle_team();
  heddle_team(const heddle_team&) = delete;
  heddle_team& operator=(const heddle_team&) = delete;

  [[nodiscard]] heddle_runtime& runtime() const { return runtime_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int my_pe() const { return ref_.my_pe(); }
  [[nodiscard]] int n_pes() const { return ref_.n_pes(); }
  [[nodiscard]] const std::vector<int>& world_pes() const { return members_.world_pes(); }
  /// The index of a PE of the world; -1 if it is not a member.
  [[nodiscard]] int index_of(int world_pe) const { return members_.index_of(world_pe); }
  /// For kernels: its words are in the heap.
  [[nodiscard]] const heddle::team_ref& ref() const { return ref_; }
  /// For host threads: its words are in host memory, which is where ref's are on the host device.
  [[nodiscard]] const heddle::team_ref& host_ref() const { return host_ref_; }

  /// Where this process and its device reach `pe`'s copy of an object of the heap.
  [[nodiscard]] void* address_at(const void* symmetric, int pe) const;
  /// Throws HEDDLE_ERROR_NOT_SUPPORTED, naming a PE, unless this process can reach every member.
  void require_reachable(const char* function) const {
    if (!is_reachable_) [[unlikely]]
      throw_unreachable(function);
  }
  [[nodiscard]] bool is_mapped(int pe) const { return members_.is_mapped(pe); }

  /// Throws the error that has aborted the team, if one has. A load when all is well.
  void check() const {
    if (ref().aborted()) [[unlikely]]
      throw_failure();
  }
  /// Whether synchronize is to tell of the abort on a stream: once, where the team is or may be
  /// used.
  [[nodiscard]] bool has_news_for(const heddle::exec::stream& queue) const;
  void set_told_on(const heddle::exec::stream& queue) { told_on_.push_back(&queue); }
  /// Ends all waits of the team on all PEs, and waits for nothing itself. The first reason of a PE
  /// stays: what follows from it may come before another has read it. Who waits here is told last,
  /// and may end the team then.
  void abort(heddle::abort_code code, const std::string& reason);
  /// What `pe` gave as its reason.
  [[nodiscard]] std::string abort_text(int pe) const;
  /// A member is gone: ends the waits on this PE. Called by the bootstrap's thread.
  void member_lost(int world_pe);
  /// What kernels of `pe`, whose memory is mapped, look at beside its abort word, after that: a
  /// write to a GPU may take as long as what runs there and has not been told yet.
  void raise_alarm(int pe) const;

  /// Runs `work(queue)`, which enqueues one collective, in the order of the calls for this team,
  /// whatever the streams: they share the team's scratch and barriers, and all PEs make them in the
  /// same order.
  template <class Work>
  void enqueue_collective(heddle::exec::stream& queue, Work work) {
    order_.enqueue(queue, work);
    used_on(queue);
  }
  /// A collective's kernel: at once on the default stream, and complete on return.
  void launch_collective(heddle::exec::launch_shape shape, const heddle::exec::kernel& kernel,
                         const void* arguments, std::size_t bytes, heddle_stream_t stream) {
    start_collective(shape, kernel, arguments, bytes, stream);
    complete(stream);
  }
  /// The same in two parts, for several that need each other. A kernel that has begun and fails
  /// here alone, by what a user's reduction throws, say, ends the team: the PEs have counted the
  /// call apart, and what is of it would be taken for the next one's.
  void start_collective(heddle::exec::launch_shape shape, const heddle::exec::kernel& kernel,
                        const void* arguments, std::size_t bytes, heddle_stream_t stream) {
    if (on_host_ && !stream && shape.grid == 1 && shape.block == 1 && kernel.on_host &&
        !order_.is_pending()) {
      heddle::exec::run_kernel([&] { kernel.on_host(arguments, &heddle::one_thread_block); },
                               [this](const std::string& why) { collective_failed(why); });
      check();
    } else {
      put_on_stream(shape, kernel, arguments, bytes, stream);
    }
  }
  /// Waits for a GPU's default stream, whose work the host's has done already; for no other.
  void complete(heddle_stream_t stream) {
    if (!on_host_ && !stream) complete_default_stream();
  }
  /// Work that uses the team is put on `queue`: retire() waits for it.
  void used_on(const heddle::exec::stream& queue);
  [[nodiscard]] bool is_used_on(const heddle::exec::stream& queue) const;
  void forget(const heddle::exec::stream& gone);

  /// Every member's words, by a host call that all make. Collective.
  using words = std::array<std::uint64_t, 8>;
  std::vector<words> exchange(const words& mine) const;
  /// The same for one function, whose name takes word 0: throws HEDDLE_ERROR_MISMATCH, on all
  /// members, unless they call that one.
  std::vector<words> exchange_in(const char* function, words mine) const;
  /// HEDDLE_CHECK=1.
  [[nodiscard]] bool compares_calls() const { return compares_calls_; }
  /// Where it compares: throws HEDDLE_ERROR_MISMATCH, on all members, unless they make the same
  /// call. `told` says the words but for 0, which the function takes.
  void require_same_call(const char* function, const words& mine,
                         const std::function<std::string(const words&)>& told) const;

  /// Collective over this team; null for PEs outside.
  heddle_team* split_strided(int start, int stride, int size);
  heddle_team* split_color(int color, int key);
  /// Collective over the team: waits for what was put on streams, and for all PEs. An aborted team
  /// has no barrier any more; then a member may still be in it.
  void retire();
  /// After retire(): whether no living member uses the place any more.
  [[nodiscard]] bool all_have_left() const;
  [[nodiscard]] int place() const { return place_; }

  /// Throws HEDDLE_ERROR_INVALID_ARGUMENT unless it is one of the team's.
  void require_pe(const char* function, int root) const {
    if (root < 0 || root >= n_pes()) [[unlikely]]
      throw_no_pe(function, root);
  }
  /// What a plan for a collective of that many bytes depends on, the chooser's wishes too.
  [[nodiscard]] heddle::plan_question question(heddle::collective what, std::size_t bytes) const;
  /// As the functions of heddle.h. What was planned is planned anew, unless the channels alone are
  /// others: a program may give each call its own limit.
  void set_chooser(heddle_chooser_t chooser, void* user);
  void set_accumulate_f32(bool on);
  void set_max_channels(int channels);
  [[nodiscard]] int max_channels() const { return max_channels_; }
  [[nodiscard]] const heddle::team_order& ring_order() const { return members_.ring_order(); }
  [[nodiscard]] const heddle::team_domains& domains() const { return members_.domains(); }
  [[nodiscard]] bool accumulates_f32() const { return ref_.accumulates_f32(); }
  /// The collectives that combine.
  [[nodiscard]] heddle::reduction_calls& reductions() { return reductions_; }
  /// Those that combine nothing.
  [[nodiscard]] heddle::exchange_calls& exchanges() { return exchanges_; }
  [[nodiscard]] heddle::transfer_calls& transfers() { return transfers_; }

 private:
  [[noreturn]] void throw_failure() const;
  [[noreturn]] void throw_unreachable(const char* function) const;
  [[noreturn]] void throw_no_pe(const char* function, int root) const;
  void put_on_stream(heddle::exec::launch_shape shape, const heddle::exec::kernel& kernel,
                     const void* arguments, std::size_t bytes, heddle_stream_t stream);
  void collective_failed(const std::string& why);
  void complete_default_stream();
  void forget_plans();
  heddle_team* join_child(std::string name, const std::vector<int>& world_pes, int place,
                          std::uint64_t id) const;
  void meet() const;
  [[nodiscard]] heddle::team_topology topology() const;

  heddle_runtime& runtime_;
  const kind kind_;
  const std::string name_;
  const heddle::team_members members_;
  const int place_;
  const std::uint64_t id_;
  std::atomic<bool> abort_begun_{false};      ///< by this PE
  std::atomic<std::uint64_t> abort_told_{0};  ///< what others were told, once all were
  mutable std::mutex failure_guard_;
  mutable std::optional<heddle::error> failure_;  ///< as it was found at first
  bool met_at_the_end_ = false;
  heddle::collective_order order_;
  std::vector<const heddle::exec::stream*> queues_;  ///< on which it was used
  std::vector<const heddle::exec::stream*>
      told_on_;  ///< on which synchronize has told of the abort
  const heddle::team_ref host_ref_;
  // What each call asks.
  const bool on_host_;
  const bool compares_calls_;
  const bool is_reachable_;
  heddle::team_ref ref_;
  heddle_chooser_t chooser_ = nullptr;
  void* choosers_user_ = nullptr;
  int max_channels_ = 0;
  heddle::reduction_calls reductions_;
  heddle::exchange_calls exchanges_;
  heddle::transfer_calls transfers_;
};
