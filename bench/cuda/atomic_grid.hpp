// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The grid of every contender of the atomics.
namespace bench {

inline constexpr int atomic_blocks = 32;
inline constexpr int atomic_threads = 256;

}  // namespace bench
