// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "support/nvml.hpp"

/// A management library that knows what a test tells it, of all devices of this process alike.
namespace heddle::gpu::host_nvml {

struct answers {
  unsigned char cluster = 0;  ///< each byte of the cluster's name
  unsigned clique = 0;
  unsigned char state = nvml::state_completed;
  int status = 0;            ///< of joining the domain
  std::string failing = {};  ///< the function that fails, by NVML's name
};

/// From now on it answers so.
const nvml& start(const answers& answers);

/// Calls of nvmlInit that no nvmlShutdown has followed.
int sessions();

}  // namespace heddle::gpu::host_nvml
