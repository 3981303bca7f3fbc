// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

/// Joins the job of the PMIx launcher that started this process (srun --mpi=pmix, mpirun,
/// heddle-run). Collective over the job. PMIx hands round one block of each rank; all else goes
/// over connections between the ranks. `socket_ifname` as HEDDLE_SOCKET_IFNAME.
///
/// Throws HEDDLE_ERROR_INVALID_USAGE if no PMIx server is there or this process's rank is in use,
/// HEDDLE_ERROR_TIMEOUT with the ranks that did not arrive, HEDDLE_ERROR_SYSTEM for PMIx's own
/// errors, HEDDLE_ERROR_NOT_SUPPORTED where heddle was built without PMIx.
std::unique_ptr<bootstrap> join_pmix_job(const std::string& socket_ifname, deadline until);

}  // namespace heddle
