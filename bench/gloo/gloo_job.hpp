// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace bench {

/// The processes of a job, joined by Gloo over TCP, the one transport that Debian's package has
/// here: on the loopback if Open MPI's launcher has started them, on the interface between imitated
/// hosts if tests/networks/run_job.sh has.
class gloo_job {
 public:
  gloo_job()
      : by_mpirun_(std::getenv("OMPI_COMM_WORLD_RANK") != nullptr),
        rank_(std::stoi(variable(by_mpirun_ ? "OMPI_COMM_WORLD_RANK" : "RANK"))),
        size_(std::stoi(variable(by_mpirun_ ? "OMPI_COMM_WORLD_SIZE" : "WORLD_SIZE"))),
        folder_(std::filesystem::temp_directory_path() /
                ("bench-gloo." +
                 (by_mpirun_ ? variable("PMIX_NAMESPACE")
                             : variable("MASTER_ADDR") + "." + variable("HEDDLE_JOB_SECRET")))) {
    std::filesystem::create_directories(folder_);
    gloo::rendezvous::FileStore store(folder_);
    gloo::transport::tcp::attr where;
    where.iface = by_mpirun_ ? "lo" : "eth0";
    context_ = std::make_shared<gloo::rendezvous::Context>(rank_, size_);
    auto device = gloo::transport::tcp::CreateDevice(where);
    context_->connectFullMesh(store, device);
  }
  ~gloo_job() {
    std::error_code ignored;
    if (rank_ == 0) std::filesystem::remove_all(folder_, ignored);
  }
  gloo_job(const gloo_job&) = delete;
  gloo_job& operator=(const gloo_job&) = delete;

  [[nodiscard]] int my_pe() const { return rank_; }
  [[nodiscard]] int n_pes() const { return size_; }
  [[nodiscard]] const std::shared_ptr<gloo::rendezvous::Context>& context() const {
    return context_;
  }

  using combination = void (*)(void*, const void*, const void*, std::size_t);
  template <class T>
  void all_reduce(const T* input, T* output, std::size_t count, combination combine) const {
    gloo::AllreduceOptions options(context_);
    options.setInput(const_cast<T*>(input), count);
    options.setOutput(output, count);
    options.setReduceFunction(combine);
    gloo::allreduce(options);
  }
  [[nodiscard]] double largest(double x) const {
    double result = 0;
    all_reduce(&x, &result, 1, &gloo::max<double>);
    return result;
  }
  void barrier() const {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }
  /// Before the job ends: to who still reads, a connection that is closed is an error.
  void finish() const {
    barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }

 private:
  static std::string variable(const char* name) {
    const char* value = std::getenv(name);
    if (!value)
      throw std::runtime_error(std::string(name) +
                               " is not set: start this by mpirun.openmpi or run_job.sh");
    return value;
  }

  bool by_mpirun_;
  int rank_;
  int size_;
  std::filesystem::path folder_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
};

}  // namespace bench
