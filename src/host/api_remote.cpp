// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// One-sided operations from the host: checked, then the device API's own, by a group of one thread.

#include <cstring>

#include "host/guarded_call.hpp"
#include "host/remote_call.hpp"

using namespace heddle;

namespace {

constexpr thread_group host_thread;

/// Whether the bytes are a word of this type, which p and g move as one.
template <class Word>
bool is_word(const void* symmetric, std::size_t bytes) {
  return bytes == sizeof(Word) && reinterpret_cast<std::uintptr_t>(symmetric) % sizeof(Word) == 0;
}

template <class Word>
void put_word(const team_ref& team, void* dst, const void* src, int pe) {
  Word value;
  std::memcpy(&value, src, sizeof value);
  team.p(static_cast<Word*>(dst), value, pe);
}

template <class Word>
void get_word(const team_ref& team, void* dst, const void* src, int pe) {
  const Word value = team.g(static_cast<const Word*>(src), pe);
  std::memcpy(dst, &value, sizeof value);
}

/// A put whose arguments are valid.
struct checked_put {
  heddle_team& team;
  byte* dst;
  const byte* src;
  std::size_t bytes;
  int pe;

  checked_put(const char* function, heddle_team_t team_handle, void* to, const void* from,
              std::size_t size, int target)
      : team(checked_team(team_handle, function)), bytes(size), pe(target) {
    check_pe(team, pe, function);
    check_local(from, bytes, function, "src");
    dst = static_cast<byte*>(symmetric(team, to, bytes, function, "dst"));
    src = static_cast<const byte*>(from);
  }
  void run() const {
    if (is_word<std::uint64_t>(dst, bytes))
      return put_word<std::uint64_t>(team.ref(), dst, src, pe);
    if (is_word<std::uint32_t>(dst, bytes))
      return put_word<std::uint32_t>(team.ref(), dst, src, pe);
    team.ref().put(host_thread, dst, src, bytes, pe);
  }
};

struct checked_get {
  heddle_team& team;
  byte* dst;
  const byte* src;
  std::size_t bytes;
  int pe;

  checked_get(const char* function, heddle_team_t team_handle, void* to, const void* from,
              std::size_t size, int target)
      : team(checked_team(team_handle, function)), bytes(size), pe(target) {
    check_pe(team, pe, function);
    check_local(to, bytes, function, "dst");
    src = static_cast<const byte*>(symmetric(team, from, bytes, function, "src"));
    dst = static_cast<byte*>(to);
  }
  void run() const {
    if (is_word<std::uint64_t>(src, bytes))
      return get_word<std::uint64_t>(team.ref(), dst, src, pe);
    if (is_word<std::uint32_t>(src, bytes))
      return get_word<std::uint32_t>(team.ref(), dst, src, pe);
    team.ref().get(host_thread, dst, src, bytes, pe);
  }
};

struct checked_signal {
  signal* word;
  std::uint64_t value;
  signal_op op;
  int pe;

  checked_signal(const char* function, const heddle_team& team, std::uint64_t* signal_word,
                 std::uint64_t update, heddle_signal_op_t how, int target)
      : value(update), op(checked_signal_op(how, function)), pe(target) {
    check_pe(team, pe, function);
    word = symmetric_word(team, signal_word, sizeof(signal), function, "signal");
  }
  void run(const heddle_team& team) const {
    team.ref().update_signal(host_thread, word, value, op, pe);
  }
  void run_after(const checked_put& put) const {
    put.team.ref().put_signal(host_thread, put.dst, put.src, put.bytes, word, value, op, pe);
  }
};

struct checked_wait {
  heddle_team& team;
  const signal* word;
  cmp how;
  std::uint64_t value;

  checked_wait(const char* function, heddle_team_t team_handle, const std::uint64_t* signal_word,
               heddle_cmp_t comparison, std::uint64_t expected)
      : team(checked_team(team_handle, function)),
        word(symmetric_word(team, signal_word, sizeof(signal), function, "signal")),
        how(checked_cmp(comparison, function)),
        value(expected) {}
  void run() const {
    if (team.ref().wait_until(host_thread, word, how, value) != wait_status::ok) team.check();
  }
};

void barrier_of(heddle_team& team, int index) {
  if (team.ref().barrier(host_thread, index) != wait_status::ok) team.check();
}

template <class Word>
std::uint64_t run_atomic(const team_ref& team, Word* word, heddle_atomic_op_t op, Word value,
                         Word compare, int pe) {
  switch (op) {
    case HEDDLE_ATOMIC_FETCH:
      return team.atomic_fetch(word, pe);
    case HEDDLE_ATOMIC_SET:
      return team.atomic_swap(word, value, pe);
    case HEDDLE_ATOMIC_ADD:
      return team.atomic_fetch_add(word, value, pe);
    case HEDDLE_ATOMIC_AND:
      return team.atomic_fetch_and(word, value, pe);
    case HEDDLE_ATOMIC_OR:
      return team.atomic_fetch_or(word, value, pe);
    case HEDDLE_ATOMIC_XOR:
      return team.atomic_fetch_xor(word, value, pe);
    case HEDDLE_ATOMIC_SWAP:
      return team.atomic_swap(word, value, pe);
    case HEDDLE_ATOMIC_COMPARE_SWAP:
      return team.atomic_compare_swap(word, compare, value, pe);
  }
  throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "heddle_atomic: {} is not a heddle_atomic_op_t",
              static_cast<int>(op));
}

/// Runs checked work on a stream, and the team's check after it.
template <class Work>
void run_on(heddle_stream_t stream, heddle_team& team, Work work) {
  auto& queue = team.runtime().queue(stream);
  team.used_on(queue);
  queue.enqueue([work, &team] {
    work();
    team.check();
  });
}

}  // namespace

heddle_status_t heddle_put(heddle_team_t team, void* dst, const void* src, size_t bytes, int pe) {
  return guarded([&] { checked_put("heddle_put", team, dst, src, bytes, pe).run(); });
}

heddle_status_t heddle_put_nbi(heddle_team_t team, void* dst, const void* src, size_t bytes,
                               int pe) {
  return guarded([&] { checked_put("heddle_put_nbi", team, dst, src, bytes, pe).run(); });
}

heddle_status_t heddle_get(heddle_team_t team, void* dst, const void* src, size_t bytes, int pe) {
  return guarded([&] { checked_get("heddle_get", team, dst, src, bytes, pe).run(); });
}

heddle_status_t heddle_get_nbi(heddle_team_t team, void* dst, const void* src, size_t bytes,
                               int pe) {
  return guarded([&] { checked_get("heddle_get_nbi", team, dst, src, bytes, pe).run(); });
}

heddle_status_t heddle_put_signal(heddle_team_t team, void* dst, const void* src, size_t bytes,
                                  uint64_t* signal, uint64_t value, heddle_signal_op_t op, int pe) {
  return guarded([&] {
    const checked_put put("heddle_put_signal", team, dst, src, bytes, pe);
    checked_signal("heddle_put_signal", put.team, signal, value, op, pe).run_after(put);
  });
}

heddle_status_t heddle_signal(heddle_team_t team, uint64_t* signal, uint64_t value,
                              heddle_signal_op_t op, int pe) {
  return guarded([&] {
    auto& checked = checked_team(team, "heddle_signal");
    checked_signal("heddle_signal", checked, signal, value, op, pe).run(checked);
  });
}

heddle_status_t heddle_signal_wait(heddle_team_t team, const uint64_t* signal, heddle_cmp_t cmp,
                                   uint64_t value) {
  return guarded([&] { checked_wait("heddle_signal_wait", team, signal, cmp, value).run(); });
}

heddle_status_t heddle_signal_test(heddle_team_t team, const uint64_t* signal, heddle_cmp_t cmp,
                                   uint64_t value, int* satisfied) {
  return guarded([&] {
    const checked_wait wait("heddle_signal_test", team, signal, cmp, value);
    required(satisfied, "heddle_signal_test", "satisfied") =
        wait.team.ref().test(host_thread, wait.word, wait.how, value) ? 1 : 0;
  });
}

heddle_status_t heddle_atomic(heddle_team_t team, void* word, size_t bytes, heddle_atomic_op_t op,
                              uint64_t value, uint64_t compare, uint64_t* fetched, int pe) {
  return guarded([&] {
    auto& checked = checked_team(team, "heddle_atomic");
    check_pe(checked, pe, "heddle_atomic");
    if (bytes != 4 && bytes != 8)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "heddle_atomic: a word of {} bytes; atomics are on words of 4 or 8", bytes);
    void* target = symmetric_word(checked, word, bytes, "heddle_atomic", "word");
    const std::uint64_t old =
        bytes == 8
            ? run_atomic(checked.ref(), static_cast<std::uint64_t*>(target), op, value, compare, pe)
            : run_atomic(checked.ref(), static_cast<std::uint32_t*>(target), op,
                         static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(compare),
                         pe);
    if (fetched) *fetched = old;
  });
}

heddle_status_t heddle_fence(heddle_team_t team) {
  return guarded([&] { checked_team(team, "heddle_fence").ref().fence(); });
}

heddle_status_t heddle_quiet(heddle_team_t team) {
  return guarded([&] { checked_team(team, "heddle_quiet").ref().quiet(); });
}

heddle_status_t heddle_barrier(heddle_team_t team) {
  return guarded(
      [&] { barrier_of(checked_team(team, "heddle_barrier"), team_memory::host_barrier); });
}

heddle_status_t heddle_sync(heddle_team_t team) {
  return guarded([&] { barrier_of(checked_team(team, "heddle_sync"), team_memory::host_barrier); });
}

heddle_status_t heddle_put_on_stream(heddle_team_t team, void* dst, const void* src, size_t bytes,
                                     int pe, heddle_stream_t stream) {
  return guarded([&] {
    const checked_put put("heddle_put_on_stream", team, dst, src, bytes, pe);
    run_on(stream, put.team, [put] { put.run(); });
  });
}

heddle_status_t heddle_get_on_stream(heddle_team_t team, void* dst, const void* src, size_t bytes,
                                     int pe, heddle_stream_t stream) {
  return guarded([&] {
    const checked_get get("heddle_get_on_stream", team, dst, src, bytes, pe);
    run_on(stream, get.team, [get] { get.run(); });
  });
}

heddle_status_t heddle_put_signal_on_stream(heddle_team_t team, void* dst, const void* src,
                                            size_t bytes, uint64_t* signal, uint64_t value,
                                            heddle_signal_op_t op, int pe, heddle_stream_t stream) {
  return guarded([&] {
    const checked_put put("heddle_put_signal_on_stream", team, dst, src, bytes, pe);
    const checked_signal update("heddle_put_signal_on_stream", put.team, signal, value, op, pe);
    run_on(stream, put.team, [put, update] { update.run_after(put); });
  });
}

heddle_status_t heddle_signal_on_stream(heddle_team_t team, uint64_t* signal, uint64_t value,
                                        heddle_signal_op_t op, int pe, heddle_stream_t stream) {
  return guarded([&] {
    auto& checked = checked_team(team, "heddle_signal_on_stream");
    const checked_signal update("heddle_signal_on_stream", checked, signal, value, op, pe);
    run_on(stream, checked, [&checked, update] { update.run(checked); });
  });
}

heddle_status_t heddle_signal_wait_on_stream(heddle_team_t team, const uint64_t* signal,
                                             heddle_cmp_t cmp, uint64_t value,
                                             heddle_stream_t stream) {
  return guarded([&] {
    const checked_wait wait("heddle_signal_wait_on_stream", team, signal, cmp, value);
    run_on(stream, wait.team, [wait] { wait.run(); });
  });
}

heddle_status_t heddle_barrier_on_stream(heddle_team_t team, heddle_stream_t stream) {
  return guarded([&] {
    auto& checked = checked_team(team, "heddle_barrier_on_stream");
    checked.enqueue_collective(checked.runtime().queue(stream), [&](exec::stream& queue) {
      queue.enqueue([&checked] { barrier_of(checked, team_memory::stream_barrier); });
    });
  });
}
