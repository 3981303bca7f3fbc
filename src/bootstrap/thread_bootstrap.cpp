// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Collective number n of a job is one `round`: every rank adds its part, the one that completes the
// round wakes the others. A rank whose deadline passes has added its part and goes on with n + 1,
// so rounds are kept by number, each until every rank has taken the result or given up.

#include "bootstrap/thread_bootstrap.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include "bootstrap/host_identity.hpp"
#include "bootstrap/loss_record.hpp"
#include "bootstrap/random_bytes.hpp"
#include "bootstrap/rank_list.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

struct round {
  explicit round(int size) : parts(static_cast<std::size_t>(size)) {}
  std::vector<std::optional<bootstrap::bytes>> parts;
  const char* call = nullptr;
  int first_rank = 0;
  int mismatched_rank = -1;
  const char* mismatched_call = nullptr;
  int arrived = 0;
  int done = 0;
};

enum class membership { not_joined, joined, left, lost };

struct member {
  membership state = membership::not_joined;
  std::shared_ptr<loss_record> losses = std::make_shared<loss_record>();
};

}  // namespace

struct thread_job::state {
  explicit state(int size) : members(static_cast<std::size_t>(size)) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<member> members;
  std::map<std::uint64_t, round> rounds;
  std::string job_id = "threads-" + random_hex(16);
  bootstrap::secret secret{};
  std::string host = host_identity();

  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }

  void lose(int rank, std::string_view reason) {
    std::vector<std::shared_ptr<loss_record>> records;
    {
      std::lock_guard lock(mutex);
      auto& state = members[static_cast<std::size_t>(rank)].state;
      if (state == membership::lost || state == membership::left) return;
      state = membership::lost;
      for (auto& member : members) records.push_back(member.losses);
    }
    for (auto& record : records) record->add(rank, reason);
    // Under the mutex, so that no waiter misses it between its check and its sleep.
    std::lock_guard lock(mutex);
    changed.notify_all();
  }
};

namespace {

class thread_bootstrap final : public bootstrap {
 public:
  thread_bootstrap(std::shared_ptr<thread_job::state> job, int rank)
      : job_(std::move(job)), rank_(rank), losses_(me().losses) {}

  ~thread_bootstrap() override {
    losses_->set_callback({});
    job_->lose(rank_, "its bootstrap was destroyed without leave()");
  }

  int rank() const override { return rank_; }
  int size() const override { return job_->size(); }
  std::string_view name() const override { return "threads"; }
  std::string_view job_id() const override { return job_->job_id; }
  const secret& job_secret() const override { return job_->secret; }
  std::string_view host_of(int) const override { return job_->host; }

  std::vector<bytes> all_gather(std::span<const std::byte> mine, deadline until) override {
    std::vector<bytes> result;
    collective("all_gather", bytes(mine.begin(), mine.end()), until, &result);
    return result;
  }
  void barrier(deadline until) override { collective("barrier", {}, until, nullptr); }

  void on_lost(lost_callback callback) override { losses_->set_callback(std::move(callback)); }

  void report_lost(int rank, std::string_view reason) override {
    if (rank < 0 || rank >= size())
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "report_lost was given rank {} of a job of {}; ranks are 0 to {}", rank, size(),
                  size() - 1);
    job_->lose(rank, reason);
  }

  void leave() override {
    std::lock_guard lock(job_->mutex);
    if (me().state == membership::joined) me().state = membership::left;
    job_->changed.notify_all();
  }

 private:
  member& me() { return job_->members[static_cast<std::size_t>(rank_)]; }

  void collective(const char* call, bytes mine, deadline until, std::vector<bytes>* result) {
    std::unique_lock lock(job_->mutex);
    const std::uint64_t number = next_round_;
    require_usable(call, number);
    ++next_round_;
    auto& round = job_->rounds.try_emplace(number, size()).first->second;
    add_part(round, call, std::move(mine));
    job_->changed.wait_until(lock, until.at(), [&] {
      return round.arrived == size() || losses_->first() || absent_that_left(round) >= 0;
    });

    std::string problem;
    auto status = HEDDLE_SUCCESS;
    if (round.arrived < size())
      status = why_incomplete(round, call, number, problem);
    else if (round.mismatched_rank >= 0)
      status = mismatch(round, number, problem);
    else if (result)
      for (auto& part : round.parts) result->push_back(*part);
    if (++round.done == size()) job_->rounds.erase(number);
    if (status != HEDDLE_SUCCESS) throw error(status, problem);
  }

  void require_usable(const char* call, std::uint64_t number) {
    if (auto loss = losses_->first())
      throw_error(HEDDLE_ERROR_PEER_LOST, "{} (collective {}): rank {} of {} is lost: {}", call,
                  number, loss->rank, size(), loss->reason);
    if (me().state == membership::left)
      throw_error(HEDDLE_ERROR_INVALID_USAGE,
                  "rank {} called {} (collective {}) after leave(); leave() comes last", rank_,
                  call, number);
  }

  void add_part(round& round, const char* call, bytes mine) {
    if (!round.call) {
      round.call = call;
      round.first_rank = rank_;
    } else if (std::string_view(round.call) != call && round.mismatched_rank < 0) {
      round.mismatched_rank = rank_;
      round.mismatched_call = call;
    }
    round.parts[static_cast<std::size_t>(rank_)] = std::move(mine);
    if (++round.arrived == size()) job_->changed.notify_all();
  }

  int absent_that_left(const round& round) const {
    for (int i = 0; i < size(); ++i)
      if (!round.parts[static_cast<std::size_t>(i)] &&
          job_->members[static_cast<std::size_t>(i)].state == membership::left)
        return i;
    return -1;
  }

  heddle_status_t why_incomplete(const round& round, const char* call, std::uint64_t number,
                                 std::string& text) const {
    if (auto loss = losses_->first()) {
      text = fmt::format("{} (collective {}): rank {} of {} is lost: {}", call, number, loss->rank,
                         size(), loss->reason);
      return HEDDLE_ERROR_PEER_LOST;
    }
    if (int rank = absent_that_left(round); rank >= 0) {
      text = fmt::format(
          "{} (collective {}) cannot complete: rank {} of {} left the job without calling it; "
          "every "
          "rank must make the same calls before leave()",
          call, number, rank, size());
      return HEDDLE_ERROR_INVALID_USAGE;
    }
    std::vector<int> absent;
    for (int i = 0; i < size(); ++i)
      if (!round.parts[static_cast<std::size_t>(i)]) absent.push_back(i);
    text = fmt::format(
        "{} (collective {}) passed its deadline: {} of {} did not arrive; see what they wait for, "
        "or allow more time (HEDDLE_TIMEOUT, at start HEDDLE_INIT_TIMEOUT)",
        call, number, name_ranks(absent), size());
    return HEDDLE_ERROR_TIMEOUT;
  }

  heddle_status_t mismatch(const round& round, std::uint64_t number, std::string& text) const {
    text = fmt::format(
        "collective {} differs: rank {} called {}, rank {} called {}; every rank must make the "
        "same "
        "calls in the same order",
        number, round.first_rank, round.call, round.mismatched_rank, round.mismatched_call);
    return HEDDLE_ERROR_MISMATCH;
  }

  std::shared_ptr<thread_job::state> job_;
  const int rank_;
  const std::shared_ptr<loss_record> losses_;
  std::uint64_t next_round_ = 0;
};

}  // namespace

thread_job::thread_job(int size) {
  if (size < 1)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "asked for a job of {} threads; a job has at least one PE", size);
  state_ = std::make_shared<state>(size);
  fill_random(state_->secret);
}

thread_job::~thread_job() = default;

int thread_job::size() const { return state_->size(); }

std::unique_ptr<bootstrap> thread_job::join(int rank) {
  if (rank < 0 || rank >= size())
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "rank {} asked to join a job of {}; ranks are 0 to {}", rank, size(), size() - 1);
  {
    std::lock_guard lock(state_->mutex);
    auto& member = state_->members[static_cast<std::size_t>(rank)];
    if (member.state == membership::lost)
      throw_error(HEDDLE_ERROR_PEER_LOST, "rank {} asked to join a job that has lost it", rank);
    if (member.state != membership::not_joined)
      throw_error(HEDDLE_ERROR_INVALID_USAGE,
                  "rank {} asked to join a job that it has joined before; a rank joins once", rank);
    member.state = membership::joined;
  }
  return std::make_unique<thread_bootstrap>(state_, rank);
}

}  // namespace heddle
