// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <heddle/device/backoff.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/transport/transport.hpp"

namespace heddle::conformance {

inline void expect(bool condition, const std::string& text) {
  if (!condition) throw std::runtime_error(text);
}

/// Keeps what a transport told.
class record final : public transport::listener {
 public:
  void on_message(std::span<const std::byte> message) override;
  void on_write(std::uint32_t immediate) override { ++arrived[immediate]; }
  void on_complete(std::uint64_t token, std::uint64_t value) override;
  void on_failure(int pe, const std::string& reason) override;
  void on_left(int pe) override { left.insert(pe); }

  std::deque<std::vector<std::byte>> messages;
  std::unordered_map<std::uint32_t, int> arrived;
  std::unordered_map<std::uint64_t, std::uint64_t> completed;
  std::map<int, std::string> failures;
  std::set<int> left;

  /// Hands what is in `messages`, and all that comes, to `take`: a peer may be a step ahead, and
  /// its first messages here already.
  void give_messages_to(std::function<void(std::span<const std::byte>)> take);

 private:
  std::function<void(std::span<const std::byte>)> when_message_;
};

class job;

/// Between two looks at a network. What many looks have not found is mostly a deadline, seconds
/// away: other tests get the processor. The naps are short, since networks send again in between.
class pacing {
 public:
  void after(bool moved) {
    if (moved)
      patience_ = backoff(64);
    else
      patience_.pause(pause_processor, [](std::uint64_t) { sleep_ns(100'000); });
  }

 private:
  backoff patience_{64};
};

/// One PE of a test, driven by a thread of its own. Every wait makes progress and ends with an
/// exception after a deadline, or once another PE has failed.
class test_pe {
 public:
  test_pe(job& all, int pe);

  [[nodiscard]] int pe() const { return pe_; }
  [[nodiscard]] int n_pes() const;
  [[nodiscard]] transport& network() { return *network_; }
  [[nodiscard]] std::span<std::byte> heap() { return heap_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  record told;

  /// Until `done`.
  void wait(const std::string& what, const std::function<bool()>& done);
  /// As wait, making no progress.
  void sleep_until(const std::string& what, const std::function<bool()>& done);
  /// Until all PEs are here.
  void meet();
  /// Exposes [offset, offset + size) of the heap as region 0 and learns of the others'. All call
  /// it.
  void expose(std::size_t offset, std::size_t size);
  /// Local memory for reads and writes, registered where that is needed.
  std::span<std::byte> local(std::size_t size);

  /// Fills and posts a message, with progress until the network takes it.
  void send(int pe, std::span<const std::byte> message, int lane = 0);
  std::vector<std::byte> receive();
  /// Posts a write, with progress until the network takes it; returns its token. What is longer
  /// than the network takes in one goes in pieces.
  void write(const remote_place& to, std::span<const std::byte> from, bool wait = true);
  void read(std::span<std::byte> to, const remote_place& from);
  std::uint64_t atomic(network_atomic op, const remote_place& word, std::uint64_t value,
                       std::uint64_t compare = 0);
  std::uint64_t next_token() { return ++last_token_; }
  /// What this PE's next counted write to `pe` carries: PE and number.
  std::uint32_t next_immediate(int pe);
  /// Ends this PE's use of the network, as its death would.
  void leave() { network_.reset(); }

 private:
  job& all_;
  int pe_;
  std::uint64_t seed_;
  std::vector<std::byte> heap_;
  std::vector<std::vector<std::byte>> locals_;
  std::uint64_t last_token_ = 0;
  std::map<int, std::uint32_t> immediates_;
  std::unique_ptr<transport> network_;  ///< ends before what it may use until then
};

struct job_options {
  int n_pes = 2;
  std::size_t heap_bytes = 1 << 20;
  double timeout = 60;  ///< of the transports
  double deadline = 30;
  bool meets_at_end = true;
};

/// Runs `body` on n PEs as threads, after all addresses were given to all; throws what the first PE
/// to fail threw, with the seed in its text.
void run_job(const job_options& options, const std::function<void(test_pe&)>& body);

/// Bytes that differ by place, sender and round.
std::byte pattern(std::size_t index, std::uint64_t salt);
void fill(std::span<std::byte> out, std::uint64_t salt);
/// Throws with the first place that differs.
void expect_filled(std::span<const std::byte> bytes, std::uint64_t salt, const std::string& what);

}  // namespace heddle::conformance
