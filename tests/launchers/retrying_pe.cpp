// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// One of two launched ranks whose first init fails, and who try again: "mended", what rank 1 has
// set wrong, or "late", rank 1 comes when rank 0 has given up. Prints what it was told, and ends
// with status 0 if it joined.
#include <heddle/heddle.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int /*count*/, char** arguments) {
  const bool is_late = std::string_view(arguments[1]) == "late";
  const bool is_second = std::string_view(std::getenv("PMIX_RANK")) == "1";
  if (is_second && is_late) ::sleep(60);
  if (is_second) ::setenv("HEDDLE_SOCKET_IFNAME", "=nosuch0", 1);
  for (int tries = 0; tries < 2; ++tries) {
    heddle_runtime_t self = nullptr;
    if (heddle_init(&self) == HEDDLE_SUCCESS) {
      std::puts("joined");
      return heddle_finalize(self) == HEDDLE_SUCCESS ? 0 : 2;
    }
    std::puts(heddle_last_error());
    std::fflush(stdout);
    ::unsetenv("HEDDLE_SOCKET_IFNAME");
  }
  return 1;
}
