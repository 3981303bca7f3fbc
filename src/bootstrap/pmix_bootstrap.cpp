// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/pmix_bootstrap.hpp"

#include <algorithm>

#include "bootstrap/keyed_hash.hpp"
#include "bootstrap/network_interface.hpp"
#include "bootstrap/pmix_session.hpp"
#include "bootstrap/random_bytes.hpp"
#include "bootstrap/tree_bootstrap.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

/// What a rank publishes: version, 32 random bytes (rank 0's are the job's secret), its endpoint.
constexpr std::uint16_t block_version = 1;

/// The launcher's name of the job with what job ids may not hold replaced, and a part that no
/// other job has: launchers number their jobs anew on every machine.
std::string make_job_id(std::string name, const bootstrap::secret& secret) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-' && c != '_') c = '_';
  auto mark = derive_secret(secret, "heddle job id");
  return fmt::format("pmix-{}-{}", name.substr(0, 64), to_hex(std::span(mark).first(8)));
}

tree_bootstrap::job prepare(pmix_session& session, const local_endpoint& local, deadline until) {
  tree_bootstrap::job job;
  job.name = "pmix";
  job.rank = session.rank();
  fill_random(job.job_secret);
  byte_writer mine;
  mine.number(block_version).raw(job.job_secret);
  local.described.write(mine);
  auto blocks = session.exchange(mine.bytes(), until);
  for (int rank = 0; rank < session.size(); ++rank) {
    try {
      byte_reader in(blocks[static_cast<std::size_t>(rank)]);
      if (auto version = in.number<std::uint16_t>(); version != block_version)
        throw_error(
            HEDDLE_ERROR_INVALID_USAGE,
            "rank {} published version {} of heddle's endpoint, rank {} knows version {}; load "
            "the same heddle library on every PE",
            rank, version, session.rank(), block_version);
      auto random = in.raw(job.job_secret.size());
      if (rank == 0) std::copy(random.begin(), random.end(), job.job_secret.begin());
      job.table.push_back(endpoint::read(in));
    } catch (const malformed_message& e) {
      throw_error(HEDDLE_ERROR_SYSTEM,
                  "rank {} of {}: PMIx gave {} bytes for rank {}'s endpoint that are not one: {}",
                  session.rank(), session.size(), blocks[static_cast<std::size_t>(rank)].size(),
                  rank, e.what());
    }
  }
  job.first_loss = &pmix_session::first_ended;
  job.job_id = make_job_id(session.job(), job.job_secret);
  return job;
}

struct session_holder {
  explicit session_holder(std::unique_ptr<pmix_session> session) : session_(std::move(session)) {}
  std::unique_ptr<pmix_session> session_;
};

// The session outlives the tree: the holder is the first base.
class pmix_bootstrap final : private session_holder, public tree_bootstrap {
 public:
  pmix_bootstrap(std::unique_ptr<pmix_session> session, job job, local_endpoint local,
                 deadline until)
      : session_holder(std::move(session)),
        tree_bootstrap(std::move(job), std::move(local), until) {
    session_->note_joined();
    session_->on_process_ended(
        [this](int rank, const std::string& why) { this->report_lost(rank, why); });
  }
  ~pmix_bootstrap() override { session_->on_process_ended({}); }

  void leave() override {
    session_->on_process_ended({});
    tree_bootstrap::leave();
    session_->close();
  }
};

}  // namespace

std::unique_ptr<bootstrap> join_pmix_job(const std::string& socket_ifname, deadline until) {
  auto start = deadline::clock::now();
  auto milliseconds = [&] {
    return std::chrono::duration<double, std::milli>(deadline::clock::now() - start).count();
  };
  // First, since it may fail for what the program can mend and try again.
  local_endpoint local(listening_addresses(socket_ifname));
  auto session = std::make_unique<pmix_session>(until);
  const double connected = milliseconds();
  auto job = prepare(*session, local, until);
  const double exchanged = milliseconds();
  auto joined =
      std::make_unique<pmix_bootstrap>(std::move(session), std::move(job), std::move(local), until);
  log::info(
      log::subsystem::bootstrap,
      "rank {} of {} joined {} in {:.1f} ms (PMIx_Init {:.1f}, endpoints {:.1f}, tree {:.1f})",
      joined->rank(), joined->size(), joined->job_id(), milliseconds(), connected,
      exchanged - connected, milliseconds() - exchanged);
  return joined;
}

}  // namespace heddle
