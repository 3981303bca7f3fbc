// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/bootstrap_from_environment.hpp"

#include <cstdlib>
#include <memory>
#include <string_view>

#include "bootstrap/forwarding_bootstrap.hpp"
#include "bootstrap/pmix_bootstrap.hpp"
#include "bootstrap/process_slot.hpp"
#include "bootstrap/thread_bootstrap.hpp"
#include "bootstrap/unique_id_bootstrap.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

/// What launchers without PMIx leave in the environment of each task.
struct foreign_launcher {
  const char* name;
  const char* rank;
  const char* size;
};
constexpr foreign_launcher foreign_launchers[] = {
    {"a PMI-1 launcher such as MPICH's mpiexec", "PMI_RANK", "PMI_SIZE"},
    {"Open MPI without PMIx", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"Slurm without PMIx", "SLURM_PROCID", "SLURM_NTASKS"},
};

/// Alone, a task may well run as one PE: a batch script or an interactive shell is one.
void refuse_foreign_launchers() {
  for (auto& launcher : foreign_launchers) {
    const char* rank = std::getenv(launcher.rank);
    const char* size = std::getenv(launcher.size);
    if (!rank || !size || std::string_view(size) == "1") continue;
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "asked for the launcher's job; found {} ({}={}, {}={}) and no PMIx server (no "
                "PMIX_RANK); start the program by srun --mpi=pmix, Open MPI's mpirun or heddle-run",
                launcher.name, launcher.rank, rank, launcher.size, size);
  }
}

/// True if the environment names a PMIx server.
bool pmix_is_launcher() { return std::getenv("PMIX_NAMESPACE") && std::getenv("PMIX_RANK"); }

std::unique_ptr<bootstrap> join(const bootstrap_options& options) {
  if (pmix_is_launcher()) return join_pmix_job(options.socket_ifname, options.until);
  if (torchrun_is_launcher())
    return join_torchrun_job({options.socket_ifname, options.job_secret, options.rendezvous_port},
                             options.until);
  refuse_foreign_launchers();
  log::warn(log::subsystem::bootstrap,
            "found no launcher, runs as one PE; start several by heddle-run -n N, srun --mpi=pmix, "
            "Open MPI's mpirun or torchrun");
  return thread_rendezvous(1).join(0);
}

/// The chosen bootstrap, with the process's slot, which it gives back when it has left.
class slotted_bootstrap final : public forwarding_bootstrap {
 public:
  slotted_bootstrap(std::unique_ptr<process_slot> slot, std::unique_ptr<bootstrap> joined)
      : forwarding_bootstrap(std::move(joined)), slot_(std::move(slot)) {}
  ~slotted_bootstrap() override { inner_.reset(); }  // before the slot

  void leave() override {
    forwarding_bootstrap::leave();
    slot_.reset();
  }

 private:
  std::unique_ptr<process_slot> slot_;
};

}  // namespace

std::unique_ptr<bootstrap> bootstrap_from_environment(const bootstrap_options& options) {
  auto slot = std::make_unique<process_slot>();
  return std::make_unique<slotted_bootstrap>(std::move(slot), join(options));
}

}  // namespace heddle
