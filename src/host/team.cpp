// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/team.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <heddle/device/coll/scratch.hpp>
#include <heddle/device/impl/team_ref_builder.hpp>

#include "coll/topology.hpp"
#include "device/host_kernel.hpp"
#include "host/failure_report.hpp"
#include "host/runtime.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

using heddle::abort_code;
using heddle::abort_reason;
using heddle::throw_error;

namespace {

/// Multicast reaches all PEs of the job: a team has it if it is all of them, in any order.
bool has_multicast(const heddle_runtime& runtime, const heddle::team_members& members,
                   const heddle::heap_memory& memory) {
  return memory.multicast_size() > 0 && members.size() == runtime.n_pes();
}

/// Null if memory joins all members, or there is no network: the same for all, who meet in the
/// protocols that it calls for, though one may map all the others.
const heddle::proxy_ref* proxy_of(const heddle_runtime& runtime,
                                  const heddle::team_members& members, bool for_kernels) {
  if (members.domains().all_mapped() || !runtime.network()) return nullptr;
  return for_kernels ? runtime.network()->kernel_ref() : runtime.network()->host_ref();
}

/// For kernels, whose words are in the heap, or for host threads, whose words are in host memory.
heddle::team_ref build_ref(heddle_runtime& runtime, const heddle::team_members& members, int place,
                           bool for_kernels) {
  const int me = members.index_of(runtime.my_pe());
  const int step = members.slot_step();
  const auto tables = for_kernels ? members.for_kernels() : members.for_host();
  const auto& memory = for_kernels ? runtime.heap().memory() : runtime.control();
  const auto& pool = for_kernels ? runtime.kernel_places() : runtime.team_places();
  const bool multicast = has_multicast(runtime, members, memory);
  return heddle::team_ref_builder::build(
      {.my_pe = me,
       .n_pes = members.size(),
       .my_slot = memory.my_slot(),
       .slot_step = step,
       .slot_stride = static_cast<std::int64_t>(memory.stride()),
       .slots = step ? nullptr : tables.slots,
       .world = tables.world,
       .proxy = proxy_of(runtime, members, for_kernels),
       .ring = members.ring_order().pes().empty() ? nullptr : tables.by_domain,
       .ring_position = members.ring_order().position(me),
       .heap = reinterpret_cast<heddle::byte*>(memory.base()),
       .heap_bytes = memory.stride(),
       .multicast = multicast ? reinterpret_cast<heddle::byte*>(memory.multicast_base()) : nullptr,
       .multicast_bytes = multicast ? memory.multicast_size() : 0,
       .memory = pool.words(place),
       .scratch = reinterpret_cast<heddle::byte*>(pool.scratch(place)),
       .control = runtime.team_places().control(place),
       .control_stride = static_cast<std::int64_t>(runtime.control().stride()),
       .alarm =
           for_kernels && !runtime.place().is_host() ? &pool.control(place)->abort_word : nullptr,
       // What is read, what is written, and what else is in use.
       .streaming_from = runtime.cache_bytes() / 3,
       .timeout_ns = static_cast<std::uint64_t>(runtime.environment().timeout * 1e9),
       .spin = runtime.spin(),
       .flag_period =
           static_cast<std::uint32_t>((std::uint64_t{1} << runtime.environment().epoch_bits) - 1),
       .accumulates_f32 = runtime.environment().accumulate_f32,
       .is_apart = members.domains().is_apart});
}

}  // namespace

heddle_team::heddle_team(heddle_runtime& runtime, enum kind kind, std::string name,
                         std::vector<int> world_pes, int place, std::uint64_t id)
    : runtime_(runtime),
      kind_(kind),
      name_(std::move(name)),
      members_(runtime, std::move(world_pes)),
      place_(place),
      id_(id),
      order_(runtime.device()),
      host_ref_(build_ref(runtime, members_, place, false)),
      on_host_(runtime.place().is_host()),
      compares_calls_(runtime.environment().check),
      is_reachable_(!host_ref_.has_remote() || runtime.network()),
      ref_(build_ref(runtime, members_, place, true)),
      reductions_(*this, topology()),
      exchanges_(*this),
      transfers_(*this) {}

/// For kernels.
heddle::team_topology heddle_team::topology() const {
  auto topology = heddle::topology_of(my_pe(), n_pes(), members_.ring_order());
  heddle::set_domains(topology, members_.domains(), members_.for_kernels().by_domain);
  return topology;
}

heddle_team::~heddle_team() = default;

void* heddle_team::address_at(const void* symmetric, int pe) const {
  return runtime_.heap_of(symmetric).ptr(symmetric, members_.world_pe(pe));
}

void heddle_team::throw_unreachable(const char* function) const {
  int remote = 0;
  while (members_.is_mapped(remote)) ++remote;
  const auto& bootstrap = runtime_.bootstrap();
  const int world_pe = members_.world_pe(remote);
  if (bootstrap.host_of(world_pe) == bootstrap.host_of(bootstrap.rank())) {
    if (!runtime_.place().is_host())
      throw_error(
          HEDDLE_ERROR_NOT_SUPPORTED,
          "{}: the GPU of PE {} of team {} cannot be reached from this PE's (no peer access "
          "between them); use devices that can, or a team without it",
          function, remote, name_);
    throw_error(
        HEDDLE_ERROR_NOT_SUPPORTED,
        "{}: the memory of PE {} of team {}, on this host, is not mapped here, and there is "
        "no network: {}; let them share memory (HEDDLE_P2P_DISABLE=0, one network and pid "
        "namespace), or use a team without it",
        function, remote, name_, runtime_.why_no_network());
  }
  throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
              "{}: PE {} of team {} is on another host ({}), and there is no network: {}; use the "
              "node team",
              function, remote, name_, bootstrap.host_of(world_pe), runtime_.why_no_network());
}

/// Later the PEs that it is about may have gone on, or be gone.
void heddle_team::throw_failure() const {
  const std::scoped_lock lock(failure_guard_);
  if (!failure_) {
    const auto found = heddle::failure_of(*this);
    // Its own record may just be written, by another thread.
    constexpr std::uint32_t being_written = 1;
    const auto& record = host_ref().control(my_pe())->failure;
    if (!ref().aborted() || heddle::load(&record.state, heddle::acquire) == being_written)
      throw found;
    failure_ = found;
  }
  throw heddle::error(*failure_);
}

void heddle_team::abort(abort_code code, const std::string& reason) {
  if (abort_begun_.exchange(true)) {
    // Whom the first could not tell, since the queue was full, may be told now.
    if (const auto first = abort_told_.load(std::memory_order_acquire); first != 0)
      for (int pe = 0; pe < n_pes(); ++pe) host_ref().abort_at(pe, first);
    return;
  }
  auto& text = runtime_.team_places().mail_slots(place_)[my_pe()].abort_text;
  std::strncpy(text.data(), reason.c_str(), text.size() - 1);
  for (int pe = 0; pe < n_pes(); ++pe)
    if (pe != my_pe()) host_ref().abort_at(pe, code.to_word(), text.data(), text.size());
  abort_told_.store(code.to_word(), std::memory_order_release);
  host_ref().abort_at(my_pe(), code.to_word());
  for (int pe = 0; pe < n_pes(); ++pe)
    if (members_.is_mapped(pe)) raise_alarm(pe);
}

void heddle_team::raise_alarm(int pe) const {
  if (runtime_.place().is_host()) return;
  try {
    void* word = address_at(&runtime_.kernel_places().control(place_)->abort_word, pe);
    runtime_.place().store(static_cast<std::uint64_t*>(word), 1);
  } catch (const std::exception& failure) {
    heddle::log::info(heddle::log::subsystem::team,
                      "kernels of PE {} of team {} are told late of its end: {}", pe, name_,
                      failure.what());
  }
}

std::string heddle_team::abort_text(int pe) const {
  if (pe < 0) return "";
  const auto& text = runtime_.team_places().mail_slots(place_)[pe].abort_text;
  return {text.data(), strnlen(text.data(), text.size())};
}

void heddle_team::member_lost(int world_pe) {
  const int index = index_of(world_pe);
  if (index < 0) return;
  std::uint64_t none = 0;
  heddle::atomic_ref<std::uint64_t>(host_ref().control(my_pe())->abort_word)
      .compare_exchange_strong(none, abort_code{abort_reason::peer_lost, index, my_pe()}.to_word(),
                               heddle::release, heddle::relaxed);
}

bool heddle_team::has_news_for(const heddle::exec::stream& queue) const {
  return ref().aborted() && (queue.has_own_kernels() || is_used_on(queue)) &&
         std::find(told_on_.begin(), told_on_.end(), &queue) == told_on_.end();
}

void heddle_team::used_on(const heddle::exec::stream& queue) {
  if (!queue.is_immediate() && !is_used_on(queue)) queues_.push_back(&queue);
}

bool heddle_team::is_used_on(const heddle::exec::stream& queue) const {
  return std::find(queues_.begin(), queues_.end(), &queue) != queues_.end();
}

void heddle_team::forget(const heddle::exec::stream& gone) {
  std::erase(queues_, &gone);
  std::erase(told_on_, &gone);
}

void heddle_team::put_on_stream(heddle::exec::launch_shape shape,
                                const heddle::exec::kernel& kernel, const void* arguments,
                                std::size_t bytes, heddle_stream_t stream) {
  enqueue_collective(runtime_.queue(stream), [&](heddle::exec::stream& queue) {
    queue.launch(shape, kernel, arguments, bytes,
                 [this](const std::string& why) { collective_failed(why); });
    if (on_host_) queue.enqueue([this] { check(); });
  });
}

void heddle_team::collective_failed(const std::string& why) {
  abort({abort_reason::user, -1, my_pe()}, "a collective failed: " + why);
}

void heddle_team::complete_default_stream() {
  runtime_.device().default_stream().synchronize();
  check();
}

void heddle_team::throw_no_pe(const char* function, int root) const {
  throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: root {} is not one of the {} PEs of team {}",
              function, root, n_pes(), name_);
}

heddle::plan_question heddle_team::question(heddle::collective what, std::size_t bytes) const {
  const auto& settings = runtime_.environment();
  heddle::plan_question asked{.what = what,
                              .bytes = bytes,
                              .n_pes = n_pes(),
                              .on_cuda = !runtime_.place().is_host(),
                              .one_gpu = runtime_.place().common().one_gpu,
                              .is_crowded = runtime_.is_crowded(),
                              .all_mapped = domains().all_mapped(),
                              .num_domains = domains().are_mapped ? domains().n_domains() : n_pes(),
                              .domain_size = domains().is_hierarchy() ? domains().size : 1,
                              .largest_domain = domains().are_mapped ? domains().largest() : 1,
                              .has_links = runtime_.has_links(),
                              .has_multicast = ref().multicast_bytes() > 0,
                              .whole_lines = runtime_.place().common().whole_lines,
                              .max_blocks = runtime_.place().common().blocks,
                              .max_channels = max_channels_,
                              .tuned = &runtime_.tuning(),
                              .cache_bytes = runtime_.cache_bytes(),
                              .forced_algorithm = heddle::parse_algorithm(settings.algo),
                              .forced_protocol = heddle::parse_protocol(settings.proto),
                              .forced_channels = settings.channels,
                              .forced_threads = settings.block_threads};
  if (chooser_) {
    heddle_choice_t choice{HEDDLE_ALGORITHM_AUTO, HEDDLE_PROTOCOL_AUTO, 0, 0};
    try {
      const auto up_to = std::bit_ceil(std::clamp<std::size_t>(bytes, 1, std::size_t{1} << 63));
      chooser_(choosers_user_, static_cast<heddle_collective_t>(what), up_to, n_pes(), &choice);
    } catch (const std::exception& thrown) {
      throw_error(HEDDLE_ERROR_INVALID_USAGE, "the chooser of team {} threw an exception: {}",
                  name_, thrown.what());
    } catch (...) {
      throw_error(HEDDLE_ERROR_INVALID_USAGE, "the chooser of team {} threw an exception", name_);
    }
    heddle::apply(asked, choice);
  }
  return asked;
}

void heddle_team::set_chooser(heddle_chooser_t chooser, void* user) {
  chooser_ = chooser;
  choosers_user_ = user;
  forget_plans();
}

void heddle_team::set_max_channels(int channels) {
  if (channels < 0)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_team_set_max_channels: {} channels; 0 or more are possible", channels);
  max_channels_ = channels;
  // One that limits nothing has the plans of none.
  const int limit = channels < heddle::channel_scratch::max_channels ? channels : 0;
  reductions_.set_limit(limit);
  exchanges_.set_limit(limit);
  transfers_.set_limit(limit);
}

void heddle_team::set_accumulate_f32(bool on) {
  heddle::team_ref_builder::set_accumulate_f32(ref_, on);
  forget_plans();
}

void heddle_team::forget_plans() {
  reductions_.forget_plans();
  exchanges_.forget_plans();
  transfers_.forget_plans();
}

void heddle_team::meet() const {
  if (host_ref().barrier(heddle::thread_group{}, heddle::team_memory::exchange_barrier) !=
      heddle::wait_status::ok)
    throw_failure();
}

std::vector<heddle_team::words> heddle_team::exchange_in(const char* function, words mine) const {
  mine[0] = std::hash<std::string_view>{}(function);
  auto all = exchange(mine);
  for (std::size_t pe = 0; pe < all.size(); ++pe)
    if (all[pe][0] != all[0][0])
      throw_error(HEDDLE_ERROR_MISMATCH,
                  "{} on team {}: PEs {} and 0 have called different functions", function, name_,
                  pe);
  return all;
}

void heddle_team::require_same_call(const char* function, const words& mine,
                                    const std::function<std::string(const words&)>& told) const {
  const auto all = exchange_in(function, mine);
  for (std::size_t pe = 0; pe < all.size(); ++pe)
    if (all[pe] != all[0])
      throw_error(HEDDLE_ERROR_MISMATCH, "{} on team {}: PE {} gave {}; PE 0 gave {}", function,
                  name_, pe, told(all[pe]), told(all[0]));
}

std::vector<heddle_team::words> heddle_team::exchange(const words& mine) const {
  require_reachable("a host exchange");
  check();
  auto* slots = runtime_.team_places().mail_slots(place_);
  const heddle::thread_group thread;
  for (int pe = 0; pe < n_pes(); ++pe)
    host_ref().put(thread, slots[my_pe()].words.data(), mine.data(), mine.size(), pe);
  meet();
  std::vector<words> all;
  for (int pe = 0; pe < n_pes(); ++pe) all.push_back(slots[pe].words);
  meet();
  return all;
}
