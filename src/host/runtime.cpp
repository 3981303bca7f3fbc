// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/runtime.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <numeric>

#include "bootstrap/imitated_hosts.hpp"
#include "coll/all_reduce_kernels.hpp"
#include "coll/exchange_kernels.hpp"
#include "device/preloaded_kernels.hpp"
#include "host/agreement.hpp"
#include "host/settings.hpp"
#include "host/word_kernels.hpp"
#include "support/last_cache.hpp"
#include "support/log.hpp"
#include "support/round_up.hpp"
#include "support/throw_error.hpp"
#include "symmetric_heap/pinned_heap_memory.hpp"

using heddle::throw_error;

namespace {

std::vector<int> all_pes(int n) {
  std::vector<int> pes(static_cast<std::size_t>(n));
  std::iota(pes.begin(), pes.end(), 0);
  return pes;
}

std::vector<int> pes_of_my_host(const heddle::bootstrap& bootstrap) {
  std::vector<int> pes;
  for (int pe = 0; pe < bootstrap.size(); ++pe)
    if (bootstrap.host_of(pe) == bootstrap.host_of(bootstrap.rank())) pes.push_back(pe);
  return pes;
}

constexpr int world_place = 0;
constexpr int node_place = 1;

}  // namespace

heddle_runtime::heddle_runtime(heddle::environment environment,
                               std::unique_ptr<heddle::bootstrap> bootstrap)
    : environment_(std::move(environment)),
      bootstrap_(heddle::imitate_hosts(std::move(bootstrap), environment_.pes_per_host)) {
  heddle::log::set_pe(my_pe());
  tuning_ = heddle::read_tuning_file(environment_.tuning,
                                     heddle::built_in_tuning(environment_.device != "host"));
  const double turns = heddle::agree_on_settings(*bootstrap_, environment_, tuning_,
                                                 heddle::init_deadline(environment_));
  is_crowded_ = turns > 1 && environment_.device == "host";
  if (is_crowded_) tuning_ = heddle::where_crowded(tuning_, turns);
  const auto until = heddle::init_deadline(environment_);
  device_ = heddle::pe_device::choose(environment_, *bootstrap_, until);
  preload_kernels();
  const heddle::team_memory_pool::shape places = {.places = environment_.max_teams,
                                                  .world_size = n_pes(),
                                                  .with_links = has_links(),
                                                  .of_cuda = !device_->is_host()};
  const auto internal_bytes = heddle::team_memory_pool::bytes_needed(places);
  heap_ = std::make_unique<heddle::symmetric_heap>(*bootstrap_, options_of_heap(internal_bytes),
                                                   device_->heap_memory());
  if (!device_->is_host()) make_host_heap(internal_bytes);
  const auto places_in = [&](heddle::heap_memory& memory) {
    return std::make_unique<heddle::team_memory_pool>(memory, places);
  };
  team_places_ = places_in(host_heap().memory());
  if (host_heap_) kernel_places_ = places_in(heap_->memory());
  join_network(internal_bytes);
  const auto neighbours = pes_of_my_host(*bootstrap_);
  cache_bytes_ = heddle::last_cache_bytes();
  team_places_->take(world_place);
  team_places_->take(node_place);
  world_ = add_team(std::make_unique<heddle_team>(*this, heddle_team::kind::world, "world",
                                                  all_pes(n_pes()), world_place, 0));
  node_ = add_team(std::make_unique<heddle_team>(*this, heddle_team::kind::node, "node", neighbours,
                                                 node_place, 0));
  bootstrap_->on_lost([this](int pe, std::string_view reason) { pe_lost(pe, reason); });
  for (auto* heap : {heap_.get(), host_heap_.get()})
    if (heap) heap->set_barrier([this] { barrier(); }, [this] { complete_puts(); });
  heddle::log::info(heddle::log::subsystem::init,
                    "PE {} of {} is ready ({}, {} PEs on this host, {} of heap)", my_pe(), n_pes(),
                    bootstrap_->name(), neighbours.size(),
                    heddle::format_bytes(environment_.heap_size));
}

void heddle_runtime::preload_kernels() {
  if (device_->is_host()) return;
  for (const auto& kernel : heddle::all_reduce_kernels()) device().preload(kernel);
  device().preload(heddle::exchange_kernel<heddle::equal_pieces>());
  device().preload(heddle::exchange_kernel<heddle::listed_pieces>());
  device().preload(heddle::relay_kernel());
  device().preload(heddle::domains_gather_kernel());
  device().preload(heddle::leaders_kernel());
  device().preload(heddle::rounds_kernel());
  device().preload(heddle::transfers_kernel<heddle::few_transfers_args>());
  device().preload(heddle::transfers_kernel<heddle::many_transfers_args>());
  device().preload(heddle::large_transfers_kernel<heddle::few_transfers_args>());
  device().preload(heddle::large_transfers_kernel<heddle::many_transfers_args>());
  for (const auto& kernel : heddle::every_word_kernel()) device().preload(kernel);
  for (const auto& kernel : heddle::exec::preloaded_kernels()) {
    try {
      device().preload(kernel, false);
    } catch (const std::exception& failure) {
      heddle::log::info(heddle::log::subsystem::device, "a kernel of the program: {}",
                        failure.what());
    }
  }
}

/// Memory of the host is not there before it is touched. A GPU's is, and rings and trees, which
/// need the most, are for PEs that memory does not reach, and for those who ask for them.
bool heddle_runtime::has_links() const {
  return device_->is_host() ||
         pes_of_my_host(*bootstrap_).size() < static_cast<std::size_t>(n_pes()) ||
         n_pes() > heddle::channel_scratch::max_direct_pes || environment_.p2p_disable ||
         !device_->common().reach_hosts || environment_.algo == "ring" ||
         environment_.algo == "tree";
}

heddle::heap_options heddle_runtime::options_of_heap(std::size_t internal_bytes) const {
  return {.heap_bytes = environment_.heap_size,
          .internal_bytes = internal_bytes,
          .check = environment_.check,
          .timeout = std::chrono::duration<double>(environment_.timeout),
          .init_timeout = std::chrono::duration<double>(environment_.init_timeout)};
}

/// Beside a heap in GPU memory, with slots as far apart.
void heddle_runtime::make_host_heap(std::size_t internal_bytes) {
  const auto make_memory = [this](heddle::bootstrap& bootstrap, std::size_t bytes,
                                  std::size_t stride, heddle::deadline until) {
    if (stride > heap_->stride())
      throw_error(HEDDLE_ERROR_INTERNAL, "a host heap of {} beside slots of {}",
                  heddle::format_bytes(stride), heddle::format_bytes(heap_->stride()));
    return std::make_unique<heddle::pinned_heap_memory>(
        bootstrap, heddle::pinned_heap_memory::options{
                       .shared = heddle::team_memory_pool::control_bytes(),
                       .bytes = bytes,
                       .stride = heap_->stride(),
                       .until = until,
                       .timeout = std::chrono::duration<double>(environment_.timeout),
                       .share = [this](void* at, std::size_t size) { device_->share(at, size); },
                       .unshare = [this](void* at) { device_->unshare(at); },
                       .apart = environment_.p2p_disable});
  };
  host_heap_ = std::make_unique<heddle::symmetric_heap>(
      *bootstrap_, options_of_heap(internal_bytes), make_memory);
}

void heddle_runtime::join_network(std::size_t internal_bytes) {
  network_ = heddle::pe_network::join(
      {.settings = environment_,
       .bootstrap = *bootstrap_,
       .device = *device_,
       .heap = *heap_,
       .host_heap = host_heap_.get(),
       .internal_bytes = internal_bytes,
       .control_bytes = heddle::team_memory_pool::control_bytes()},
      [this](int pe, const std::string& reason) { network_failed(pe, reason); },
      heddle::init_deadline(environment_), why_no_network_);
  if (!why_no_network_.empty())
    heddle::log::warn(heddle::log::subsystem::transport,
                      "there are PEs whose memory is not mapped, and no network: {}",
                      why_no_network_);
}

heddle_runtime::~heddle_runtime() {
  if (bootstrap_) bootstrap_->on_lost({});
}

void heddle_runtime::complete_puts() {
  const auto& world = world_->host_ref();
  for (int i = 0; i < world.n_contexts(); ++i) world.context(i).quiet_everything();
}

void heddle_runtime::barrier() {
  // All PEs find the same here, where one may map all and another not.
  if (network_ || !why_no_network_.empty()) {
    bootstrap_->barrier(wait_deadline());
    // Who has waited in vain for what was posted has come all the same.
    world_->check();
    return;
  }
  if (world_->host_ref().barrier(heddle::thread_group{}, heddle::team_memory::host_barrier) !=
      heddle::wait_status::ok)
    world_->check();
}

heddle_team* heddle_runtime::add_team(std::unique_ptr<heddle_team> team) {
  std::lock_guard lock(mutex_);
  heddle_team* added = teams_.emplace_back(std::move(team)).get();
  if (network_ && added->host_ref().has_remote())
    for (const auto* places : {team_places_.get(), kernel_places_.get()})
      if (places) network_->expose_place(places->start(added->place()), places->bytes_per_place());
  for (const auto& [pe, reason] : lost_) added->member_lost(pe);
  if (!lost_.empty()) added->raise_alarm(added->my_pe());
  return added;
}

void heddle_runtime::require_not_destroyed(const heddle_team& team) const {
  std::lock_guard lock(mutex_);
  if (std::none_of(teams_.begin(), teams_.end(),
                   [&](const auto& owned) { return owned.get() == &team; }))
    throw_error(HEDDLE_ERROR_INVALID_USAGE, "heddle_team_destroy: team {} was destroyed before",
                team.name());
}

void heddle_runtime::remove_team(heddle_team* team) {
  {
    std::lock_guard lock(mutex_);
    const auto found = std::find_if(teams_.begin(), teams_.end(),
                                    [&](const auto& owned) { return owned.get() == team; });
    left_teams_.push_back(std::move(*found));
    teams_.erase(found);
  }
  (void)free_team_places();
}

std::uint64_t heddle_runtime::free_team_places() {
  std::erase_if(left_teams_, [&](const auto& team) {
    const bool free = team->all_have_left();
    if (free) {
      if (network_)
        for (const auto* places : {team_places_.get(), kernel_places_.get()})
          if (places) network_->conceal_place(places->start(team->place()));
      if (kernel_places_) {
        kernel_places_->give_back(team->place());
        device_->store(&kernel_places_->control(team->place())->abort_word, 0);
      }
      team_places_->give_back(team->place());
      *team_places_->control(team->place()) = {};
    }
    return free;
  });
  return team_places_->free_places();
}

heddle_stream* heddle_runtime::add_stream(std::unique_ptr<heddle::exec::stream> made) {
  std::lock_guard lock(mutex_);
  return streams_.emplace_back(new heddle_stream(*this, std::move(made))).get();
}

void heddle_runtime::destroy_stream(heddle_stream* stream) {
  std::unique_ptr<heddle_stream> gone;
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const auto& owned) { return owned.get() == stream; });
  if (found == streams_.end())
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "heddle_stream_destroy: not a stream of this runtime, or destroyed before");
  if (stream->queue->runs_caller())
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "heddle_stream_destroy: called by work on this stream, which it would wait for");
  gone = std::move(*found);
  streams_.erase(found);
  for (const auto& team : teams_) team->forget(*gone->queue);
}

void heddle_runtime::require_no_work_of_streams(const char* function) const {
  std::lock_guard lock(mutex_);
  if (std::any_of(streams_.begin(), streams_.end(),
                  [](const auto& stream) { return stream->queue->runs_caller(); }))
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "{}: called by work on a stream of this runtime, which it would wait for; "
                "heddle_team_abort ends a team's waits from there",
                function);
}

void heddle_runtime::drain(const std::vector<const heddle::exec::stream*>& queues) {
  std::vector<std::shared_ptr<heddle::exec::event>> ends;
  const auto wait_for = [&](heddle::exec::stream& queue) {
    if (std::find(queues.begin(), queues.end(), &queue) == queues.end()) return;
    if (queue.runs_caller())
      throw_error(
          HEDDLE_ERROR_INVALID_USAGE,
          "heddle_team_destroy: called by work on a stream that the team was used on, which "
          "it would wait for");
    if (queue.capture() != 0)
      throw_error(HEDDLE_ERROR_INVALID_USAGE,
                  "heddle_team_destroy: a stream that the team was used on is being captured into "
                  "a CUDA graph; end the capture first");
    queue.record(ends.emplace_back(device().create_event(false)));
  };
  for (const auto& stream : streams_) wait_for(*stream->queue);
  wait_for(device().default_stream());
  for (const auto& end : ends) end->synchronize();
}

void heddle_runtime::synchronize(heddle::exec::stream& queue) {
  try {
    queue.synchronize();
  } catch (...) {
    // Work on the host device has told of the team that it used.
    std::lock_guard lock(mutex_);
    for (const auto& team : teams_)
      if (team->is_used_on(queue) && team->has_news_for(queue)) team->set_told_on(queue);
    throw;
  }
  heddle_team* failed = nullptr;
  {
    std::lock_guard lock(mutex_);
    for (const auto& team : teams_)
      if (!failed && team->has_news_for(queue)) failed = team.get();
    if (failed) failed->set_told_on(queue);
  }
  if (failed) failed->check();
}

bool heddle_runtime::is_lost(int pe) const {
  std::lock_guard lock(mutex_);
  return lost_.contains(pe);
}

std::string heddle_runtime::loss_of(int pe) const {
  std::lock_guard lock(mutex_);
  const auto found = lost_.find(pe);
  return found == lost_.end() ? std::string() : found->second;
}

/// With mutex_ locked. The first reason stays.
void heddle_runtime::note_lost(int pe, std::string_view reason) {
  lost_.emplace(pe, reason.empty() ? "no reason given" : reason);
}

/// With mutex_ locked.
void heddle_runtime::end_teams_of(int pe) {
  for (const auto& team : teams_) team->member_lost(pe);
  for (const auto& team : teams_)
    if (team->index_of(pe) >= 0) team->raise_alarm(team->my_pe());
}

void heddle_runtime::pe_lost(int pe, std::string_view reason) {
  heddle::log::warn(heddle::log::subsystem::init, "PE {} is lost: {}", pe, reason);
  std::lock_guard lock(mutex_);
  note_lost(pe, reason);
  end_teams_of(pe);
  if (network_) network_->drop(pe);
}

/// The others of a team that it breaks are told, as far as they can be reached.
void heddle_runtime::network_failed(int pe, const std::string& reason) {
  const int culprit = pe < 0 ? my_pe() : pe;
  heddle::log::warn(heddle::log::subsystem::transport, "PE {}: {}", culprit, reason);
  std::lock_guard lock(mutex_);
  if (pe == my_pe()) {
    for (const auto& team : teams_)
      if (team->host_ref().has_remote())
        team->abort({heddle::abort_reason::user, -1, team->my_pe()}, reason);
    return;
  }
  note_lost(culprit, reason);
  // A PE that has heard of another's loss may have left for that, which is then told.
  const auto first = bootstrap_->first_loss();
  if (first) note_lost(first->rank, first->reason);
  for (const auto& team : teams_) {
    const int index = team->index_of(culprit);
    if (index < 0) continue;
    const int cause = first ? team->index_of(first->rank) : -1;
    team->abort({heddle::abort_reason::peer_lost, cause < 0 ? index : cause, team->my_pe()},
                cause < 0 ? reason : first->reason);
  }
}

void heddle_runtime::end_streams() {
  // Work may call, and finds all of them as they are.
  for (const auto& stream : streams_) {
    try {
      stream->queue->synchronize();
    } catch (const std::exception& failure) {
      heddle::log::info(heddle::log::subsystem::init, "work on a stream that ends: {}",
                        failure.what());
    }
  }
  streams_.clear();
  try {
    device().default_stream().synchronize();
  } catch (const std::exception& failure) {
    heddle::log::warn(heddle::log::subsystem::init, "work on the default stream: {}",
                      failure.what());
  }
}

void heddle_runtime::leave_in_order() {
  end_streams();
  bool whole;
  {
    std::lock_guard lock(mutex_);
    whole = lost_.empty() && !world_->ref().aborted();
  }
  try {
    if (whole) {
      complete_puts();
      world_->check();
      bootstrap_->barrier(wait_deadline());
    }
  } catch (const std::exception& failure) {
    heddle::log::warn(heddle::log::subsystem::init, "finalize: {}", failure.what());
  }
  bootstrap_->on_lost({});
  bootstrap_->leave();
}

void heddle_runtime::leave_in_disorder(const std::string& reason) {
  bootstrap_->on_lost({});
  bootstrap_->report_lost(my_pe(), reason);
  {
    std::lock_guard lock(mutex_);
    note_lost(my_pe(), reason);
    end_teams_of(my_pe());
  }
  end_streams();
}
