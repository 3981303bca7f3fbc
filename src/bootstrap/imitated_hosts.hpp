// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

/// The same job, whose PEs count as on hosts of `pes_per_host` each (HEDDLE_PES_PER_HOST), by
/// number: programs for several hosts can be tried on one. As it is where that is 0.
std::unique_ptr<bootstrap> imitate_hosts(std::unique_ptr<bootstrap> real, int pes_per_host);

/// The host whose memory and network these share, without the number of one that is imitated.
std::string_view real_host_of(std::string_view host);

}  // namespace heddle
