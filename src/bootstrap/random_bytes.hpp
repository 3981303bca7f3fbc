// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace heddle {

/// Fills `out` from the kernel's generator (getrandom). Throws HEDDLE_ERROR_SYSTEM if it fails.
void fill_random(std::span<std::byte> out);

/// Lower-case hexadecimal digits, two for each byte.
std::string to_hex(std::span<const std::byte> bytes);

/// `bytes` random bytes in hexadecimal.
std::string random_hex(std::size_t bytes);

}  // namespace heddle
