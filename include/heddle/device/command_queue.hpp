// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/atomic.hpp>
#include <heddle/device/types.hpp>

/// The queue through which kernels ask the proxy for what memory does not reach.
///
///     producers (any thread of any block)                 proxy (one thread at a time)
///     -----------------------------------                 ----------------------------
///     take k slots: head += k, once                       waits: ring[next].turn == next + 1
///       head + k - consumed <= slots                      carries the command out
///     write payload, then the command                     reply of next: value, then
///     turn = index + 1 (release)  --------------------->    stamp = next + 1 (release)
///     wait: reply's stamp >= index + 1  <---------------
///     taken = index + 1 (release)  -------------------->  consumed = next + k (release), once
///                                                         taken, or stamped if `lent`
///
/// A slot is one cache line. A command that carries data has it in the slots behind its own; their
/// words `turn` hold data too, and the proxy makes them 0 before it gives them back, so that no
/// data is ever taken for a turn. Invariants: consumed <= next <= head <= consumed + slots; slots
/// are taken and consumed in the same order, so none is overwritten before it was consumed, nor a
/// reply whose value matters before it was taken. Stamps of a slot grow, so that who has lent
/// memory may look at any time later, and never keeps the commands behind it from the proxy.
namespace heddle {

enum class command_kind : uint8_t {
  put = 1,     ///< `bytes` from `local` (or payload) to `remote`; then the signal, if has_signal
  get = 2,     ///< `bytes` from `remote` to `local`; no more than 8 to the reply, if that is 0
  signal = 3,  ///< `value` to the word at `signal`, as signal_op says
  atomic = 4,  ///< `atomic_op` on the word of `unit` bytes at `remote` with value and compare
  iput = 5,    ///< `bytes` / unit elements, `value` apart at the target, `compare` apart here
  iget = 6,    ///< the same the other way: `value` apart at the source there
  fence = 7,   ///< what follows in this queue is delivered to each PE after what is before it
  quiet = 8,   ///< replied to when all before it is complete and visible
  abort = 9  ///< `value` to the abort word at `remote`, if that is 0; before it payload to `signal`
};

enum class atomic_op : uint8_t {
  fetch = 0,
  swap = 1,
  add = 2,
  bit_and = 3,
  bit_or = 4,
  bit_xor = 5,
  compare_swap = 6
};

/// A place in a PE's symmetric memory: region in the upper 8 bits (0: the heap, 1: the host's heap
/// beside it), offset in the others.
using symmetric_place = uint64_t;
inline constexpr int place_region_shift = 56;

struct alignas(cache_line) command {
  enum flag : uint8_t {
    wants_reply = 1,  ///< the producer waits: for a put until its source may be reused
    has_payload = 2,  ///< the data is in the slots behind
    has_signal = 4,
    unheeded = 8,    ///< quiet and fence are not about it: heddle's own, answered in another way
    lent = 16,       ///< with wants_reply: that it has come is all that the producer asks
    everything = 32  ///< of a quiet: it is about the unheeded and what was given up, too
  };
  static constexpr size_t most_unit = 128;  ///< bytes of an element of iput and iget

  uint64_t turn;
  command_kind kind;
  uint8_t op;  ///< signal_op or atomic_op
  uint8_t flags;
  uint8_t unit;  ///< bytes of a word or element
  int32_t pe;    ///< of the world
  symmetric_place remote;
  uint64_t local;  ///< an address of this PE
  uint64_t bytes;
  symmetric_place signal;
  uint64_t value;
  uint64_t compare;
};
static_assert(sizeof(command) == cache_line);

struct alignas(cache_line) command_reply {
  uint64_t stamp;
  uint64_t value;
  uint64_t taken;
  uint64_t lost;  ///< 0, or 1 more than the PE (of the job) without which there is no answer
};

/// One queue, as producers see it. `head` is where producers update it quickly, the rest in host
/// memory.
struct command_queue_ref {
  static constexpr uint32_t slots = 1024;
  static constexpr size_t usual_payload = 2048;  ///< bytes; more only in a row of messages
  static constexpr size_t most_payload = 16384;

  struct head_words {
    alignas(2 * cache_line) uint64_t next;
    uint64_t consumed;  ///< as it was last seen
  };

  head_words* head;
  const uint64_t* consumed;
  command* ring;
  command_reply* replies;

  /// Takes slots for a command and `payload` bytes; ~0 if there is no room now.
  HEDDLE_FN uint64_t try_take(size_t payload) const {
    const uint64_t n = slots_for(payload);
    uint64_t at = load(&head->next, relaxed);
    // What others have taken since may be consumed by now: then the difference is below 0, and the
    // exchange tells where the head is.
    const auto is_full = [&](uint64_t given_back) {
      return static_cast<int64_t>(at + n - given_back) > static_cast<int64_t>(slots);
    };
    for (;;) {
      if (is_full(load(&head->consumed, acquire))) {
        const uint64_t now = load(consumed, acquire);
        store(&head->consumed, now, release);
        if (is_full(now)) return ~uint64_t{0};
      }
      if (atomic_ref<uint64_t>(head->next).compare_exchange_weak(at, at + n, acquire, relaxed))
        return at;
    }
  }
  /// Gives the command to the proxy, in the slots that try_take gave.
  HEDDLE_FN void submit(uint64_t at, const command& what, const void* payload) const {
    if (payload && what.flags & command::has_payload) {
      const auto* from = static_cast<const byte*>(payload);
      const size_t first = static_cast<size_t>((at + 1) % slots);
      const size_t to_end = (slots - first) * sizeof(command);
      const size_t n = what.bytes < to_end ? what.bytes : to_end;
      memcpy(&ring[first], from, n);
      if (n < what.bytes) memcpy(ring, from + n, what.bytes - n);
    }
    command& slot = ring[at % slots];
    slot.kind = what.kind;
    slot.op = what.op;
    slot.flags = what.flags;
    slot.unit = what.unit;
    slot.pe = what.pe;
    slot.remote = what.remote;
    slot.local = what.local;
    slot.bytes = what.bytes;
    slot.signal = what.signal;
    slot.value = what.value;
    slot.compare = what.compare;
    store(&slot.turn, at + 1, release);
  }
  HEDDLE_FN static constexpr uint64_t slots_for(size_t payload) {
    return 1 + (payload + cache_line - 1) / cache_line;
  }
};
static_assert(3 * command_queue_ref::slots_for(command_queue_ref::most_payload) <
              command_queue_ref::slots);

}  // namespace heddle
