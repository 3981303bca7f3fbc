// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <heddle/device/proxy_ref.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "host/proxy/command_engine.hpp"
#include "host/proxy/command_queue.hpp"
#include "host/proxy/drive_lock.hpp"
#include "host/proxy/message_row.hpp"
#include "host/transport/transport.hpp"
#include "support/deadline.hpp"
#include "support/unique_fd.hpp"

namespace heddle {

/// Carries the commands of a PE's kernels and host calls to a transport.
///
/// One thread at a time drives: takes commands from the queues, lets the engine carry them out, and
/// moves the network on. A host thread that waits for something, or has just posted a command,
/// drives itself (help): no other thread need be woken, which costs more than a hop between hosts.
/// One that has waited long naps until the network brings something, or for a while. The proxy's
/// own thread drives when nobody else does. It sleeps
///
///     until something comes   while all is quiet: for an event of the network or the doorbell
///     for a tick              while others drive: it looks now and then whether they still do
class proxy {
 public:
  struct options {
    command_engine::options engine;
    int contexts = 1;
    /// Queues that a GPU fills, which cannot ring a doorbell: the proxy looks by itself.
    bool looks_by_itself = false;
    /// Memory for queues, zero: shared with the device; and for what producers change, in its
    /// own memory.
    std::function<std::shared_ptr<void>(std::size_t bytes)> make_shared_memory;
    std::function<std::shared_ptr<void>(std::size_t bytes)> make_device_memory;
    proxy_ref::region regions[proxy_ref::max_regions] = {};
    /// Called by whichever thread drives.
    command_engine::failure_callback on_failure;
  };

  proxy(std::unique_ptr<transport> network, const options& options);
  ~proxy();
  proxy(const proxy&) = delete;
  proxy& operator=(const proxy&) = delete;

  /// For host threads, and what kernels' is copied from.
  [[nodiscard]] const proxy_ref& host_ref() const { return host_ref_; }
  [[nodiscard]] const proxy_ref& kernel_ref() const { return kernel_ref_; }
  [[nodiscard]] const transport::traits& about() const { return network_->about(); }

  // See command_engine.
  void add_memory(int region, std::uint64_t offset, std::byte* start, std::size_t size);
  void remove_memory(int region, std::uint64_t offset, std::size_t size);
  void expose(int region, std::uint64_t offset, std::byte* start, std::size_t size);
  void conceal(int region, std::uint64_t offset);
  void drop_peer(int pe);
  [[nodiscard]] std::string describe(int pe);
  [[nodiscard]] std::vector<int> awaited();
  [[nodiscard]] bool reaches_gpu();
  /// Reads words of 8 bytes of a peer's memory, whatever has become of its teams: for reports.
  /// False if it has not answered in time.
  [[nodiscard]] bool peek(int pe, symmetric_place from, std::span<std::uint64_t> to,
                          deadline until);

 private:
  struct queue_memory {
    std::shared_ptr<void> shared;
    std::shared_ptr<void> head;
    std::unique_ptr<command_queue> queue;
  };

  class turn;

  void add_queues(const options& options, bool for_host, proxy_ref& ref);
  void help();
  void serve();
  void notice();
  void serve_row(std::size_t bytes);
  bool drive();
  /// Whether somebody has asked to look again meanwhile.
  bool end_and_tell(turn& mine);
  bool drive_instead();
  void wake_for_taken_events();
  void break_down(const std::exception& broken);
  void run();
  void sleep();
  void wait_a_tick(bool may_be_long);
  void nap(std::chrono::nanoseconds most);
  void settle();
  bool wait_for_events(std::chrono::nanoseconds most);
  /// In a turn: whether an event will tell of all that comes from now on; none if there
  /// is something to do already.
  [[nodiscard]] std::optional<bool> events_will_tell();
  /// Waits for the doorbell, and for the network if `also_network`.
  void wait(bool also_network, std::chrono::nanoseconds most);
  void ring();

  const std::unique_ptr<transport> network_;
  const bool looks_by_itself_;
  command_engine engine_;
  std::vector<queue_memory> queues_;
  proxy_ref host_ref_{};
  proxy_ref kernel_ref_{};

  struct failure {
    int pe;
    std::string reason;
  };

  drive_lock driving_;
  message_row row_;
  std::vector<failure> failures_;  ///< to be told at the end of the turn
  bool is_broken_ = false;         ///< something has thrown: nobody is reached any more
  const command_engine::failure_callback on_failure_;
  std::atomic<std::uint32_t> helped_{0};
  std::atomic<int> nappers_{0};
  std::uint32_t drivers_ = 0;           ///< proxy_ref::drivers
  std::atomic<bool> is_asleep_{false};  ///< until something comes
  std::atomic<bool> ends_{false};
  // Of the proxy's thread:
  std::uint32_t helped_before_ = 0;
  bool owes_a_look_ = false;  ///< to somebody who asked or rang
  std::chrono::nanoseconds tick_{};
  std::chrono::nanoseconds lateness_{};  ///< of ticks, on average
  std::chrono::steady_clock::time_point moved_at_{};
  unique_fd doorbell_;
  std::thread thread_;
};

}  // namespace heddle
