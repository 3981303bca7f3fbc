// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace heddle::run {

/// What to tell the user if the file system of `folder` has less space than libpmix's store of a
/// job of `size` PEs takes there; empty if it has enough. Without it PMIx_Init fails in the PEs,
/// with no reason; programs that do not call it need none.
std::string store_shortage(const std::string& folder, int size);

}  // namespace heddle::run
