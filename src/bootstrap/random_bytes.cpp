// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/random_bytes.hpp"

#include <sys/random.h>

#include <cerrno>
#include <vector>

#include "support/throw_error.hpp"

namespace heddle {

void fill_random(std::span<std::byte> out) {
  while (!out.empty()) {
    ssize_t got = ::getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw_system_error(errno, "asked the kernel for {} random bytes (getrandom)", out.size());
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

std::string random_hex(std::size_t bytes) {
  std::vector<std::byte> random(bytes);
  fill_random(random);
  return to_hex(random);
}

}  // namespace heddle
