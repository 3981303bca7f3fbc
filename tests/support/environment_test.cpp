// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "support/environment.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <heddle/error.hpp>
#include <string>
#include <vector>

#include "bootstrap/environment_variable.hpp"

using namespace heddle;

namespace {

/// What is said of the value, between "NAME=VALUE: must be " and the next line.
std::string what_it_must_be(const char* name, const std::string& value) {
  const environment_variable set(name, value);
  try {
    (void)environment::from_process();
  } catch (const error& refused) {
    CHECK(refused.status() == HEDDLE_ERROR_INVALID_ARGUMENT);
    const std::string text = refused.what();
    const auto begin = fmt::format("\n  {}={}: must be ", name, value);
    const auto at = text.find(begin);
    if (at == std::string::npos) return text;
    return text.substr(at + begin.size(), text.find('\n', at + 1) - at - begin.size());
  }
  return "taken";
}

}  // namespace

TEST_CASE("numbers are taken within their limits, which are named otherwise") {
  struct limits {
    const char* name;
    int low, high;
  };
  for (const auto& of :
       {limits{"HEDDLE_CONTEXTS", 1, 16}, limits{"HEDDLE_IB_GID_INDEX", -1, 255},
        limits{"HEDDLE_IB_RETRY_CNT", 0, 7}, limits{"HEDDLE_IB_SL", 0, 15},
        limits{"HEDDLE_IB_TIMEOUT", 1, 31}, limits{"HEDDLE_IB_TRAFFIC_CLASS", 0, 255}}) {
    CAPTURE(of.name);
    for (const int good : {of.low, of.high})
      CHECK(what_it_must_be(of.name, std::to_string(good)) == "taken");
    const auto wanted = fmt::format("an integer from {} to {}", of.low, of.high);
    const std::vector<std::string> bad = {
        std::to_string(of.low - 1), std::to_string(of.high + 1), "", "4x", "1.5", "many",
        "99999999999999999999"};
    for (const auto& each : bad) CHECK(what_it_must_be(of.name, each) == wanted);
  }
}

TEST_CASE("networks are named, and one is switched off by 1") {
  CHECK(what_it_must_be("HEDDLE_TRANSPORT", "tpc") == "one of auto, verbs, libfabric, tcp, none");
  CHECK(what_it_must_be("HEDDLE_IB_DISABLE", "yes") == "0 or 1");
}

TEST_CASE("all that is wrong is told at once, unknown names with the nearest") {
  const environment_variable contexts("HEDDLE_CONTEXTS", "0");
  const environment_variable level("HEDDLE_IB_SL", "16");
  const environment_variable typing_error("HEDDLE_IB_HCS", "mlx5");
  std::string told;
  try {
    (void)environment::from_process();
  } catch (const error& refused) {
    told = refused.what();
  }
  CHECK(told.find("HEDDLE_CONTEXTS=0: must be") != std::string::npos);
  CHECK(told.find("HEDDLE_IB_SL=16: must be") != std::string::npos);
  CHECK(told.find("HEDDLE_IB_HCS: no such variable; the nearest is HEDDLE_IB_HCA") !=
        std::string::npos);
}
