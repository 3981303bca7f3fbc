// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/deadline.hpp"

namespace heddle {

/// How the PEs of a job find each other before there is any memory in common, and how they learn
/// that one of them is gone. Implementations: PMIx, unique id over TCP, threads of a process.
///
/// One thread calls the collectives, in the same order on every rank. The lost callback runs on a
/// thread of the bootstrap. A rank that is gone ends every pending and later collective with
/// HEDDLE_ERROR_PEER_LOST and its number; a deadline that passes ends it with HEDDLE_ERROR_TIMEOUT
/// and the numbers of the ranks that have not arrived.
class bootstrap {
 public:
  using bytes = std::vector<std::byte>;
  using secret = std::array<std::byte, 32>;
  /// `rank` is gone; `reason` says how it was noticed.
  struct loss {
    int rank;
    std::string reason;
  };
  using lost_callback = std::function<void(int rank, std::string_view reason)>;

  virtual ~bootstrap() = default;
  bootstrap() = default;
  bootstrap(const bootstrap&) = delete;
  bootstrap& operator=(const bootstrap&) = delete;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// "pmix", "unique id" or "threads".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Unique among jobs on any machine at any time; letters, digits, '.', '-' and '_' only.
  [[nodiscard]] virtual std::string_view job_id() const = 0;
  /// Known to the ranks of the job alone. Proves membership to a peer.
  [[nodiscard]] virtual const secret& job_secret() const = 0;
  /// The host identity (see host_identity.hpp) of `rank`: equal strings share memory.
  [[nodiscard]] virtual std::string_view host_of(int rank) const = 0;

  /// Every rank's `mine`, in rank order. Sizes may differ between ranks.
  virtual std::vector<bytes> all_gather(std::span<const std::byte> mine, deadline until) = 0;
  /// Returns after every rank has called it.
  virtual void barrier(deadline until) = 0;

  /// Calls back once for each rank that is lost, also for those lost before this call. An empty
  /// function stops the calls: after that returns, none is running.
  virtual void on_lost(lost_callback callback) = 0;
  /// The loss that was noticed first here.
  [[nodiscard]] virtual std::optional<loss> first_loss() const = 0;
  /// Tells the others that `rank` is gone (found by other means, such as a process handle).
  virtual void report_lost(int rank, std::string_view reason) = 0;
  /// Leaves in good order: from now on, the end of this process is not a loss to the others.
  /// Not collective; called after the last collective.
  virtual void leave() = 0;
  /// Whether the news has come that `rank` left in good order.
  [[nodiscard]] virtual bool has_left(int rank) const = 0;
};

/// How many ranks of this one's host come before it.
inline int local_rank(const bootstrap& bootstrap) {
  int before = 0;
  for (int rank = 0; rank < bootstrap.rank(); ++rank)
    before += bootstrap.host_of(rank) == bootstrap.host_of(bootstrap.rank()) ? 1 : 0;
  return before;
}

}  // namespace heddle
