// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

using digest = std::array<std::byte, 32>;

/// HMAC-SHA-256 (RFC 2104) of `data` under `key`.
digest keyed_hash(std::span<const std::byte> key, std::span<const std::byte> data);

/// Compares in a time that does not depend on where they differ.
bool equal_secrets(std::span<const std::byte> a, std::span<const std::byte> b);

/// A secret for one use of `secret`, from which neither it nor the others can be found.
bootstrap::secret derive_secret(const bootstrap::secret& secret, std::string_view purpose);

}  // namespace heddle
