// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "bootstrap/tree_bootstrap.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>

#include <heddle/error.hpp>

#include "bootstrap/random_bytes.hpp"
#include "thread_starter.hpp"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

socket_address loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return {reinterpret_cast<sockaddr*>(&address), sizeof address};
}

/// Ranks that know each other's endpoints already.
class introduced_ranks {
 public:
  introduced_ranks(int size, int fan_out, bool uses_host) {
    prepared_.name = "tree";
    prepared_.job_id = "tree-" + random_hex(8);
    fill_random(prepared_.job_secret);
    prepared_.fan_out = fan_out;
    prepared_.uses_host = uses_host;
    for (int rank = 0; rank < size; ++rank) {
      locals_.emplace_back(std::vector{loopback()});
      prepared_.table.push_back(locals_.back().described);
    }
  }
  std::unique_ptr<bootstrap> join(int rank) {
    auto job = prepared_;
    job.rank = rank;
    return std::make_unique<tree_bootstrap>(
        std::move(job), std::move(locals_[static_cast<std::size_t>(rank)]), deadline::after(20s));
  }

 private:
  tree_bootstrap::job prepared_;
  std::vector<local_endpoint> locals_;
};

void check_conformance(int fan_out, bool uses_host) {
  conformance::check_all_cases([&](const conformance::test_case& chosen, int size) {
    introduced_ranks ranks(size, fan_out, uses_host);
    return conformance::run_on_threads(chosen, size, [&](int rank) { return ranks.join(rank); });
  });
}

}  // namespace

TEST_CASE("a tree over Unix sockets conforms") { check_conformance(8, true); }

TEST_CASE("a narrow tree over TCP conforms") { check_conformance(2, false); }
