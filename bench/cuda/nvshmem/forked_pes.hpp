// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvshmem.h>
#include <nvshmemx.h>

#include <exception>

#include "../cuda_calls.hpp"
#include "../forked.hpp"
#include "../options.hpp"

/// NVSHMEM's PEs, a process each.
namespace bench {

/// One process's part.
class nvshmem_pe {
 public:
  nvshmem_pe(process_meeting& all, int pe, const gpu_options& options)
      : all_(all), pe_(pe), options_(options) {
    check(cudaSetDevice(0), "cudaSetDevice");
    const auto id = all.from_first<nvshmemx_uniqueid_t>(pe, [] {
      nvshmemx_uniqueid_t made = NVSHMEMX_UNIQUEID_INITIALIZER;
      if (nvshmemx_get_uniqueid(&made) != 0)
        throw std::runtime_error("nvshmemx_get_uniqueid gave no id");
      return made;
    });
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
  run_forked(options.pes, "an NVSHMEM PE", [&](int pe, process_meeting& all) {
    nvshmem_pe self(all, pe, options);
    body(self);
    nvshmem_finalize();
  });
}

}  // namespace bench
