// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/thread_bootstrap.hpp"

#include <doctest/doctest.h>

#include <heddle/error.hpp>

#include "bootstrap/imitated_hosts.hpp"
#include "thread_starter.hpp"

using namespace heddle;
using namespace std::chrono_literals;

TEST_CASE("threads conform") {
  conformance::check_all_cases([](const conformance::test_case& chosen, int size) {
    thread_rendezvous job(size);
    return conformance::run_on_threads(chosen, size, [&](int rank) { return job.join(rank); });
  });
}

TEST_CASE("the job object may end before its bootstraps") {
  auto job = std::make_unique<thread_rendezvous>(2);
  auto zero = job->join(0);
  auto one = job->join(1);
  job.reset();
  std::thread other([&] { one->barrier(deadline::after(10s)); });
  zero->barrier(deadline::after(10s));
  other.join();
}

TEST_CASE("a rank joins once and inside the job") {
  thread_rendezvous job(2);
  auto zero = job.join(0);
  CHECK_THROWS_WITH_AS(job.join(0),
                       "rank 0 asked to join a job that it has joined before; a rank joins once",
                       error);
  CHECK_THROWS_WITH_AS(job.join(2), "rank 2 asked to join a job of 2; ranks are 0 to 1", error);
  CHECK_THROWS_WITH_AS(job.join(-1), "rank -1 asked to join a job of 2; ranks are 0 to 1", error);
  zero->report_lost(1, "never came");
  CHECK_THROWS_WITH_AS(job.join(1), "rank 1 asked to join a job that has lost it", error);
}

TEST_CASE("a job has one PE at least, and no more than a process may have threads") {
  for (const int n : {0, -1, 65537, std::numeric_limits<int>::max()})
    CHECK_THROWS_WITH_AS(thread_rendezvous{n}, doctest::Contains("threads; a job has 1 to 65536"),
                         error);
}

TEST_CASE("two jobs of one process have their own ids and secrets") {
  thread_rendezvous first(1), second(1);
  auto a = first.join(0), b = second.join(0);
  CHECK(a->job_id() != b->job_id());
  CHECK(a->job_secret() != b->job_secret());
}

TEST_CASE("on_lost with an empty function waits for a running call") {
  thread_rendezvous job(2);
  auto zero = job.join(0);
  auto one = job.join(1);
  std::atomic<bool> started{false}, ended{false};
  zero->on_lost([&](int, std::string_view) {
    started = true;
    std::this_thread::sleep_for(50ms);
    ended = true;
  });
  std::thread reporter([&] { one.reset(); });
  while (!started) std::this_thread::yield();
  zero->on_lost({});
  CHECK(ended);
  reporter.join();
}

TEST_CASE("PEs count as on hosts of so many each, and are on one all the same") {
  thread_rendezvous job(5);
  const auto real = imitate_hosts(job.join(3), 0);
  CHECK(real->host_of(0) == real->host_of(4));
  const auto one = imitate_hosts(job.join(2), 2);
  CHECK(one->rank() == 2);
  CHECK(one->host_of(0) == one->host_of(1));
  CHECK(one->host_of(1) != one->host_of(2));
  CHECK(one->host_of(2) == one->host_of(3));
  CHECK(one->host_of(3) != one->host_of(4));
  CHECK(local_rank(*one) == 0);
  CHECK(local_rank(*imitate_hosts(job.join(1), 2)) == 1);
  for (int rank = 0; rank < 5; ++rank)
    CHECK(real_host_of(one->host_of(rank)) == real->host_of(rank));
}

TEST_CASE("all ranks know of a loss before the first is told") {
  thread_rendezvous job(3);
  const auto zero = job.join(0);
  const auto one = job.join(1);
  auto two = job.join(2);
  int told = 0;
  const auto both_know = [&](int rank, std::string_view) {
    ++told;
    for (const auto* each : {zero.get(), one.get()}) {
      const auto first = each->first_loss();
      CHECK(first.has_value());
      if (first) CHECK(first->rank == rank);
    }
  };
  zero->on_lost(both_know);
  one->on_lost(both_know);
  two.reset();
  CHECK(told == 2);
  for (auto* each : {zero.get(), one.get()}) each->on_lost({});
}

TEST_CASE("a callback may stop the calls from inside a call") {
  thread_rendezvous job(3);
  auto zero = job.join(0);
  int calls = 0;
  zero->on_lost([&](int, std::string_view) {
    ++calls;
    zero->on_lost({});
  });
  zero->report_lost(1, "first");
  zero->report_lost(2, "second");
  CHECK(calls == 1);
}
