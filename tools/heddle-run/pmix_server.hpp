// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace heddle::run {

/// The PMIx server of one job on this machine, by libpmix's server library. One at a time in a
/// process.
class pmix_server {
 public:
  /// A PE has called PMIx_Abort. Called on a thread of the library.
  using abort_callback = std::function<void(int rank, int status, std::string message)>;
  /// A PE has called PMIx_Init. Called on a thread of the library.
  using join_callback = std::function<void()>;
  /// What a PE has called last: nothing, PMIx_Init, PMIx_Finalize.
  enum class membership { none, joined, left };

  /// Serves `size` ranks; its files go into `folder`. Throws heddle::error with PMIx's own words.
  pmix_server(const std::string& folder, int size, abort_callback on_abort, join_callback on_join);
  ~pmix_server();
  pmix_server(const pmix_server&) = delete;
  pmix_server& operator=(const pmix_server&) = delete;

  /// The environment for a rank: `base`, changed as PMIx wants.
  [[nodiscard]] std::vector<std::string> environment_of(int rank,
                                                        const std::vector<std::string>& base) const;
  [[nodiscard]] membership membership_of(int rank) const;
  /// Tells the other ranks that this one is lost (PMIX_ERR_PROC_ABORTED).
  void announce_loss(int rank) const;

 private:
  std::string job_;
  int size_;
};

}  // namespace heddle::run
