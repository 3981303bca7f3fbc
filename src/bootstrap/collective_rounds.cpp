// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/collective_rounds.hpp"

#include <utility>

#include "bootstrap/rank_list.hpp"
#include "support/throw_error.hpp"

namespace heddle {

const char* name_of(collective_call call) {
  return call == collective_call::all_gather ? "all_gather" : "barrier";
}

collective_rounds::collective_rounds(int size)
    : size_(size), left_(static_cast<std::size_t>(size)) {}

collective_rounds::round& collective_rounds::at(std::uint64_t number) {
  auto& found = rounds_[number];
  if (found.parts.empty()) found.parts.resize(static_cast<std::size_t>(size_));
  return found;
}

void collective_rounds::add(std::uint64_t number, int rank, collective_call call,
                            bootstrap::bytes part) {
  auto& round = at(number);
  auto& place = round.parts[static_cast<std::size_t>(rank)];
  if (place) return;
  place = std::move(part);
  if (round.first_rank < 0) {
    round.first_rank = rank;
    round.call = call;
  } else if (round.call != call && round.other_rank < 0) {
    round.other_rank = rank;
    round.other_call = call;
  }
  ++round.arrived;
  if (round.forgotten) place->clear();
  if (round.arrived == size_ && round.forgotten) {
    rounds_.erase(number);
  } else if (!round.decided) {
    if (round.arrived == size_)
      decide(number, round);
    else if (round.arrived == 1)  // leave() sees to those that leave later
      fail_if_left(number, round);
  }
}

void collective_rounds::leave(int rank) {
  left_[static_cast<std::size_t>(rank)] = true;
  for (auto& [number, round] : rounds_)
    if (!round.decided && !round.parts[static_cast<std::size_t>(rank)]) fail(number, round, rank);
}

void collective_rounds::decide(std::uint64_t number, round& round) {
  outcome result;
  if (round.other_rank >= 0) {
    result.status = HEDDLE_ERROR_MISMATCH;
    result.problem = fmt::format(
        "collective {} differs: rank {} called {}, rank {} called {}; every rank must make the "
        "same "
        "calls in the same order",
        number, round.first_rank, name_of(round.call), round.other_rank, name_of(round.other_call));
  } else if (round.call == collective_call::all_gather) {
    for (auto& part : round.parts) result.parts.push_back(std::move(*part));
  }
  round.decided = std::move(result);
  decided_.push_back(number);
}

void collective_rounds::fail_if_left(std::uint64_t number, round& round) {
  for (int rank = 0; rank < size_; ++rank) {
    auto index = static_cast<std::size_t>(rank);
    if (left_[index] && !round.parts[index]) return fail(number, round, rank);
  }
}

void collective_rounds::fail(std::uint64_t number, round& round, int left) {
  round.decided =
      outcome{HEDDLE_ERROR_INVALID_USAGE, describe_departure(round.call, number, left, size_), {}};
  decided_.push_back(number);
}

std::vector<std::uint64_t> collective_rounds::take_decided() { return std::exchange(decided_, {}); }

const collective_rounds::outcome* collective_rounds::result(std::uint64_t number) const {
  auto found = rounds_.find(number);
  return found == rounds_.end() || !found->second.decided ? nullptr : &*found->second.decided;
}

std::vector<int> collective_rounds::absent(std::uint64_t number) const {
  std::vector<int> ranks;
  auto found = rounds_.find(number);
  for (int rank = 0; rank < size_; ++rank)
    if (found == rounds_.end() || !found->second.parts[static_cast<std::size_t>(rank)])
      ranks.push_back(rank);
  return ranks;
}

void collective_rounds::forget(std::uint64_t number) {
  auto found = rounds_.find(number);
  if (found == rounds_.end()) return;
  if (found->second.arrived == size_) {
    rounds_.erase(found);
    return;
  }
  found->second.forgotten = true;
  for (auto& part : found->second.parts)
    if (part) part = bootstrap::bytes();
}

std::string describe_loss(collective_call call, std::uint64_t number, const loss_record::loss& loss,
                          int size) {
  return fmt::format("{} (collective {}): rank {} of {} is lost: {}", name_of(call), number,
                     loss.rank, size, loss.reason);
}

std::string describe_timeout(collective_call call, std::uint64_t number,
                             const std::vector<int>& absent, int size) {
  return fmt::format(
      "{} (collective {}) passed its deadline: {} of {} did not arrive; see what they wait for, or "
      "allow more time (HEDDLE_TIMEOUT, at start HEDDLE_INIT_TIMEOUT)",
      name_of(call), number, name_ranks(absent), size);
}

std::string describe_departure(collective_call call, std::uint64_t number, int rank, int size) {
  return fmt::format(
      "{} (collective {}) cannot complete: rank {} of {} left the job without calling it; every "
      "rank "
      "must make the same calls before leave()",
      name_of(call), number, rank, size);
}

void throw_called_after_leave(collective_call call, std::uint64_t number, int rank) {
  throw_error(HEDDLE_ERROR_INVALID_USAGE,
              "rank {} called {} (collective {}) after leave(); leave() comes last", rank,
              name_of(call), number);
}

void require_reportable(int rank, int size) {
  if (rank < 0 || rank >= size)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "report_lost was given rank {} of a job of {}; ranks are 0 to {}", rank, size,
                size - 1);
}

}  // namespace heddle
