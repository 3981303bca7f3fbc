// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <heddle/heddle.hpp>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "doctest/cut_short.hpp"
#include "doctest/run_pes.hpp"
#include "host/outcomes.hpp"

// Every mistake with sends, receives and groups is an error that says what was asked, what was
// found and what to do.

using heddle::runtime;
using heddle::testing::check_error;
using heddle::testing::environment_variable;
using heddle::testing::of;
using heddle::testing::patient;
using heddle::testing::run_pes;

namespace {

constexpr auto invalid = HEDDLE_ERROR_INVALID_ARGUMENT;
constexpr auto usage = HEDDLE_ERROR_INVALID_USAGE;
constexpr auto f32 = HEDDLE_FLOAT32;

/// What this process writes to stderr while it lives.
class captured_stderr {
 public:
  captured_stderr() {
    REQUIRE(file_);
    ::dup2(::fileno(file_.get()), STDERR_FILENO);
  }
  ~captured_stderr() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  captured_stderr(const captured_stderr&) = delete;
  captured_stderr& operator=(const captured_stderr&) = delete;

  [[nodiscard]] std::string text() const {
    std::string all(10'000, '\0');
    all.resize(static_cast<std::size_t>(
        std::max<ssize_t>(::pread(::fileno(file_.get()), all.data(), all.size(), 0), 0)));
    return all;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), &std::fclose};
  const int before_ = ::dup(STDERR_FILENO);
};

}  // namespace

TEST_CASE("arguments are checked before anything is sent") {
  check_error(of(heddle_send(nullptr, nullptr, 0, f32, 0, nullptr)), invalid,
              {"heddle_send", "team is NULL"});
  check_error(of(heddle_recv(nullptr, nullptr, 0, f32, 0, nullptr)), invalid,
              {"heddle_recv", "team is NULL"});
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    float data[4] = {};
    check_error(of(heddle_send(team, data, 4, f32, 2, nullptr)), invalid,
                {"heddle_send", "peer 2", "2 PEs", "world"});
    check_error(of(heddle_recv(team, data, 4, f32, -1, nullptr)), invalid,
                {"heddle_recv", "peer -1"});
    check_error(of(heddle_recv(team, nullptr, 4, f32, 0, nullptr)), invalid,
                {"buffer is NULL", "count of 4"});
    check_error(of(heddle_send(team, data, SIZE_MAX / 4, f32, 0, nullptr)), invalid,
                {"more than an address can reach"});
    check_error(of(heddle_send(team, data, 4, static_cast<heddle_type_t>(77), 0, nullptr)), invalid,
                {"77 is not a heddle_type_t"});
    CHECK(heddle_send(team, nullptr, 0, f32, 1, nullptr) == HEDDLE_SUCCESS);
    self.world().barrier();
  });
}

TEST_CASE("groups that are not as they should be") {
  check_error(of(heddle_group_end()), usage, {"heddle_group_end", "no group is open"});
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    const int me = self.my_pe();
    float data[300] = {};
    heddle_group_begin();
    heddle_send(team, data, 4, f32, me, nullptr);
    check_error(of(heddle_group_end()), usage, {"1 sends", "0 receives", "one group"});

    heddle_group_begin();
    heddle_recv(team, data, 4, f32, 1 - me, nullptr);
    heddle_send(team, data + 3, 4, f32, 1 - me, nullptr);
    check_error(of(heddle_group_end()), invalid, {"overlap", "sent to PE", "received from PE"});

    heddle_group_begin();
    for (int i = 0; i < 1025; ++i) heddle_send(team, data + i % 300, 1, f32, 1 - me, nullptr);
    check_error(of(heddle_group_end()), HEDDLE_ERROR_NOT_SUPPORTED, {"1025", "at most 1024"});

    const auto stream = self.create_stream();
    heddle_group_begin();
    heddle_send(team, data, 4, f32, 1 - me, nullptr);
    heddle_recv(team, data + 8, 4, f32, 1 - me, stream.handle());
    check_error(of(heddle_group_end()), usage, {"several streams", "world"});

    heddle_group_begin();
    heddle_group_begin();
    heddle_send(team, data, 4, f32, 1 - me, nullptr);
    CHECK(heddle_group_cancel() == HEDDLE_SUCCESS);
    CHECK(heddle_send(team, data, 4, f32, 1 - me, nullptr) == HEDDLE_SUCCESS);
    check_error(of(heddle_group_end()), usage, {"was cancelled", "nothing was sent"});

    // One that is left open.
    heddle_group_begin();
    heddle_send(team, data, 4, f32, 1 - me, nullptr);
    check_error(of(heddle_stream_synchronize(self.handle(), nullptr)), usage,
                {"heddle_stream_synchronize", "1 sends and receives", "heddle_group_end"});
    check_error(of(heddle_team_destroy(team)), usage, {"heddle_team_destroy", "is open"});
    check_error(of(heddle_finalize(self.handle())), usage, {"heddle_finalize", "is open"});
    CHECK_THROWS_WITH_AS(self.finalize(), doctest::Contains("is open"), heddle::error);
    CHECK(self.handle() != nullptr);
    CHECK(heddle_group_cancel() == HEDDLE_SUCCESS);
    CHECK(heddle_stream_synchronize(self.handle(), nullptr) == HEDDLE_SUCCESS);
    check_error(of(heddle_group_end()), usage, {"no group is open"});
    check_error(of(heddle_group_cancel()), usage, {"heddle_group_cancel", "no group is open"});
    self.world().barrier();  // nothing was sent
  });
}

TEST_CASE("a thread that ends with a group open is warned of" * doctest::test_suite("threads")) {
  const captured_stderr said;
  heddle::run_as_threads(1, [](runtime& self) {
    const float few[4] = {};
    std::jthread([&] {
      heddle_group_begin();
      heddle_send(self.world().handle(), few, 4, f32, 0, nullptr);
    }).join();
  });
  CHECK(said.text().find("a group open: 1 sends or receives in it were never started") !=
        std::string::npos);
}

TEST_CASE("a team that another thread destroys while a group has sends in it") {
  run_pes(2, [](runtime& self) {
    const int other = 1 - self.my_pe();
    heddle_team_t gone;
    REQUIRE(heddle_team_split_strided(self.world().handle(), 0, 1, 2, &gone) == HEDDLE_SUCCESS);
    float data[8] = {};
    heddle_group_begin();
    CHECK(heddle_send(gone, data, 4, f32, other, nullptr) == HEDDLE_SUCCESS);
    CHECK(heddle_recv(gone, data + 4, 4, f32, other, nullptr) == HEDDLE_SUCCESS);
    std::jthread([&] { CHECK(heddle_team_destroy(gone) == HEDDLE_SUCCESS); }).join();
    CHECK(heddle_stream_synchronize(self.handle(), nullptr) == HEDDLE_SUCCESS);
    check_error(of(heddle_group_end()), usage, {"heddle_group_end", "a team", "was destroyed"});
    self.world().barrier();
  });
}

TEST_CASE("a send and its receive of different sizes, with HEDDLE_CHECK=1") {
  environment_variable check("HEDDLE_CHECK", "1");
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    float data[8] = {};
    const auto got = self.my_pe() == 0 ? of(heddle_send(team, data, 4, f32, 1, nullptr))
                                       : of(heddle_recv(team, data, 8, f32, 0, nullptr));
    CAPTURE(got.text);
    CHECK(got.status == HEDDLE_ERROR_MISMATCH);
    CHECK((got.text.find("PE 0 sends 16 bytes to PE 1, which receives 32") != std::string::npos ||
           got.text.find("PE 1 receives 32 bytes from PE 0, which sends 16") != std::string::npos));
  });
}

TEST_CASE("sends and receives of different sizes, in a team of more than 64 PEs" *
          doctest::test_suite("threads")) {
  environment_variable heap("HEDDLE_HEAP_SIZE", "16M");
  environment_variable teams("HEDDLE_MAX_TEAMS", "2");
  std::atomic<int> told = 0;
  std::latch all_told(66);
  heddle::run_as_threads(66, [&](runtime& self) {
    const auto team = self.world().handle();
    float data[8] = {};
    const int me = self.my_pe();
    const auto got = me % 2 == 0 ? of(heddle_send(team, data, 4, f32, me + 1, nullptr))
                                 : of(heddle_recv(team, data, 8, f32, me - 1, nullptr));
    // Whichever pair was the first to find it.
    if (got.status == HEDDLE_ERROR_MISMATCH &&
        got.text.find("receives 32 bytes from PE") != std::string::npos &&
        got.text.find("which sends 16") != std::string::npos)
      ++told;
    all_told.arrive_and_wait();  // who had left before would be told instead
  });
  CHECK(told == 66);
}

TEST_CASE("a send or a receive without the other ends with both sides' names") {
  environment_variable timeout("HEDDLE_TIMEOUT", std::to_string(patient(0.5)));
  for (const bool sends : {true, false})
    run_pes(2, [&](runtime& self) {
      // Connected by this, PE 0 can be asked over a network too.
      const auto pair = self.world().split_strided(0, 1, 2);
      const auto team = pair.handle();
      std::vector<float> data(100'000);
      if (self.my_pe() == 0) {
        while (heddle_team_status(team) == HEDDLE_SUCCESS) std::this_thread::yield();
      } else {
        const auto got = of(sends ? heddle_send(team, data.data(), data.size(), f32, 0, nullptr)
                                  : heddle_recv(team, data.data(), data.size(), f32, 0, nullptr));
        check_error(got, HEDDLE_ERROR_TIMEOUT,
                    {"PE 1", sends ? "for PE 0 in send" : "for PE 0 in receive",
                     "PE 0 is not waiting in this team: it has not made the call"});
      }
      self.world().barrier();  // PE 0 has been asked
    });
}

TEST_CASE("a send of few bytes, which has room, waits for its receive where calls are compared") {
  environment_variable timeout("HEDDLE_TIMEOUT", std::to_string(patient(0.5)));
  const float few[4] = {};
  run_pes(2, [&](runtime& self) {
    if (self.my_pe() == 1) self.world().send(few, 4, 0);
    self.world().barrier();
  });
  environment_variable compared("HEDDLE_CHECK", "1");
  run_pes(2, [&](runtime& self) {
    // Connected by this, PE 0 can be asked over a network too.
    const auto pair = self.world().split_strided(0, 1, 2);
    if (self.my_pe() == 0)
      while (heddle_team_status(pair.handle()) == HEDDLE_SUCCESS) std::this_thread::yield();
    else
      check_error(of(heddle_send(pair.handle(), few, 4, f32, 0, nullptr)), HEDDLE_ERROR_TIMEOUT,
                  {"PE 1", "for PE 0 in send", "it has not made the call"});
    self.world().barrier();  // PE 0 has been asked
  });
}

TEST_CASE("of a PE that has left the job it is told that it has") {
  environment_variable timeout("HEDDLE_TIMEOUT", "0.5");
  run_pes(2, [&](runtime& self) {
    if (self.my_pe() == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
    float one = 0;
    check_error(of(heddle_recv(self.world().handle(), &one, 1, f32, 0, nullptr)),
                HEDDLE_ERROR_TIMEOUT, {"; PE 0 has left the job (heddle_finalize). See why"});
  });
}
