// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace heddle {

/// How long a peer that was never reached may not be before it counts as lost, where one that was
/// may take nothing for `timeout` (HEDDLE_TIMEOUT). Those that wait for it give up after that time:
/// what their error says should be that nothing gets there, not that it does not answer.
inline std::chrono::duration<double> connect_time(std::chrono::duration<double> timeout) {
  return timeout * 7 / 8;
}

}  // namespace heddle
