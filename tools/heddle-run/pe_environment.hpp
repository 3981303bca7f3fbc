// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace heddle::run {

/// heddle-run's own environment with `exports` (NAME or NAME=VALUE, as -x takes them) put over it,
/// each name once. Throws HEDDLE_ERROR_INVALID_ARGUMENT for a NAME that is not set.
std::vector<std::string> pe_environment(const std::vector<std::string>& exports);

}  // namespace heddle::run
