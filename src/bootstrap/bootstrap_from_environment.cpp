// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/bootstrap_from_environment.hpp"

#include <cstdlib>
#include <optional>
#include <string_view>

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
class slotted_bootstrap final : public bootstrap {
 public:
  explicit slotted_bootstrap(const bootstrap_options& options)
      : slot_(std::in_place), joined_(join(options)) {}

  int rank() const override { return joined_->rank(); }
  int size() const override { return joined_->size(); }
  std::string_view name() const override { return joined_->name(); }
  std::string_view job_id() const override { return joined_->job_id(); }
  const secret& job_secret() const override { return joined_->job_secret(); }
  std::string_view host_of(int rank) const override { return joined_->host_of(rank); }
  std::vector<bytes> all_gather(std::span<const std::byte> mine, deadline until) override {
    return joined_->all_gather(mine, until);
  }
  void barrier(deadline until) override { joined_->barrier(until); }
  void on_lost(lost_callback callback) override { joined_->on_lost(std::move(callback)); }
  [[nodiscard]] std::optional<loss> first_loss() const override { return joined_->first_loss(); }
  void report_lost(int rank, std::string_view reason) override {
    joined_->report_lost(rank, reason);
  }
  void leave() override {
    joined_->leave();
    slot_.reset();
  }

 private:
  std::optional<process_slot> slot_;
  std::unique_ptr<bootstrap> joined_;
};

}  // namespace

std::unique_ptr<bootstrap> bootstrap_from_environment(const bootstrap_options& options) {
  return std::make_unique<slotted_bootstrap>(options);
}

}  // namespace heddle
