// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/runtime.hpp>

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace heddle {

/// Runs body(runtime) on n_pes threads of this process, each one PE, and throws again what the
/// first PE (in time) that failed threw.
inline void run_as_threads(int n_pes, const std::function<void(runtime&)>& body) {
  thread_job job(n_pes);
  std::exception_ptr failure;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (int pe = 0; pe < n_pes; ++pe)
      threads.emplace_back([&, pe] {
        const auto keep = [&] {
          std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
        };
        try {
          runtime runtime(job, pe);
          try {
            body(runtime);
          } catch (...) {
            keep();  // before the others are told that this PE is lost, and fail as well
            throw;
          }
        } catch (...) {
          keep();
        }
      });
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace heddle
