// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What kernels may ask of remote PEs, on the network that the command line names.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <heddle/error.hpp>
#include <string_view>

#include "networks.hpp"
#include "support/log.hpp"

namespace heddle::testing {
namespace {
const network* chosen = nullptr;
}
const network& chosen_network() { return *chosen; }
}  // namespace heddle::testing

int main(int argc, char** argv) {
  using namespace heddle::testing;
  constexpr std::string_view option = "--network=";
  constexpr int skipped = 77;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(option)) continue;
    for (const auto& each : networks())
      if (each.name == argument.substr(option.size())) chosen = &each;
  }
  if (!chosen) {
    fmt::print(stderr, "--network= wants one of:");
    for (const auto& each : networks()) fmt::print(stderr, " {}", each.name);
    fmt::print(stderr, "\n");
    return 1;
  }
  heddle::log::configure("NONE", "ALL");
  try {
    fmt::print("{}\n", chosen->make(2, 10, 0).transports[0]->about().name);
  } catch (const heddle::error& missing) {
    if (missing.status() != HEDDLE_ERROR_NOT_SUPPORTED) throw;
    fmt::print("skipped: {}\n", missing.what());
    return skipped;
  }
  return doctest::Context(argc, argv).run();
}
