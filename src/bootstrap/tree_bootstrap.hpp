// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/endpoint.hpp"
#include "bootstrap/loss_record.hpp"
#include "bootstrap/tree_node.hpp"
#include "bootstrap/tree_place.hpp"

namespace heddle {

/// The bootstrap of processes that know each other's endpoints, or their places in the tree:
/// everything after the launcher, or the rendezvous of a unique id, has handed those round. Ranks
/// are joined by a tree of authenticated connections (tree_node.hpp), and watch each other's
/// processes on one host.
class tree_bootstrap : public bootstrap, private tree_events {
 public:
  struct job {
    std::string name;  ///< of the kind of bootstrap
    std::string job_id;
    secret job_secret{};
    int rank = 0;
    std::vector<endpoint> table;  ///< by rank; its own entry is `local`'s
    /// If set, rank 0 alone has the table, and the tree first carries it down.
    std::optional<tree_place> place;
    int size = 0;  ///< where the table is not known
    int fan_out = tree_shape::usual_fan_out;
    /// False treats ranks of one host as if each had its own: TCP and no process handles (tests).
    bool uses_host = true;
    /// If set, what the launcher knows of a rank that has ended; called in the constructor alone.
    std::function<std::optional<loss>()> first_loss;
  };

  /// Collective. Throws HEDDLE_ERROR_TIMEOUT with the ranks that did not arrive,
  /// HEDDLE_ERROR_PEER_LOST with one that has ended.
  tree_bootstrap(job job, local_endpoint local, deadline until);
  ~tree_bootstrap() override;

  int rank() const override { return job_.rank; }
  int size() const override { return job_.size; }
  std::string_view name() const override { return job_.name; }
  std::string_view job_id() const override { return job_.job_id; }
  const secret& job_secret() const override { return job_.job_secret; }
  std::string_view host_of(int rank) const override;
  std::vector<bytes> all_gather(std::span<const std::byte> mine, deadline until) override;
  void barrier(deadline until) override;
  void on_lost(lost_callback callback) override;
  std::optional<loss> first_loss() const override { return losses_.first(); }
  void report_lost(int rank, std::string_view reason) override;
  void leave() override;
  bool has_left(int rank) const override;

 private:
  struct connected {
    job with_table;
    std::unique_ptr<membership_page> page;
    tree_node::links links;
  };
  static connected connect(job job, local_endpoint local, deadline until);
  explicit tree_bootstrap(connected connected);

  std::vector<bytes> collective(collective_call call, bytes mine, deadline until);
  [[noreturn]] void throw_why_not(collective_call call, std::uint64_t number) const;
  const std::vector<int>* answer_to(std::uint64_t number) const;
  void require_own_process(const char* call) const;

  void decided(std::uint64_t number, collective_rounds::outcome outcome) override;
  void absent(std::uint64_t number, std::vector<int> ranks) override;
  void lost(int rank, std::string_view reason) override;
  void departed(int rank) override;
  void cut_off(int rank) override;

  const job job_;
  const pid_t process_;
  std::unique_ptr<membership_page> page_;
  loss_record losses_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool left_ = false;
  std::uint64_t next_round_ = 0;
  std::map<std::uint64_t, collective_rounds::outcome> results_;
  std::optional<std::pair<std::uint64_t, std::vector<int>>> absent_;
  std::set<int> departed_;
  std::optional<int> cut_off_by_;

  std::unique_ptr<tree_node> node_;
};

}  // namespace heddle
