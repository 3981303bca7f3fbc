// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/sharing.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace heddle::gpu {

std::string describe_sharing() {
  const char* chosen = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::filesystem::path pipes = chosen ? chosen : "/tmp/nvidia-mps";
  std::error_code unreadable;
  if (std::filesystem::exists(pipes / "control", unreadable))
    return fmt::format(
        "several PEs' kernels run side by side, those of several processes by MPS ({})",
        pipes.string());
  return fmt::format(
      "kernels of PEs that are threads of one process run side by side; those of several processes "
      "take turns and each wait costs time slices, for no MPS runs (no control pipe in {}): start "
      "it by nvidia-cuda-mps-control -d",
      pipes.string());
}

}  // namespace heddle::gpu
