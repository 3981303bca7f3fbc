// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// MPI_Allreduce, as all_reduce_sweep.hpp asks. Built with each MPI that is installed.
#include <mpi.h>

#include <memory>

#include "../all_reduce_sweep.hpp"

namespace {

class mpi_contender {
 public:
  explicit mpi_contender(std::size_t capacity)
      : capacity_(capacity), input_(allocate(capacity)), output_(allocate(capacity)) {
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
  struct release {
    void operator()(float* memory) const { std::free(memory); }
  };
  static std::unique_ptr<float, release> allocate(std::size_t count) {
    constexpr std::size_t page = 4096;
    void* memory = std::aligned_alloc(page, (count * sizeof(float) + page - 1) / page * page);
    if (!memory) throw std::bad_alloc();
    return std::unique_ptr<float, release>(static_cast<float*>(memory));
  }

  int rank_ = 0;
  int size_ = 1;
  std::size_t capacity_;
  std::unique_ptr<float, release> input_;
  std::unique_ptr<float, release> output_;
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
