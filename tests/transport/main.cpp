// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What every transport must do, run on the network that the command line names.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <heddle/error.hpp>
#include <string_view>

#include "networks.hpp"
#include "unruly_transport.hpp"

namespace heddle::conformance {
namespace {

const network* chosen = nullptr;
bool unruly = false;

}  // namespace

const network& chosen_network() { return *chosen; }

std::unique_ptr<transport> make_transport(std::uint64_t seed,
                                          std::chrono::duration<double> timeout) {
  auto made = chosen_network().make(timeout);
  if (!unruly) return made;
  return std::make_unique<unruly_transport>(std::move(made), seed);
}

}  // namespace heddle::conformance

int main(int argc, char** argv) {
  using namespace heddle::conformance;
  constexpr std::string_view option = "--network=";
  constexpr int skipped = 77;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--unruly") unruly = true;
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
  try {
    const auto tried = chosen->make(std::chrono::seconds(1));
    fmt::print("{}\n", tried->about().name);
  } catch (const heddle::error& missing) {
    if (missing.status() != HEDDLE_ERROR_NOT_SUPPORTED) throw;
    fmt::print("skipped: {}\n", missing.what());
    return skipped;
  }
  return doctest::Context(argc, argv).run();
}
