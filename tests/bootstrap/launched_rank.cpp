// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// One rank of a conformance case under a launcher: launched_rank SIZE CASE. Says that it was RIGHT
// and exits with 0, or says on stderr what failed and exits with 1. Both are said since a launcher
// tells of a job's worst status alone: of one in which a rank dies on purpose, that of the death.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "bootstrap/bootstrap_from_environment.hpp"
#include "bootstrap_conformance.hpp"
#include "support/environment.hpp"
#include "support/log.hpp"

using namespace heddle;

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s SIZE CASE\n", argv[0]);
    return 2;
  }
  int rank = -1;
  try {
    auto settings = environment::from_process();
    log::configure(settings.debug, settings.debug_subsys);
    auto self = bootstrap_from_environment({settings.socket_ifname, settings.job_secret,
                                            settings.rendezvous_port,
                                            deadline::after(std::chrono::seconds(20))});
    rank = self->rank();
    conformance::expect(self->size() == std::atoi(argv[1]), "the job has another size");
    conformance::run_rank(*self, conformance::find_case(argv[2]), [] {
      ::kill(::getpid(), SIGKILL);
      ::pause();
    });
    std::printf("RIGHT: rank %d\n", rank);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
    return 1;
  }
}
