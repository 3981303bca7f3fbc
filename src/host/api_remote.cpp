// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// One-sided operations from the host: checked, then the device API's own, by a group of one thread.

#include <cstring>
#include <functional>
#include <memory>
#include <string_view>

#include "host/guarded_call.hpp"
#include "host/remote_call.hpp"
#include "host/word_kernels.hpp"

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

/// What host threads take for a symmetric object that they load and store, kernels for any other.
const team_ref& ref_for(const heddle_team& team, const void* symmetric) {
  return team.runtime().is_on_host(symmetric) ? team.host_ref() : team.ref();
}

/// By this thread, if it can load and store the object; else by a kernel, apart from all streams.
template <class Call>
void run_by_one_thread(const heddle_team& team, const void* symmetric, const Call& call) {
  if (team.runtime().is_on_host(symmetric)) return call(host_thread);
  team.runtime().place().run(kernel_of<Call>(), &call, sizeof call);
}

/// A kernel of one thread.
template <class Call>
void launch_on(exec::stream& queue, const Call& call) {
  queue.launch({1, 1}, kernel_of<Call>(), &call, sizeof call);
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
    const auto& place = team.runtime().place();
    if (team.host_ref().is_remote(pe)) {
      // What a command carries this thread copies, which does not reach a GPU's memory.
      byte carried[command_queue_ref::usual_payload];
      const bool copies = !place.is_host() && bytes <= sizeof carried;
      if (copies) place.copy(carried, src, bytes);
      return team.host_ref().put(host_thread, dst, copies ? carried : src, bytes, pe);
    }
    if (!place.is_host()) return place.copy(team.address_at(dst, pe), src, bytes);
    if (is_word<std::uint64_t>(dst, bytes))
      return put_word<std::uint64_t>(team.ref(), dst, src, pe);
    if (is_word<std::uint32_t>(dst, bytes))
      return put_word<std::uint32_t>(team.ref(), dst, src, pe);
    team.ref().put(host_thread, dst, src, bytes, pe);
  }
  void enqueue(exec::stream& queue) const {
    if (bytes == 0) return;
    if (team.host_ref().is_remote(pe))
      return launch_on(queue, copy_call{team.ref(), dst, src, bytes, pe, true});
    queue.copy(team.address_at(dst, pe), src, bytes);
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
    if (team.host_ref().is_remote(pe)) return team.host_ref().get(host_thread, dst, src, bytes, pe);
    if (!team.runtime().place().is_host())
      return team.runtime().place().copy(dst, team.address_at(src, pe), bytes);
    if (is_word<std::uint64_t>(src, bytes))
      return get_word<std::uint64_t>(team.ref(), dst, src, pe);
    if (is_word<std::uint32_t>(src, bytes))
      return get_word<std::uint32_t>(team.ref(), dst, src, pe);
    team.ref().get(host_thread, dst, src, bytes, pe);
  }
  void enqueue(exec::stream& queue) const {
    if (bytes == 0) return;
    if (team.host_ref().is_remote(pe))
      return launch_on(queue, copy_call{team.ref(), dst, src, bytes, pe, false});
    queue.copy(dst, team.address_at(src, pe), bytes);
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
  /// For a kernel.
  [[nodiscard]] update_signal_call call(const heddle_team& team) const {
    return {team.ref(), word, value, op, pe};
  }
  void run(const heddle_team& team) const {
    if (team.host_ref().is_remote(pe))
      return team.host_ref().update_signal(host_thread, word, value, op, pe);
    run_by_one_thread(team, word, update_signal_call{ref_for(team, word), word, value, op, pe});
  }
  void run_after(const checked_put& put) const {
    if (put.team.runtime().place().is_host())
      return put.team.ref().put_signal(host_thread, put.dst, put.src, put.bytes, word, value, op,
                                       pe);
    put.run();
    run(put.team);
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
  /// For a kernel.
  [[nodiscard]] wait_call call() const { return {team.ref(), word, how, value}; }
  void run() const {
    if (team.runtime().place().is_host()) {
      (void)team.host_ref().wait_until(host_thread, word, how, value);
    } else {
      wait_beside_gpu();
    }
    team.check();
  }
  [[nodiscard]] bool test() const { return compare(how, read(), value); }

 private:
  [[nodiscard]] signal read() const {
    if (team.runtime().is_on_host(word)) return load(word, acquire);
    signal now = 0;
    team.runtime().place().copy(&now, word, sizeof now);
    return now;
  }
  /// In the host's heap, or by copies from the GPU's: a kernel that waits would keep other kernels
  /// of this PE from starting. Recorded as kernels would.
  void wait_beside_gpu() const {
    const auto& host = team.host_ref();
    const auto* recorded = host.heap() + (reinterpret_cast<const byte*>(word) - team.ref().heap());
    const auto look = [this](std::uint64_t& seen) {
      seen = read();
      return compare(how, seen, value);
    };
    (void)host.wait_by_thread(look, recorded, how, value, operation::wait_until, -1);
  }
};

/// Waits for all members. What host calls have done before is complete.
void barrier_of(heddle_team& team, int index) {
  if (team.host_ref().barrier(host_thread, index) != wait_status::ok) team.check();
}

void host_barrier(const char* function, heddle_team_t team) {
  auto& checked = checked_team(team, function);
  if (checked.compares_calls()) [[unlikely]]
    (void)checked.exchange_in(function, {});
  barrier_of(checked, team_memory::host_barrier);
}

template <class Word>
std::uint64_t run_atomic(const heddle_team& team, void* word, heddle_atomic_op_t op,
                         std::uint64_t value, std::uint64_t compare, int pe) {
  Word old = 0;
  atomic_call<Word> call{ref_for(team, word),
                         static_cast<Word*>(word),
                         op,
                         static_cast<Word>(value),
                         static_cast<Word>(compare),
                         pe,
                         &old};
  auto& runtime = team.runtime();
  if (team.host_ref().is_remote(pe)) call.team = team.host_ref();
  if (runtime.is_on_host(word) || team.host_ref().is_remote(pe)) {
    call(host_thread);
    return old;
  }
  const std::unique_ptr<void, std::function<void(void*)>> result(
      runtime.device().allocate(sizeof old),
      [&](void* memory) { free_quietly(runtime.device(), memory); });
  call.result = static_cast<Word*>(result.get());
  run_by_one_thread(team, word, call);
  runtime.place().copy(&old, call.result, sizeof old);
  return old;
}

/// What another PE was to give is there, or the team has failed meanwhile.
template <class Transfer>
void run_now(const Transfer& transfer) {
  transfer.run();
  transfer.team.check();
}

/// Puts checked work on a stream: on the host device `work`, and the team's check after it; else
/// what `enqueue(queue)` enqueues.
template <class Work, class Enqueue>
void run_on(heddle_stream_t stream, heddle_team& team, Work work, Enqueue enqueue) {
  auto& queue = team.runtime().queue(stream);
  team.used_on(queue);
  if (!team.runtime().place().is_host()) return enqueue(queue);
  queue.enqueue([work, &team] {
    work();
    team.check();
  });
}

}  // namespace

heddle_status_t heddle_put(heddle_team_t team, void* dst, const void* src, size_t bytes, int pe) {
  return guarded([&] { run_now(checked_put("heddle_put", team, dst, src, bytes, pe)); });
}

heddle_status_t heddle_put_nbi(heddle_team_t team, void* dst, const void* src, size_t bytes,
                               int pe) {
  return guarded([&] { run_now(checked_put("heddle_put_nbi", team, dst, src, bytes, pe)); });
}

heddle_status_t heddle_get(heddle_team_t team, void* dst, const void* src, size_t bytes, int pe) {
  return guarded([&] { run_now(checked_get("heddle_get", team, dst, src, bytes, pe)); });
}

heddle_status_t heddle_get_nbi(heddle_team_t team, void* dst, const void* src, size_t bytes,
                               int pe) {
  return guarded([&] { run_now(checked_get("heddle_get_nbi", team, dst, src, bytes, pe)); });
}

heddle_status_t heddle_put_signal(heddle_team_t team, void* dst, const void* src, size_t bytes,
                                  uint64_t* signal, uint64_t value, heddle_signal_op_t op, int pe) {
  return guarded([&] {
    const checked_put put("heddle_put_signal", team, dst, src, bytes, pe);
    checked_signal("heddle_put_signal", put.team, signal, value, op, pe).run_after(put);
    put.team.check();
  });
}

heddle_status_t heddle_signal(heddle_team_t team, uint64_t* signal, uint64_t value,
                              heddle_signal_op_t op, int pe) {
  return guarded([&] {
    auto& checked = checked_team(team, "heddle_signal");
    checked_signal("heddle_signal", checked, signal, value, op, pe).run(checked);
    checked.check();
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
    required(satisfied, "heddle_signal_test", "satisfied") = wait.test() ? 1 : 0;
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
    if (static_cast<unsigned>(op) > HEDDLE_ATOMIC_COMPARE_SWAP)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "heddle_atomic: {} is not a heddle_atomic_op_t",
                  static_cast<int>(op));
    const std::uint64_t old = bytes == 8
                                  ? run_atomic<uint64_t>(checked, target, op, value, compare, pe)
                                  : run_atomic<uint32_t>(checked, target, op, value, compare, pe);
    checked.check();
    if (fetched) *fetched = old;
  });
}

heddle_status_t heddle_fence(heddle_team_t team) {
  return guarded([&] {
    auto& checked = checked_team(team, "heddle_fence");
    checked.host_ref().fence();
    checked.check();
  });
}

heddle_status_t heddle_quiet(heddle_team_t team) {
  return guarded([&] {
    auto& checked = checked_team(team, "heddle_quiet");
    checked.host_ref().quiet();
    checked.check();
  });
}

heddle_status_t heddle_barrier(heddle_team_t team) {
  return guarded([&] { host_barrier("heddle_barrier", team); });
}

heddle_status_t heddle_sync(heddle_team_t team) {
  return guarded([&] { host_barrier("heddle_sync", team); });
}

heddle_status_t heddle_put_on_stream(heddle_team_t team, void* dst, const void* src, size_t bytes,
                                     int pe, heddle_stream_t stream) {
  return guarded([&] {
    const checked_put put("heddle_put_on_stream", team, dst, src, bytes, pe);
    run_on(
        stream, put.team, [put] { put.run(); }, [&](exec::stream& queue) { put.enqueue(queue); });
  });
}

heddle_status_t heddle_get_on_stream(heddle_team_t team, void* dst, const void* src, size_t bytes,
                                     int pe, heddle_stream_t stream) {
  return guarded([&] {
    const checked_get get("heddle_get_on_stream", team, dst, src, bytes, pe);
    run_on(
        stream, get.team, [get] { get.run(); }, [&](exec::stream& queue) { get.enqueue(queue); });
  });
}

heddle_status_t heddle_put_signal_on_stream(heddle_team_t team, void* dst, const void* src,
                                            size_t bytes, uint64_t* signal, uint64_t value,
                                            heddle_signal_op_t op, int pe, heddle_stream_t stream) {
  return guarded([&] {
    const checked_put put("heddle_put_signal_on_stream", team, dst, src, bytes, pe);
    const checked_signal update("heddle_put_signal_on_stream", put.team, signal, value, op, pe);
    run_on(
        stream, put.team, [put, update] { update.run_after(put); },
        [&](exec::stream& queue) {
          put.enqueue(queue);
          launch_on(queue, update.call(put.team));
        });
  });
}

heddle_status_t heddle_signal_on_stream(heddle_team_t team, uint64_t* signal, uint64_t value,
                                        heddle_signal_op_t op, int pe, heddle_stream_t stream) {
  return guarded([&] {
    auto& checked = checked_team(team, "heddle_signal_on_stream");
    const checked_signal update("heddle_signal_on_stream", checked, signal, value, op, pe);
    run_on(
        stream, checked, [&checked, update] { update.run(checked); },
        [&](exec::stream& queue) { launch_on(queue, update.call(checked)); });
  });
}

heddle_status_t heddle_signal_wait_on_stream(heddle_team_t team, const uint64_t* signal,
                                             heddle_cmp_t cmp, uint64_t value,
                                             heddle_stream_t stream) {
  return guarded([&] {
    const checked_wait wait("heddle_signal_wait_on_stream", team, signal, cmp, value);
    run_on(
        stream, wait.team, [wait] { wait.run(); },
        [&](exec::stream& queue) { launch_on(queue, wait.call()); });
  });
}

heddle_status_t heddle_barrier_on_stream(heddle_team_t team, heddle_stream_t stream) {
  return guarded([&] {
    auto& checked = checked_team(team, "heddle_barrier_on_stream");
    if (checked.compares_calls()) (void)checked.exchange_in("heddle_barrier_on_stream", {});
    checked.enqueue_collective(checked.runtime().queue(stream), [&](exec::stream& queue) {
      if (!checked.runtime().place().is_host())
        return launch_on(queue, barrier_call{checked.ref(), team_memory::stream_barrier});
      queue.enqueue([&checked] { barrier_of(checked, team_memory::stream_barrier); });
    });
  });
}
