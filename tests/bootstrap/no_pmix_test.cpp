// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A heddle that is built without PMIx: with no_pmix_bootstrap.cpp, which this program brings.

#include <doctest/doctest.h>

#include <heddle/heddle.hpp>

#include "environment_variable.hpp"

TEST_CASE("without PMIx a launcher's job is refused with what to do, and other jobs go on") {
  {
    const environment_variable name("PMIX_NAMESPACE", "job");
    const environment_variable rank("PMIX_RANK", "0");
    heddle_runtime_t runtime = nullptr;
    CHECK(heddle_init(&runtime) == HEDDLE_ERROR_NOT_SUPPORTED);
    const std::string told = heddle_last_error();
    CHECK(told.find("built without PMIx; build it where libpmix-dev is") != std::string::npos);
  }
  const environment_variable rank("RANK", "0");
  const environment_variable size("WORLD_SIZE", "1");
  const environment_variable address("MASTER_ADDR", "127.0.0.1");
  const environment_variable port("MASTER_PORT", "29500");
  const heddle::runtime runtime;
  CHECK(runtime.n_pes() == 1);
}
