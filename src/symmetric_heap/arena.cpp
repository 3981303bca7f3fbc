// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "symmetric_heap/arena.hpp"

#include <sys/mman.h>

#include <cerrno>

#include "support/environment.hpp"
#include "support/throw_error.hpp"
#include "symmetric_heap/shared_arenas.hpp"

namespace heddle {

arena::arena(int slots, std::size_t stride) : slots_(slots), stride_(stride) {
  const std::size_t bytes = static_cast<std::size_t>(slots) * stride;
  // One huge page more, so that slots can begin on one.
  void* reserved = ::mmap(nullptr, bytes + huge_page, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    throw_error(
        HEDDLE_ERROR_OUT_OF_MEMORY,
        "reserving addresses for {} heaps of {} ({}): {}; lower HEDDLE_HEAP_SIZE, or raise ulimit "
        "-v",
        slots, format_bytes(stride), format_bytes(bytes), std::generic_category().message(errno));
  auto* start = static_cast<std::byte*>(reserved);
  const std::size_t before =
      (huge_page - reinterpret_cast<std::uintptr_t>(start) % huge_page) % huge_page;
  if (before > 0) ::munmap(start, before);
  base_ = start + before;
  ::munmap(base_ + bytes, huge_page - before);
}

arena::~arena() { ::munmap(base_, static_cast<std::size_t>(slots_) * stride_); }

std::shared_ptr<arena> arena::shared_by_threads(const std::string& name, int slots,
                                                std::size_t stride) {
  return shared_arenas<arena>::of_process().get(
      name, [&] { return std::make_shared<arena>(slots, stride); });
}

void arena::map(int index, int descriptor) {
  void* mapped =
      ::mmap(slot(index), stride_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0);
  if (mapped == MAP_FAILED)
    throw_system_error(errno, "mapping {} of a heap into slot {} of the arena",
                       format_bytes(stride_), index);
  // A wish; huge_page_support() says whether the kernel grants it.
  ::madvise(slot(index), stride_, MADV_HUGEPAGE);
}

}  // namespace heddle
