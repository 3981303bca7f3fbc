// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/machine.hpp"

namespace heddle::topology {

/// Asks NVIDIA's management library (NVML) which GPUs there are and what their NVLinks lead to, and
/// adds both: a GPU that the machine has already, by its address, gets its name and its links. What
/// fails is a note of the machine, with its reason, and no error.
void add_nvlinks(machine& machine);

}  // namespace heddle::topology
