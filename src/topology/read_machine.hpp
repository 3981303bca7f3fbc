// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "topology/machine.hpp"

namespace heddle::topology {

/// What hwloc finds, processors and PCIe devices; of `file`, as lstopo writes it (XML), or of this
/// machine if that is empty. `is_here` tells whether it is this machine: HWLOC_XMLFILE puts another
/// one in its place. Throws HEDDLE_ERROR_INVALID_ARGUMENT for a file that hwloc does not read, and
/// HEDDLE_ERROR_NOT_SUPPORTED for any file if heddle is built without hwloc; of this machine what
/// cannot be read is a note.
machine read_hwloc(const std::string& file, bool& is_here);

/// All that can be known: read_hwloc, and of this machine also its NVLinks and the state of its
/// NICs. No PEs. Takes tens of milliseconds.
machine read_machine(const std::string& file);

}  // namespace heddle::topology
