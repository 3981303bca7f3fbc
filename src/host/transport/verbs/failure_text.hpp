// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <string>

namespace heddle::verbs {

/// What an operation that ended in `status` means and what to look at. `status_text` and
/// `vendor_error` are the library's and the card's own words, `peer` the peer's address.
std::string completion_failure(ibv_wc_status status, const std::string& status_text,
                               unsigned vendor_error, const std::string& peer);

/// Why registering `size` bytes failed with `error_number`, the limit on locked memory being
/// `memory_limit` (RLIM_INFINITY: none).
std::string registration_failure(std::size_t size, int error_number,
                                 unsigned long long memory_limit);

}  // namespace heddle::verbs
