// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <utility>

namespace heddle::testing {

/// A forked process that lives no longer than this object, however a test ends.
class child_process {
 public:
  /// The child ends with what `body` returns.
  explicit child_process(const std::function<int()>& body) : id_(::fork()) {
    REQUIRE(id_ >= 0);
    if (id_ > 0) return;
    try {
      ::_exit(body());
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "a child process: %s\n", failure.what());
    }
    ::_exit(1);
  }
  ~child_process() {
    if (id_ < 0) return;
    ::kill(id_, SIGKILL);
    wait();
  }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  /// Until it has ended: its status, or 128 and the signal that has ended it.
  int wait() {
    int state = 0;
    ::waitpid(std::exchange(id_, -1), &state, 0);
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  }

 private:
  pid_t id_;
};

}  // namespace heddle::testing
