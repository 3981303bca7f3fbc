// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// MPI_Init, one MPI_Allreduce, MPI_Finalize: the runner times the whole launch.
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const float one = 1;
  float sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != static_cast<float>(size)) {
    std::fprintf(stderr, "mpi_init: the sum is %g, not %d\n", static_cast<double>(sum), size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0) std::printf("{\"what\": \"init\", \"n_pes\": %d}\n", size);
  MPI_Finalize();
  return 0;
}
