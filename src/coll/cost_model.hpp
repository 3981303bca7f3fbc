// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coll/plan.hpp"

/// The model by which plans choose: a reduction takes hops, one after the other, and the bytes that
/// the busiest of its PEs takes in; what either costs is in <heddle/device/coll/tuning.hpp>. Pure
/// functions.
namespace heddle {

/// How often an algorithm pays for a hop, and for the bytes of the combination.
struct route {
  double hops;
  double bytes;
};

/// `what` among n PEs. `remote`: the network joins them.
route route_of(collective what, algorithm algo, int n_pes, bool remote);

/// Of a call that goes so; nanoseconds.
double expected_ns(const plan_question& question, const plan& plan);

}  // namespace heddle
