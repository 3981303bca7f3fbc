// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

/// The C++ API: owners over the C handles of heddle.h. Every failing call throws heddle::error.
/// Contracts (collective, ordering, errors) are those of the C functions of the same name.
#pragma once

#include <heddle/heddle.h>
#include <heddle/device/team.hpp>
#include <heddle/error.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace heddle {

namespace detail {

inline void check(heddle_status_t status) {
  if (status != HEDDLE_SUCCESS) throw error(status, heddle_last_error());
}

/// Owns a C handle that `destroy` releases.
template <class Handle, heddle_status_t (*destroy)(Handle)>
struct handle_deleter {
  using pointer = Handle;
  void operator()(Handle handle) const noexcept { destroy(handle); }
};
template <class Handle, heddle_status_t (*destroy)(Handle)>
using owned = std::unique_ptr<std::remove_pointer_t<Handle>, handle_deleter<Handle, destroy>>;

}  // namespace detail

/// The heddle_type_t of an element type.
template <class T>
inline constexpr int element_type = -1;
template <>
inline constexpr int element_type<std::int32_t> = HEDDLE_INT32;
template <>
inline constexpr int element_type<std::int64_t> = HEDDLE_INT64;
template <>
inline constexpr int element_type<f16> = HEDDLE_FLOAT16;
template <>
inline constexpr int element_type<bf16> = HEDDLE_BFLOAT16;
template <>
inline constexpr int element_type<float> = HEDDLE_FLOAT32;
template <>
inline constexpr int element_type<double> = HEDDLE_FLOAT64;

template <class T>
concept element = element_type<std::remove_const_t<T>>
>= 0;

enum class op {
  sum = HEDDLE_SUM,
  prod = HEDDLE_PROD,
  min = HEDDLE_MIN,
  max = HEDDLE_MAX,
  avg = HEDDLE_AVG
};

class runtime;

/// An ordered queue of work. The default stream (runtime::default_stream) is borrowed, others are
/// owned.
class stream {
 public:
  /// Waits for the work queued so far and throws its first error.
  void synchronize() const { detail::check(heddle_stream_synchronize(runtime_, owned_.get())); }

  [[nodiscard]] heddle_stream_t handle() const { return owned_.get(); }
  [[nodiscard]] heddle_runtime_t runtime_handle() const { return runtime_; }

 private:
  friend class runtime;
  stream(heddle_runtime_t runtime, heddle_stream_t stream) : runtime_(runtime), owned_(stream) {}

  heddle_runtime_t runtime_;
  detail::owned<heddle_stream_t, heddle_stream_destroy> owned_;
};

/// A point in a stream's work.
class event {
 public:
  void record(const stream& stream) {
    detail::check(heddle_event_record(owned_.get(), stream.handle()));
  }
  void synchronize() const { detail::check(heddle_event_synchronize(owned_.get())); }
  /// Work queued on `stream` after this waits for the last record.
  void block(const stream& stream) const {
    detail::check(heddle_stream_wait_event(stream.handle(), owned_.get()));
  }
  [[nodiscard]] double milliseconds_since(const event& start) const {
    double milliseconds;
    detail::check(heddle_event_elapsed(start.owned_.get(), owned_.get(), &milliseconds));
    return milliseconds;
  }

 private:
  friend class runtime;
  explicit event(heddle_event_t event) : owned_(event) {}
  detail::owned<heddle_event_t, heddle_event_destroy> owned_;
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
    detail::check(heddle_put(handle_, dst, src, n * sizeof(T), pe));
  }
  template <class T>
  void get(T* dst, const T* src, std::size_t n, int pe) const {
    detail::check(heddle_get(handle_, dst, src, n * sizeof(T), pe));
  }
  template <class T>
  void put_signal(T* dst, const T* src, std::size_t n, signal* word, std::uint64_t value,
                  signal_op op, int pe) const {
    detail::check(heddle_put_signal(handle_, dst, src, n * sizeof(T), word, value,
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
  void fence() const { detail::check(heddle_fence(handle_)); }
  void quiet() const { detail::check(heddle_quiet(handle_)); }
  void barrier() const { detail::check(heddle_barrier(handle_)); }
  void sync() const { detail::check(heddle_sync(handle_)); }

  void barrier(const stream& stream) const {
    detail::check(heddle_barrier_on_stream(handle_, stream.handle()));
  }
  template <class T>
  void put(T* dst, const T* src, std::size_t n, int pe, const stream& stream) const {
    detail::check(heddle_put_on_stream(handle_, dst, src, n * sizeof(T), pe, stream.handle()));
  }
  template <class T>
  void get(T* dst, const T* src, std::size_t n, int pe, const stream& stream) const {
    detail::check(heddle_get_on_stream(handle_, dst, src, n * sizeof(T), pe, stream.handle()));
  }
  template <class T>
  void put_signal(T* dst, const T* src, std::size_t n, signal* word, std::uint64_t value,
                  signal_op op, int pe, const stream& stream) const {
    detail::check(heddle_put_signal_on_stream(handle_, dst, src, n * sizeof(T), word, value,
                                              static_cast<heddle_signal_op_t>(op), pe,
                                              stream.handle()));
  }
  void wait_until(const signal* word, cmp how, std::uint64_t value, const stream& stream) const {
    detail::check(heddle_signal_wait_on_stream(handle_, word, static_cast<heddle_cmp_t>(how), value,
                                               stream.handle()));
  }

  /// output[i] = op over all PEs of input[i], on the default stream: complete on return.
  template <element T>
  void all_reduce(const T* input, T* output, std::size_t count, op op) const {
    detail::check(heddle_all_reduce(handle_, input, output, count,
                                    static_cast<heddle_type_t>(element_type<T>),
                                    static_cast<heddle_op_t>(op), nullptr));
  }
  template <element T>
  void all_reduce(const T* input, T* output, std::size_t count, op op, const stream& stream) const {
    detail::check(heddle_all_reduce(handle_, input, output, count,
                                    static_cast<heddle_type_t>(element_type<T>),
                                    static_cast<heddle_op_t>(op), stream.handle()));
  }

  [[nodiscard]] heddle_team_t handle() const { return handle_; }

 private:
  friend class runtime;
  explicit team(heddle_team_t borrowed) : handle_(borrowed) {}
  static team adopt(heddle_team_t handle) {
    team result(handle);
    if (handle)
      result.owned_.reset(handle, [](heddle_team_t owned) { heddle_team_destroy(owned); });
    return result;
  }
  [[nodiscard]] int get(heddle_status_t (*query)(heddle_team_t, int*)) const {
    int value;
    detail::check(query(handle_, &value));
    return value;
  }

  heddle_team_t handle_;
  std::shared_ptr<heddle_team> owned_;
};

/// A job of PEs that are threads of this process.
class thread_job {
 public:
  explicit thread_job(int n_pes) {
    heddle_thread_job_t job;
    detail::check(heddle_thread_job_create(&job, n_pes));
    owned_.reset(job);
  }
  [[nodiscard]] heddle_thread_job_t handle() const { return owned_.get(); }

 private:
  detail::owned<heddle_thread_job_t, heddle_thread_job_destroy> owned_;
};

/// One PE. Movable; finalized when destroyed, or, by an exception, aborted: then the other PEs end
/// with an error too and do not wait for one that will not come.
class runtime {
 public:
  /// Joins the job that the environment tells of (PMIx launcher, torchrun), else runs as one PE.
  runtime() {
    heddle_runtime_t runtime;
    detail::check(heddle_init(&runtime));
    owned_.reset(runtime);
  }
  runtime(const heddle_unique_id_t& id, int pe, int n_pes) {
    heddle_runtime_t runtime;
    detail::check(heddle_init_unique_id(&runtime, &id, pe, n_pes));
    owned_.reset(runtime);
  }
  runtime(const thread_job& job, int pe) {
    heddle_runtime_t runtime;
    detail::check(heddle_init_thread(&runtime, job.handle(), pe));
    owned_.reset(runtime);
  }

  [[nodiscard]] int my_pe() const { return get(heddle_my_pe); }
  [[nodiscard]] int n_pes() const { return get(heddle_n_pes); }

  /// Room for n elements at the same offset in every PE's heap; content unspecified. Collective.
  template <class T>
  [[nodiscard]] T* malloc(std::size_t n) const {
    void* pointer;
    detail::check(
        heddle_align(handle(), alignof(T) > 64 ? alignof(T) : 64, n * sizeof(T), &pointer));
    return static_cast<T*>(pointer);
  }
  template <class T>
  [[nodiscard]] T* calloc(std::size_t n) const {
    void* pointer;
    detail::check(heddle_calloc(handle(), n, sizeof(T), &pointer));
    return static_cast<T*>(pointer);
  }
  void free(void* symmetric) const { detail::check(heddle_free(handle(), symmetric)); }
  /// The address of `pe`'s copy for loads and stores of this PE; null if it is not mapped.
  template <class T>
  [[nodiscard]] T* ptr(const T* symmetric, int pe) const {
    void* pointer;
    detail::check(heddle_ptr(handle(), symmetric, pe, &pointer));
    return static_cast<T*>(pointer);
  }

  [[nodiscard]] team world() const { return borrow(heddle_team_world); }
  [[nodiscard]] team node() const { return borrow(heddle_team_node); }

  [[nodiscard]] stream default_stream() const { return stream(handle(), nullptr); }
  [[nodiscard]] stream create_stream() const {
    heddle_stream_t created;
    detail::check(heddle_stream_create(handle(), &created));
    return stream(handle(), created);
  }
  [[nodiscard]] event create_event() const {
    heddle_event_t created;
    detail::check(heddle_event_create(handle(), &created));
    return event(created);
  }

  /// Leaves the job now; the object is empty afterwards.
  void finalize() { detail::check(heddle_finalize(owned_.release())); }
  [[nodiscard]] heddle_runtime_t handle() const { return owned_.get(); }

 private:
  [[nodiscard]] int get(heddle_status_t (*query)(heddle_runtime_t, int*)) const {
    int value;
    detail::check(query(handle(), &value));
    return value;
  }
  [[nodiscard]] team borrow(heddle_status_t (*query)(heddle_runtime_t, heddle_team_t*)) const {
    heddle_team_t borrowed;
    detail::check(query(handle(), &borrowed));
    return team(borrowed);
  }

  struct leave {
    using pointer = heddle_runtime_t;
    int exceptions;
    leave() : exceptions(std::uncaught_exceptions()) {}
    void operator()(heddle_runtime_t runtime) const noexcept {
      if (std::uncaught_exceptions() > exceptions) {
        heddle_abort(runtime, "an exception ended the PE");
      } else {
        heddle_finalize(runtime);
      }
    }
  };
  std::unique_ptr<heddle_runtime, leave> owned_;
};

/// n elements of symmetric memory, zero at the start; made and destroyed collectively.
template <class T>
class symmetric_array {
 public:
  symmetric_array(const runtime& runtime, std::size_t n)
      : data_(runtime.calloc<T>(n), deleter{runtime.handle()}), size_(n) {}

  [[nodiscard]] T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& operator[](std::size_t i) const { return data_.get()[i]; }
  [[nodiscard]] T* begin() const { return data(); }
  [[nodiscard]] T* end() const { return data() + size_; }

 private:
  struct deleter {
    heddle_runtime_t runtime;
    void operator()(T* pointer) const noexcept { heddle_free(runtime, pointer); }
  };
  std::unique_ptr<T, deleter> data_;
  std::size_t size_;
};

/// Runs body(runtime) on n_pes threads of this process, each one PE, and throws again what the
/// first PE (in time) that failed threw.
inline void run_as_threads(int n_pes, const std::function<void(runtime&)>& body) {
  thread_job job(n_pes);
  std::exception_ptr failure;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (int pe = 0; pe < n_pes; ++pe)
      threads.emplace_back([&, pe] {
        try {
          runtime runtime(job, pe);
          body(runtime);
        } catch (...) {
          std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
        }
      });
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace heddle
