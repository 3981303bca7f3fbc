// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/team.hpp>
#include <heddle/element.hpp>
#include <heddle/stream.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace heddle {

/// Where a call that takes a stream runs: by default on the default stream, complete on return.
struct on_stream {
  on_stream() = default;
  on_stream(const stream& stream) : handle(stream.handle()) {}  // NOLINT: a stream serves as one
  heddle_stream_t handle = nullptr;
};

/// An ordered set of PEs. A split team is owned and destroyed with its last copy (collective, so
/// drop the copies in the same order on every member); world and node belong to the runtime.
class team {
 public:
  [[nodiscard]] int my_pe() const { return get(heddle_team_my_pe); }
  [[nodiscard]] int n_pes() const { return get(heddle_team_n_pes); }

  /// The value that kernels take.
  [[nodiscard]] team_ref ref() const {
    team_ref ref;
    detail::check(heddle_team_get_ref(handle_, &ref, sizeof ref, team_ref::layout));
    return ref;
  }
  /// The index in `to` of `pe` of this team; -1 if it is not a member.
  [[nodiscard]] int translate(int pe, const team& to) const {
    int translated;
    detail::check(heddle_team_translate(handle_, pe, to.handle_, &translated));
    return translated;
  }

  /// Collective over this team; PEs outside get an empty team (`!team`).
  [[nodiscard]] team split_strided(int start, int stride, int size) const {
    heddle_team_t child;
    detail::check(heddle_team_split_strided(handle_, start, stride, size, &child));
    return adopt(child);
  }
  [[nodiscard]] team split_color(int color, int key) const {
    heddle_team_t child;
    detail::check(heddle_team_split_color(handle_, color, key, &child));
    return adopt(child);
  }
  [[nodiscard]] explicit operator bool() const { return handle_ != nullptr; }

  /// Throws the error that aborted the team, if any did.
  void check_status() const { detail::check(heddle_team_status(handle_)); }
  void abort(const std::string& reason) const {
    detail::check(heddle_team_abort(handle_, reason.c_str()));
  }

  template <class T>
  void put(T* dst, const T* src, std::size_t n, int pe) const {
    detail::check(heddle_put(handle_, dst, src, detail::bytes_of<T>(n), pe));
  }
  template <class T>
  void get(T* dst, const T* src, std::size_t n, int pe) const {
    detail::check(heddle_get(handle_, dst, src, detail::bytes_of<T>(n), pe));
  }
  template <class T>
  void put_nbi(T* dst, const T* src, std::size_t n, int pe) const {
    detail::check(heddle_put_nbi(handle_, dst, src, detail::bytes_of<T>(n), pe));
  }
  template <class T>
  void get_nbi(T* dst, const T* src, std::size_t n, int pe) const {
    detail::check(heddle_get_nbi(handle_, dst, src, detail::bytes_of<T>(n), pe));
  }
  /// One element.
  template <class T>
  void p(T* dst, const std::type_identity_t<T>& value, int pe) const {
    put(dst, &value, 1, pe);
  }
  template <class T>
  [[nodiscard]] T g(const T* src, int pe) const {
    static_assert(std::is_default_constructible_v<T>);
    T value;
    get(&value, src, 1, pe);
    return value;
  }
  template <class T>
  void put_signal(T* dst, const T* src, std::size_t n, signal* word, std::uint64_t value,
                  signal_op op, int pe) const {
    detail::check(heddle_put_signal(handle_, dst, src, detail::bytes_of<T>(n), word, value,
                                    static_cast<heddle_signal_op_t>(op), pe));
  }
  void update_signal(signal* word, std::uint64_t value, signal_op op, int pe) const {
    detail::check(heddle_signal(handle_, word, value, static_cast<heddle_signal_op_t>(op), pe));
  }
  void wait_until(const signal* word, cmp how, std::uint64_t value) const {
    detail::check(heddle_signal_wait(handle_, word, static_cast<heddle_cmp_t>(how), value));
  }
  [[nodiscard]] bool test(const signal* word, cmp how, std::uint64_t value) const {
    int satisfied;
    detail::check(
        heddle_signal_test(handle_, word, static_cast<heddle_cmp_t>(how), value, &satisfied));
    return satisfied != 0;
  }

  /// Atomics on `pe`'s copy of an integer of 4 or 8 bytes.
  template <class T>
  [[nodiscard]] T atomic_fetch(const T* word, int pe) const {
    return atomic(const_cast<T*>(word), HEDDLE_ATOMIC_FETCH, T{}, T{}, pe);
  }
  template <class T>
  void atomic_set(T* word, std::type_identity_t<T> value, int pe) const {
    atomic(word, HEDDLE_ATOMIC_SET, value, T{}, pe);
  }
  template <class T>
  T atomic_swap(T* word, std::type_identity_t<T> value, int pe) const {
    return atomic(word, HEDDLE_ATOMIC_SWAP, value, T{}, pe);
  }
  /// Stores value if the word equals compare; returns what was there.
  template <class T>
  T atomic_compare_swap(T* word, std::type_identity_t<T> compare, std::type_identity_t<T> value,
                        int pe) const {
    return atomic(word, HEDDLE_ATOMIC_COMPARE_SWAP, value, compare, pe);
  }
  template <class T>
  T atomic_fetch_add(T* word, std::type_identity_t<T> value, int pe) const {
    return atomic(word, HEDDLE_ATOMIC_ADD, value, T{}, pe);
  }
  template <class T>
  T atomic_fetch_and(T* word, std::type_identity_t<T> value, int pe) const {
    return atomic(word, HEDDLE_ATOMIC_AND, value, T{}, pe);
  }
  template <class T>
  T atomic_fetch_or(T* word, std::type_identity_t<T> value, int pe) const {
    return atomic(word, HEDDLE_ATOMIC_OR, value, T{}, pe);
  }
  template <class T>
  T atomic_fetch_xor(T* word, std::type_identity_t<T> value, int pe) const {
    return atomic(word, HEDDLE_ATOMIC_XOR, value, T{}, pe);
  }

  void fence() const { detail::check(heddle_fence(handle_)); }
  void quiet() const { detail::check(heddle_quiet(handle_)); }
  void barrier() const { detail::check(heddle_barrier(handle_)); }
  void sync() const { detail::check(heddle_sync(handle_)); }

  /// The same on a stream: in its order, complete when it has run them.
  void barrier(const stream& stream) const {
    detail::check(heddle_barrier_on_stream(handle_, stream.handle()));
  }
  void update_signal(signal* word, std::uint64_t value, signal_op op, int pe,
                     const stream& stream) const {
    detail::check(heddle_signal_on_stream(handle_, word, value, static_cast<heddle_signal_op_t>(op),
                                          pe, stream.handle()));
  }
  template <class T>
  void put(T* dst, const T* src, std::size_t n, int pe, const stream& stream) const {
    detail::check(
        heddle_put_on_stream(handle_, dst, src, detail::bytes_of<T>(n), pe, stream.handle()));
  }
  template <class T>
  void get(T* dst, const T* src, std::size_t n, int pe, const stream& stream) const {
    detail::check(
        heddle_get_on_stream(handle_, dst, src, detail::bytes_of<T>(n), pe, stream.handle()));
  }
  template <class T>
  void put_signal(T* dst, const T* src, std::size_t n, signal* word, std::uint64_t value,
                  signal_op op, int pe, const stream& stream) const {
    detail::check(heddle_put_signal_on_stream(handle_, dst, src, detail::bytes_of<T>(n), word,
                                              value, static_cast<heddle_signal_op_t>(op), pe,
                                              stream.handle()));
  }
  void wait_until(const signal* word, cmp how, std::uint64_t value, const stream& stream) const {
    detail::check(heddle_signal_wait_on_stream(handle_, word, static_cast<heddle_cmp_t>(how), value,
                                               stream.handle()));
  }

  /// output[i] = op over all PEs of input[i].
  template <element T>
  void all_reduce(const T* input, T* output, std::size_t count, op op, on_stream where = {}) const {
    detail::check(heddle_all_reduce(handle_, input, output, count, type_of<T>,
                                    static_cast<heddle_op_t>(op), where.handle));
  }

  /// output[i] = op over all PEs of their input[my_pe * count + i].
  template <element T>
  void reduce_scatter(const T* input, T* output, std::size_t count, op op,
                      on_stream where = {}) const {
    detail::check(heddle_reduce_scatter(handle_, input, output, count, type_of<T>,
                                        static_cast<heddle_op_t>(op), where.handle));
  }
  /// With a piece of its own size for each PE: as heddle_reduce_scatter_v.
  template <element T>
  void reduce_scatter_v(const T* input, T* output, const std::vector<std::size_t>& counts,
                        const std::vector<std::size_t>& displacements, op op,
                        on_stream where = {}) const {
    require_list(counts);
    require_list(displacements);
    detail::check(heddle_reduce_scatter_v(handle_, input, output, counts.data(),
                                          displacements.data(), type_of<T>,
                                          static_cast<heddle_op_t>(op), where.handle));
  }
  /// As all_reduce, on the root alone.
  template <element T>
  void reduce(const T* input, T* output, std::size_t count, op op, int root,
              on_stream where = {}) const {
    detail::check(heddle_reduce(handle_, input, output, count, type_of<T>,
                                static_cast<heddle_op_t>(op), root, where.handle));
  }

  // Collectives that combine nothing, as in heddle.h. Of any trivially copyable type: what has no
  // heddle_type_t goes as bytes.

  template <class T>
  void broadcast(const T* input, T* output, std::size_t count, int root,
                 on_stream where = {}) const {
    detail::check(heddle_broadcast(handle_, input, output, moved<T>::count(count), moved<T>::type,
                                   root, where.handle));
  }
  template <class T>
  void all_gather(const T* input, T* output, std::size_t count, on_stream where = {}) const {
    detail::check(heddle_all_gather(handle_, input, output, moved<T>::count(count), moved<T>::type,
                                    where.handle));
  }
  template <class T>
  void all_to_all(const T* input, T* output, std::size_t count, on_stream where = {}) const {
    detail::check(heddle_all_to_all(handle_, input, output, moved<T>::count(count), moved<T>::type,
                                    where.handle));
  }
  template <class T>
  void gather(const T* input, T* output, std::size_t count, int root, on_stream where = {}) const {
    detail::check(heddle_gather(handle_, input, output, moved<T>::count(count), moved<T>::type,
                                root, where.handle));
  }
  template <class T>
  void scatter(const T* input, T* output, std::size_t count, int root, on_stream where = {}) const {
    detail::check(heddle_scatter(handle_, input, output, moved<T>::count(count), moved<T>::type,
                                 root, where.handle));
  }
  /// The lists have n_pes elements.
  template <class T>
  void all_gather_v(const T* input, T* output, const std::vector<std::size_t>& counts,
                    const std::vector<std::size_t>& displacements, on_stream where = {}) const {
    detail::check(heddle_all_gather_v(handle_, input, output, moved_list<T>(counts).data(),
                                      moved_list<T>(displacements).data(), moved<T>::type,
                                      where.handle));
  }
  template <class T>
  void all_to_all_v(const T* input, const std::vector<std::size_t>& input_counts,
                    const std::vector<std::size_t>& input_displacements, T* output,
                    const std::vector<std::size_t>& output_counts,
                    const std::vector<std::size_t>& output_displacements,
                    on_stream where = {}) const {
    detail::check(heddle_all_to_all_v(
        handle_, input, moved_list<T>(input_counts).data(),
        moved_list<T>(input_displacements).data(), output, moved_list<T>(output_counts).data(),
        moved_list<T>(output_displacements).data(), moved<T>::type, where.handle));
  }

  /// As heddle_send and heddle_recv.
  template <class T>
  void send(const T* buffer, std::size_t count, int peer, on_stream where = {}) const {
    detail::check(
        heddle_send(handle_, buffer, moved<T>::count(count), moved<T>::type, peer, where.handle));
  }
  template <class T>
  void recv(T* buffer, std::size_t count, int peer, on_stream where = {}) const {
    detail::check(
        heddle_recv(handle_, buffer, moved<T>::count(count), moved<T>::type, peer, where.handle));
  }

  /// Which way a call goes, and why: as heddle_plan.
  [[nodiscard]] std::string plan(heddle_collective_t what, std::size_t count,
                                 heddle_type_t type) const {
    char text[512];
    detail::check(heddle_plan(handle_, what, count, type, text, sizeof text));
    return text;
  }
  /// As heddle_require_same: `team.require_same("my_reduction", {{"count", n}, {"seed", seed}})`,
  /// of unsigned numbers.
  void require_same(const char* function,
                    std::initializer_list<heddle_named_value_t> values) const {
    detail::check(
        heddle_require_same(handle_, function, values.begin(), static_cast<int>(values.size())));
  }
  /// As heddle_team_set_chooser, heddle_team_set_max_channels and heddle_team_set_accumulate_f32.
  void set_chooser(heddle_chooser_t chooser, void* user = nullptr) const {
    detail::check(heddle_team_set_chooser(handle_, chooser, user));
  }
  void set_max_channels(int channels) const {
    detail::check(heddle_team_set_max_channels(handle_, channels));
  }
  [[nodiscard]] int max_channels() const { return get(heddle_team_max_channels); }
  /// Sets a team's limit of channels back to what it was.
  class [[nodiscard]] channel_limit {
   public:
    channel_limit(const team& of, int channels) : handle_(of.handle_), before_(of.max_channels()) {
      of.set_max_channels(channels);
    }
    ~channel_limit() { (void)heddle_team_set_max_channels(handle_, before_); }
    channel_limit(const channel_limit&) = delete;
    channel_limit& operator=(const channel_limit&) = delete;

   private:
    heddle_team_t handle_;
    int before_;
  };
  /// For as long as the result lives, calls on this team take at most that many channels:
  ///
  ///     {
  ///       const auto few = team.limit_channels(4);  // beside the next layer's kernels
  ///       team.all_reduce(gradients, gradients, n, heddle::op::sum, stream);
  ///     }
  channel_limit limit_channels(int channels) const { return {*this, channels}; }
  void set_accumulate_f32(bool on) const {
    detail::check(heddle_team_set_accumulate_f32(handle_, on));
  }

  [[nodiscard]] heddle_team_t handle() const { return handle_; }

 private:
  friend class runtime;
  template <class T>
  static constexpr auto type_of = static_cast<heddle_type_t>(element_type<T>);
  template <class T>
  using moved = detail::moved_elements<T>;
  template <class T>
  [[nodiscard]] decltype(auto) moved_list(const std::vector<std::size_t>& list) const {
    require_list(list);
    return moved<T>::list(list);
  }
  void require_list(const std::vector<std::size_t>& list) const {
    if (list.size() != static_cast<std::size_t>(n_pes()))
      throw error(HEDDLE_ERROR_INVALID_ARGUMENT, "a list of " + std::to_string(list.size()) +
                                                     " numbers for a team of " +
                                                     std::to_string(n_pes()) + " PEs");
  }
  explicit team(heddle_team_t borrowed) : handle_(borrowed) {}
  static team adopt(heddle_team_t handle) {
    team result(handle);
    if (handle)
      result.owned_.reset(handle, [unwinds = detail::unwinding()](heddle_team_t owned) {
        if (unwinds) return detail::abort_by_exception(owned);
        heddle_team_destroy(owned);
      });
    return result;
  }
  template <class T>
  T atomic(T* word, heddle_atomic_op_t op, T value, T compare, int pe) const {
    static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
    std::uint64_t old;
    detail::check(heddle_atomic(handle_, word, sizeof(T), op, static_cast<std::uint64_t>(value),
                                static_cast<std::uint64_t>(compare), &old, pe));
    return static_cast<T>(old);
  }
  [[nodiscard]] int get(heddle_status_t (*query)(heddle_team_t, int*)) const {
    int value;
    detail::check(query(handle_, &value));
    return value;
  }

  heddle_team_t handle_;
  std::shared_ptr<heddle_team> owned_;
};

/// Runs body(), whose sends and receives become one kernel for each team, on one stream: see
/// heddle_group_begin. If it throws, nothing is sent.
template <class Body>
void grouped(Body&& body) {
  detail::check(heddle_group_begin());
  try {
    body();
  } catch (...) {
    heddle_group_cancel();
    throw;
  }
  detail::check(heddle_group_end());
}

}  // namespace heddle
