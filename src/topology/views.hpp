// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "topology/machine.hpp"

namespace heddle::topology {

/// For people: the tree, the paths between devices as a matrix, rings and rails. Lines end in '\n'.
std::string to_text(const machine& machine);

/// For programs, one object:
///   name, source, packages, numa_nodes, bridges, gpus, nvswitches, nics, pes, notes: as
///   machine.hpp paths    {"devices": [names], "kinds": [[...]], "bandwidth": [[...]], "gigabytes":
///   [[...]]} ring     null, or {"of": "PE" or "GPU", "order": [...], "by_kind": {...}} rails
///   [{"of": "GPU 0", "nic": index or null, "path": kind}]
std::string to_json(const machine& machine);

/// One picture (SVG 1.1, UTF-8), for light and dark screens.
std::string to_svg(const machine& machine);

}  // namespace heddle::topology
