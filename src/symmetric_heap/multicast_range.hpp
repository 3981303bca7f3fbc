// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bootstrap/bootstrap.hpp"
#include "device/cuda/gpu.hpp"
#include "device/cuda/physical_memory.hpp"
#include "symmetric_heap/device_arena.hpp"
#include "symmetric_heap/device_peers.hpp"
#include "symmetric_heap/handle_exchange.hpp"

namespace heddle {

/// Addresses at which a store reaches the heaps of all PEs at once, and a load can reduce them in
/// the NVLink switch (multimem instructions). Each piece of the heaps gets a multicast object:
///
///     each PE                                     what ends it, on all PEs alike
///     PE 0 makes it and gives it to all     (agreed)  it could not
///     adds its device to it                 (agreed)  one could not: binding waits for all
///     binds its piece, then maps the object (agreed)  one could not
///
/// Where that fails for the first piece, the job goes on without, and the log says why. Later the
/// heap does not grow: kernels take it that all of it is in the range.
class multicast_range {
 public:
  /// Settles whether the job has it: if it is asked for, and every PE is mapped on a device of its
  /// own that can. `most`: the coarsest recommended granularity that is taken. Collective.
  multicast_range(bootstrap& bootstrap, const gpu::gpu& device, const device_peers& peers,
                  bool wanted, std::size_t most, deadline until);

  [[nodiscard]] bool is_used() const { return why_not_.empty(); }
  /// Why it is not; the same on all PEs.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  /// Pieces are multiples of this; 0 if there are none.
  [[nodiscard]] std::size_t unit() const { return unit_; }

  /// Adds the piece that follows, at the slot of the arena that is kept for the range. Throws, on
  /// all PEs alike, for a later piece than the first. Collective.
  void add(handle_exchange& exchange, device_arena& arena, std::size_t bytes,
           const gpu::physical_memory& mine, deadline until);

 private:
  void try_add(handle_exchange& exchange, device_arena& arena, std::size_t bytes,
               const gpu::physical_memory& mine, bool& mapped, deadline until);
  [[nodiscard]] CUmulticastObjectProp kind(std::size_t bytes) const;
  [[nodiscard]] std::string why_not_here() const;

  bootstrap& bootstrap_;
  const gpu::gpu& device_;
  const device_peers& peers_;
  std::string why_not_;
  std::size_t unit_ = 0;
  std::size_t size_ = 0;
};

}  // namespace heddle
