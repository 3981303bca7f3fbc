// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// In the place of pmix_bootstrap.cpp where there is no PMIx.

#include "bootstrap/pmix_bootstrap.hpp"
#include "support/throw_error.hpp"

namespace heddle {

std::unique_ptr<bootstrap> join_pmix_job(const std::string&, deadline) {
  throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
              "asked for the job of a PMIx launcher (PMIX_RANK is set); this heddle was built "
              "without PMIx; build it where libpmix-dev is, or start the PEs by torchrun's "
              "variables or a unique id, without PMIX_RANK");
}

}  // namespace heddle
