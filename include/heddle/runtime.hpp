// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/team.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace heddle {

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
  /// What runs this PE's kernels: "host" or "cuda:N".
  [[nodiscard]] std::string device() const {
    char name[32];
    detail::check(heddle_device_name(handle(), name, sizeof name));
    return name;
  }

  /// Room for n elements at the same offset in every PE's heap; content unspecified. Collective.
  template <class T>
  [[nodiscard]] T* malloc(std::size_t n) const {
    void* pointer;
    constexpr std::size_t alignment = std::max(alignof(T), detail::usual_alignment);
    detail::check(heddle_align(handle(), alignment, detail::bytes_of<T>(n), &pointer));
    return static_cast<T*>(pointer);
  }
  /// In host memory whatever the device; see heddle_malloc_host. Collective.
  template <detail::storable T>
  [[nodiscard]] T* malloc_host(std::size_t n) const {
    void* pointer;
    detail::check(heddle_malloc_host(handle(), detail::bytes_of<T>(n), &pointer));
    return static_cast<T*>(pointer);
  }
  template <detail::storable T>
  [[nodiscard]] T* calloc(std::size_t n) const {
    void* pointer;
    detail::check(heddle_calloc(handle(), n, sizeof(T), &pointer));
    return static_cast<T*>(pointer);
  }
  /// Resizes to n elements, keeping the first; the old pointer is gone. Collective.
  template <detail::storable T>
  [[nodiscard]] T* realloc(T* symmetric, std::size_t n) const {
    void* pointer;
    detail::check(heddle_realloc(handle(), symmetric, detail::bytes_of<T>(n), &pointer));
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
  /// A cudaStream_t of the program as a stream; see heddle_stream_from_cuda.
  [[nodiscard]] stream stream_from_cuda(void* cuda_stream) const {
    heddle_stream_t borrowed;
    detail::check(heddle_stream_from_cuda(handle(), cuda_stream, &borrowed));
    return stream(handle(), borrowed);
  }
  [[nodiscard]] event create_event() const {
    heddle_event_t created;
    detail::check(heddle_event_create(handle(), &created));
    return event(created);
  }

  /// Leaves the job now; the object is empty afterwards, unless that is refused.
  void finalize() {
    detail::check(heddle_finalize(handle()));
    (void)owned_.release();
  }
  /// Leaves the job at once, in disorder; the other PEs end with an error that gives `reason`.
  void abort(const std::string& reason) {
    detail::check(heddle_abort(handle(), reason.c_str()));
    (void)owned_.release();
  }
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
    detail::unwinding unwinds;
    void operator()(heddle_runtime_t runtime) const noexcept {
      if (unwinds) {
        heddle_abort(runtime, "an exception ended the PE");
      } else {
        heddle_finalize(runtime);
      }
    }
  };
  std::unique_ptr<heddle_runtime, leave> owned_;
};

}  // namespace heddle
