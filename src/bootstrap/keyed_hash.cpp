// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/keyed_hash.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "support/throw_error.hpp"

namespace heddle {

digest keyed_hash(std::span<const std::byte> key, std::span<const std::byte> data) {
  digest result{};
  unsigned int size = 0;
  if (!::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
              reinterpret_cast<const unsigned char*>(data.data()), data.size(),
              reinterpret_cast<unsigned char*>(result.data()), &size) ||
      size != result.size())
    throw_error(HEDDLE_ERROR_SYSTEM,
                "asked libcrypto for HMAC-SHA-256, it failed; see its configuration (openssl.cnf)");
  return result;
}

bool equal_secrets(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bootstrap::secret derive_secret(const bootstrap::secret& secret, std::string_view purpose) {
  return keyed_hash(secret, std::as_bytes(std::span(purpose)));
}

}  // namespace heddle
