// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "device/cuda/physical_memory.hpp"
#include "support/unique_fd.hpp"
#include "symmetric_heap/descriptor_exchange.hpp"

namespace heddle {

/// Passes GPU memory between the processes of a job: file descriptors over sockets of one host,
/// fabric handles through the bootstrap.
class handle_exchange {
 public:
  /// `ranks`: by PE.
  handle_exchange(bootstrap& bootstrap, const gpu::driver& driver, descriptor_exchange& descriptors,
                  const std::vector<rank_process>& ranks)
      : bootstrap_(bootstrap), driver_(driver), descriptors_(descriptors), ranks_(ranks) {}

  /// Memory in the form in which it goes to another process.
  struct shareable {
    CUmemAllocationHandleType kind = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    unique_fd descriptor;
    CUmemFabricHandle fabric{};
  };

  [[nodiscard]] shareable share(const gpu::physical_memory& memory, CUmemAllocationHandleType kind,
                                int device) const;
  /// Gives mine to the PEs of other processes and gets theirs, by PE: of this host, or with fabric
  /// handles of all. A PE that cannot pass descriptors at all (ulimit -n) is lost to the job, and
  /// says why: others wait for it here.
  std::map<int, shareable> pass(const shareable& mine, deadline until);
  /// `of`: whose memory it is, for errors.
  [[nodiscard]] gpu::physical_memory take(const shareable& theirs, const std::string& of) const;

 private:
  bootstrap& bootstrap_;
  const gpu::driver& driver_;
  descriptor_exchange& descriptors_;
  const std::vector<rank_process>& ranks_;
};

}  // namespace heddle
