// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "support/unique_fd.hpp"

namespace heddle {

/// Who runs where: what every rank tells of itself before memory is exchanged.
struct rank_process {
  bool same_host = false;     ///< can reach my abstract sockets
  bool same_process = false;  ///< is a thread of mine
  pid_t pid = 0;
  std::uint64_t nonce = 0;  ///< part of its socket's name
};

/// The side that others connect to; made before the all_gather that tells them of it.
class descriptor_exchange {
 public:
  /// `apart`: other PEs count as those of other hosts do (HEDDLE_P2P_DISABLE).
  explicit descriptor_exchange(bootstrap& bootstrap, bool apart = false);

  /// Tells every rank of this process and learns of theirs. Collective.
  std::vector<rank_process> introduce(deadline until);

  /// Passes `descriptor` to every rank of this host in another process and gets theirs: by rank.
  /// Each side checks the other's process (SO_PEERCRED: the pid it announced, the same user) and
  /// the job's secret; a stranger is dropped and logged. Throws HEDDLE_ERROR_PEER_LOST with a rank
  /// that ends meanwhile, HEDDLE_ERROR_TIMEOUT with the rank that has not come. Calls are told
  /// apart by a collective of the bootstrap between them.
  std::map<int, unique_fd> exchange(int descriptor, const std::vector<rank_process>& ranks,
                                    deadline until);

 private:
  bootstrap& bootstrap_;
  const bool apart_;
  std::uint64_t nonce_ = 0;
  unique_fd listener_;
};

}  // namespace heddle
