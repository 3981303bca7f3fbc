// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/error.hpp>
#include <string>

struct heddle_team;

namespace heddle {

/// The error of an aborted team: which PE, in which operation, waited for whom, for which word, and
/// why, as far as the records of this PE and of its mapped peers tell.
error failure_of(const heddle_team& team);

}  // namespace heddle
