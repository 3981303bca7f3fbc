// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/residency.hpp"

#include "support/throw_error.hpp"

namespace heddle::exec {

residency::residency(const gpu::gpu& gpu, int pes)
    : gpu_(gpu),
      multiprocessors_(gpu.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)),
      pes_(pes) {}

int residency::max_threads() const {
  return multiprocessors_ * gpu_.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) /
         pes_;
}

int residency::blocks_on_each(CUfunction function, int threads) {
  const std::lock_guard lock(mutex_);
  const std::pair key(function, threads);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  int blocks = 0;
  gpu::check(gpu_.functions(),
             gpu_.functions().occupancy_max_active_blocks(&blocks, function, threads, 0),
             "asking how many blocks of {} threads fit on a multiprocessor of device cuda:{}",
             threads, gpu_.ordinal());
  if (lasting_.contains(function)) known_[key] = blocks;
  return blocks;
}

void residency::stays_loaded(CUfunction function) {
  const std::lock_guard lock(mutex_);
  lasting_.insert(function);
}

void residency::require(launch_shape shape, CUfunction function) {
  if (shape.grid < 1 || shape.block < 1)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "a launch of {} blocks of {} threads: both must be at least 1", shape.grid,
                shape.block);
  const int blocks = blocks_on_each(function, shape.block);
  const long long fit = static_cast<long long>(blocks) * multiprocessors_ / pes_;
  if (shape.grid > fit)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "a launch of {} blocks of {} threads does not fit: all must be resident at once, "
                "and device cuda:{} has room for {} of this kernel ({} on each of {} "
                "multiprocessors{}); launch fewer blocks or threads",
                shape.grid, shape.block, gpu_.ordinal(), fit, blocks, multiprocessors_,
                pes_ > 1 ? fmt::format(", for {} PEs", pes_) : "");
}

}  // namespace heddle::exec
