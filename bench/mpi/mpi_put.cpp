// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// MPI_Put and MPI_Win_flush between two processes, as put_sweep.hpp asks.
#include <mpi.h>

#include <vector>

#include "../put_sweep.hpp"

namespace {

class mpi_putter {
 public:
  explicit mpi_putter(std::size_t bytes) : source_(bytes / sizeof(float)) {
    int size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2)
      throw std::runtime_error("mpi_put is for two processes, and there are " +
                               std::to_string(size));
    MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &target_,
                     &window_);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  }
  ~mpi_putter() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  mpi_putter(const mpi_putter&) = delete;
  mpi_putter& operator=(const mpi_putter&) = delete;

  [[nodiscard]] int my_pe() const { return rank_; }

  double agree(double x) {
    double largest;
    MPI_Allreduce(&x, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
  }

  void puts(std::size_t bytes, std::uint64_t n) {
    const int other = 1 - rank_;
    for (std::uint64_t i = 0; i < n; ++i) {
      source_[0] = static_cast<float>(i & 1023);
      MPI_Put(source_.data(), static_cast<int>(bytes), MPI_BYTE, other, 0, static_cast<int>(bytes),
              MPI_BYTE, window_);
      MPI_Win_flush(other, window_);
    }
  }

  void verify(std::size_t bytes) {
    const std::size_t count = bytes / sizeof(float);
    for (std::size_t i = 0; i < count; ++i)
      source_[i] = static_cast<float>((i + static_cast<std::size_t>(rank_)) & 1023);
    agree(0);
    puts(bytes, 1);
    agree(0);
    MPI_Win_sync(window_);
    for (std::size_t i = 1; i < count; i += 1 + count / 509)
      if (target_[i] != static_cast<float>((i + static_cast<std::size_t>(1 - rank_)) & 1023))
        throw std::runtime_error("MPI_Put delivered wrong data");
    agree(0);
  }

 private:
  int rank_ = 0;
  std::vector<float> source_;
  float* target_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto options = bench::options::parse(argc, argv, "MPI_Put and MPI_Win_flush");
  const int status = bench::run_program("mpi_put", [&] {
    mpi_putter putter(options.max_bytes);
    bench::report_binding(putter.my_pe());
    bench::sweep_puts(putter, "MPI_Put", options);
  });
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return 0;
}
