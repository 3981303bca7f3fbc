// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// MPI_Bcast and its kin, as collective_sweep.hpp asks. Built with each MPI that is installed.
#include <mpi.h>

#include "../collective_sweep.hpp"
#include "../page_memory.hpp"

namespace {

class mpi_contender {
 public:
  explicit mpi_contender(std::size_t capacity)
      : input_(bench::page_memory<unsigned char>(capacity)),
        output_(bench::page_memory<unsigned char>(capacity)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    std::fill_n(input(), capacity, 0);
    std::fill_n(output(), capacity, 0);
  }

  [[nodiscard]] int my_pe() const { return rank_; }
  [[nodiscard]] int n_pes() const { return size_; }
  [[nodiscard]] unsigned char* input() const { return input_.get(); }
  [[nodiscard]] unsigned char* output() const { return output_.get(); }
  double largest(double x) {
    double result = 0;
    MPI_Allreduce(&x, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return result;
  }
  void broadcast(std::size_t piece) {
    MPI_Bcast(output(), static_cast<int>(piece), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  void all_gather(std::size_t piece) {
    const int n = static_cast<int>(piece);
    MPI_Allgather(input(), n, MPI_BYTE, output(), n, MPI_BYTE, MPI_COMM_WORLD);
  }
  void all_to_all(std::size_t piece) {
    const int n = static_cast<int>(piece);
    MPI_Alltoall(input(), n, MPI_BYTE, output(), n, MPI_BYTE, MPI_COMM_WORLD);
  }
  void gather(std::size_t piece) {
    const int n = static_cast<int>(piece);
    MPI_Gather(input(), n, MPI_BYTE, output(), n, MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  void scatter(std::size_t piece) {
    const int n = static_cast<int>(piece);
    MPI_Scatter(input(), n, MPI_BYTE, output(), n, MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  void reduce_scatter(std::size_t piece) {
    MPI_Reduce_scatter_block(input(), output(), static_cast<int>(piece / sizeof(float)), MPI_FLOAT,
                             MPI_SUM, MPI_COMM_WORLD);
  }
  void reduce(std::size_t piece) {
    MPI_Reduce(input(), output(), static_cast<int>(piece / sizeof(float)), MPI_FLOAT, MPI_SUM, 0,
               MPI_COMM_WORLD);
  }

 private:
  int rank_ = 0;
  int size_ = 1;
  bench::page_pointer<unsigned char> input_;
  bench::page_pointer<unsigned char> output_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto options = bench::options::parse(argc, argv, "MPI's collectives beside AllReduce");
  const int status = bench::run_program("mpi_collective", [&] {
    mpi_contender contender(options.max_bytes);
    bench::report_binding(contender.my_pe());
    bench::sweep_collectives(contender, "MPI", options);
  });
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return 0;
}
