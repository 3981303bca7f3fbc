// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/thread_bootstrap.hpp"
#include "bootstrap/unique_id_bootstrap.hpp"

namespace heddle::testing {

inline deadline soon() { return deadline::after(std::chrono::seconds(20)); }

/// `body` on each of n PEs that are threads; "" or what the first that failed threw.
inline std::string on_threads(int n, const std::function<void(bootstrap&)>& body) {
  thread_rendezvous job(n);
  std::mutex mutex;
  std::string failure;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < n; ++rank)
      threads.emplace_back([&, rank] {
        try {
          auto self = job.join(rank);
          body(*self);
          self->leave();
        } catch (const std::exception& problem) {
          std::lock_guard lock(mutex);
          if (failure.empty()) failure = problem.what();
        }
      });
  }
  return failure;
}

/// `body` on each of n processes that meet by a unique id, this one among them; the number that
/// failed.
inline int failed_processes(int n, const std::function<void(bootstrap&)>& body) {
  const auto id = make_unique_id("=lo");
  const auto run_rank = [&](int rank) {
    try {
      auto self = join_unique_id(id, rank, n, "=lo", soon());
      body(*self);
      self->leave();
      return 0;
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "rank %d: %s\n", rank, problem.what());
      return 1;
    }
  };
  std::vector<pid_t> children;
  for (int rank = 1; rank < n; ++rank) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(run_rank(rank));
    children.push_back(child);
  }
  int failed = run_rank(0);
  for (const pid_t child : children) {
    int state = 0;
    ::waitpid(child, &state, 0);
    failed += state != 0;
  }
  return failed;
}

}  // namespace heddle::testing
