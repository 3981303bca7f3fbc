// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/atomic.hpp>
#include <heddle/device/group.hpp>
#include <heddle/device/impl/copy.hpp>
#include <heddle/device/proxy_ref.hpp>
#include <heddle/device/team_memory.hpp>

namespace heddle {

namespace detail {
class slow_wait;
}

/// A team as kernels use it: a small value, passed as an argument. Get it from
/// `heddle::team::ref()`.
///
/// `pe` is always an index in the team. A symmetric address is the local pointer; `dst` of a put,
/// `src` of a get, signals and atomic words are symmetric, the other side is any memory of this PE;
/// on a GPU, if `pe` may be remote, its global memory: a proxy reaches no thread's or block's own.
///
/// A get, g, fetching atomic or quiet that fails returns as others do: what it gave is valid if the
/// team is not aborted() after it.
///
/// Functions that take a group are called by all its threads with the same arguments. On return of
/// a blocking put or get every thread of the group may reuse or read the local buffer. Completion
/// and ordering are as in OpenSHMEM 1.5 (sections 9.5 to 9.11); docs/memory-model.md says it in
/// full.
///
///     template <heddle::group Block>
///     HEDDLE_FN void halo(Block block, heddle::team_ref team, float* row, size_t n,
///                         heddle::signal* ready, uint64_t step) {
///       const int right = (team.my_pe() + 1) % team.n_pes();
///       team.put_signal(block, row + n, row, n, ready, step, heddle::signal_op::set, right);
///       team.wait_until(block, ready, heddle::cmp::ge, step);
///     }
class team_ref {
 public:
  /// Changes when the layout of this class, of a block, of proxy_ref or of the team's memory does,
  /// or what PEs send each other.
  static constexpr uint32_t layout = 20;

  HEDDLE_FN int my_pe() const { return my_pe_; }
  HEDDLE_FN int n_pes() const { return n_pes_; }

  /// Where this PE can load and store `pe`'s copy of a symmetric object; null if it is remote.
  template <class T>
  HEDDLE_FN T* ptr(T* symmetric, int pe) const;

  // ---- put and get: n elements, whose source and destination are the same or apart ----

  /// Copies src to `pe`'s dst. Delivered, in order with a later signal to the same PE, fence or
  /// barrier.
  template <group G, class T>
  HEDDLE_FN void put(G group, T* dst, const T* src, size_t n, int pe) const;
  /// As put; src may be reused after quiet. Where that was given up (an aborted team, a lost PE)
  /// the network may be at work on it until the runtime ends; so of get_nbi's dst.
  template <group G, class T>
  HEDDLE_FN void put_nbi(G group, T* dst, const T* src, size_t n, int pe) const;
  /// Copies `pe`'s src to dst.
  template <group G, class T>
  HEDDLE_FN void get(G group, T* dst, const T* src, size_t n, int pe) const;
  /// As get; dst may be read after quiet.
  template <group G, class T>
  HEDDLE_FN void get_nbi(G group, T* dst, const T* src, size_t n, int pe) const;
  /// One element, by the calling thread. An element of 4 or 8 bytes is written as a whole, and a
  /// fence before it orders it after earlier puts: it may serve as a flag.
  template <class T>
  HEDDLE_FN void p(T* dst, standard::type_identity_t<T> value, int pe) const;
  template <class T>
  HEDDLE_FN T g(const T* src, int pe) const;
  /// As put and get for n elements, of at most 128 bytes each, that are `dst_stride` and
  /// `src_stride` (at least 1) elements apart.
  template <group G, class T>
  HEDDLE_FN void iput(G group, T* dst, const T* src, size_t dst_stride, size_t src_stride, size_t n,
                      int pe) const;
  template <group G, class T>
  HEDDLE_FN void iget(G group, T* dst, const T* src, size_t dst_stride, size_t src_stride, size_t n,
                      int pe) const;

  // ---- signals ----

  /// put, then the update of `pe`'s signal. Who sees the signal (wait_until, test: acquire) sees
  /// the data of this call, whichever of the group's threads wrote it, and earlier puts of the
  /// group.
  template <group G, class T>
  HEDDLE_FN void put_signal(G group, T* dst, const T* src, size_t n, signal* signal_word,
                            uint64_t value, signal_op op, int pe) const;
  /// As put_signal; src may be reused after quiet, or when the peer has answered to the signal.
  template <group G, class T>
  HEDDLE_FN void put_signal_nbi(G group, T* dst, const T* src, size_t n, signal* signal_word,
                                uint64_t value, signal_op op, int pe) const;
  /// The update alone: release, after earlier puts of the group to that PE.
  template <group G>
  HEDDLE_FN void update_signal(G group, signal* signal_word, uint64_t value, signal_op op,
                               int pe) const;

  // ---- waiting for a word of this PE: uint32_t, uint64_t, int32_t or int64_t ----

  /// Waits until *word compares true with value (acquire, for all threads of the group). A wait
  /// that passes the team's deadline records itself and aborts the team, on every PE. Where a wait
  /// would go on in an aborted team it returns with a status that is not ok, on all threads alike;
  /// one whose condition holds may still be ok.
  template <group G, class T>
  HEDDLE_FN wait_status wait_until(G group, const T* word, cmp how,
                                   standard::type_identity_t<T> value) const;
  /// As wait_until with a limit of its own: passing it is `timeout`, and the team goes on.
  template <group G, class T>
  [[nodiscard]] HEDDLE_FN wait_status try_wait_until(G group, const T* word, cmp how,
                                                     standard::type_identity_t<T> value,
                                                     uint64_t timeout_ns) const;
  /// One look (acquire), the same answer on all threads of the group.
  template <group G, class T>
  HEDDLE_FN bool test(G group, const T* word, cmp how, standard::type_identity_t<T> value) const;

  // ---- atomics on `pe`'s copy of a word of 4 or 8 bytes, by the calling thread ----

  // Each is one indivisible step. They order nothing by themselves; a fence before one orders it
  // after earlier puts to that PE.

  template <class T>
  HEDDLE_FN T atomic_fetch(const T* word, int pe) const;
  template <class T>
  HEDDLE_FN void atomic_set(T* word, standard::type_identity_t<T> value, int pe) const;
  template <class T>
  HEDDLE_FN T atomic_swap(T* word, standard::type_identity_t<T> value, int pe) const;
  /// Stores value if the word equals compare; returns what was there.
  template <class T>
  HEDDLE_FN T atomic_compare_swap(T* word, standard::type_identity_t<T> compare,
                                  standard::type_identity_t<T> value, int pe) const;
  template <class T>
  HEDDLE_FN T atomic_fetch_add(T* word, standard::type_identity_t<T> value, int pe) const;
  template <class T>
  HEDDLE_FN void atomic_add(T* word, standard::type_identity_t<T> value, int pe) const;
  template <class T>
  HEDDLE_FN T atomic_fetch_inc(T* word, int pe) const;
  template <class T>
  HEDDLE_FN void atomic_inc(T* word, int pe) const;
  template <class T>
  HEDDLE_FN T atomic_fetch_and(T* word, standard::type_identity_t<T> value, int pe) const;
  template <class T>
  HEDDLE_FN void atomic_and(T* word, standard::type_identity_t<T> value, int pe) const;
  template <class T>
  HEDDLE_FN T atomic_fetch_or(T* word, standard::type_identity_t<T> value, int pe) const;
  template <class T>
  HEDDLE_FN void atomic_or(T* word, standard::type_identity_t<T> value, int pe) const;
  template <class T>
  HEDDLE_FN T atomic_fetch_xor(T* word, standard::type_identity_t<T> value, int pe) const;
  template <class T>
  HEDDLE_FN void atomic_xor(T* word, standard::type_identity_t<T> value, int pe) const;

  // ---- ordering ----

  /// Puts, signals and atomics of the calling thread before it are delivered to each PE before
  /// those after it.
  HEDDLE_FN void fence() const;
  /// Those before it are complete and visible to every PE; nbi buffers may be reused and read.
  HEDDLE_FN void quiet() const;

  /// quiet for the group's threads, then every PE's group has arrived. `index` (0 to 28) names one
  /// of the team's barriers: groups that run at the same time on a PE use different ones. The
  /// status is as wait_until's.
  template <group G>
  HEDDLE_FN wait_status barrier(G group, int index = 0) const;
  /// Every PE's group has arrived. Over mapped memory the same as barrier.
  template <group G>
  HEDDLE_APART HEDDLE_FN wait_status sync(G group, int index = 0) const;

  /// Contexts order and complete what goes through the proxy independently of each other: fence and
  /// quiet of a team_ref are about its own context. Context 0 is that of the team's ref(); blocks
  /// that use different ones do not wait for each other. Over mapped memory there is no difference.
  HEDDLE_FN int n_contexts() const { return proxy_ ? proxy_->contexts : 1; }
  /// This team in context index % n_contexts().
  HEDDLE_FN team_ref context(int index) const {
    team_ref other = *this;
    other.context_ = index % n_contexts();
    return other;
  }

  // ---- failure ----

  /// True once the team was aborted: by a lost PE, a wait past its deadline, or the user. For a GPU
  /// a look at host memory, 1 us, and those of several blocks go one after the other: the status of
  /// a wait tells the same.
  HEDDLE_FN bool aborted() const;

  // ---- for heddle's own kernels ----

  /// As wait_until by one thread, recorded as `op` waiting for `peer` (-1: unknown).
  template <class T>
  HEDDLE_HOT HEDDLE_FN wait_status wait_by_thread(const T* word, cmp how, T value, operation op,
                                                  int peer) const;
  /// The same for a count of at least `value`; false if the team was aborted. On CUDA a call, so
  /// that kernels of many waits are short.
  HEDDLE_HOT HEDDLE_APART HEDDLE_FN bool await_count(const uint64_t* word, uint64_t value,
                                                     operation op, int peer) const;
  /// Anything a single thread waits for: `look(seen)` stores what it sees and says whether it is
  /// done.
  template <class Look>
  HEDDLE_HOT HEDDLE_FN wait_status wait_by_thread(Look look, const void* word, cmp how,
                                                  uint64_t expected, operation op, int peer) const;
  /// Stores a word at `pe`, after what this group has put there (release). Not what quiet is about:
  /// the peer answers.
  HEDDLE_FN void tell(uint64_t* word, uint64_t value, int pe) const;
  /// The same after a release_fence of this thread.
  HEDDLE_FN void tell_next(uint64_t* word, uint64_t value, int pe) const;
  /// Copies to a remote PE and then stores a word there, in the same way, by one thread. src may be
  /// reused when the peer has answered.
  HEDDLE_FN void send(byte* dst, const byte* src, size_t bytes, uint64_t* word, uint64_t value,
                      int pe) const;
  static constexpr uint64_t not_posted = ~uint64_t{0};
  /// As send, and src may be reused after await_borrowed with what this returns, which the thread
  /// calls once, whatever has become of the team.
  HEDDLE_APART HEDDLE_FN uint64_t send_borrowed(byte* dst, const byte* src, size_t bytes,
                                                uint64_t* word, uint64_t value, int pe) const;
  HEDDLE_APART HEDDLE_FN void await_borrowed(uint64_t sent, int pe) const;
  /// quiet, and about what heddle itself has sent and what was given up, too: nothing of this
  /// context comes to any PE's memory after it. By one thread, before the memory is another's.
  HEDDLE_FN void quiet_everything() const;
  /// What was sent leaves now, if it was kept for others to come.
  HEDDLE_FN void end_row() const;
  /// Who writes into a peer's own memory without waiting for that peer looks itself whether to go
  /// on: a PE that has left with an error has the memory for other things. By all threads of a
  /// group, with one answer.
  template <group G>
  HEDDLE_FN bool may_bring(G group) const {
    return group.all(group.rank() != 0 || !alarmed());
  }
  /// As aborted(), soon after; quickly, where that is not so.
  HEDDLE_FN bool alarmed() const;
  /// The collectives' part of the heap: see <heddle/device/coll/scratch.hpp>.
  HEDDLE_FN byte* scratch() const { return scratch_; }
  HEDDLE_FN byte* heap() const { return heap_; }
  /// How many bytes of the heaps, from their start, have multicast addresses; none on the host.
  HEDDLE_FN uint64_t multicast_bytes() const { return multicast_bytes_; }
  /// The address at which an NVLink switch reaches the object on all members.
  template <class T>
  HEDDLE_FN T* multicast(T* symmetric) const {
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(multicast_) + heap_offset(symmetric));
  }
  /// The offset in the heap of `bytes` bytes at `address`; ~0 if they are not all in this PE's
  /// heap.
  HEDDLE_FN uint64_t symmetric_offset(const void* address, size_t bytes) const {
    const uint64_t offset = heap_offset(address);
    return offset <= heap_bytes_ && bytes <= heap_bytes_ - offset ? offset : ~uint64_t{0};
  }
  HEDDLE_FN uint32_t flag_period() const { return flag_period_; }
  HEDDLE_FN team_memory* memory() const { return memory_; }
  /// This PE's `op` with `pe` is of `mine` bytes, and that PE's of `theirs`: aborts the team.
  HEDDLE_APART HEDDLE_FN void refuse(operation op, int pe, uint64_t mine, uint64_t theirs) const;
  /// Aborts the team at `pe`, unless it is aborted there already. Waits for nothing: a remote PE is
  /// told nothing if the queue is full.
  HEDDLE_FN void abort_at(int pe, uint64_t code) const;
  /// The same; before that, what this PE has in symmetric memory is put to the same place there.
  HEDDLE_FN void abort_at(int pe, uint64_t code, const void* symmetric, size_t bytes) const;
  /// `pe`'s; it is mapped.
  HEDDLE_FN team_control* control(int pe) const {
    return reinterpret_cast<team_control*>(reinterpret_cast<uintptr_t>(control_) +
                                           static_cast<uintptr_t>(distance(pe) * control_stride_));
  }
  /// The PE at a position of the rings, which go host by host.
  HEDDLE_FN int ring_pe(int position) const { return ring_ ? ring_[position] : position; }
  HEDDLE_FN int ring_position() const { return ring_ ? ring_position_ : my_pe_; }
  /// O(n_pes) where the ring is in another order than the team.
  HEDDLE_FN int ring_position_of(int pe) const {
    if (!ring_) return pe;
    int position = 0;
    while (position < n_pes_ && ring_[position] != pe) ++position;
    return position;
  }
  /// Whether some member is not mapped (its slot is -1).
  HEDDLE_FN bool has_remote() const {
    for (int pe = 0; slots_ && pe < n_pes_; ++pe)
      if (slots_[pe] < 0) return true;
    return false;
  }
  /// Whether small floats that are combined from PE to PE are rounded once in all.
  HEDDLE_FN bool accumulates_f32() const { return accumulates_f32_ != 0; }
  /// Whether some members are reached through the proxy.
  HEDDLE_FN bool has_network() const { return proxy_ != nullptr; }
  /// Whether all members reach each other through the proxy alone: the same on all.
  HEDDLE_FN bool is_apart() const { return is_apart_ != 0; }
  /// How the host copies so many bytes.
  HEDDLE_FN detail::stores stores_for(size_t bytes) const {
    return detail::choose_stores(bytes, streaming_from_);
  }
  /// Whether `pe` is reached through the proxy.
  HEDDLE_FN bool is_remote(int pe) const { return proxy_ && slots_[pe] < 0; }

 private:
  friend class team_ref_builder;
  friend class detail::slow_wait;

  /// This, for calls that are not inlined. On CUDA a copy: what has its address taken lies in local
  /// memory, and every look at it waits for that; the rest stay in registers and a kernel's
  /// parameters.
#if HEDDLE_ON_CUDA
  HEDDLE_FN team_ref apart() const { return *this; }
#else
  HEDDLE_FN const team_ref& apart() const { return *this; }
#endif

  struct limits;
  template <class Look>
  HEDDLE_COLD HEDDLE_FN wait_status wait_slowly(Look look, const wait_record& what,
                                                uint64_t timeout_ns, bool abort_on_timeout) const;
  HEDDLE_FN void give_up(wait_record what, abort_reason why) const;
  HEDDLE_FN uint64_t heap_offset(const void* address) const;
  /// Lets a waiting host thread do the proxy's work.
  HEDDLE_FN void help() const;
  /// Lets a host thread that has waited long sleep, for `ns` at most; what comes from the network
  /// ends it.
  HEDDLE_FN void nap(uint64_t ns) const;
  /// Has a command carried out: by this host thread, or the one that drives at this moment.
  HEDDLE_FN void serve() const;
  /// After a reply was given up: no host thread writes to the command's memory any more.
  HEDDLE_FN void settle() const;
  /// Lets the proxy know of a command, if it sleeps.
  HEDDLE_FN void notice() const;
  HEDDLE_FN void serve_row(size_t bytes) const;
  HEDDLE_FN bool in_long_row() const;

  // Through the proxy: team_remote.hpp.
  /// When a command leaves, as far as the thread that posts it sees to that.
  enum class departure : uint8_t {
    at_once,
    several,  ///< with others: what follows drives them, or the proxy
    in_row    ///< as message_row has it
  };
  HEDDLE_FN const command_queue_ref& queue_for(uint8_t flags) const;
  HEDDLE_APART HEDDLE_FN uint64_t post(command& what, const void* payload,
                                       departure when = departure::at_once) const;
  HEDDLE_APART HEDDLE_FN void await_news_of(uint64_t world_pe, operation op) const;
  HEDDLE_APART HEDDLE_FN bool await_reply(uint64_t posted, operation op, int pe,
                                          uint64_t* value = nullptr) const;
  HEDDLE_FN uint64_t post_put(const void* dst, const void* src, size_t bytes, int pe,
                              bool wants_reply, const signal* signal_word, uint64_t value,
                              signal_op op, uint8_t flags) const;
  HEDDLE_APART HEDDLE_FN void remote_put(const void* dst, const void* src, size_t bytes, int pe,
                                         bool blocking, const signal* signal_word = nullptr,
                                         uint64_t value = 0, signal_op op = signal_op::set,
                                         uint8_t flags = 0) const;
  HEDDLE_APART HEDDLE_FN void remote_p(const void* dst, const void* value, size_t bytes,
                                       int pe) const;
  HEDDLE_APART HEDDLE_FN void remote_get(void* dst, const void* src, size_t bytes, int pe,
                                         bool blocking) const;
  template <class T>
  HEDDLE_FN T remote_g(const T* src, int pe) const;
  HEDDLE_APART HEDDLE_FN uint64_t remote_word(const void* src, size_t bytes, int pe) const;
  HEDDLE_APART HEDDLE_FN void remote_strided(command_kind kind, const void* symmetric,
                                             const void* local, size_t there, size_t here,
                                             size_t unit, size_t n, int pe) const;
  HEDDLE_APART HEDDLE_FN void remote_signal(const void* signal_word, uint64_t value, signal_op op,
                                            int pe, uint8_t flags = 0) const;
  HEDDLE_APART HEDDLE_FN uint64_t remote_atomic(const void* word, size_t bytes, atomic_op op,
                                                uint64_t value, uint64_t compare, bool fetches,
                                                int pe) const;
  template <class T>
  HEDDLE_FN T remote_atomic(const T* word, atomic_op op, T value, T compare, bool fetches,
                            int pe) const;
  HEDDLE_APART HEDDLE_FN void remote_fence() const;
  HEDDLE_APART HEDDLE_FN void remote_quiet(uint8_t flags = 0) const;
  HEDDLE_APART HEDDLE_FN void remote_abort(int pe, uint64_t code, const void* told, size_t bytes,
                                           const void* to) const;
  HEDDLE_FN void set_abort_word(int pe, uint64_t code) const;
  /// From this PE's slot to that one's.
  HEDDLE_FN int64_t distance(int pe) const {
    return slots_ ? slots_[pe] - my_slot_ : static_cast<int64_t>(pe - my_pe_) * slot_step_;
  }

  uint32_t layout_ = layout;
  int32_t my_pe_ = 0;
  int32_t n_pes_ = 1;
  int32_t my_slot_ = 0;               ///< this PE's heap in the arena
  int32_t slot_step_ = 0;             ///< slots from PE i to PE i+1; 0: slots_ tells
  uint16_t accumulates_f32_ = 0;      ///< 1: heddle_team_set_accumulate_f32
  uint16_t is_apart_ = 0;             ///< 1: no member maps another
  int64_t pe_stride_ = 0;             ///< bytes from PE i's heap to PE i+1's; 0: slots_ tells
  int64_t slot_stride_ = 0;           ///< bytes from one heap of the arena to the next
  const int32_t* slots_ = nullptr;    ///< the slot of each PE; -1: remote
  const int32_t* world_ = nullptr;    ///< each PE's number in the world, where some are remote
  const proxy_ref* proxy_ = nullptr;  ///< of this PE, where some are remote
  const int32_t* ring_ = nullptr;     ///< PEs by position; null: in the order of the team
  int32_t ring_position_ = 0;         ///< this PE's
  int32_t context_ = 0;
  byte* heap_ = nullptr;                    ///< this PE's heap
  byte* multicast_ = nullptr;               ///< all members' heaps at once
  uint64_t multicast_bytes_ = 0;            ///< of them; 0: there is no such address
  uint64_t heap_bytes_ = 0;                 ///< all that it may grow to
  team_memory* memory_ = nullptr;           ///< in the heap
  byte* scratch_ = nullptr;                 ///< in the heap
  team_control* control_ = nullptr;         ///< in the host's arena, which has the same slots
  int64_t control_stride_ = 0;              ///< bytes from one slot of that to the next
  uint64_t* alarm_ = nullptr;               ///< in the heap, if that is a GPU's: see team_control
  uint64_t streaming_from_ = ~uint64_t{0};  ///< bytes of a copy that fill the caches, on the host
  uint64_t timeout_ns_ = 0;
  uint32_t spin_ = 0;                   ///< polls before a host thread yields
  uint32_t flag_period_ = 0xffffffffu;  ///< flags of the LL protocol run from 1 to this, then again
};

static_assert(standard::is_trivially_copyable_v<team_ref>);

}  // namespace heddle

#include <heddle/device/impl/team_atomics.hpp>
#include <heddle/device/impl/team_copy.hpp>
#include <heddle/device/impl/team_remote.hpp>
#include <heddle/device/impl/team_sync.hpp>
#include <heddle/device/impl/team_wait.hpp>
