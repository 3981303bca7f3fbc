// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "device/device.hpp"
#include "host/live_handle.hpp"
#include "host/pe_device.hpp"
#include "host/pe_network.hpp"
#include "host/team.hpp"
#include "host/team_memory_pool.hpp"
#include "support/environment.hpp"
#include "symmetric_heap/symmetric_heap.hpp"

/// What the C handles of a stream and an event point to.
struct heddle_stream : heddle::live_handle {
  heddle_stream(heddle_runtime& owner, std::unique_ptr<heddle::exec::stream> made)
      : runtime(owner), queue(std::move(made)) {}
  heddle_runtime& runtime;
  std::unique_ptr<heddle::exec::stream> queue;
};
struct heddle_event : heddle::live_handle {
  heddle_event(heddle_runtime_t owner, std::shared_ptr<heddle::exec::event> made)
      : runtime(owner), point(std::move(made)) {}
  heddle_runtime_t runtime;  ///< may be gone
  std::shared_ptr<heddle::exec::event> point;
};

/// One PE: owns its bootstrap, heap, device and teams. What the C handle points to.
struct heddle_runtime : heddle::live_handle {
 public:
  heddle_runtime(heddle::environment environment, std::unique_ptr<heddle::bootstrap> bootstrap);
  ~heddle_runtime();
  heddle_runtime(const heddle_runtime&) = delete;
  heddle_runtime& operator=(const heddle_runtime&) = delete;

  [[nodiscard]] int my_pe() const { return bootstrap_->rank(); }
  [[nodiscard]] int n_pes() const { return bootstrap_->size(); }
  [[nodiscard]] const heddle::environment& environment() const { return environment_; }
  [[nodiscard]] heddle::bootstrap& bootstrap() const { return *bootstrap_; }
  [[nodiscard]] heddle::symmetric_heap& heap() const { return *heap_; }
  [[nodiscard]] heddle::pe_device& place() const { return *device_; }
  [[nodiscard]] heddle::exec::device& device() const { return device_->executor(); }
  /// Symmetric memory of the host, beside a heap in GPU memory or the same. Its slots are as far
  /// apart as the heap's, so kernels find the others' copies of its objects as they find those.
  [[nodiscard]] heddle::symmetric_heap& host_heap() const {
    return host_heap_ ? *host_heap_ : *heap_;
  }
  /// The heap that the address may be in.
  [[nodiscard]] heddle::symmetric_heap& heap_of(const void* address) const {
    return host_heap_ && host_heap_->memory().meets(address, 1) ? *host_heap_ : *heap_;
  }
  /// Whether host threads load and store that symmetric object.
  [[nodiscard]] bool is_on_host(const void* symmetric) const {
    return &heap_of(symmetric) == &host_heap();
  }
  /// Whether teams have memory for rings and trees.
  [[nodiscard]] bool has_links() const;
  /// Where teams meet on the host.
  [[nodiscard]] const heddle::heap_memory& control() const { return host_heap().memory(); }
  [[nodiscard]] heddle::team_memory_pool& team_places() { return *team_places_; }
  /// Where their kernels do: the same places, in the heap.
  [[nodiscard]] heddle::team_memory_pool& kernel_places() {
    return kernel_places_ ? *kernel_places_ : *team_places_;
  }
  /// Null where memory reaches all PEs, or there is no network.
  [[nodiscard]] heddle::pe_network* network() const { return network_.get(); }
  /// Its slot if it and this PE map each other; -1 where one does not map the other: both go by the
  /// network then, and by protocols for it.
  [[nodiscard]] int slot_of(int pe) const {
    const int slot = heap_->slot_of(pe);
    const bool is_shared =
        slot >= 0 && (!network_ || network_->mapped().map_each_other({my_pe(), pe}));
    return is_shared ? slot : -1;
  }
  /// Why there is none, though there are PEs that memory does not reach.
  [[nodiscard]] const std::string& why_no_network() const { return why_no_network_; }
  [[nodiscard]] heddle_team& world() { return *world_; }
  [[nodiscard]] heddle_team& node() { return *node_; }
  /// Of the last cache of this machine.
  [[nodiscard]] std::size_t cache_bytes() const { return cache_bytes_; }
  /// What plans know of the machine.
  [[nodiscard]] const heddle::tuning& tuning() const { return tuning_; }
  /// Whether somewhere PEs share processors, on the host device.
  [[nodiscard]] bool is_crowded() const { return is_crowded_; }
  /// Polls of a host thread before it yields.
  /// See HEDDLE_SPIN.
  [[nodiscard]] std::uint32_t spin() const { return static_cast<std::uint32_t>(environment_.spin); }

  [[nodiscard]] heddle::deadline wait_deadline() const {
    return heddle::deadline::after(std::chrono::duration<double>(environment_.timeout));
  }

  /// All PEs of the world have arrived: over memory where all are mapped, else by the bootstrap.
  void barrier();
  /// Whatever this PE has put is there, in all contexts, or the world has failed.
  void complete_puts();

  heddle_team* add_team(std::unique_ptr<heddle_team> team);
  /// Throws if this PE has destroyed it: a team stays until all its members have.
  void require_not_destroyed(const heddle_team& team) const;
  /// Destroys a team that has been retired. Its place is free again when all members have left it.
  void remove_team(heddle_team* team);
  /// A bit for each team place that no team of this PE has, nor a member of one that it had.
  [[nodiscard]] std::uint64_t free_team_places();

  /// For a team that this PE proposes: of no other team of the job.
  [[nodiscard]] std::uint64_t new_team_id() {
    return ++proposed_teams_ * static_cast<std::uint64_t>(n_pes()) +
           static_cast<std::uint64_t>(my_pe());
  }

  heddle_stream* add_stream(std::unique_ptr<heddle::exec::stream> made);
  void destroy_stream(heddle_stream* stream);
  /// The queue of a handle; NULL is the default stream.
  [[nodiscard]] heddle::exec::stream& queue(heddle_stream_t stream) const {
    if (!stream) return device().default_stream();
    const auto& known = heddle::required(stream, "a call on a stream", "stream");
    if (&known.runtime != this)
      heddle::throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                          "a call on a stream: it is a stream of PE {}'s runtime, and the call is "
                          "one of PE {}'s",
                          known.runtime.my_pe(), my_pe());
    return *known.queue;
  }
  /// Throws if work on a stream of this runtime calls, which `function` would wait for.
  void require_no_work_of_streams(const char* function) const;
  /// Waits for the work that is now on those of `queues` that are still there.
  void drain(const std::vector<const heddle::exec::stream*>& queues);
  /// Waits for a stream's work. Throws its first error: see heddle_stream_synchronize.
  void synchronize(heddle::exec::stream& queue);

  [[nodiscard]] bool is_lost(int pe) const;
  /// How and why a PE of the world was lost; "" if it was not.
  [[nodiscard]] std::string loss_of(int pe) const;

  /// Ends with the other PEs, after the work on streams.
  void leave_in_order();
  /// Ends at once: the other PEs are told, and this PE's waits end.
  void leave_in_disorder(const std::string& reason);

 private:
  /// Waits for what is on any stream. Errors have been told, or are the teams'.
  void end_streams();
  void preload_kernels();
  [[nodiscard]] heddle::heap_options options_of_heap(std::size_t internal_bytes) const;
  void make_host_heap(std::size_t internal_bytes);
  void note_lost(int pe, std::string_view reason);
  void end_teams_of(int pe);
  void pe_lost(int pe, std::string_view reason);
  void join_network(std::size_t internal_bytes);
  void network_failed(int pe, const std::string& reason);

  heddle::environment environment_;
  std::unique_ptr<heddle::bootstrap> bootstrap_;
  std::unique_ptr<heddle::symmetric_heap> host_heap_;  ///< beside a heap that is not host memory
  std::unique_ptr<heddle::pe_device> device_;
  std::unique_ptr<heddle::symmetric_heap> heap_;
  std::unique_ptr<heddle::team_memory_pool> team_places_;
  std::unique_ptr<heddle::team_memory_pool> kernel_places_;  ///< where the heap has its own
  std::size_t cache_bytes_ = 0;
  heddle::tuning tuning_{};
  bool is_crowded_ = false;

  mutable std::mutex mutex_;  ///< guards what the bootstrap's thread sees: teams_, lost_
  std::vector<std::unique_ptr<heddle_team>> teams_;
  std::map<int, std::string> lost_;
  std::vector<std::unique_ptr<heddle_team>> left_teams_;  ///< not yet by all members
  std::uint64_t proposed_teams_ = 0;
  /// Ends before the teams: its thread tells them of losses.
  std::unique_ptr<heddle::pe_network> network_;
  std::string why_no_network_;
  heddle_team* world_ = nullptr;
  heddle_team* node_ = nullptr;
  std::vector<std::unique_ptr<heddle_stream>> streams_;
};
