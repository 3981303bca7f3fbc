// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/pe_device.hpp"

namespace heddle {

/// `choice` is "cuda" (the PEs of a host take its GPUs in turn) or "cuda:N".
std::unique_ptr<pe_device> choose_cuda_device(const environment& settings,
                                              const std::string& choice, bootstrap& bootstrap,
                                              deadline until);
std::vector<device_description> list_cuda_devices();

}  // namespace heddle
