// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap_conformance.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <heddle/error.hpp>
#include <mutex>
#include <thread>

#include "bootstrap/host_identity.hpp"

namespace heddle::conformance {
namespace {

using bytes = bootstrap::bytes;
using clock = std::chrono::steady_clock;

deadline soon() { return deadline::after(std::chrono::seconds(20)); }

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

bytes pattern(int rank, std::size_t size, int round = 0) {
  bytes data(size);
  for (std::size_t i = 0; i < size; ++i)
    data[i] = static_cast<std::byte>((i * 31 + static_cast<std::size_t>(rank * 7 + round)) & 0xff);
  return data;
}

void expect_parts(const std::vector<bytes>& parts, int size, std::size_t (*length)(int rank),
                  int round = 0) {
  expect(static_cast<int>(parts.size()) == size, fmt::format("{} parts", parts.size()));
  for (int r = 0; r < size; ++r)
    expect(parts[static_cast<std::size_t>(r)] == pattern(r, length(r), round),
           fmt::format("round {}: part {} is not what rank {} gave", round, r, r));
}

void gather_and_check(bootstrap& self, std::size_t (*length)(int rank), int round = 0) {
  expect_parts(self.all_gather(pattern(self.rank(), length(self.rank()), round), soon()),
               self.size(), length, round);
}

/// Runs `call`, which must throw heddle::error of `status`, and returns its text.
std::string error_of(heddle_status_t status, const std::function<void()>& call) {
  try {
    call();
  } catch (const error& e) {
    expect(e.status() == status,
           fmt::format("status {} instead of {}: {}", heddle_status_name(e.status()),
                       heddle_status_name(status), e.what()));
    return e.what();
  }
  throw std::runtime_error(fmt::format("no error; expected {}", heddle_status_name(status)));
}

void expect_contains(const std::string& text, const std::string& part) {
  expect(text.find(part) != std::string::npos, fmt::format("\"{}\" lacks \"{}\"", text, part));
}

/// Collects what on_lost tells.
class loss_listener {
 public:
  explicit loss_listener(bootstrap& self) : self_(self) {
    self_.on_lost([this](int rank, std::string_view reason) {
      std::lock_guard lock(mutex_);
      ranks_.push_back(rank);
      reasons_.emplace_back(reason);
      changed_.notify_all();
    });
  }
  ~loss_listener() { self_.on_lost({}); }

  void wait_for(std::size_t count, double seconds) {
    std::unique_lock lock(mutex_);
    bool enough = changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                                    [&] { return ranks_.size() >= count; });
    expect(enough, fmt::format("rank {} heard of {} losses, not {}, in {} s", self_.rank(),
                               ranks_.size(), count, seconds));
  }
  std::vector<int> ranks() {
    std::lock_guard lock(mutex_);
    return ranks_;
  }
  std::vector<std::string> reasons() {
    std::lock_guard lock(mutex_);
    return reasons_;
  }

 private:
  bootstrap& self_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> ranks_;
  std::vector<std::string> reasons_;
};

void names_are_filled_in(rank_context& context) {
  auto& self = context.self;
  expect(self.rank() >= 0 && self.rank() < self.size(), "rank outside the job");
  expect(!self.name().empty(), "no name");
  expect(!self.job_id().empty(), "no job id");
  for (char c : self.job_id())
    expect(std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_',
           fmt::format("job id \"{}\" holds '{}'", self.job_id(), c));
  expect(self.host_of(self.rank()) == host_identity(), "my host is not the one I am on");
}

bytes as_bytes_of(std::string_view text) {
  auto raw = std::as_bytes(std::span(text));
  return {raw.begin(), raw.end()};
}

void job_id_and_secret_agree(rank_context& context) {
  auto& self = context.self;
  auto ids = self.all_gather(as_bytes_of(self.job_id()), soon());
  auto secrets = self.all_gather(self.job_secret(), soon());
  for (auto& id : ids) expect(id == ids[0], "job ids differ");
  for (auto& secret : secrets) expect(secret == secrets[0], "secrets differ");
  expect(secrets[0] != bytes(secrets[0].size()), "the secret is zero");
  for (int r = 0; r < self.size(); ++r) {
    auto hosts = self.all_gather(as_bytes_of(self.host_of(r)), soon());
    for (auto& host : hosts) expect(host == hosts[0], "ranks disagree on a rank's host");
  }
}

void gathers_equal_parts(rank_context& context) {
  gather_and_check(context.self, [](int) { return std::size_t{64}; });
}

void gathers_empty_parts(rank_context& context) {
  gather_and_check(context.self, [](int) { return std::size_t{0}; });
}

void gathers_a_megabyte_each(rank_context& context) {
  gather_and_check(context.self, [](int) { return std::size_t{1} << 20; });
}

void gathers_parts_of_differing_sizes(rank_context& context) {
  gather_and_check(context.self, [](int rank) {
    return static_cast<std::size_t>(rank % 3 == 1 ? 0 : rank * 977 + 1);
  });
}

void a_hundred_rounds_stay_in_step(rank_context& context) {
  for (int round = 0; round < 100; ++round) {
    if (round % 3 == 0) context.self.barrier(soon());
    gather_and_check(
        context.self, [](int rank) { return static_cast<std::size_t>(rank + 1); }, round);
  }
}

void barrier_waits_for_the_last(rank_context& context) {
  auto& self = context.self;
  const int late = self.size() / 2;
  // The clock is the machine's, hence comparable between its processes.
  if (self.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(150));
  auto now = clock::now().time_since_epoch().count();
  self.barrier(soon());
  auto after = clock::now().time_since_epoch().count();
  auto arrivals = self.all_gather(std::as_bytes(std::span(&now, 1)), soon());
  decltype(now) arrival;
  std::memcpy(&arrival, arrivals[static_cast<std::size_t>(late)].data(), sizeof arrival);
  if (self.host_of(late) == self.host_of(self.rank()))
    expect(after >= arrival, "barrier returned before the last rank called it");
}

void deadline_names_the_missing_rank(rank_context& context) {
  auto& self = context.self;
  const int late = self.size() - 1;
  self.barrier(soon());
  if (self.rank() == late) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1400));
  } else {
    auto text = error_of(HEDDLE_ERROR_TIMEOUT,
                         [&] { self.barrier(deadline::after(std::chrono::milliseconds(600))); });
    expect_contains(text, "barrier");
    expect_contains(text, fmt::format("rank {} of {} did not arrive", late, self.size()));
  }
  // A time-out does not end the job: the late rank finds the others' parts, and they go on
  // together.
  if (self.rank() == late) self.barrier(soon());
  gather_and_check(self, [](int) { return std::size_t{8}; });
}

void a_different_call_is_named(rank_context& context) {
  auto& self = context.self;
  auto text = error_of(HEDDLE_ERROR_MISMATCH, [&] {
    if (self.rank() == 1)
      self.barrier(soon());
    else
      self.all_gather(pattern(self.rank(), 4), soon());
  });
  expect_contains(text, "rank 1 called barrier");
  expect_contains(text, "called all_gather");
  gather_and_check(self, [](int) { return std::size_t{8}; });
}

void expect_peer_lost(bootstrap& self, int victim) {
  expect_contains(error_of(HEDDLE_ERROR_PEER_LOST, [&] { self.barrier(soon()); }),
                  fmt::format("rank {} of {} is lost", victim, self.size()));
}

void die_and_be_noticed(rank_context& context, int victim) {
  auto& self = context.self;
  self.barrier(soon());
  if (self.rank() == victim) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    context.die();
  }
  loss_listener listener(self);
  auto start = clock::now();
  expect_peer_lost(self, victim);
  expect(seconds_since(start) < 5, fmt::format("noticed after {} s", seconds_since(start)));
  listener.wait_for(1, 5);
  expect(listener.ranks() == std::vector<int>{victim}, "another rank was named");
  expect(!listener.reasons()[0].empty(), "no reason");
  expect_peer_lost(self, victim);
  expect_contains(error_of(HEDDLE_ERROR_PEER_LOST, [&] { self.all_gather({}, soon()); }),
                  fmt::format("rank {} of {} is lost", victim, self.size()));
  // Hears of a loss that came before it.
  loss_listener second(self);
  second.wait_for(1, 1);
  expect(second.ranks() == std::vector<int>{victim}, "the second listener heard something else");
}

void the_last_rank_dies(rank_context& context) {
  die_and_be_noticed(context, context.self.size() - 1);
}
void rank_zero_dies(rank_context& context) { die_and_be_noticed(context, 0); }
void rank_one_dies(rank_context& context) { die_and_be_noticed(context, 1); }

void every_death_is_told_once(rank_context& context) {
  auto& self = context.self;
  loss_listener listener(self);
  self.barrier(soon());
  const int first = self.size() - 2, second = self.size() - 1;
  if (self.rank() == first || self.rank() == second) {
    std::this_thread::sleep_for(std::chrono::milliseconds(self.rank() == first ? 60 : 120));
    context.die();
  }
  listener.wait_for(2, 5);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  auto ranks = listener.ranks();
  std::sort(ranks.begin(), ranks.end());
  expect(ranks == std::vector<int>{first, second}, fmt::format("heard of {} losses", ranks.size()));
}

void leaving_is_no_loss(rank_context& context) {
  auto& self = context.self;
  loss_listener listener(self);
  self.barrier(soon());
  if (self.rank() == self.size() - 1 || self.rank() == 1) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  expect(listener.ranks().empty(), "a rank that left was called lost");
}

void a_call_after_another_left_is_an_error(rank_context& context) {
  auto& self = context.self;
  self.barrier(soon());
  const int leaver = self.size() - 1;
  if (self.rank() == leaver) return;
  auto text = error_of(HEDDLE_ERROR_INVALID_USAGE, [&] { self.barrier(soon()); });
  // Ranks end at different times, so another may have left by now too.
  expect_contains(text, "left the job");
  int departed = 0;
  for (int rank = 0; rank < self.size(); ++rank) departed += self.has_left(rank) ? 1 : 0;
  expect(departed > 0 && !self.has_left(self.rank()), "it is not known who left");
}

void a_call_after_my_own_leave_is_an_error(rank_context& context) {
  auto& self = context.self;
  self.barrier(soon());
  self.leave();
  expect_contains(error_of(HEDDLE_ERROR_INVALID_USAGE, [&] { self.barrier(soon()); }), "leave()");
  self.leave();
}

void a_reported_loss_reaches_everyone(rank_context& context) {
  auto& self = context.self;
  loss_listener listener(self);
  self.barrier(soon());
  const int victim = self.size() - 1;
  if (self.rank() == 0) self.report_lost(victim, "the test says so");
  listener.wait_for(1, 5);
  expect(listener.ranks() == std::vector<int>{victim}, "another rank was named");
  expect_contains(listener.reasons()[0], "the test says so");
  expect_peer_lost(self, victim);
  expect_contains(
      error_of(HEDDLE_ERROR_INVALID_ARGUMENT, [&] { self.report_lost(self.size(), "none"); }),
      fmt::format("rank {} of a job of {}", self.size(), self.size()));
}

void an_emptied_callback_is_not_called(rank_context& context) {
  auto& self = context.self;
  std::atomic<int> calls{0};
  self.on_lost([&](int, std::string_view) { ++calls; });
  self.on_lost({});
  self.barrier(soon());
  if (self.rank() == 1) context.die();
  expect_peer_lost(self, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  expect(calls == 0, "the callback was called after it was emptied");
}

}  // namespace

const std::vector<test_case>& test_cases() {
  static const std::vector<int> any = {1, 2, 3, 5, 8, 16};
  static const std::vector<test_case> all = {
      {"names are filled in", {1, 3}, 5, names_are_filled_in},
      {"job id and secret agree", {2, 5}, 5, job_id_and_secret_agree},
      {"gathers equal parts", any, 5, gathers_equal_parts},
      {"gathers empty parts", {1, 2, 8}, 5, gathers_empty_parts},
      {"gathers a megabyte each", {2, 5}, 15, gathers_a_megabyte_each},
      {"gathers parts of differing sizes", any, 5, gathers_parts_of_differing_sizes},
      {"a hundred rounds stay in step", {1, 2, 5, 16}, 20, a_hundred_rounds_stay_in_step},
      {"barrier waits for the last", {2, 3, 8}, 5, barrier_waits_for_the_last},
      {"deadline names the missing rank", {2, 5}, 8, deadline_names_the_missing_rank},
      {"a different call is named", {2, 5}, 5, a_different_call_is_named},
      {"the last rank dies", {2, 5, 16}, 12, the_last_rank_dies},
      {"rank zero dies", {2, 5, 16}, 12, rank_zero_dies},
      {"rank one dies", {3, 16}, 12, rank_one_dies},
      {"every death is told once", {4, 16}, 12, every_death_is_told_once},
      {"leaving is no loss", {3, 16}, 8, leaving_is_no_loss},
      {"a call after another left is an error", {2, 5}, 8, a_call_after_another_left_is_an_error},
      {"a call after my own leave is an error", {1, 3}, 5, a_call_after_my_own_leave_is_an_error},
      {"a reported loss reaches everyone", {2, 5, 16}, 12, a_reported_loss_reaches_everyone},
      {"an emptied callback is not called", {3}, 12, an_emptied_callback_is_not_called},
  };
  return all;
}

const test_case& find_case(std::string_view name) {
  for (auto& one : test_cases())
    if (one.name == name) return one;
  throw std::runtime_error(fmt::format("no conformance case \"{}\"", name));
}

void run_rank(bootstrap& self, const test_case& chosen, std::function<void()> die) {
  rank_context context{self, std::move(die)};
  chosen.body(context);
  self.leave();
}

}  // namespace heddle::conformance
