// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

/// This process's connection to the PMIx server that launched it. A launcher knows a process as one
/// rank: the caller sees to it that there is at most one session at a time (process_slot.hpp).
///
/// What is known of launchers shapes it: everything is published before one fence, the fence
/// collects data (a plain one may return at once), and it is not taken for a barrier: each rank's
/// block is asked for until the deadline. No call that has no deadline of its own is made on the
/// caller's thread.
class pmix_session {
 public:
  using bytes = bootstrap::bytes;

  /// Throws HEDDLE_ERROR_INVALID_USAGE if no server answers, or if a session of this process has
  /// published and not joined: others may have seen that one, and wait for no other.
  /// HEDDLE_ERROR_TIMEOUT, HEDDLE_ERROR_SYSTEM.
  explicit pmix_session(deadline until);
  /// Closes the connection if close() was not called.
  ~pmix_session();
  pmix_session(const pmix_session&) = delete;
  pmix_session& operator=(const pmix_session&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// The launcher's name of the job.
  [[nodiscard]] const std::string& job() const { return job_; }

  /// Every rank's `mine`. Once for each session. Throws HEDDLE_ERROR_TIMEOUT,
  /// HEDDLE_ERROR_PEER_LOST with a rank that the launcher says has ended.
  std::vector<bytes> exchange(std::span<const std::byte> mine, deadline until);

  /// Every rank has joined the job for which this one has published.
  void note_joined();

  /// The launcher's news of ended processes, on a thread of the PMIx library; what came before the
  /// call, in it. Few launchers send any.
  using process_ended = std::function<void(int rank, const std::string& why)>;
  void on_process_ended(process_ended callback);

  /// The first of those processes, until a callback is set.
  [[nodiscard]] static std::optional<bootstrap::loss> first_ended();

  /// Leaves the launcher's care in good order; safe to call again.
  void close();

 private:
  struct connection;

  /// Has the launcher bring together what all ranks have published.
  void fence(deadline until);
  void throw_if_ended() const;

  std::unique_ptr<connection> connection_;
  int rank_ = -1;
  int size_ = 0;
  std::string job_;
};

}  // namespace heddle
