// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

struct bootstrap_options {
  std::string socket_ifname;  ///< as HEDDLE_SOCKET_IFNAME
  std::string job_secret;     ///< as HEDDLE_JOB_SECRET
  int rendezvous_port = 0;    ///< as HEDDLE_RENDEZVOUS_PORT
  deadline until;             ///< of the whole start
};

/// Joins the job that the environment tells of:
///   PMIX_NAMESPACE and PMIX_RANK               the PMIx launcher's;
///   RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT torchrun's (unique_id_bootstrap.hpp);
///   nothing of a launcher                      one PE alone, said at WARN.
/// Started as one of several tasks by a launcher that serves no PMIx (PMI_RANK, SLURM_PROCID, ...),
/// it throws HEDDLE_ERROR_INVALID_USAGE and says how to start, since each task would run alone. So
/// it does if the process is in that job already: what it returns holds the one place until
/// leave().
std::unique_ptr<bootstrap> bootstrap_from_environment(const bootstrap_options& options);

}  // namespace heddle
