// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "device/cuda/gpu.hpp"
#include "device/cuda/nvlink_domain.hpp"
#include "symmetric_heap/descriptor_exchange.hpp"

namespace heddle {

struct handle_options {
  bool fabric = true;         ///< use fabric handles where all PEs can
  bool across_hosts = false;  ///< map PEs of other hosts with them
};

/// In which form the PEs of a job pass GPU memory to each other: as file descriptors, or as fabric
/// handles, which also reach other hosts of an NVLink domain. A device that has these may still
/// refuse them (there is no IMEX channel for the process, or another one than the peer's), so each
/// PE makes and takes some first.
struct handle_choice {
  CUmemAllocationHandleType kind = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  std::string why_not_fabric;                              ///< the same on all PEs
  bool across_hosts = false;                               ///< whether memory goes to other hosts
  std::vector<std::optional<gpu::nvlink_domain>> domains;  ///< by PE, where it does
  std::string why_no_domain;                               ///< of this PE

  /// Collective. `options` and the outcome are the same on all PEs.
  static handle_choice make(bootstrap& bootstrap, const gpu::gpu& device,
                            const std::vector<rank_process>& ranks, const handle_options& options,
                            deadline until);

  /// Whether a device of PE `from` reaches another host's PE `to`.
  [[nodiscard]] bool in_one_domain(std::size_t from, std::size_t to) const {
    return across_hosts && domains[from] && domains[from] == domains[to];
  }
};

}  // namespace heddle
