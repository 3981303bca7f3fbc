// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "coll/domains.hpp"

namespace heddle::testing {

/// `each` PEs of a domain, dealt in turn, or the first ones of the first domain and so on.
inline team_domains domains_of(int n_pes, int each, bool in_turn) {
  std::vector<int> domain_of;
  const int count = (n_pes + each - 1) / each;
  for (int pe = 0; pe < n_pes; ++pe) domain_of.push_back(in_turn ? pe % count : pe / each);
  return find_domains(domain_of);
}

}  // namespace heddle::testing
