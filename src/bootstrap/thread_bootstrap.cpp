// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "bootstrap/thread_bootstrap.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>

#include "bootstrap/collective_rounds.hpp"
#include "bootstrap/host_identity.hpp"
#include "bootstrap/loss_record.hpp"
#include "bootstrap/random_bytes.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

constexpr int most_threads = 1 << 16;  // what a process may have of them, about

}  // namespace

struct thread_rendezvous::state {
  enum class membership { not_joined, joined, left, lost };

  struct member {
    membership state = membership::not_joined;
    std::shared_ptr<loss_record> losses = std::make_shared<loss_record>();
  };

  explicit state(int size) : members(static_cast<std::size_t>(size)), rounds(size) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<member> members;
  collective_rounds rounds;
  std::map<std::uint64_t, int>
      finished;  // by round: the ranks that have taken the result or given up
  std::string job_id = "threads-" + random_hex(16);
  bootstrap::secret secret{};
  std::string host = host_identity();

  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
  /// Under the mutex. Every rank is told soon after, if it has not been.
  [[nodiscard]] bool has_lost() const {
    return std::any_of(members.begin(), members.end(),
                       [](const auto& member) { return member.state == membership::lost; });
  }

  void lose(int rank, std::string_view reason) {
    std::vector<std::shared_ptr<loss_record>> records;
    {
      std::lock_guard lock(mutex);
      auto& state = members[static_cast<std::size_t>(rank)].state;
      if (state == membership::lost || state == membership::left) return;
      state = membership::lost;
      for (auto& member : members) records.push_back(member.losses);
    }
    // All know it before one is told and leaves, which may look like a loss to the others.
    for (auto& record : records) record->note(rank, reason);
    for (auto& record : records) record->tell();
    // Under the mutex, so that no waiter misses it between its check and its sleep.
    std::lock_guard lock(mutex);
    changed.notify_all();
  }
};

namespace {

using membership = thread_rendezvous::state::membership;

class thread_bootstrap final : public bootstrap {
 public:
  thread_bootstrap(std::shared_ptr<thread_rendezvous::state> job, int rank)
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
    return collective(collective_call::all_gather, bytes(mine.begin(), mine.end()), until);
  }
  void barrier(deadline until) override { collective(collective_call::barrier, {}, until); }

  void on_lost(lost_callback callback) override { losses_->set_callback(std::move(callback)); }
  [[nodiscard]] std::optional<loss> first_loss() const override { return losses_->first(); }

  void report_lost(int rank, std::string_view reason) override {
    require_reportable(rank, size());
    job_->lose(rank, reason);
  }

  void leave() override {
    std::lock_guard lock(job_->mutex);
    if (me().state != membership::joined) return;
    me().state = membership::left;
    job_->rounds.leave(rank_);
    job_->changed.notify_all();
  }
  [[nodiscard]] bool has_left(int rank) const override {
    std::lock_guard lock(job_->mutex);
    return job_->members[static_cast<std::size_t>(rank)].state == membership::left;
  }

 private:
  thread_rendezvous::state::member& me() { return job_->members[static_cast<std::size_t>(rank_)]; }

  std::vector<bytes> collective(collective_call call, bytes mine, deadline until) {
    std::unique_lock lock(job_->mutex);
    const std::uint64_t number = next_round_;
    if (auto loss = losses_->first())
      throw error(HEDDLE_ERROR_PEER_LOST, describe_loss(call, number, *loss, size()));
    if (me().state == membership::left) throw_called_after_leave(call, number, rank_);
    ++next_round_;

    auto& rounds = job_->rounds;
    rounds.add(number, rank_, call, std::move(mine));
    if (rounds.result(number)) job_->changed.notify_all();
    // A rank that is told of a loss may leave, which fails the round: the loss is the cause.
    const auto counts = [&](const collective_rounds::outcome* result) {
      return result && (result->status == HEDDLE_SUCCESS || !job_->has_lost());
    };
    job_->changed.wait_until(lock, until.at(),
                             [&] { return counts(rounds.result(number)) || losses_->first(); });

    collective_rounds::outcome mine_of_it;
    if (auto* result = rounds.result(number); counts(result))
      mine_of_it = *result;
    else if (auto loss = losses_->first())
      mine_of_it = {HEDDLE_ERROR_PEER_LOST, describe_loss(call, number, *loss, size()), {}};
    else
      mine_of_it = {
          HEDDLE_ERROR_TIMEOUT, describe_timeout(call, number, rounds.absent(number), size()), {}};
    if (++job_->finished[number] == size()) {
      rounds.forget(number);
      job_->finished.erase(number);
    }
    if (mine_of_it.status != HEDDLE_SUCCESS) throw error(mine_of_it.status, mine_of_it.problem);
    return std::move(mine_of_it.parts);
  }

  std::shared_ptr<thread_rendezvous::state> job_;
  const int rank_;
  const std::shared_ptr<loss_record> losses_;
  std::uint64_t next_round_ = 0;
};

}  // namespace

thread_rendezvous::thread_rendezvous(int size) {
  if (size < 1 || size > most_threads)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "asked for a job of {} threads; a job has 1 to {}",
                size, most_threads);
  state_ = std::make_shared<state>(size);
  fill_random(state_->secret);
}

thread_rendezvous::~thread_rendezvous() = default;

int thread_rendezvous::size() const { return state_->size(); }

std::unique_ptr<bootstrap> thread_rendezvous::join(int rank) {
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
