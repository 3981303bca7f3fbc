// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "device/cuda/gpu.hpp"
#include "device/device.hpp"

namespace heddle::exec {

/// How many blocks a PE may have on its GPU at one time, when the kernels of all PEs that share it
/// have to be resident together: each gets its part of the multiprocessors.
class residency {
 public:
  residency(const gpu::gpu& gpu, int pes);

  [[nodiscard]] int max_threads() const;
  /// Throws HEDDLE_ERROR_INVALID_ARGUMENT, with the room that there is, for a grid that does not
  /// fit.
  void require(launch_shape shape, CUfunction function);
  /// What is asked of a kernel that stays loaded is remembered. (The handle of one that a program
  /// unloads may be another's later.)
  void stays_loaded(CUfunction function);

 private:
  [[nodiscard]] int blocks_on_each(CUfunction function, int threads);

  const gpu::gpu& gpu_;
  const int multiprocessors_;
  const int pes_;
  std::mutex mutex_;
  std::set<CUfunction> lasting_;
  /// By kernel and threads: the driver takes as long to tell as a launch.
  std::map<std::pair<CUfunction, int>, int> known_;
};

}  // namespace heddle::exec
