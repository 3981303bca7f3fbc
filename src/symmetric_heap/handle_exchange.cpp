// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/handle_exchange.hpp"

#include "support/throw_error.hpp"

namespace heddle {

handle_exchange::shareable handle_exchange::share(const gpu::physical_memory& memory,
                                                  int device) const {
  int descriptor = -1;
  gpu::check(driver_,
             driver_.mem_export_to_shareable_handle(&descriptor, memory.handle(),
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
             "exporting memory of device cuda:{} as a file descriptor; raise ulimit -n if there "
             "are none left",
             device);
  return unique_fd(descriptor);
}

std::map<int, handle_exchange::shareable> handle_exchange::pass(const shareable& mine,
                                                                deadline until) {
  try {
    return descriptors_.exchange(mine.get(), ranks_, until);
  } catch (const error& failure) {
    if (!bootstrap_.first_loss())
      bootstrap_.report_lost(bootstrap_.rank(),
                             fmt::format("it could not pass its memory: {}", failure.what()));
    throw error(HEDDLE_ERROR_PEER_LOST, failure.what());
  }
}

gpu::physical_memory handle_exchange::take(const shareable& theirs, const std::string& of) const {
  CUmemGenericAllocationHandle handle = 0;
  gpu::check(driver_,
             driver_.mem_import_from_shareable_handle(
                 &handle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(theirs.get())),
                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
             "importing the memory of {}", of);
  return {driver_, handle};
}

}  // namespace heddle
