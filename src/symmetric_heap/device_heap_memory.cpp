// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/device_heap_memory.hpp"

#include <algorithm>

#include "support/environment.hpp"
#include "support/log.hpp"
#include "support/round_up.hpp"
#include "support/throw_error.hpp"
#include "symmetric_heap/agreed_step.hpp"
#include "symmetric_heap/shared_arenas.hpp"

namespace heddle {
namespace {

/// A growing heap takes this much at once, so that small blocks do not each cost an exchange.
constexpr std::size_t least_growth = std::size_t{32} << 20;

}  // namespace

device_heap_memory::device_heap_memory(bootstrap& bootstrap, const gpu::gpu& device,
                                       const options& options)
    : bootstrap_(bootstrap),
      device_(device),
      timeout_(options.timeout),
      descriptors_(bootstrap, options.apart),
      peers_(device_peers::meet(bootstrap, device, descriptors_, options.handles, options.until)),
      exchange_(bootstrap, device.functions(), descriptors_, peers_.ranks),
      multicast_(bootstrap, device, peers_, options.multicast, least_growth, options.until),
      unit_(std::max(peers_.unit, multicast_.unit())) {
  const std::size_t own = round_up(options.stride, unit_);
  const std::size_t stride = 2 * own;
  const auto& driver = device_.functions();
  // The multicast addresses are one slot more.
  const int slots_of_arena = peers_.num_slots + (multicast_.is_used() ? 1 : 0);
  arena_ = peers_.threads ? device_arena::shared_by_threads(driver, arena_name(bootstrap_),
                                                            slots_of_arena, stride, unit_)
                          : std::make_shared<device_arena>(driver, slots_of_arena, stride, unit_);
  auto slots = peers_.mapped_slots();
  log::info(log::subsystem::heap, "{} of {} heaps mapped, on GPUs, {} each at most",
            std::count_if(slots.begin(), slots.end(), [](int slot) { return slot >= 0; }),
            slots.size(), format_bytes(own));
  place(arena_->slot(0), peers_.num_slots, stride, std::move(slots), bootstrap_.rank());
  add_piece(options.bytes, options.until);
  device_.clear(base(), size());
  bootstrap_.barrier(options.until);
}

gpu::physical_memory device_heap_memory::make_memory(std::size_t bytes) const {
  const auto& driver = device_.functions();
  const auto kind = device_.memory_kind(peers_.handles.kind);
  CUmemGenericAllocationHandle handle = 0;
  const CUresult made = driver.mem_create(&handle, bytes, &kind, 0);
  if (made == CUDA_ERROR_OUT_OF_MEMORY) {
    const auto [free, total] = device_.memory();
    throw_error(HEDDLE_ERROR_OUT_OF_MEMORY,
                "the heap on device cuda:{} ({}) has {} and cannot grow by {}: the device has {} "
                "free of {}{}",
                device_.ordinal(), device_.name(), format_bytes(size()), format_bytes(bytes),
                format_bytes(free), format_bytes(total),
                size() == 0 ? "; HEDDLE_MAX_TEAMS sets how much teams take at the start" : "");
  }
  gpu::check(driver, made, "asking device cuda:{} for {} of memory", device_.ordinal(),
             format_bytes(bytes));
  return {driver, handle};
}

void device_heap_memory::map(int pe, const heap_part& part, const gpu::physical_memory& memory,
                             std::vector<mapping>& done) {
  if (part.bytes == 0) return;
  const auto& peer = peers_[pe];
  arena_->map(peer.slot, part.offset, part.bytes, memory.handle(), peer.access);
  done.push_back({peer.slot, part.offset});
}

void device_heap_memory::unmap(const std::vector<mapping>& mapped) noexcept {
  for (const auto& each : mapped) arena_->unmap(each.slot, each.offset);
}

void device_heap_memory::map_everywhere(const std::vector<heap_part>& parts,
                                        CUmemAllocationHandleType kind,
                                        const std::function<const gpu::physical_memory&()>& mine,
                                        std::vector<mapping>& done, deadline until) {
  const int me = bootstrap_.rank();
  handle_exchange::shareable shared;
  agreed_step(bootstrap_, until, [&] {
    const auto& memory = mine();
    if (peers_.processes) shared = exchange_.share(memory, kind, device_.ordinal());
    map(me, parts[static_cast<std::size_t>(me)], memory, done);
  });
  agreed_step(bootstrap_, until, [&] {
    if (!peers_.processes) return;
    for (const auto& [pe, theirs] : exchange_.pass(shared, until)) {
      const auto& peer = peers_[pe];
      const auto& part = parts[static_cast<std::size_t>(pe)];
      if (!peer.why_not_mapped.empty() || part.bytes == 0) continue;
      const auto hidden =
          peer.ordinal < 0 ? ", whose device CUDA_VISIBLE_DEVICES hides from this process" : "";
      map(pe, part, exchange_.take(theirs, fmt::format("PE {}{}", pe, hidden)), done);
    }
  });
}

void device_heap_memory::add_piece(std::size_t bytes, deadline until) {
  bytes = round_up(bytes, unit_);
  gpu::physical_memory memory;
  std::vector<mapping> done;
  try {
    map_everywhere(
        std::vector<heap_part>(peers_.peers.size(), {size(), bytes}), peers_.handles.kind,
        [&]() -> const gpu::physical_memory& { return memory = make_memory(bytes); }, done, until);
    if (multicast_.is_used()) multicast_.add(exchange_, *arena_, bytes, memory, until);
  } catch (...) {
    unmap(done);
    throw;
  }
  set_size(size() + bytes);
}

void device_heap_memory::grow_to(std::size_t bytes) {
  if (bytes <= size()) return;
  const std::size_t most = registration_range().first - size();
  add_piece(std::min(round_up(bytes - size(), std::max(least_growth, unit_)), most),
            deadline::after(timeout_));
}

void device_heap_memory::zero(std::byte* at, std::size_t bytes, std::size_t) {
  // New memory of a device holds what was there before.
  device_.clear(at, bytes);
}

void device_heap_memory::empty(std::byte* at, std::size_t bytes) { device_.clear(at, bytes); }

void device_heap_memory::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  device_.copy(to, from, bytes);
}

void device_heap_memory::require_adoptable(const void* buffer, std::size_t bytes) const {
  (void)device_buffer::find(device_, buffer, bytes, peers_.unit);
}

void device_heap_memory::adopt(void* buffer, std::size_t bytes, std::byte* alias) {
  const auto until = deadline::after(timeout_);
  const auto offset = static_cast<std::size_t>(alias - base());
  const buffer_agreement agreed(bootstrap_, device_, peers_, buffer, bytes, until);
  std::vector<mapping> done;
  try {
    for (std::size_t round = 0; round < agreed.rounds(); ++round)
      map_everywhere(
          agreed.parts(round, offset), agreed.kind(),
          [&]() -> const gpu::physical_memory& { return agreed.mine(round); }, done, until);
    adopted_.emplace(alias, std::move(done));
  } catch (...) {
    unmap(done);
    throw;
  }
}

void device_heap_memory::vacate(const std::byte* alias) {
  const auto found = adopted_.find(alias);
  unmap(found->second);
  adopted_.erase(found);
}

}  // namespace heddle
