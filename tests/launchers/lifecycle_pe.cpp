// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A launched rank that joins its job, tries to join it twice, leaves, and joins again. Prints one
// line and ends with status 0 if all of it was as heddle.h says.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <heddle/heddle.hpp>
#include <string>

namespace {

bool refused(const char* what) {
  heddle_runtime_t second = nullptr;
  const auto status = heddle_init(&second);
  const std::string text = status ? heddle_last_error() : "";
  if (status == HEDDLE_ERROR_INVALID_USAGE && text.find(what) != std::string::npos) return true;
  std::printf("WRONG: status %d instead of %d, or no \"%s\" in: %s\n", status,
              HEDDLE_ERROR_INVALID_USAGE, what, text.c_str());
  return false;
}

bool joins_and_adds() {
  const heddle::runtime self;
  const int one = 1;
  int sum = 0;
  self.world().all_reduce(&one, &sum, 1, heddle::op::sum);
  if (sum == self.n_pes()) return true;
  std::printf("WRONG: a sum of %d on %d PEs\n", sum, self.n_pes());
  return false;
}

bool refuses_a_second_init() {
  const heddle::runtime self;
  bool right = refused("second time");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(refused("forked") ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  right = right && status == 0;
  self.world().barrier();
  return right;
}

}  // namespace

int main() try {
  bool right = refuses_a_second_init();
  for (int round = 0; round < 3; ++round) right = joins_and_adds() && right;
  if (right) std::puts("RIGHT");
  return right ? 0 : 1;
} catch (const heddle::error& failure) {
  std::printf("WRONG: %s\n", failure.what());
  return 1;
}
