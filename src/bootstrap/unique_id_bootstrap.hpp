// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <memory>
#include <string>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

/// A new id: this machine's addresses on the interface that `socket_ifname` (as
/// HEDDLE_SOCKET_IFNAME) picks, a port, and a random secret. The process listens there from now on,
/// until rank 0 joins with the id.
///
///     128 bytes: version (16 bits) | secret (32 bytes) | number of addresses (8 bits) | addresses
heddle_unique_id_t make_unique_id(const std::string& socket_ifname);

/// Joins the job of `id` as `rank` of `size`. Collective. Throws HEDDLE_ERROR_INVALID_ARGUMENT for
/// what is no id, or a rank outside, HEDDLE_ERROR_INVALID_USAGE for rank 0 in another process than
/// the one that made the id, HEDDLE_ERROR_TIMEOUT with the ranks that did not come.
std::unique_ptr<bootstrap> join_unique_id(const heddle_unique_id_t& id, int rank, int size,
                                          const std::string& socket_ifname, deadline until);

struct torchrun_options {
  std::string socket_ifname;
  std::string job_secret;   ///< HEDDLE_JOB_SECRET
  int rendezvous_port = 0;  ///< HEDDLE_RENDEZVOUS_PORT; 0: MASTER_PORT + 1
};

/// Whether RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set.
bool torchrun_is_launcher();

/// Joins the job that torchrun's variables tell of. The ranks meet at MASTER_ADDR, on a port of
/// heddle's own, since torchrun's store has MASTER_PORT. The secret is derived from
/// HEDDLE_JOB_SECRET and the job's variables; without HEDDLE_JOB_SECRET, whoever can reach the port
/// and knows TORCHELASTIC_RUN_ID can join.
std::unique_ptr<bootstrap> join_torchrun_job(const torchrun_options& options, deadline until);

}  // namespace heddle
