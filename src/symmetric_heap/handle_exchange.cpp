// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/handle_exchange.hpp"

#include <cstring>
#include <span>

#include "support/throw_error.hpp"

namespace heddle {

handle_exchange::shareable handle_exchange::share(const gpu::physical_memory& memory,
                                                  CUmemAllocationHandleType kind,
                                                  int device) const {
  shareable shared{kind, {}, {}};
  if (kind == CU_MEM_HANDLE_TYPE_FABRIC) {
    gpu::check(driver_,
               driver_.mem_export_to_shareable_handle(&shared.fabric, memory.handle(), kind, 0),
               "exporting memory of device cuda:{} as a fabric handle; HEDDLE_FABRIC_HANDLES=off "
               "does without",
               device);
    return shared;
  }
  int descriptor = -1;
  gpu::check(driver_, driver_.mem_export_to_shareable_handle(&descriptor, memory.handle(), kind, 0),
             "exporting memory of device cuda:{} as a file descriptor; raise ulimit -n if there "
             "are none left",
             device);
  shared.descriptor = unique_fd(descriptor);
  return shared;
}

std::map<int, handle_exchange::shareable> handle_exchange::pass(const shareable& mine,
                                                                deadline until) {
  std::map<int, shareable> received;
  if (mine.kind == CU_MEM_HANDLE_TYPE_FABRIC) {
    const auto all = bootstrap_.all_gather(std::as_bytes(std::span(mine.fabric.data)), until);
    for (std::size_t pe = 0; pe < all.size(); ++pe) {
      if (ranks_[pe].same_process) continue;
      auto& theirs = received[static_cast<int>(pe)];
      theirs.kind = mine.kind;
      std::memcpy(theirs.fabric.data, all[pe].data(), sizeof theirs.fabric.data);
    }
    return received;
  }
  try {
    for (auto& [pe, descriptor] : descriptors_.exchange(mine.descriptor.get(), ranks_, until))
      received[pe].descriptor = std::move(descriptor);
  } catch (const error& failure) {
    if (!bootstrap_.first_loss())
      bootstrap_.report_lost(bootstrap_.rank(),
                             fmt::format("it could not pass its memory: {}", failure.what()));
    throw error(HEDDLE_ERROR_PEER_LOST, failure.what());
  }
  return received;
}

gpu::physical_memory handle_exchange::take(const shareable& theirs, const std::string& of) const {
  auto fabric = theirs.fabric;
  void* from = theirs.kind == CU_MEM_HANDLE_TYPE_FABRIC
                   ? static_cast<void*>(&fabric)
                   : reinterpret_cast<void*>(static_cast<std::uintptr_t>(theirs.descriptor.get()));
  CUmemGenericAllocationHandle handle = 0;
  gpu::check(driver_, driver_.mem_import_from_shareable_handle(&handle, from, theirs.kind),
             "importing the memory of {}", of);
  return {driver_, handle};
}

}  // namespace heddle
