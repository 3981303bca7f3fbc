// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "device/cuda/gpu.hpp"
#include "device/cuda/physical_memory.hpp"
#include "symmetric_heap/buffer_agreement.hpp"
#include "symmetric_heap/descriptor_exchange.hpp"
#include "symmetric_heap/device_arena.hpp"
#include "symmetric_heap/device_peers.hpp"
#include "symmetric_heap/handle_exchange.hpp"
#include "symmetric_heap/heap_memory.hpp"
#include "symmetric_heap/multicast_range.hpp"

namespace heddle {

/// Heaps in the memory of GPUs, made of pieces of physical memory. Growing is a step of all PEs:
///
///     each PE                                     what ends it, on all PEs alike
///     makes a piece of its device's memory,
///       maps it into its own slot
///     tells whether it could         (all_gather)  one could not: all give the piece back
///     passes it to the other processes,
///       maps theirs into their slots
///     tells whether it could         (all_gather)  one could not: all give all pieces back
///
/// so a heap that a device refuses memory is as large as before, on every PE, and stays usable. A
/// PE that cannot pass descriptors at all (ulimit -n) is lost to the job, and says why. What is
/// mapped stays so until the last PE of the process ends: others' kernels may use it. A PE whose
/// device mine cannot reach (no NVLink, no PCIe peer access) is not mapped.
///
///     slot:   | pieces, as it grows             ... | registered buffers                   ... |
///             0                            stride / 2                                     stride
///
/// A registered buffer's memory is the user's, mapped a second time, by the same steps: one for
/// each of the allocations that it consists of.
class device_heap_memory final : public heap_memory {
 public:
  struct options {
    std::size_t bytes = 0;                       ///< that have memory on return, which is zero
    std::size_t stride = 0;                      ///< rounded up to what the devices need
    deadline until;                              ///< of making it
    std::chrono::duration<double> timeout{300};  ///< of growing it
    handle_options handles = {};                 ///< the same on all PEs
    bool multicast = false;                      ///< use it where all PEs can
    bool apart = false;                          ///< no other heap is mapped
  };

  /// Collective over the bootstrap's ranks. The device outlives it.
  device_heap_memory(bootstrap& bootstrap, const gpu::gpu& device, const options& options);
  void grow_to(std::size_t bytes) override;
  void zero(std::byte* at, std::size_t bytes, std::size_t known) override;
  void empty(std::byte* at, std::size_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;

  [[nodiscard]] std::string why_not_mapped(int pe) const override {
    return peers_[pe].why_not_mapped;
  }
  [[nodiscard]] std::byte* multicast_base() const override {
    return multicast_.is_used() ? arena_->slot(peers_.num_slots) : nullptr;
  }
  [[nodiscard]] std::size_t multicast_size() const override {
    return multicast_.is_used() ? registration_range().first : 0;
  }
  [[nodiscard]] std::string why_no_multicast() const override { return multicast_.why_not(); }

  [[nodiscard]] std::size_t registration_unit() const override { return peers_.unit; }
  [[nodiscard]] std::pair<std::size_t, std::size_t> registration_range() const override {
    return {stride() / 2, stride()};
  }
  void require_adoptable(const void* buffer, std::size_t bytes) const override;
  void adopt(void* buffer, std::size_t bytes, std::byte* alias) override;
  /// A buffer has never lost its memory.
  void give_back(void*, std::size_t, const std::byte*) override {}
  void vacate(const std::byte* alias) override;

  /// How memory goes to other processes.
  [[nodiscard]] const handle_choice& handles() const { return peers_.handles; }

 private:
  /// What this PE has mapped of itself and of others.
  struct mapping {
    int slot;
    std::size_t offset;
  };

  void add_piece(std::size_t bytes, deadline until);
  [[nodiscard]] gpu::physical_memory make_memory(std::size_t bytes) const;
  /// One step of all PEs: maps what `mine` gives, and what the others' gives them. `parts`: by PE.
  /// What has been mapped is added to `done`, also if it throws.
  void map_everywhere(const std::vector<heap_part>& parts, CUmemAllocationHandleType kind,
                      const std::function<const gpu::physical_memory&()>& mine,
                      std::vector<mapping>& done, deadline until);
  void map(int pe, const heap_part& part, const gpu::physical_memory& memory,
           std::vector<mapping>& done);
  void unmap(const std::vector<mapping>& mapped) noexcept;

  bootstrap& bootstrap_;
  const gpu::gpu& device_;
  const std::chrono::duration<double> timeout_;
  descriptor_exchange descriptors_;
  const device_peers peers_;
  handle_exchange exchange_;
  multicast_range multicast_;
  const std::size_t unit_;  ///< of pieces
  std::shared_ptr<device_arena> arena_;
  std::map<const std::byte*, std::vector<mapping>> adopted_;  ///< by alias
};

}  // namespace heddle
