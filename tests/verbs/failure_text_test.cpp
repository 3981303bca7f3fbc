// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/failure_text.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cerrno>

using namespace heddle::verbs;

TEST_CASE("a failed operation tells the card's words, the peer and what to look at") {
  const auto text = completion_failure(IBV_WC_RETRY_EXC_ERR, "transport retry counter exceeded",
                                       0x81, "mlx5_0:1");
  CHECK(
      text.starts_with("an operation to mlx5_0:1 ended with \"transport retry counter exceeded\" "
                       "(status 12, vendor error 0x81): "));
  CHECK(text.find("HEDDLE_IB_TIMEOUT") != text.npos);
  const auto advice = [](ibv_wc_status status) { return completion_failure(status, "", 0, ""); };
  CHECK(advice(IBV_WC_REM_ACCESS_ERR).ends_with("its memory there is no longer exposed"));
  CHECK(advice(IBV_WC_RNR_RETRY_EXC_ERR).ends_with("its process hangs or has ended"));
  CHECK(advice(IBV_WC_WR_FLUSH_ERR).ends_with("by an error at the peer"));
  CHECK(advice(IBV_WC_GENERAL_ERR).ends_with("(dmesg)"));
}

TEST_CASE("memory that cannot be locked names the limit and what to do") {
  const auto limited = registration_failure(1 << 30, ENOMEM, 8 << 20);
  CHECK(limited.find("asked the network card to take 1 GiB of memory") != limited.npos);
  CHECK(limited.find("may lock 8 MiB (ulimit -l)") != limited.npos);
  CHECK(limited.find("/etc/security/limits.conf") != limited.npos);
  CHECK(registration_failure(4096, ENOMEM, RLIM_INFINITY).find("ulimit") == std::string::npos);
  CHECK(registration_failure(4096, EFAULT, 4096).find("ulimit") == std::string::npos);
}
