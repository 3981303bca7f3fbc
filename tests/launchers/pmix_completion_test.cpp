// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "heddle-run/pmix_completion.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <thread>

using namespace heddle;
using namespace std::chrono_literals;

// The calls stand for the PMIx library's: they answer at once, from another thread, or too late.

TEST_CASE("a call's own status and its callback's are told") {
  const auto until = deadline::after(20s);
  CHECK(run::complete(until, [](pmix_op_cbfunc_t, void*) { return PMIX_OPERATION_SUCCEEDED; }) ==
        PMIX_SUCCESS);
  CHECK(run::complete(until, [](pmix_op_cbfunc_t, void*) { return PMIX_ERR_NOT_FOUND; }) ==
        PMIX_ERR_NOT_FOUND);
  std::thread answering;
  CHECK(run::complete(until, [&](pmix_op_cbfunc_t done, void* data) {
          answering = std::thread([=] { done(PMIX_ERR_UNREACH, data); });
          return PMIX_SUCCESS;
        }) == PMIX_ERR_UNREACH);
  answering.join();
}

TEST_CASE("a callback that comes after the time-out finds its place and what the call used") {
  const auto used = std::make_shared<int>(42);
  pmix_op_cbfunc_t late = nullptr;
  void* late_data = nullptr;
  CHECK(run::complete(deadline::after(50ms),
                      [&late, &late_data, used](pmix_op_cbfunc_t done, void* data) {
                        late = done;
                        late_data = data;
                        return PMIX_SUCCESS;
                      }) == PMIX_ERR_TIMEOUT);
  CHECK(used.use_count() == 2);
  late(PMIX_SUCCESS, late_data);
  CHECK(used.use_count() == 1);
}
