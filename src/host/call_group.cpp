// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/call_group.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "host/runtime.hpp"
#include "host/team.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {

call_group& call_group::of_this_thread() {
  static thread_local call_group group;
  return group;
}

call_group::~call_group() {
  std::size_t n = 0;
  for (const auto& each : batches_) n += each.list.size();
  if (n > 0)
    log::warn(
        log::subsystem::coll,
        "a thread has ended with a group open: {} sends or receives in it were never started; "
        "call heddle_group_end on the thread that called heddle_group_begin",
        n);
}

bool call_group::batch::is_of(const heddle_runtime& runtime) const {
  return live_handle::is_alive(team) && &team->runtime() == &runtime;
}

void call_group::end() {
  if (depth_ == 0)
    throw_error(HEDDLE_ERROR_INVALID_USAGE, "heddle_group_end: no group is open on this thread");
  if (--depth_ > 0) return;
  if (std::exchange(is_cancelled_, false))
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "heddle_group_end: a group within this one was cancelled; nothing was sent");
  auto batches = std::exchange(batches_, {});
  for (const auto& each : batches)
    required(each.team, "heddle_group_end", "a team that the group sends or receives in,");
  require_one_stream(batches);
  // Kernels of several teams on one stream run one after the other: in the same order on all PEs.
  std::stable_sort(batches.begin(), batches.end(), [](const batch& a, const batch& b) {
    return a.team->place() < b.team->place();
  });
  std::vector<std::exception_ptr> failures(batches.size());
  const auto attempt = [&](std::size_t i, const auto& step) {
    try {
      if (!failures[i]) step(batches[i]);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  const auto start = [](const batch& each) {
    each.team->transfers().start(each.list, each.stream);
  };
  {
    // On the host's default stream a call returns when it is complete, and one may need another: a
    // thread may drive several PEs, or teams.
    std::vector<std::jthread> beside;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const bool runs_here = !batches[i].stream && batches[i].team->runtime().place().is_host();
      if (!runs_here || i + 1 == batches.size()) {
        attempt(i, start);
      } else
        try {
          beside.emplace_back([&, i] { attempt(i, start); });
        } catch (const std::system_error&) {
          failures[i] = std::current_exception();  // of no thread; the others' peers wait for them
        }
    }
  }
  for (std::size_t i = 0; i < batches.size(); ++i)
    attempt(i, [](const batch& each) { each.team->complete(each.stream); });
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

/// On two, the kernels would run one after the other, as all of a team's, and not together.
void call_group::require_one_stream(const std::vector<batch>& batches) {
  for (const auto& each : batches)
    for (const auto& other : batches)
      if (each.team == other.team && each.stream != other.stream)
        throw_error(HEDDLE_ERROR_INVALID_USAGE,
                    "heddle_group_end: what team {} sends and receives is on several streams; one "
                    "kernel runs on one",
                    each.team->name());
}

void call_group::cancel() {
  if (depth_ == 0)
    throw_error(HEDDLE_ERROR_INVALID_USAGE, "heddle_group_cancel: no group is open on this thread");
  --depth_;
  batches_.clear();
  is_cancelled_ = depth_ > 0;
}

void call_group::cancel(const heddle_runtime& runtime) {
  std::erase_if(batches_, [&](const batch& each) { return each.is_of(runtime); });
}

void call_group::add(heddle_team& team, heddle_stream_t stream, bool is_send, void* memory,
                     std::size_t bytes, int pe) {
  if (is_cancelled_) return;
  const auto found = std::find_if(batches_.begin(), batches_.end(), [&](const batch& each) {
    return each.team == &team && each.stream == stream;
  });
  auto& list =
      found != batches_.end() ? found->list : batches_.emplace_back(batch{&team, stream, {}}).list;
  list.add(is_send, memory, bytes, pe);
}

void call_group::require_nothing_of(const heddle_runtime& runtime, const char* function) const {
  std::size_t n = 0;
  for (const auto& each : batches_)
    if (each.is_of(runtime)) n += each.list.size();
  if (n > 0)
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "{}: a group with {} sends and receives is open on this thread; call "
                "heddle_group_end before",
                function, n);
}

}  // namespace heddle
