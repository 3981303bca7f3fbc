// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>

#include "device/cuda/gpu.hpp"

namespace heddle::gpu {

/// The GPUs that NVLink switches connect across hosts, as the fabric manager names them: those of
/// one cluster and one clique reach each other's memory.
struct nvlink_domain {
  std::array<unsigned char, 16> cluster{};
  unsigned clique = 0;
  bool operator==(const nvlink_domain&) const = default;
};

/// The domain of a device; nothing, and why, if it is in none.
std::optional<nvlink_domain> find_nvlink_domain(const device_uuid& uuid, std::string& why_not);

}  // namespace heddle::gpu
