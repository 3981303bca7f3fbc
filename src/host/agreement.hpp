// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bootstrap/bootstrap.hpp"
#include "coll/tuning.hpp"
#include "support/environment.hpp"

namespace heddle {

/// Compares, when a job is joined, what must be alike on all PEs for their memory to be laid out
/// alike and their collectives to meet: library, and the variables that choose how. Throws
/// HEDDLE_ERROR_MISMATCH, on every PE, with the first that differs from PE 0. The heap's size may
/// differ: all reserve the largest that is asked for, or, if none is, what the smallest machine
/// can. Fills in how long to spin, by the processors on which the PEs of this machine may run. How
/// many PEs take turns on a processor of the machine where they have the fewest; the same on all.
/// Collective.
double agree_on_settings(bootstrap& bootstrap, environment& settings, const tuning& costs,
                         deadline until);

}  // namespace heddle
