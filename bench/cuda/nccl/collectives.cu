// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// NCCL's collectives between ranks that are threads of this process, all on the first GPU. That
// needs NCCL 2.30.3 and NCCL_MULTI_RANK_GPU_ENABLE=1.
#include <nccl.h>

#include <thread>

#include "../collective_points.hpp"
#include "../meeting.hpp"

namespace {

constexpr int first_version = NCCL_VERSION(2, 30, 3);

void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess)
    throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(result));
}

class contender {
 public:
  contender(ncclComm_t comm, int me, int n, bench::meeting& all)
      : comm_(comm), me_(me), n_(n), all_(all), input_(elements), output_(elements) {}

  [[nodiscard]] int my_pe() const { return me_; }
  [[nodiscard]] int n_pes() const { return n_; }
  double agree(double x) { return all_.largest(x); }
  void write_input(const std::vector<float>& values) {
    bench::check(cudaMemcpyAsync(input_.data(), values.data(), values.size() * sizeof(float),
                                 cudaMemcpyHostToDevice, stream_.get()),
                 "cudaMemcpyAsync");
    synchronize();
  }
  void clear_output(std::size_t count) {
    bench::check(cudaMemsetAsync(output_.data(), 0, count * sizeof(float), stream_.get()),
                 "cudaMemsetAsync");
    synchronize();
  }
  [[nodiscard]] std::vector<float> read_output(std::size_t count) const {
    std::vector<float> values(count);
    bench::check(cudaMemcpyAsync(values.data(), output_.data(), count * sizeof(float),
                                 cudaMemcpyDeviceToHost, stream_.get()),
                 "cudaMemcpyAsync");
    synchronize();
    return values;
  }
  void enqueue(bench::gpu_collective what, std::size_t count) {
    check(call(what, input_.data(), output_.data(), count), bench::name_of(what));
  }
  void synchronize() const { stream_.synchronize(); }
  [[nodiscard]] cudaStream_t cuda_stream() const { return stream_.get(); }

 private:
  ncclResult_t call(bench::gpu_collective what, const float* input, float* output,
                    std::size_t count) {
    using enum bench::gpu_collective;
    constexpr int root = bench::collective_root;
    const cudaStream_t stream = stream_.get();
    switch (what) {
      case all_reduce:
        return ncclAllReduce(input, output, count, ncclFloat, ncclSum, comm_, stream);
      case broadcast:
        return ncclBroadcast(input, output, count, ncclFloat, root, comm_, stream);
      case reduce:
        return ncclReduce(input, output, count, ncclFloat, ncclSum, root, comm_, stream);
      case all_gather:
        return ncclAllGather(input, output, count, ncclFloat, comm_, stream);
      case reduce_scatter:
        return ncclReduceScatter(input, output, count, ncclFloat, ncclSum, comm_, stream);
      case all_to_all:
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 3)
        return ncclAlltoAll(input, output, count, ncclFloat, comm_, stream);
#else
        break;  // older ones are refused in any case
#endif
    }
    return ncclInvalidUsage;
  }

  static constexpr std::size_t elements = bench::collective_max_bytes / sizeof(float);

  ncclComm_t comm_;
  int me_;
  int n_;
  bench::meeting& all_;
  bench::gpu_memory<float> input_;
  bench::gpu_memory<float> output_;
  bench::gpu_stream stream_;
};

/// Ends the process where it fails: its ranks may be waiting in kernels, which nothing else ends.
void run_rank(ncclComm_t comm, int me, bench::meeting& all, const bench::gpu_options& options) {
  const int failed = bench::run_program("a NCCL rank", [&] {
    bench::check(cudaSetDevice(0), "cudaSetDevice");
    contender mine(comm, me, options.pes, all);
    bench::measure_collectives(mine, "NCCL", options);
  });
  if (failed) std::_Exit(failed);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_nccl_collectives", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    int version = 0;
    check(ncclGetVersion(&version), "ncclGetVersion");
    bench::report_fact("NCCL version", version);
    if (version < first_version)
      throw std::runtime_error("NCCL " + std::to_string(version) +
                               " refuses several ranks on one GPU; 2.30.3 is the first that takes "
                               "them");
    std::vector<ncclComm_t> comms(static_cast<std::size_t>(options.pes));
    const std::vector<int> devices(comms.size(), 0);
    check(ncclCommInitAll(comms.data(), options.pes, devices.data()), "ncclCommInitAll");
    bench::meeting all(options.pes);
    {
      std::vector<std::jthread> ranks;
      for (int me = 0; me < options.pes; ++me)
        ranks.emplace_back(
            [&, me] { run_rank(comms[static_cast<std::size_t>(me)], me, all, options); });
    }
    for (const ncclComm_t comm : comms) ncclCommDestroy(comm);
  });
}
