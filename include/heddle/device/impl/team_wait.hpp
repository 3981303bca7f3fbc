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

HEDDLE_FN inline bool team_ref::alarmed() const {
  return (!alarm_ || load(alarm_, relaxed) != 0) && aborted();
}

HEDDLE_FN inline uint64_t team_ref::heap_offset(const void* address) const {
  return static_cast<uint64_t>(static_cast<const byte*>(address) - heap_);
}

/// Records what happened (the first one wins) and aborts the team on every PE.
HEDDLE_FN inline void team_ref::give_up(wait_record what, abort_reason why) const {
  uint32_t empty = 0;
  if (atomic_ref<uint32_t>(control_->failure.state)
          .compare_exchange_strong(empty, 1u, acquire, relaxed))
    detail::write_record(&control_->failure, what);
  const uint64_t code = abort_code{why, what.peer, my_pe_}.to_word();
  for (int i = 0; i < n_pes_; ++i) abort_at((my_pe_ + i) % n_pes_, code);
}

HEDDLE_APART HEDDLE_FN inline void team_ref::refuse(operation op, int pe, uint64_t mine,
                                                    uint64_t theirs) const {
  give_up({.state = 2,
           .operation = static_cast<uint32_t>(op),
           .peer = pe,
           .comparison = static_cast<uint32_t>(cmp::eq),
           .address = 0,
           .expected = mine,
           .seen = theirs,
           .waited_ns = 0},
          abort_reason::mismatch);
}

HEDDLE_FN inline void team_ref::abort_at(int pe, uint64_t code) const {
  if (!slots_ || slots_[pe] >= 0) return set_abort_word(pe, code);
  if (!proxy_) return;
  // For what wait of this PE, if it was one. A GPU has no registers to spare for that: who wants to
  // know asks.
  const bool has_record = !HEDDLE_ON_CUDA && load(&control_->failure.state, acquire) == 2;
  remote_abort(pe, code, &control_->failure, has_record ? sizeof(wait_record) : 0, &control_->told);
}

HEDDLE_FN inline void team_ref::abort_at(int pe, uint64_t code, const void* symmetric,
                                         size_t bytes) const {
  const auto* from = static_cast<const byte*>(symmetric);
  if (!slots_ || slots_[pe] >= 0) {
    memcpy(ptr(const_cast<byte*>(from), pe), from, bytes);
    set_abort_word(pe, code);
  } else if (proxy_) {
    remote_abort(pe, code, from, bytes, from);
  }
}

HEDDLE_FN inline void team_ref::set_abort_word(int pe, uint64_t code) const {
  uint64_t none = 0;
  atomic_ref<uint64_t>(control(pe)->abort_word)
      .compare_exchange_strong(none, code, release, relaxed);
  if (alarm_) store(ptr(alarm_, pe), uint64_t{1}, release);
}

namespace detail {

/// What a slow wait does between two looks. Not a template, so that a CUDA kernel has it once,
/// however many things it waits for.
class slow_wait {
 public:
  HEDDLE_FN slow_wait(const team_ref& team, const wait_record& what, uint64_t timeout_ns,
                      bool abort_on_timeout)
      : team_(team),
        what_(what),
        patience_(team.spin_),
        timeout_ns_(timeout_ns),
        abort_on_timeout_(abort_on_timeout) {}

  /// `ok`: look again.
  HEDDLE_APART HEDDLE_FN wait_status pause(uint64_t seen);
  HEDDLE_APART HEDDLE_FN void end(wait_status status, uint64_t seen);

 private:
  static constexpr uint32_t polls_between_checks = 64;
  /// Of a GPU's checks so many are of the alarm before one is of the abort word itself, whose looks
  /// would go one after the other, and hold up all that wait.
  static constexpr uint32_t checks_of_alarm = HEDDLE_ON_CUDA ? 16 : 1;
  static constexpr uint64_t publish_after_ns = 20'000'000;

  const team_ref& team_;
  wait_record what_;
  backoff patience_;
  uint64_t timeout_ns_;
  uint64_t start_ = 0;
  bool abort_on_timeout_;
  bool published_ = false;
};

HEDDLE_APART HEDDLE_FN inline wait_status slow_wait::pause(uint64_t seen) {
  // A look through the proxy takes longer than a processor's pause, and is no tight loop.
  patience_.pause(
      [this] {
        if (!team_.proxy_) pause_processor();
      },
      [this](uint64_t ns) { team_.nap(ns); });
  team_.help();
  if (!patience_.is_napping() && patience_.polls() % polls_between_checks != 0)
    return wait_status::ok;
  const bool asks_host = patience_.polls() % (polls_between_checks * checks_of_alarm) == 0;
  if (patience_.is_napping() || asks_host ? team_.aborted() : team_.alarmed())
    return wait_status::aborted;
  const uint64_t now = clock_ns();
  if (start_ == 0) start_ = now;
  what_.waited_ns = now - start_;
  if (what_.waited_ns >= timeout_ns_) return wait_status::timeout;
  if (abort_on_timeout_ && what_.waited_ns >= publish_after_ns) {
    what_.seen = seen;
    write_record(&team_.control_->waiting, what_);
    published_ = true;
  }
  return wait_status::ok;
}

HEDDLE_APART HEDDLE_FN inline void slow_wait::end(wait_status status, uint64_t seen) {
  what_.seen = seen;
  if (status == wait_status::timeout && abort_on_timeout_)
    team_.give_up(what_, abort_reason::timeout);
  if (published_ && status == wait_status::ok) store(&team_.control_->waiting.state, 0u, release);
}

}  // namespace detail

template <class Look>
HEDDLE_COLD HEDDLE_FN wait_status team_ref::wait_slowly(Look look, const wait_record& what,
                                                        uint64_t timeout_ns,
                                                        bool abort_on_timeout) const {
  const detail::counted_driver driver(proxy_);
  const auto& team = apart();
  detail::slow_wait wait(team, what, timeout_ns, abort_on_timeout);
  uint64_t seen = what.seen;
  wait_status status = wait_status::ok;
  HEDDLE_ROLLED
  while (status == wait_status::ok && !look(seen)) status = wait.pause(seen);
  if (status == wait_status::timeout && look(seen)) status = wait_status::ok;
  wait.end(status, seen);
  return status;
}

template <class Look>
HEDDLE_HOT HEDDLE_FN inline wait_status team_ref::wait_by_thread(Look look, const void* word,
                                                                 cmp how, uint64_t expected,
                                                                 operation op, int peer) const {
  // What comes within a hop's time is met here, before anything that costs is set up; but where PEs
  // share a core, the one that is waited for may need it now. A GPU's look takes 0.2 us.
  constexpr uint32_t quick_looks = HEDDLE_ON_CUDA ? 64 : 32;
  const uint32_t looks = HEDDLE_ON_CUDA || (spin_ >= quick_looks && !proxy_) ? quick_looks : 1;
  uint64_t seen = 0;
  HEDDLE_ROLLED
  for (uint32_t i = 0; i < looks; ++i) {
    if (look(seen)) {
      end_row();
      return wait_status::ok;
    }
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

HEDDLE_HOT HEDDLE_APART HEDDLE_FN inline bool team_ref::await_count(const uint64_t* word,
                                                                    uint64_t value, operation op,
                                                                    int peer) const {
  return wait_by_thread(word, cmp::ge, value, op, peer) == wait_status::ok;
}

template <group G, class T>
HEDDLE_FN wait_status team_ref::wait_until(G group, const T* word, cmp how,
                                           standard::type_identity_t<T> value) const {
  static_assert(standard::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  wait_status status = wait_status::ok;
  if (group.rank() == 0) status = wait_by_thread(word, how, value, operation::wait_until, -1);
  return group.broadcast(status);
}

template <group G, class T>
HEDDLE_FN wait_status team_ref::try_wait_until(G group, const T* word, cmp how,
                                               standard::type_identity_t<T> value,
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
    if (look(seen))
      end_row();
    else
      status = wait_slowly(look, wait_record{}, timeout_ns, false);
  }
  return group.broadcast(status);
}

template <group G, class T>
HEDDLE_FN bool team_ref::test(G group, const T* word, cmp how,
                              standard::type_identity_t<T> value) const {
  bool result = false;
  if (group.rank() == 0) {
    help();
    result = compare(how, load(word, acquire), value);
  }
  return group.broadcast(result);
}

}  // namespace heddle
