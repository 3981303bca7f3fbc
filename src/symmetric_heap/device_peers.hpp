// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "device/cuda/gpu.hpp"
#include "symmetric_heap/descriptor_exchange.hpp"
#include "symmetric_heap/handle_choice.hpp"

namespace heddle {

/// A PE of the job as this one sees it.
struct device_peer {
  gpu::device_uuid uuid{};
  int ordinal = -1;         ///< of its device in this process; -1 if CUDA does not show it here
  int slot = -1;            ///< in the arena of this process, mapped or not; -1 for none
  std::vector<int> access;  ///< devices of this process that reach it
  std::string why_not_mapped;
};

/// Whose heaps a PE can map, and what all of them need.
struct device_peers {
  std::vector<rank_process> ranks;  ///< by PE, as the others
  std::vector<device_peer> peers;
  handle_choice handles;  ///< by which memory goes to other processes
  int num_slots = 0;
  bool threads = false;    ///< whether another PE is a thread of this process
  bool processes = false;  ///< whether another PE is not: the same on all PEs
  std::size_t unit = 0;    ///< the coarsest granularity of all devices

  /// Tells every PE of this one's device and learns of theirs. Collective.
  static device_peers meet(bootstrap& bootstrap, const gpu::gpu& device,
                           descriptor_exchange& exchange, const handle_options& options,
                           deadline until);

  [[nodiscard]] const device_peer& operator[](int pe) const {
    return peers[static_cast<std::size_t>(pe)];
  }
  /// By PE; -1 for those that are not mapped.
  [[nodiscard]] std::vector<int> mapped_slots() const;
};

}  // namespace heddle
