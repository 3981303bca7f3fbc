// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
// A heddle that is built without hwloc: with no_hwloc.cpp, which this program brings.

#include <doctest/doctest.h>

#include <heddle/heddle.h>
#include <memory>
#include <string>

#include "topology/imitated_nvml.hpp"

using namespace heddle::testing;

TEST_CASE("without hwloc GPUs and NVLinks are told, and what is missing with what to do") {
  imitated_nvml what;
  what.gpus.push_back(
      {.name = "NVIDIA A100", .bus = 1, .links = {{.remote_bus = 2}}, .megabytes = 0});
  what.gpus.push_back(
      {.name = "NVIDIA A100", .bus = 2, .links = {{.remote_bus = 1}}, .megabytes = 0});
  const nvml_in_place here(what);
  char* text = nullptr;
  REQUIRE(heddle_topology(nullptr, nullptr, HEDDLE_TOPOLOGY_TEXT, &text) == HEDDLE_SUCCESS);
  const std::unique_ptr<char, decltype(&heddle_string_free)> owner(text, heddle_string_free);
  const std::string told = text;
  CHECK(told.find("GPU ring 0 1: NV1 twice") != std::string::npos);
  CHECK(told.find("built without hwloc; install libhwloc-dev") != std::string::npos);
}

TEST_CASE("without hwloc a file is refused with what to do") {
  char* text = nullptr;
  CHECK(heddle_topology(nullptr, "machine.xml", HEDDLE_TOPOLOGY_TEXT, &text) ==
        HEDDLE_ERROR_NOT_SUPPORTED);
  CHECK(std::string(heddle_last_error())
            .find("machine.xml cannot be read: heddle was built without "
                  "hwloc; install libhwloc-dev") != std::string::npos);
  CHECK(text == nullptr);
}
