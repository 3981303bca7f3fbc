// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tree_bootstrap.hpp"

#include <unistd.h>

#include "bootstrap/byte_stream.hpp"
#include "bootstrap/frame_call.hpp"
#include "bootstrap/keyed_hash.hpp"
#include "bootstrap/meeting.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

/// How long past its deadline a collective waits for the root's word on who is absent.
constexpr std::chrono::milliseconds root_answer_time(250);
/// How long leave() may take to send the last words.
constexpr std::chrono::seconds leave_time(1);
/// One part of an all_gather.
constexpr std::size_t longest_part = std::size_t{256} << 20;
/// A process is watched by so many others of its host.
constexpr int most_watched = 64;

/// The first frame on each link, where the ranks do not know the table yet.
constexpr std::uint16_t table_frame = 0xfffe;

tree_shape shape_of(const tree_bootstrap::job& job) {
  std::vector<std::string> hosts;
  for (std::size_t rank = 0; rank < job.table.size(); ++rank)
    hosts.push_back(job.uses_host ? job.table[rank].host : std::to_string(rank));
  return {hosts, job.fan_out};
}

meeting::request ways_to(const tree_place& place, const tree_bootstrap::job& job,
                         const local_endpoint& local) {
  meeting::request request;
  request.purpose = link_purpose::tree;
  request.rank = job.rank;
  request.size = job.size;
  request.secret = derive_secret(job.job_secret, "heddle tree");
  for (auto& listener : local.listeners) request.listeners.push_back(listener.get());
  request.expected = place.children;
  request.callee = place.parent;
  request.first_loss = job.first_loss;
  if (place.parent_at) {
    if (job.uses_host && place.parent_at->host == local.described.host)
      request.at = {place.parent_at->local};
    else
      request.at = place.parent_at->tcp;
  }
  return request;
}

/// The table, which rank 0 has, to all.
void carry_down(tree_bootstrap::job& job, const tree_node::links& links, deadline until) {
  frame news;
  if (job.rank == 0) {
    byte_writer out;
    for (const auto& each : job.table) each.write(out);
    news = frame(table_frame, out.bytes());
  } else {
    news = receive_frame(*links.at(job.place->parent), job.place->parent, table_frame, until);
    try {
      byte_reader in(news.payload());
      for (int rank = 0; rank < job.size; ++rank) job.table.push_back(endpoint::read(in));
    } catch (const malformed_message& problem) {
      throw_error(HEDDLE_ERROR_SYSTEM, "rank {} sent a table of {} bytes that is none: {}",
                  job.place->parent, news.payload().size(), problem.what());
    }
  }
  for (const int child : job.place->children) send_frame(*links.at(child), child, news, until);
}

/// Before this rank leaves those it has met: whom they are to name in its place.
void tell_first_loss(const tree_bootstrap::job& job, const tree_node::links& links) {
  if (!job.first_loss) return;
  const auto known = job.first_loss();
  if (!known) return;
  for (const auto& [rank, link] : links) link->send(tree_node::loss_news(*known));
}

std::map<int, tree_node::watched_process> watch_processes(const tree_bootstrap::job& job) {
  std::map<int, tree_node::watched_process> watched;
  if (!job.uses_host) return watched;
  auto& mine = job.table[static_cast<std::size_t>(job.rank)];
  for (int step = 1; step < job.size && static_cast<int>(watched.size()) < most_watched; ++step) {
    const int rank = (job.rank + step) % job.size;
    auto& other = job.table[static_cast<std::size_t>(rank)];
    if (other.host != mine.host || other.pid == mine.pid) continue;
    auto handle = open_process(other.pid);
    std::string problem = "it has ended";
    auto page =
        handle ? membership_page::open(other.pid, other.page_fd, other.who, problem) : nullptr;
    if (page)
      watched[rank] = {std::move(handle), other.pid, std::move(page)};
    else
      log::info(
          log::subsystem::bootstrap,
          "rank {} cannot watch the process of rank {} ({}); its connections still tell of its "
          "end",
          job.rank, rank, problem);
  }
  return watched;
}

}  // namespace

tree_bootstrap::connected tree_bootstrap::connect(job job, local_endpoint local, deadline until) {
  const bool table_is_known = !job.place;
  if (table_is_known) job.size = static_cast<int>(job.table.size());
  const auto place =
      table_is_known ? tree_place::in(shape_of(job), job.table, job.rank) : *job.place;
  meeting met(ways_to(place, job, local));
  try {
    met.run(until);
    if (!table_is_known) carry_down(job, met.links(), until);
  } catch (const error& failure) {
    tell_first_loss(job, met.links());
    send_failure(met.links(), failure);
    throw;
  }
  job.first_loss = nullptr;
  return {std::move(job), std::move(local.page), std::move(met.links())};
}

tree_bootstrap::tree_bootstrap(job job, local_endpoint local, deadline until)
    : tree_bootstrap(connect(std::move(job), std::move(local), until)) {}

tree_bootstrap::tree_bootstrap(connected connected)
    : job_(std::move(connected.with_table)),
      process_(::getpid()),
      page_(std::move(connected.page)),
      node_(std::make_unique<tree_node>(job_.rank, shape_of(job_), job_.size,
                                        std::move(connected.links), watch_processes(job_),
                                        static_cast<tree_events&>(*this))) {}

tree_bootstrap::~tree_bootstrap() {
  if (process_ != ::getpid()) {
    // A forked child has a copy of the object, but not the thread.
    (void)node_.release();
    return;
  }
  losses_.set_callback({});
  node_.reset();
}

std::string_view tree_bootstrap::host_of(int rank) const {
  return job_.table[static_cast<std::size_t>(rank)].host;
}

void tree_bootstrap::require_own_process(const char* call) const {
  if (process_ != ::getpid())
    throw_error(
        HEDDLE_ERROR_INVALID_USAGE,
        "process {} called {} of a bootstrap that belongs to process {}; a forked child has to "
        "join a job of its own",
        ::getpid(), call, process_);
}

std::vector<bootstrap::bytes> tree_bootstrap::all_gather(std::span<const std::byte> mine,
                                                         deadline until) {
  if (mine.size() > longest_part)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "rank {} gave all_gather {} bytes; a part has at most {}", rank(), mine.size(),
                longest_part);
  return collective(collective_call::all_gather, bytes(mine.begin(), mine.end()), until);
}

void tree_bootstrap::barrier(deadline until) { collective(collective_call::barrier, {}, until); }

std::vector<bootstrap::bytes> tree_bootstrap::collective(collective_call call, bytes mine,
                                                         deadline until) {
  require_own_process(name_of(call));
  std::unique_lock lock(mutex_);
  if (left_) throw_called_after_leave(call, next_round_, rank());
  if (auto loss = losses_.first())
    throw error(HEDDLE_ERROR_PEER_LOST, describe_loss(call, next_round_, *loss, size()));

  const std::uint64_t number = next_round_++;
  // Those of rounds that this rank gave up.
  results_.erase(results_.begin(), results_.lower_bound(number));
  node_->add_part(number, call, std::move(mine));
  auto ended = [&] { return results_.contains(number) || losses_.first() || cut_off_by_; };
  if (!changed_.wait_until(lock, until.at(), ended)) {
    node_->ask_who_is_absent(number);
    changed_.wait_for(lock, root_answer_time, [&] { return ended() || answer_to(number); });
  }
  auto found = results_.find(number);
  if (found == results_.end()) throw_why_not(call, number);
  auto outcome = std::move(found->second);
  results_.erase(found);
  if (outcome.status == HEDDLE_SUCCESS) {
    const int expected = call == collective_call::all_gather ? size() : 0;
    if (outcome.parts.size() != static_cast<std::size_t>(expected))
      throw_error(HEDDLE_ERROR_SYSTEM,
                  "{} (collective {}) ended with {} parts, not {}; load the same heddle library on "
                  "every PE",
                  name_of(call), number, outcome.parts.size(), expected);
    return std::move(outcome.parts);
  }
  // A rank that left may have done so for the loss of another.
  if (auto loss = losses_.first())
    throw error(HEDDLE_ERROR_PEER_LOST, describe_loss(call, number, *loss, size()));
  throw error(outcome.status, outcome.problem);
}

const std::vector<int>* tree_bootstrap::answer_to(std::uint64_t number) const {
  return absent_ && absent_->first == number ? &absent_->second : nullptr;
}

void tree_bootstrap::throw_why_not(collective_call call, std::uint64_t number) const {
  if (auto loss = losses_.first())
    throw error(HEDDLE_ERROR_PEER_LOST, describe_loss(call, number, *loss, size()));
  if (cut_off_by_)
    throw error(HEDDLE_ERROR_INVALID_USAGE, describe_departure(call, number, *cut_off_by_, size()));
  if (auto* ranks = answer_to(number))
    throw error(HEDDLE_ERROR_TIMEOUT, describe_timeout(call, number, *ranks, size()));
  throw_error(HEDDLE_ERROR_TIMEOUT,
              "{} (collective {}) passed its deadline, and rank 0 did not say in {} ms which of {} "
              "ranks are absent; rank 0 or one on the way to it is stopped or cut off",
              name_of(call), number, root_answer_time.count(), size());
}

void tree_bootstrap::on_lost(lost_callback callback) { losses_.set_callback(std::move(callback)); }

void tree_bootstrap::report_lost(int rank, std::string_view reason) {
  require_own_process("report_lost");
  require_reportable(rank, size());
  node_->report_lost(rank, std::string(reason));
}

void tree_bootstrap::leave() {
  if (left_ || process_ != ::getpid()) return;
  {
    std::lock_guard lock(mutex_);
    left_ = true;
  }
  page_->mark_left();
  node_->leave(deadline::after(leave_time));
}

bool tree_bootstrap::has_left(int rank) const {
  std::lock_guard lock(mutex_);
  return departed_.contains(rank);
}

void tree_bootstrap::decided(std::uint64_t number, collective_rounds::outcome outcome) {
  std::lock_guard lock(mutex_);
  if (number + 1 >= next_round_) results_[number] = std::move(outcome);
  changed_.notify_all();
}

void tree_bootstrap::absent(std::uint64_t number, std::vector<int> ranks) {
  std::lock_guard lock(mutex_);
  absent_.emplace(number, std::move(ranks));
  changed_.notify_all();
}

void tree_bootstrap::lost(int rank, std::string_view reason) {
  losses_.add(rank, reason);
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void tree_bootstrap::departed(int rank) {
  std::lock_guard lock(mutex_);
  departed_.insert(rank);
}

void tree_bootstrap::cut_off(int rank) {
  std::lock_guard lock(mutex_);
  cut_off_by_ = cut_off_by_.value_or(rank);
  changed_.notify_all();
}

}  // namespace heddle
