// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/backoff.hpp>
#include <heddle/device/team.hpp>

/// Bounded waits.
///
/// One thread looks; the others of its group learn the outcome through group.broadcast, which also
/// passes on what the acquire made visible. The first looks are inline; all that costs (abort word,
/// clock, records) is in wait_slowly. A wait that is slow publishes itself in `waiting`, so that a
/// PE whose wait times out can follow the chain of who waits for whom to the one that waits for
/// nobody: the culprit.
namespace heddle {

namespace detail {

HEDDLE_FN inline void write_record(wait_record* to, const wait_record& from) {
  store(&to->operation, from.operation, relaxed);
  store(&to->peer, from.peer, relaxed);
  store(&to->comparison, from.comparison, relaxed);
  store(&to->address, from.address, relaxed);
  store(&to->expected, from.expected, relaxed);
  store(&to->seen, from.seen, relaxed);
  store(&to->waited_ns, from.waited_ns, relaxed);
  store(&to->state, 2u, release);
}

}  // namespace detail

HEDDLE_FN inline bool team_ref::aborted() const {
  return load(&control_->abort_word, acquire) != 0;
}

HEDDLE_FN inline uint64_t team_ref::heap_offset(const void* address) const {
  return static_cast<uint64_t>(static_cast<const byte*>(address) - heap_);
}

/// Records the wait (the first one wins) and aborts the team on every PE.
HEDDLE_FN inline void team_ref::give_up(wait_record what) const {
  uint32_t empty = 0;
  if (atomic_ref<uint32_t>(control_->failure.state)
          .compare_exchange_strong(empty, 1u, acquire, relaxed))
    detail::write_record(&control_->failure, what);
  const uint64_t code = abort_code{abort_reason::timeout, what.peer, my_pe_}.to_word();
  for (int i = 0; i < n_pes_; ++i) abort_at((my_pe_ + i) % n_pes_, code);
}

HEDDLE_FN inline void team_ref::abort_at(int pe, uint64_t code) const {
  if (slots_ && slots_[pe] < 0) {
    if (proxy_) remote_abort(pe, code);
    return;
  }
  uint64_t none = 0;
  atomic_ref<uint64_t>(control(pe)->abort_word)
      .compare_exchange_strong(none, code, release, relaxed);
}

template <class Look>
HEDDLE_COLD HEDDLE_FN wait_status team_ref::wait_slowly(Look look, wait_record what,
                                                        uint64_t timeout_ns,
                                                        bool abort_on_timeout) const {
  constexpr uint32_t polls_between_checks = 64;
  constexpr uint64_t publish_after_ns = 20'000'000;

  const detail::counted_driver driver(proxy_);
  backoff patience(spin_);
  uint64_t start = 0;
  bool published = false;
  wait_status status = wait_status::ok;
  for (;;) {
    if (look(what.seen)) break;
    help();
    patience.pause([this](uint64_t ns) { nap(ns); });
    if (!patience.is_napping() && patience.polls() % polls_between_checks != 0) continue;
    if (aborted()) {
      status = wait_status::aborted;
      break;
    }
    const uint64_t now = clock_ns();
    if (start == 0) start = now;
    what.waited_ns = now - start;
    if (what.waited_ns >= timeout_ns) {
      status = look(what.seen) ? wait_status::ok : wait_status::timeout;
      break;
    }
    if (abort_on_timeout && what.waited_ns >= publish_after_ns) {
      detail::write_record(&control_->waiting, what);
      published = true;
    }
  }
  if (status == wait_status::timeout && abort_on_timeout) give_up(what);
  if (published && status == wait_status::ok) store(&control_->waiting.state, 0u, release);
  return status;
}

template <class Look>
HEDDLE_HOT HEDDLE_FN inline wait_status team_ref::wait_by_thread(Look look, const void* word,
                                                                 cmp how, uint64_t expected,
                                                                 operation op, int peer) const {
  // What comes within a hop's time is met here, before anything that costs is set up; but where PEs
  // share a core, the one that is waited for may need it now.
  constexpr uint32_t quick_looks = HEDDLE_ON_CUDA ? 4 : 32;
  const uint32_t looks = spin_ >= quick_looks && !proxy_ ? quick_looks : 1;
  uint64_t seen = 0;
  for (uint32_t i = 0; i < looks; ++i) {
    if (look(seen)) return wait_status::ok;
    if (looks > 1) pause_processor();
  }
  return wait_slowly(look,
                     wait_record{.state = 2,
                                 .operation = static_cast<uint32_t>(op),
                                 .peer = peer,
                                 .comparison = static_cast<uint32_t>(how),
                                 .address = heap_offset(word),
                                 .expected = expected,
                                 .seen = seen,
                                 .waited_ns = 0},
                     timeout_ns_, true);
}

template <class T>
HEDDLE_HOT HEDDLE_FN inline wait_status team_ref::wait_by_thread(const T* word, cmp how, T value,
                                                                 operation op, int peer) const {
  return wait_by_thread(
      [=](uint64_t& seen) {
        const T now = load(word, acquire);
        seen = static_cast<uint64_t>(now);
        return compare(how, now, value);
      },
      word, how, static_cast<uint64_t>(value), op, peer);
}

template <group G, class T>
HEDDLE_FN wait_status team_ref::wait_until(G group, const T* word, cmp how, T value) const {
  static_assert(standard::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  wait_status status = wait_status::ok;
  if (group.rank() == 0) status = wait_by_thread(word, how, value, operation::wait_until, -1);
  return group.broadcast(status);
}

template <group G, class T>
HEDDLE_FN wait_status team_ref::try_wait_until(G group, const T* word, cmp how, T value,
                                               uint64_t timeout_ns) const {
  static_assert(standard::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  wait_status status = wait_status::ok;
  if (group.rank() == 0) {
    auto look = [=](uint64_t& seen) {
      const T now = load(word, acquire);
      seen = static_cast<uint64_t>(now);
      return compare(how, now, value);
    };
    uint64_t seen = 0;
    if (!look(seen)) status = wait_slowly(look, wait_record{}, timeout_ns, false);
  }
  return group.broadcast(status);
}

template <group G, class T>
HEDDLE_FN bool team_ref::test(G group, const T* word, cmp how, T value) const {
  bool result = false;
  if (group.rank() == 0) {
    help();
    result = compare(how, load(word, acquire), value);
  }
  return group.broadcast(result);
}

}  // namespace heddle
