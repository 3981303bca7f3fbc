// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How much memory a team takes before its first collective, and a heap before its first use.
//
// Counted is the proportional set size of all PEs together: a page that several processes map
// counts once, whichever of them has touched it.
#include <fstream>
#include <heddle/heddle.hpp>

#include "../program.hpp"

namespace {

double my_pss_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  while (file >> word)
    if (word == "Pss:") {
      double kib;
      file >> kib;
      return kib * 1024;
    }
  throw std::runtime_error("/proc/self/smaps_rollup has no line 'Pss:'");
}

}  // namespace

int main() {
  return bench::run_program("team_cost", [] {
    constexpr int num_teams = 32;
    constexpr std::size_t heap_bytes = 64 << 20;

    const heddle::runtime runtime;
    const heddle::team world = runtime.world();
    double* numbers = runtime.calloc<double>(2);
    // The barrier before keeps the PEs at one point of the program while they look.
    const auto bytes_of_all_pes = [&] {
      world.barrier();
      numbers[0] = my_pss_bytes();
      world.all_reduce(numbers, numbers + 1, 1, heddle::op::sum);
      world.barrier();
      return numbers[1];
    };

    bytes_of_all_pes();  // what the first call itself takes is not counted
    const double empty = bytes_of_all_pes();
    std::vector<heddle::team> teams;
    for (int i = 0; i < num_teams; ++i) teams.push_back(world.split_strided(0, 1, world.n_pes()));
    const double with_teams = bytes_of_all_pes();
    const double per_team = (with_teams - empty) / num_teams / world.n_pes();

    const auto* heap = runtime.malloc<unsigned char>(heap_bytes);
    const double with_heap = bytes_of_all_pes();
    const double per_heap = (with_heap - with_teams) / world.n_pes();
    if (world.my_pe() != 0) return;
    if (!heap) throw std::runtime_error("malloc gave no memory");
    bench::report_fact("team_bytes", per_team);
    bench::report_fact("unused_heap_bytes", per_heap);
    bench::report_fact("job_bytes_per_pe", empty / world.n_pes());
  });
}
