// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// MPI_Allreduce, as all_reduce_sweep.hpp asks. Built with each MPI that is installed.
#include <mpi.h>

#include "../all_reduce_sweep.hpp"
#include "../page_memory.hpp"

namespace {

class mpi_contender {
 public:
  explicit mpi_contender(std::size_t capacity)
      : capacity_(capacity),
        input_(bench::page_memory<float>(capacity)),
        output_(bench::page_memory<float>(capacity)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  [[nodiscard]] int my_pe() const { return rank_; }
  [[nodiscard]] int n_pes() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] float* input() const { return input_.get(); }
  [[nodiscard]] float* output() const { return output_.get(); }
  void all_reduce(const float* input, float* output, std::size_t count) {
    MPI_Allreduce(input, output, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }

 private:
  int rank_ = 0;
  int size_ = 1;
  std::size_t capacity_;
  bench::page_pointer<float> input_;
  bench::page_pointer<float> output_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto options = bench::options::parse(argc, argv, "MPI_Allreduce");
  const int status = bench::run_program("mpi_all_reduce", [&] {
    mpi_contender contender(options.max_bytes / sizeof(float) + bench::control_elements);
    bench::report_binding(contender.my_pe());
    bench::sweep_all_reduce(contender, "MPI_Allreduce", options);
  });
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return 0;
}
