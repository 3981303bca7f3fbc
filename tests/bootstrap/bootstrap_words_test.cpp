// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "bootstrap/host_identity.hpp"
#include "bootstrap/random_bytes.hpp"
#include "bootstrap/rank_list.hpp"

using namespace heddle;

TEST_CASE("ranks are listed as runs") {
  CHECK(format_ranks({}) == "");
  CHECK(format_ranks(std::vector{3}) == "3");
  CHECK(format_ranks(std::vector{3, 4}) == "3, 4");
  CHECK(format_ranks(std::vector{0, 2, 3, 4, 9}) == "0, 2-4, 9");
  CHECK(format_ranks(std::vector{0, 2, 4, 6, 7, 8}, 2) == "0, 2 and 4 more");
  CHECK(name_ranks(std::vector{3}) == "rank 3");
  CHECK(name_ranks(std::vector{3, 5}) == "ranks 3, 5");
}

TEST_CASE("random bytes differ and hexadecimal keeps leading zeros") {
  CHECK(random_hex(16).size() == 32);
  CHECK(random_hex(16) != random_hex(16));
  CHECK(to_hex(std::vector{std::byte{0x0a}, std::byte{0xff}}) == "0aff");
}

TEST_CASE("a process that shares kernel and namespaces has the same identity") {
  const std::string mine = host_identity();
  pid_t child = ::fork();
  if (child == 0) ::_exit(host_identity() == mine ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a process in a network namespace of its own has another identity on the same machine") {
  const std::string mine = host_identity();
  pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) ::_exit(2);
    const std::string theirs = host_identity();
    ::_exit(theirs != mine && machine_of(theirs) == machine_of(mine) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) {
    MESSAGE("skipped: this kernel does not let the test make namespaces");
    return;
  }
  CHECK(WEXITSTATUS(status) == 0);
}
