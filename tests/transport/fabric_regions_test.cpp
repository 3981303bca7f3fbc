// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What becomes of memory that a provider does not register: there is too much of it, or another
// region has its key. None here has limits, so that the provider's call is replaced.

#include <doctest/doctest.h>
#include <rdma/fi_errno.h>
#include <sys/resource.h>

#include <array>
#include <heddle/error.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "changed_provider.hpp"
#include "support/environment.hpp"

using namespace heddle;
using namespace heddle::libfabric;
using namespace heddle::testing;

namespace {

decltype(fi_ops_mr::regattr) real_register;
std::vector<int> answers;  ///< to the next calls, the last first; after them it registers
std::vector<std::uint64_t> asked_keys;  ///< since the test began

int register_or_refuse(fid* domain, const fi_mr_attr* wanted, std::uint64_t flags,
                       fid_mr** region) {
  asked_keys.push_back(wanted->requested_key);
  if (answers.empty()) return real_register(domain, wanted, flags, region);
  const int answer = answers.back();
  answers.pop_back();
  return answer;
}

void limit_regions(fid_domain& domain) {
  replace_in(domain.mr, [](fi_ops_mr& table) {
    real_register = std::exchange(table.regattr, register_or_refuse);
  });
}

/// A PE that exposes memory.
struct exposing_pe {
  std::array<std::byte, 8192> memory{};
  changed_provider provider{"tcp;ofi_rxm", ordering::promised, limit_regions};
  fabric_transport network{provider.functions(), provider.info(),         "lo",
                           provider.by(),        std::chrono::seconds(5), nullptr};

  exposing_pe() {
    network.set_addresses({network.address()});
    answers.clear();
    asked_keys.clear();
  }

  /// What is told where the provider gives that answer.
  error refused(int answer) {
    answers = {answer};
    try {
      network.expose(0, 0, memory.data(), memory.size());
    } catch (const error& failure) {
      return failure;
    }
    FAIL("it was registered");
    return {HEDDLE_SUCCESS, ""};
  }
};

bool has(const error& failure, const std::string& part) {
  return std::string(failure.what()).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("memory beyond a provider's limit is refused with its size and what may be locked") {
  exposing_pe pe;
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
  const std::string may =
      limit.rlim_cur == RLIM_INFINITY ? "any amount" : format_bytes(limit.rlim_cur);
  for (const int answer : {-FI_ENOMEM, -FI_EAGAIN, -FI_ENOSPC, -FI_EINVAL}) {
    const auto told = pe.refused(answer);
    CAPTURE(told.what());
    CHECK(told.status() ==
          (answer == -FI_EINVAL ? HEDDLE_ERROR_SYSTEM : HEDDLE_ERROR_OUT_OF_MEMORY));
    CHECK(has(told, "asked libfabric's provider tcp;ofi_rxm to register 8 KiB of memory"));
    CHECK(has(told, "this process may lock " + may + " (ulimit -l)"));
  }
}

TEST_CASE("after a refusal the network takes what is registered") {
  exposing_pe pe;
  (void)pe.refused(-FI_ENOMEM);
  auto& network = pe.network;
  auto* const from = pe.memory.data();
  auto* const to = from + 4096;
  network.add_remote(0, 0, 0, 4096, network.expose(0, 0, to, 4096));
  *from = std::byte{7};
  transport::nobody nobody;
  const auto until = deadline::after(std::chrono::seconds(10));
  while (!network.post_write(0, {0, 0, 0}, from, 1, transport::no_token, 0) && !until.passed())
    network.progress(nobody);  // until it is connected
  while (*static_cast<volatile std::byte*>(to) != std::byte{7} && !until.passed())
    network.progress(nobody);
  CHECK(*to == std::byte{7});
  network.conceal(0, 0);
}

TEST_CASE("a key that another region has is drawn anew, and not for ever") {
  exposing_pe pe;
  REQUIRE((pe.provider.info().domain_attr->mr_mode & FI_MR_PROV_KEY) == 0);
  answers = {-FI_EKEYREJECTED, -FI_ENOKEY, -FI_ENOKEY};
  CHECK(!pe.network.expose(0, 0, pe.memory.data(), pe.memory.size()).empty());
  CHECK(asked_keys.size() == 4);
  CHECK(std::set(asked_keys.begin(), asked_keys.end()).size() == 4);
  pe.network.conceal(0, 0);

  answers.assign(100, -FI_ENOKEY);
  CHECK_THROWS_AS(pe.network.expose(0, 0, pe.memory.data(), pe.memory.size()), error);
  CHECK(answers.size() == 84);
}
