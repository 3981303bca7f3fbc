// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvshmem.h>
#include <nvshmemx.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "../cuda_calls.hpp"
#include "../options.hpp"

/// NVSHMEM's PEs: a process each, all on the first GPU, which needs CUDA's multi-process service.
/// They are forked before CUDA is used and meet in a page that they share: it hands round the job's
/// id, and times are agreed on in it.
namespace bench {

class process_meeting {
 public:
  static constexpr int most_pes = 64;

  /// In memory of its own that processes forked from here on share.
  static process_meeting& create(int n_pes) {
    void* page = mmap(nullptr, sizeof(process_meeting), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    return *new (page) process_meeting(n_pes);
  }

  /// The largest x of all PEs; a barrier.
  double largest(int pe, double x) {
    brought_[pe] = x;
    pthread_barrier_wait(&barrier_);
    const double result = *std::max_element(brought_, brought_ + n_pes_);
    pthread_barrier_wait(&barrier_);
    return result;
  }
  /// PE 0's id, on all.
  nvshmemx_uniqueid_t job_id(int pe) {
    if (pe == 0) {
      id_ = NVSHMEMX_UNIQUEID_INITIALIZER;
      if (nvshmemx_get_uniqueid(&id_) != 0)
        throw std::runtime_error("nvshmemx_get_uniqueid gave no id");
    }
    largest(pe, 0);
    return id_;
  }

 private:
  explicit process_meeting(int n_pes) : n_pes_(n_pes) {
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&barrier_, &shared, static_cast<unsigned>(n_pes));
    pthread_barrierattr_destroy(&shared);
  }

  int n_pes_;
  pthread_barrier_t barrier_;
  double brought_[most_pes];
  nvshmemx_uniqueid_t id_;
};

/// One process's part.
class nvshmem_pe {
 public:
  nvshmem_pe(process_meeting& all, int pe, const gpu_options& options)
      : all_(all), pe_(pe), options_(options) {
    check(cudaSetDevice(0), "cudaSetDevice");
    const nvshmemx_uniqueid_t id = all.job_id(pe);
    nvshmemx_init_attr_t how = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_set_attr_uniqueid_args(pe, options.pes, &id, &how);
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &how) != 0)
      throw std::runtime_error("nvshmemx_init_attr failed");
  }

  [[nodiscard]] int my_pe() const { return pe_; }
  [[nodiscard]] int n_pes() const { return options_.pes; }
  [[nodiscard]] const gpu_options& options() const { return options_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  void synchronize() const { stream_.synchronize(); }
  double agree(double x) { return all_.largest(pe_, x); }

  /// Microseconds of an iteration. `enqueue(n)` puts n of them on the stream, of every PE alike.
  template <class Enqueue>
  double time(Enqueue enqueue) {
    return time_per_iteration(
        [&](std::uint64_t n) {
          enqueue(n);
          check(cudaGetLastError(), "launching a kernel");
          synchronize();
        },
        [&](double x) { return agree(x); }, options_.measure);
  }
  void report(const std::string& what, const std::string& variant, std::size_t bytes, double us) {
    if (pe_ == 0) bench::report(what, variant, bytes, us);
  }

  template <class T>
  void write(T* to, const std::vector<T>& values) const {
    check(cudaMemcpyAsync(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice,
                          stream()),
          "cudaMemcpyAsync");
    synchronize();
  }
  template <class T>
  [[nodiscard]] std::vector<T> read(const T* from, std::size_t n) const {
    std::vector<T> values(n);
    check(cudaMemcpyAsync(values.data(), from, n * sizeof(T), cudaMemcpyDeviceToHost, stream()),
          "cudaMemcpyAsync");
    synchronize();
    return values;
  }

 private:
  process_meeting& all_;
  int pe_;
  const gpu_options& options_;
  gpu_stream stream_;
};

/// n elements of NVSHMEM's symmetric memory, zero at the start. Freeing is collective, hence not
/// for a PE that fails.
template <class T>
class nvshmem_array {
 public:
  explicit nvshmem_array(std::size_t n) : data_(static_cast<T*>(nvshmem_calloc(n, sizeof(T)))) {
    if (!data_) throw std::runtime_error("nvshmem_calloc gave no memory");
  }
  ~nvshmem_array() {
    if (std::uncaught_exceptions() == 0) nvshmem_free(data_);
  }
  nvshmem_array(const nvshmem_array&) = delete;
  nvshmem_array& operator=(const nvshmem_array&) = delete;
  [[nodiscard]] T* data() const { return data_; }

 private:
  T* data_;
};

/// Runs body(nvshmem_pe&) in as many processes as there are PEs. The first that fails ends all.
template <class Body>
void run_nvshmem_pes(const gpu_options& options, Body body) {
  if (options.pes > process_meeting::most_pes)
    throw std::invalid_argument("the benchmark is for at most 64 PEs");
  process_meeting& all = process_meeting::create(options.pes);
  std::vector<pid_t> children;
  for (int pe = 0; pe < options.pes; ++pe) {
    const pid_t child = fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::_Exit(run_program("an NVSHMEM PE", [&] {
        nvshmem_pe self(all, pe, options);
        body(self);
        nvshmem_finalize();
      }));
    }
    children.push_back(child);
  }
  int first_failure = 0;
  for (std::size_t left = children.size(); left > 0; --left) {
    int status = 0;
    const pid_t ended = wait(&status);
    std::erase(children, ended);
    if (status == 0 || first_failure != 0) continue;
    first_failure = status;
    for (const pid_t child : children) kill(child, SIGKILL);
  }
  if (WIFSIGNALED(first_failure))
    throw std::runtime_error("an NVSHMEM PE was ended by signal " +
                             std::to_string(WTERMSIG(first_failure)));
  if (first_failure != 0) std::_Exit(1);  // the PE has said why
}

}  // namespace bench
