// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <heddle/heddle.hpp>
#include <heddle/run_as_threads.hpp>
#include <memory>
#include <string>

#include "host/outcomes.hpp"

// heddle_topology, of this machine.

using heddle::run_as_threads;
using heddle::runtime;
using heddle::testing::check_error;
using heddle::testing::of;

namespace {

std::string topology_of(heddle_runtime_t runtime, heddle_topology_form_t form) {
  char* text = nullptr;
  REQUIRE(heddle_topology(runtime, nullptr, form, &text) == HEDDLE_SUCCESS);
  const std::unique_ptr<char, decltype(&heddle_string_free)> owner(text, heddle_string_free);
  return text;
}

}  // namespace

TEST_CASE("this machine is told in each form, with and without a job") {
  CHECK(topology_of(nullptr, HEDDLE_TOPOLOGY_JSON).find("\"pes\": []") != std::string::npos);
  CHECK(topology_of(nullptr, HEDDLE_TOPOLOGY_SVG).find("<svg ") != std::string::npos);
  run_as_threads(3, [](runtime& self) {
    const auto text = topology_of(self.handle(), HEDDLE_TOPOLOGY_TEXT);
    CAPTURE(text);
    CHECK(text.find("3 PEs") != std::string::npos);
    CHECK(text.find("PE 2 on host, processors ") != std::string::npos);
    CHECK(text.find("PE ring 0 1 2: ") != std::string::npos);
  });
}

TEST_CASE("wrong arguments of heddle_topology are named") {
  char* text = nullptr;
  check_error(of(heddle_topology(nullptr, nullptr, HEDDLE_TOPOLOGY_TEXT, nullptr)),
              HEDDLE_ERROR_INVALID_ARGUMENT, {"heddle_topology: text is NULL"});
  check_error(of(heddle_topology(nullptr, nullptr, static_cast<heddle_topology_form_t>(7), &text)),
              HEDDLE_ERROR_INVALID_ARGUMENT, {"7 is not a heddle_topology_form_t"});
  const runtime self;
  check_error(of(heddle_topology(self.handle(), "machine.xml", HEDDLE_TOPOLOGY_TEXT, &text)),
              HEDDLE_ERROR_INVALID_ARGUMENT, {"do not run on the machine of machine.xml"});
  CHECK(text == nullptr);
}
