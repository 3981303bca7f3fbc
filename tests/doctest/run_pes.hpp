// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <heddle/run_as_threads.hpp>
#include <initializer_list>
#include <vector>

namespace heddle::testing {

/// How many processes the job has whose PE this process is (tests/networks/suites_test.sh says so),
/// or 0: the PEs of a case are then threads.
inline int job_size() {
  const char* size = std::getenv("HEDDLE_DEV_TEST_JOB");
  return size ? std::atoi(size) : 0;
}

/// How many PEs the cases run with: these, or those of the job or of ./dev gpu alone.
inline std::vector<int> pe_counts(std::initializer_list<int> all) {
  if (job_size() != 0) return {job_size()};
  const char* chosen = std::getenv("HEDDLE_DEV_TEST_PES");
  return chosen ? std::vector<int>{std::atoi(chosen)} : std::vector<int>(all);
}

/// What a job's process tells at its end: that it ran nothing must not look like success.
class runs {
 public:
  runs() = default;
  runs(const runs&) = delete;
  runs& operator=(const runs&) = delete;
  ~runs() {
    if (job_size() != 0)
      std::printf("%d runs on the %d PEs of the job; %d want another number of PEs\n", made_,
                  job_size(), left_out_);
  }
  void made() { ++made_; }
  void left_out() { ++left_out_; }

 private:
  int made_ = 0;
  int left_out_ = 0;
};
inline runs runs_of_job;

/// Runs body(runtime) on n_pes PEs: threads of this process, or, in a job, all of its processes,
/// each of which runs the same cases in the same order and leaves out those for another number of
/// PEs.
inline void run_pes(int n_pes, const std::function<void(runtime&)>& body) {
  if (job_size() == 0) return run_as_threads(n_pes, body);
  if (n_pes != job_size()) return runs_of_job.left_out();
  runs_of_job.made();
  runtime self;
  body(self);
}

}  // namespace heddle::testing
