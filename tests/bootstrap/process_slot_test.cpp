// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <heddle/error.hpp>
#include <string>

#include "bootstrap/bootstrap_from_environment.hpp"
#include "bootstrap/network_interface.hpp"
#include "bootstrap/thread_bootstrap.hpp"
#include "bootstrap/unique_id_bootstrap.hpp"
#include "environment_variable.hpp"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

std::unique_ptr<bootstrap> join_environment() {
  return bootstrap_from_environment({"=lo", "a secret", 0, deadline::after(10s)});
}

/// What a second join says; "" if it is let in, or refused as another error.
std::string refusal() {
  try {
    join_environment()->leave();
    return "";
  } catch (const error& failure) {
    return failure.status() == HEDDLE_ERROR_INVALID_USAGE ? failure.what() : "";
  }
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

void check_one_at_a_time() {
  auto first = join_environment();
  const auto said = refusal();
  CAPTURE(said);
  CHECK(has(said, "second time"));
  CHECK(has(said, std::to_string(::gettid()).c_str()));
  CHECK(has(said, "finalize that runtime first"));
  first->leave();
  auto second = join_environment();
  CHECK(has(refusal(), "second time"));
  // One that ends without leave() gives the place back too.
  second.reset();
  CHECK(refusal() == "");
}

}  // namespace

TEST_CASE("a process that runs alone joins once at a time") { check_one_at_a_time(); }

TEST_CASE("a process of torchrun joins once at a time") {
  int port = 0;  // one that was free a moment ago
  {
    auto probe = listen_on(listening_addresses("=lo").front());
    port = local_address(probe.get()).port();
  }
  const environment_variable rank("RANK", "0"), size("WORLD_SIZE", "1"),
      host("MASTER_ADDR", "127.0.0.1"), master("MASTER_PORT", std::to_string(port - 1));
  check_one_at_a_time();
}

TEST_CASE("a start that fails does not keep the place") {
  {
    const environment_variable rank("PMI_RANK", "0"), size("PMI_SIZE", "2");
    CHECK(has(refusal(), "heddle-run"));
  }
  CHECK(refusal() == "");
}

TEST_CASE("a forked child has no place of its own, nor can it give back its parent's") {
  auto parents = join_environment();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool refused = has(refusal(), "forked");
    parents.reset();
    ::_exit(refused && has(refusal(), "forked") ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(has(refusal(), "second time"));
  parents->leave();
}

TEST_CASE("threads and unique ids are not of the environment") {
  auto environments = join_environment();
  thread_rendezvous threads(2);
  auto zero = threads.join(0), one = threads.join(1);
  const auto id = make_unique_id("=lo");
  auto other = join_unique_id(id, 0, 1, "=lo", deadline::after(10s));
  CHECK(other->size() == 1);
  CHECK(environments->size() == 1);
}
