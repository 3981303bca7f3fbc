// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/machine.hpp"
#include "topology/svg_layout.hpp"
#include "topology/svg_writer.hpp"

namespace heddle::topology {

/// Draws the NVLinks below the packages: bows between GPUs, and a bar for the switches. Returns
/// where the picture goes on.
double draw_nvlinks(svg_writer& svg, const machine& machine, const svg_layout& layout);

}  // namespace heddle::topology
