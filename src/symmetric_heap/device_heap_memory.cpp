// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/device_heap_memory.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "bootstrap/byte_stream.hpp"
#include "support/environment.hpp"
#include "support/log.hpp"
#include "support/round_up.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

/// A growing heap takes this much at once, so that small blocks do not each cost an exchange.
constexpr std::size_t growth = std::size_t{32} << 20;

/// Physical memory of a device, held by its handle; a mapping keeps it beyond that.
class physical_memory {
 public:
  physical_memory(const gpu::driver& driver, CUmemGenericAllocationHandle handle)
      : driver_(driver), handle_(handle) {}
  ~physical_memory() { driver_.mem_release(handle_); }
  physical_memory(const physical_memory&) = delete;
  physical_memory& operator=(const physical_memory&) = delete;
  [[nodiscard]] CUmemGenericAllocationHandle handle() const { return handle_; }

 private:
  const gpu::driver& driver_;
  CUmemGenericAllocationHandle handle_;
};

}  // namespace

device_heap_memory::device_heap_memory(bootstrap& bootstrap, const gpu::gpu& device,
                                       const options& options)
    : bootstrap_(bootstrap), device_(device), timeout_(options.timeout), exchange_(bootstrap) {
  meet_peers(options.stride, options.until);
  add_piece(options.bytes, options.until);
  device_.clear(base(), size());
  bootstrap_.barrier(options.until);
}

void device_heap_memory::meet_peers(std::size_t stride, deadline until) {
  ranks_ = exchange_.introduce(until);
  byte_writer out;
  out.raw(std::as_bytes(std::span(device_.uuid())))
      .number(std::uint64_t{device_.granularity()})
      .number(std::int32_t{device_.ordinal()});
  const auto all = bootstrap_.all_gather(out.bytes(), until);
  const auto me = static_cast<std::size_t>(bootstrap_.rank());
  int num_slots = 0;
  bool threads = false;
  std::set<int> devices_here;
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    byte_reader in(all[pe]);
    peer each;
    const auto uuid = in.raw(each.uuid.size());
    std::memcpy(each.uuid.data(), uuid.data(), uuid.size());
    unit_ = std::max(unit_, static_cast<std::size_t>(in.number<std::uint64_t>()));
    const int ordinal = in.number<std::int32_t>();
    if (ranks_[pe].same_process) devices_here.insert(ordinal);
    if (ranks_[pe].same_host) {
      each.slot = num_slots++;
      each.ordinal = ranks_[pe].same_process ? ordinal : device_.find(each.uuid);
    }
    threads |= ranks_[pe].same_process && pe != me;
    peers_.push_back(std::move(each));
  }
  std::vector<int> slots;
  int mapped = 0;
  for (std::size_t pe = 0; pe < peers_.size(); ++pe) {
    auto& each = peers_[pe];
    each.why_not_mapped = why_apart(each, ranks_[pe].same_host);
    slots.push_back(each.why_not_mapped.empty() ? each.slot : -1);
    mapped += each.why_not_mapped.empty() ? 1 : 0;
    for (const int device : devices_here)
      if (each.ordinal < 0 || gpu::can_access(device_.functions(), device, each.ordinal))
        each.access.push_back(device);
    if (!each.why_not_mapped.empty())
      log::info(log::subsystem::heap, "the heap of PE {} is not mapped: {}", pe,
                each.why_not_mapped);
  }
  stride = round_up(stride, unit_);
  const auto& driver = device_.functions();
  arena_ = threads ? device_arena::shared_by_threads(driver, std::string(bootstrap_.job_id()),
                                                     num_slots, stride)
                   : std::make_shared<device_arena>(driver, num_slots, stride);
  place(arena_->slot(0), num_slots, stride, std::move(slots), bootstrap_.rank());
  log::info(log::subsystem::heap, "{} of {} heaps mapped, on GPUs, {} each at most", mapped,
            peers_.size(), format_bytes(stride));
}

std::string device_heap_memory::why_apart(const peer& peer, bool same_host) const {
  if (!same_host) return "it is on another host";
  // Memory of a device that CUDA_VISIBLE_DEVICES hides can be mapped too.
  if (peer.ordinal < 0 || gpu::can_access(device_.functions(), device_.ordinal(), peer.ordinal))
    return "";
  return fmt::format("device cuda:{} has no peer access to cuda:{}", device_.ordinal(),
                     peer.ordinal);
}

template <class Work>
void device_heap_memory::together(Work work, deadline until) {
  auto status = HEDDLE_SUCCESS;
  std::string problem;
  try {
    work();
  } catch (const error& failure) {
    status = failure.status();
    problem = failure.what();
  } catch (const std::exception& failure) {
    status = HEDDLE_ERROR_SYSTEM;
    problem = failure.what();
  }
  // What the bootstrap itself cannot do any more, it says better.
  if (status == HEDDLE_ERROR_PEER_LOST) throw error(status, problem);
  byte_writer out;
  out.number(static_cast<std::int32_t>(status)).text(problem);
  const auto all = bootstrap_.all_gather(out.bytes(), until);
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    byte_reader in(all[pe]);
    const auto theirs = static_cast<heddle_status_t>(in.number<std::int32_t>());
    if (theirs != HEDDLE_SUCCESS) throw_error(theirs, "PE {}: {}", pe, in.text());
  }
}

unique_fd device_heap_memory::make_piece(piece& piece) const {
  const auto& driver = device_.functions();
  const auto kind = device_.memory_kind();
  CUmemGenericAllocationHandle handle = 0;
  const CUresult made = driver.mem_create(&handle, piece.bytes, &kind, 0);
  if (made == CUDA_ERROR_OUT_OF_MEMORY) {
    const auto [free, total] = device_.memory();
    throw_error(HEDDLE_ERROR_OUT_OF_MEMORY,
                "the heap on device cuda:{} ({}) has {} and cannot grow by {}: the device has {} "
                "free of {}{}",
                device_.ordinal(), device_.name(), format_bytes(size()), format_bytes(piece.bytes),
                format_bytes(free), format_bytes(total),
                size() == 0 ? "; HEDDLE_MAX_TEAMS sets how much teams take at the start" : "");
  }
  gpu::check(driver, made, "asking device cuda:{} for {} of memory", device_.ordinal(),
             format_bytes(piece.bytes));
  const physical_memory memory(driver, handle);
  int descriptor = -1;
  gpu::check(driver,
             driver.mem_export_to_shareable_handle(&descriptor, handle,
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
             "exporting memory of device cuda:{} as a file descriptor; raise ulimit -n if there "
             "are none left",
             device_.ordinal());
  unique_fd shared(descriptor);
  const auto& mine = peers_[static_cast<std::size_t>(bootstrap_.rank())];
  arena_->map(mine.slot, piece.offset, piece.bytes, handle, mine.access);
  piece.slots.push_back(mine.slot);
  return shared;
}

/// Others wait for this PE in the exchange: what ends it here ends the job.
std::map<int, unique_fd> device_heap_memory::pass(const unique_fd& mine, deadline until) {
  try {
    return exchange_.exchange(mine.get(), ranks_, until);
  } catch (const error& failure) {
    if (!bootstrap_.first_loss())
      bootstrap_.report_lost(bootstrap_.rank(),
                             fmt::format("it could not pass its memory: {}", failure.what()));
    throw error(HEDDLE_ERROR_PEER_LOST, failure.what());
  }
}

void device_heap_memory::map_peers(piece& piece, const unique_fd& mine, deadline until) {
  const auto& driver = device_.functions();
  for (const auto& [rank, descriptor] : pass(mine, until)) {
    const auto& each = peers_[static_cast<std::size_t>(rank)];
    if (!each.why_not_mapped.empty()) continue;
    CUmemGenericAllocationHandle handle = 0;
    gpu::check(
        driver,
        driver.mem_import_from_shareable_handle(
            &handle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor.get())),
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "importing the memory of PE {}{}", rank,
        each.ordinal < 0 ? ", whose device CUDA_VISIBLE_DEVICES hides from this process" : "");
    const physical_memory memory(driver, handle);
    arena_->map(each.slot, piece.offset, piece.bytes, handle, each.access);
    piece.slots.push_back(each.slot);
  }
}

void device_heap_memory::add_piece(std::size_t bytes, deadline until) {
  piece added{size(), round_up(bytes, unit_), {}};
  try {
    unique_fd mine;
    together([&] { mine = make_piece(added); }, until);
    together([&] { map_peers(added, mine, until); }, until);
  } catch (...) {
    for (const int slot : added.slots) arena_->unmap(slot, added.offset);
    throw;
  }
  set_size(size() + added.bytes);
}

void device_heap_memory::grow_to(std::size_t bytes) {
  if (bytes <= size()) return;
  const std::size_t most = stride() - size();
  add_piece(std::min(round_up(bytes - size(), std::max(growth, unit_)), most),
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
  throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
              "heddle_register: buffer {} of {} bytes; buffers cannot be registered with a heap in "
              "GPU memory yet; allocate it by heddle_malloc",
              buffer, bytes);
}

void device_heap_memory::adopt(void* buffer, std::size_t bytes, std::byte*) {
  require_adoptable(buffer, bytes);
}

void device_heap_memory::give_back(void* buffer, std::size_t bytes, const std::byte*) {
  require_adoptable(buffer, bytes);
}

}  // namespace heddle
