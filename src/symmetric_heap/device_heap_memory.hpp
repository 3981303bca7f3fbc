// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "device/cuda/gpu.hpp"
#include "symmetric_heap/descriptor_exchange.hpp"
#include "symmetric_heap/device_arena.hpp"
#include "symmetric_heap/heap_memory.hpp"

namespace heddle {

/// Heaps in the memory of GPUs, made of pieces of physical memory. Growing is a step of all PEs:
///
///     each PE                                     what ends it, on all PEs alike
///     makes a piece of its device's memory,
///       maps it into its own slot
///     tells whether it could         (all_gather)  one could not: all give the piece back
///     passes it to the processes of its host,
///       maps theirs into their slots
///     tells whether it could         (all_gather)  one could not: all give all pieces back
///
/// so a heap that a device refuses memory is as large as before, on every PE, and stays usable. A
/// PE that cannot pass descriptors at all (ulimit -n) is lost to the job, and says why. What is
/// mapped stays so until the last PE of the process ends: others' kernels may use it. A PE whose
/// device mine cannot reach (no NVLink, no PCIe peer access) is not mapped.
class device_heap_memory final : public heap_memory {
 public:
  struct options {
    std::size_t bytes = 0;                       ///< that have memory on return, which is zero
    std::size_t stride = 0;                      ///< rounded up to what the devices need
    deadline until;                              ///< of making it
    std::chrono::duration<double> timeout{300};  ///< of growing it
  };

  /// Collective over the bootstrap's ranks. The device outlives it.
  device_heap_memory(bootstrap& bootstrap, const gpu::gpu& device, const options& options);
  void grow_to(std::size_t bytes) override;
  void zero(std::byte* at, std::size_t bytes, std::size_t known) override;
  void empty(std::byte* at, std::size_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;

  [[nodiscard]] std::size_t registration_unit() const override { return unit_; }
  void require_adoptable(const void* buffer, std::size_t bytes) const override;
  void adopt(void* buffer, std::size_t bytes, std::byte* alias) override;
  void give_back(void* buffer, std::size_t bytes, const std::byte* alias) override;

  /// Why `pe` is not mapped, if it is not.
  [[nodiscard]] const std::string& why_not_mapped(int pe) const {
    return peers_[static_cast<std::size_t>(pe)].why_not_mapped;
  }

 private:
  struct peer {
    gpu::device_uuid uuid{};
    int ordinal = -1;         ///< in this process; -1 if CUDA does not show it here
    int slot = -1;            ///< of the PEs of this host, mapped or not
    std::vector<int> access;  ///< devices of this process that reach it
    std::string why_not_mapped;
  };
  struct piece {
    std::size_t offset;
    std::size_t bytes;
    std::vector<int> slots;  ///< that this PE has mapped it in
  };

  void meet_peers(std::size_t stride, deadline until);
  [[nodiscard]] std::string why_apart(const peer& peer, bool same_host) const;
  void add_piece(std::size_t bytes, deadline until);
  [[nodiscard]] unique_fd make_piece(piece& piece) const;
  std::map<int, unique_fd> pass(const unique_fd& mine, deadline until);
  void map_peers(piece& piece, const unique_fd& mine, deadline until);
  /// Throws on every rank if `work` has thrown on any, with that rank's error.
  template <class Work>
  void together(Work work, deadline until);

  bootstrap& bootstrap_;
  const gpu::gpu& device_;
  const std::chrono::duration<double> timeout_;
  descriptor_exchange exchange_;
  std::vector<rank_process> ranks_;
  std::vector<peer> peers_;  ///< by PE, this one's too
  std::size_t unit_ = 0;     ///< the coarsest granularity of all devices
  std::shared_ptr<device_arena> arena_;
};

}  // namespace heddle
