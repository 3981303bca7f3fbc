// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/team.hpp>

/// Operations on PEs that memory does not reach: each is one command to this PE's proxy, posted by
/// one thread after the group has met, so that the command's release covers what all of them wrote.
namespace heddle {

HEDDLE_FN inline void team_ref::help() const {
#if !HEDDLE_ON_CUDA
  if (proxy_) proxy_->help(proxy_->proxy);
#endif
}

HEDDLE_FN inline void team_ref::nap([[maybe_unused]] uint64_t ns) const {
#if !HEDDLE_ON_CUDA
  if (proxy_) return proxy_->nap(proxy_->proxy, ns);
  sleep_ns(ns);
#endif
}

HEDDLE_FN inline void team_ref::serve() const {
#if !HEDDLE_ON_CUDA
  proxy_->serve(proxy_->proxy);
#endif
}

HEDDLE_FN inline void team_ref::settle() const {
#if !HEDDLE_ON_CUDA
  proxy_->settle(proxy_->proxy);
#endif
}

HEDDLE_FN inline void team_ref::notice() const {
#if !HEDDLE_ON_CUDA
  proxy_->notice(proxy_->proxy);
#endif
}

HEDDLE_FN inline void team_ref::serve_row([[maybe_unused]] size_t bytes) const {
#if !HEDDLE_ON_CUDA
  proxy_->serve_row(proxy_->proxy, bytes);
#endif
}

/// Whether a message that nobody waits for leaves with others.
HEDDLE_FN inline bool team_ref::in_long_row() const {
#if HEDDLE_ON_CUDA
  return false;
#else
  return load(proxy_->in_long_row, relaxed) != 0;
#endif
}

/// What a wait finds without waiting must not leave others waiting for what this PE has sent.
HEDDLE_FN inline void team_ref::end_row() const {
#if !HEDDLE_ON_CUDA
  if (proxy_ && load(proxy_->held, relaxed) > 0) serve();
#endif
}

/// heddle's own words are counts, of which none may come after a later one. Contexts have no order
/// between them, and a team's collectives and barriers are called in any: they go by the first.
HEDDLE_FN inline const command_queue_ref& team_ref::queue_for(uint8_t flags) const {
  return proxy_->queues[flags & command::unheeded ? 0 : context_];
}

/// Its index in the queue; not_posted if the team was aborted.
HEDDLE_APART HEDDLE_FN inline uint64_t team_ref::post(command& what, const void* payload,
                                                      departure when) const {
  const command_queue_ref& queue = queue_for(what.flags);
  const size_t carried = what.flags & command::has_payload ? what.bytes : 0;
  uint64_t at = queue.try_take(carried);
  if (at == not_posted) {
    const int pe = what.pe;
    auto look = [&](uint64_t& seen) {
      at = queue.try_take(carried);
      seen = load(queue.consumed, relaxed);
      return at != not_posted;
    };
    (void)wait_by_thread(look, queue.ring, cmp::ge, load(&queue.head->next, relaxed),
                         operation::command_queue, pe);
    if (at == not_posted) return at;
  }
  if (what.pe >= 0) what.pe = world_[what.pe];
  queue.submit(at, what, payload);
  constexpr uint64_t together = 16;
  const bool fills = at / together != (at + command_queue_ref::slots_for(carried)) / together;
  if (when == departure::in_row)
    serve_row(what.bytes);
  else if (when == departure::several && !fills)
    notice();
  else
    serve();
  return at;
}

/// A PE of the job is lost, of which a team with it is about to be told: nobody is to go on before.
HEDDLE_APART HEDDLE_FN inline void team_ref::await_news_of(uint64_t world_pe, operation op) const {
  constexpr uint64_t told_within_ns = 1'000'000'000;
  int member = -1;
  HEDDLE_ROLLED
  for (int i = 0; i < n_pes_; ++i)
    if (static_cast<uint64_t>(world_[i]) == world_pe) member = i;
  if (member < 0 || wait_slowly([](uint64_t&) { return false; }, wait_record{}, told_within_ns,
                                false) == wait_status::aborted)
    return;
  give_up({.state = 2,
           .operation = static_cast<uint32_t>(op),
           .peer = member,
           .comparison = static_cast<uint32_t>(cmp::eq),
           .address = 0,
           .expected = 0,
           .seen = 0,
           .waited_ns = told_within_ns},
          abort_reason::peer_lost);
}

/// False if the team was aborted meanwhile.
HEDDLE_APART HEDDLE_FN inline bool team_ref::await_reply(uint64_t posted, operation op, int pe,
                                                         uint64_t* value) const {
  if (posted == not_posted) return false;
  const command_queue_ref& queue = proxy_->queues[context_];
  command_reply* reply = &queue.replies[posted % command_queue_ref::slots];
  auto look = [=](uint64_t& seen) {
    seen = load(&reply->stamp, acquire);
    return seen == posted + 1;
  };
  const bool here = wait_by_thread(look, reply, cmp::eq, posted + 1, op, pe) == wait_status::ok;
  if (here && reply->lost != 0) await_news_of(reply->lost - 1, op);
  if (here && value) *value = reply->value;
  store(&reply->taken, posted + 1, release);
  if (!here) settle();
  return here;
}

namespace detail {
/// Bytes of a put that its command brings along. A thread of a GPU copies by itself no quicker than
/// the proxy does.
inline constexpr size_t most_carried =
    HEDDLE_ON_CUDA ? cache_line : command_queue_ref::usual_payload;
}  // namespace detail

/// Its index in the queue; not_posted if nobody replies: the data travels in the command, or the
/// caller does not ask, or the team was aborted.
HEDDLE_FN inline uint64_t team_ref::post_put(const void* dst, const void* src, size_t bytes, int pe,
                                             bool wants_reply, const signal* signal_word,
                                             uint64_t value, signal_op op, uint8_t flags) const {
  command what{};
  what.kind = command_kind::put;
  what.flags = flags;
  what.pe = pe;
  what.bytes = bytes;
  what.remote = bytes > 0 ? proxy_->place_of(dst) : 0;
  what.local = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(src));
  if (signal_word) {
    what.flags |= command::has_signal;
    what.op = static_cast<uint8_t>(op);
    what.signal = proxy_->place_of(signal_word);
    what.value = value;
  }
  const bool in_row = bytes > 0 && bytes <= proxy_->most_in_row && (flags & command::unheeded) != 0;
  const bool carried = bytes <= detail::most_carried || (in_row && in_long_row());
  if (carried) what.flags |= command::has_payload;
  if (wants_reply && !carried) what.flags |= command::wants_reply;
  departure when = departure::at_once;
  if (in_row)
    when = departure::in_row;
  else if (carried && !wants_reply && !signal_word)
    when = departure::several;
  const uint64_t posted = post(what, src, when);
  return what.flags & command::wants_reply ? posted : not_posted;
}

HEDDLE_APART HEDDLE_FN inline void team_ref::remote_put(const void* dst, const void* src,
                                                        size_t bytes, int pe, bool blocking,
                                                        const signal* signal_word, uint64_t value,
                                                        signal_op op, uint8_t flags) const {
  if (bytes == 0 && !signal_word) return;
  const uint64_t posted = post_put(dst, src, bytes, pe, blocking, signal_word, value, op, flags);
  if (blocking) (void)await_reply(posted, operation::put, pe);
}

/// In the commands, as remote_word.
HEDDLE_APART HEDDLE_FN inline void team_ref::remote_p(const void* dst, const void* value,
                                                      size_t bytes, int pe) const {
  for (size_t at = 0; at < bytes; at += detail::most_carried) {
    const size_t n = bytes - at < detail::most_carried ? bytes - at : detail::most_carried;
    remote_put(static_cast<const byte*>(dst) + at, static_cast<const byte*>(value) + at, n, pe,
               true);
  }
}

HEDDLE_APART HEDDLE_FN inline void team_ref::remote_get(void* dst, const void* src, size_t bytes,
                                                        int pe, bool blocking) const {
  if (bytes == 0) return;
  command what{};
  what.kind = command_kind::get;
  what.pe = pe;
  what.bytes = bytes;
  what.remote = proxy_->place_of(src);
  what.local = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(dst));
  if (blocking) what.flags = command::wants_reply;
  const uint64_t posted = post(what, nullptr);
  if (blocking) (void)await_reply(posted, operation::get, pe);
}

/// Up to 8 bytes, in the reply: a thread's own variables are nothing that a proxy can write to on
/// every device.
HEDDLE_APART HEDDLE_FN inline uint64_t team_ref::remote_word(const void* src, size_t bytes,
                                                             int pe) const {
  command what{};
  what.kind = command_kind::get;
  what.pe = pe;
  what.bytes = bytes;
  what.remote = proxy_->place_of(src);
  what.flags = command::wants_reply;
  uint64_t value = 0;
  (void)await_reply(post(what, nullptr), operation::get, pe, &value);
  return value;
}

template <class T>
HEDDLE_FN T team_ref::remote_g(const T* src, int pe) const {
  T value;
  for (size_t at = 0; at < sizeof(T); at += sizeof(uint64_t)) {
    const size_t n = sizeof(T) - at < sizeof(uint64_t) ? sizeof(T) - at : sizeof(uint64_t);
    const uint64_t word = apart().remote_word(reinterpret_cast<const byte*>(src) + at, n, pe);
    memcpy(reinterpret_cast<byte*>(&value) + at, &word, n);
  }
  return value;
}

HEDDLE_APART HEDDLE_FN inline void team_ref::remote_strided(command_kind kind,
                                                            const void* symmetric,
                                                            const void* local, size_t there,
                                                            size_t here, size_t unit, size_t n,
                                                            int pe) const {
  if (n == 0) return;
  command what{};
  what.kind = kind;
  what.pe = pe;
  what.unit = static_cast<uint8_t>(unit);
  what.bytes = n * unit;
  what.remote = proxy_->place_of(symmetric);
  what.local = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(local));
  what.value = there;
  what.compare = here;
  what.flags = command::wants_reply;
  (void)await_reply(post(what, nullptr),
                    kind == command_kind::iput ? operation::put : operation::get, pe);
}

HEDDLE_APART HEDDLE_FN inline void team_ref::remote_signal(const void* signal_word, uint64_t value,
                                                           signal_op op, int pe,
                                                           uint8_t flags) const {
  command what{};
  what.kind = command_kind::signal;
  what.flags = flags;
  what.op = static_cast<uint8_t>(op);
  what.pe = pe;
  what.signal = proxy_->place_of(signal_word);
  what.value = value;
  (void)post(what, nullptr);
}

HEDDLE_APART HEDDLE_FN inline uint64_t team_ref::remote_atomic(const void* word, size_t bytes,
                                                               atomic_op op, uint64_t value,
                                                               uint64_t compare, bool fetches,
                                                               int pe) const {
  command what{};
  what.kind = command_kind::atomic;
  what.op = static_cast<uint8_t>(op);
  what.unit = static_cast<uint8_t>(bytes);
  what.pe = pe;
  what.remote = proxy_->place_of(word);
  what.value = value;
  what.compare = compare;
  if (fetches) what.flags = command::wants_reply;
  const uint64_t posted = post(what, nullptr);
  uint64_t old = 0;
  if (fetches) (void)await_reply(posted, operation::atomic, pe, &old);
  return old;
}

template <class T>
HEDDLE_FN T team_ref::remote_atomic(const T* word, atomic_op op, T value, T compare, bool fetches,
                                    int pe) const {
  uint64_t bits[2] = {0, 0};
  memcpy(&bits[0], &value, sizeof(T));
  memcpy(&bits[1], &compare, sizeof(T));
  const uint64_t old = apart().remote_atomic(word, sizeof(T), op, bits[0], bits[1], fetches, pe);
  T found;
  memcpy(&found, &old, sizeof(T));
  return found;
}

HEDDLE_FN inline void team_ref::send(byte* dst, const byte* src, size_t bytes, uint64_t* word,
                                     uint64_t value, int pe) const {
  remote_put(dst, src, bytes, pe, false, word, value, signal_op::set, command::unheeded);
}

HEDDLE_APART HEDDLE_FN inline uint64_t team_ref::send_borrowed(byte* dst, const byte* src,
                                                               size_t bytes, uint64_t* word,
                                                               uint64_t value, int pe) const {
  return post_put(dst, src, bytes, pe, true, word, value, signal_op::set,
                  command::unheeded | command::lent);
}

HEDDLE_APART HEDDLE_FN inline void team_ref::await_borrowed(uint64_t sent, int pe) const {
  if (sent == not_posted) return;
  command_reply& reply = queue_for(command::unheeded).replies[sent % command_queue_ref::slots];
  if (await_count(&reply.stamp, sent + 1, operation::put, pe)) return;
  // The proxy is to leave the memory alone; unless it has, and the slot is another command's.
  uint64_t taken = load(&reply.taken, acquire);
  while (
      taken < sent + 1 && load(&reply.stamp, acquire) < sent + 1 &&
      !atomic_ref<uint64_t>(reply.taken).compare_exchange_weak(taken, sent + 1, release, acquire))
    continue;
  settle();
}

HEDDLE_APART HEDDLE_FN inline void team_ref::remote_fence() const {
  command what{};
  what.kind = command_kind::fence;
  what.pe = -1;
  (void)post(what, nullptr);
}

HEDDLE_APART HEDDLE_FN inline void team_ref::remote_quiet(uint8_t flags) const {
  command what{};
  what.kind = command_kind::quiet;
  what.pe = -1;
  what.flags = command::wants_reply | flags;
  (void)await_reply(post(what, nullptr), operation::quiet, -1);
}

/// Tells `pe` that the team is aborted; what is `told` with it becomes what is at `to` there, a
/// symmetric place. No wait, since the proxy may be what fails.
HEDDLE_APART HEDDLE_FN inline void team_ref::remote_abort(int pe, uint64_t code, const void* told,
                                                          size_t bytes, const void* to) const {
  const command_queue_ref& queue = proxy_->queues[context_];
  command what{};
  what.kind = command_kind::abort;
  what.flags = command::unheeded;  // who does not answer any more is no matter of other teams
  what.pe = world_[pe];
  what.remote = proxy_->place_of(&control_->abort_word);
  what.value = code;
  if (bytes > 0) {
    what.flags |= command::has_payload;
    what.bytes = bytes;
    what.signal = proxy_->place_of(to);
  }
  const uint64_t at = queue.try_take(bytes);
  if (at == not_posted) return;
  queue.submit(at, what, told);
  serve();
}

}  // namespace heddle
