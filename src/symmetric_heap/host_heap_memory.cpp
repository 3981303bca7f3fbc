// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/host_heap_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "support/environment.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"
#include "symmetric_heap/descriptor_exchange.hpp"
#include "symmetric_heap/shared_arenas.hpp"

namespace heddle {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Why the heap's pages cannot take the place of the range's, as the system tells; "" if they can.
std::string why_not_adoptable(std::uintptr_t begin, std::uintptr_t end) {
  const std::string unusable = "is not all readable and writable memory";
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (begin < end && std::getline(maps, line)) {
    std::istringstream fields(line);
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char dash = 0;
    std::string rights;
    fields >> std::hex >> from >> dash >> to >> rights;
    if (to <= begin) continue;
    if (from > begin || rights.size() < 4 || rights[0] != 'r' || rights[1] != 'w') return unusable;
    if (rights[3] == 's')
      return "is a shared mapping (MAP_SHARED), whose file or other processes would no longer see "
             "what is written; register private memory and copy";
    begin = to;
  }
  return begin >= end ? "" : unusable;
}

}  // namespace

host_heap_memory::host_heap_memory(bootstrap& bootstrap, std::size_t bytes, std::size_t stride,
                                   deadline until, bool apart)
    : apart_(apart) {
  host_heap_memory::grow_to(bytes);
  descriptor_exchange exchange(bootstrap, apart);
  const auto ranks = exchange.introduce(until);
  const auto me = static_cast<std::size_t>(bootstrap.rank());
  std::vector<int> slots;
  int mapped = 0;
  bool threads = false;
  for (const auto& rank : ranks) {
    slots.push_back(rank.same_host ? mapped++ : -1);
    threads |= rank.same_process && &rank != &ranks[me];
  }
  arena_ = threads ? arena::shared_by_threads(arena_name(bootstrap), mapped, stride)
                   : std::make_shared<arena>(mapped, stride);
  arena_->map(slots[me], file_.descriptor());
  for (auto& [rank, descriptor] : exchange.exchange(file_.descriptor(), ranks, until))
    arena_->map(slots[static_cast<std::size_t>(rank)], descriptor.get());
  place(arena_->slot(0), mapped, stride, std::move(slots), bootstrap.rank());
  // A thread of this process is reached once it has mapped its own heap.
  bootstrap.barrier(until);
  log::info(log::subsystem::heap, "{} of {} heaps mapped, {} each at most; huge pages: {}", mapped,
            ranks.size(), format_bytes(stride), huge_page_support());
}

void host_heap_memory::grow_to(std::size_t bytes) {
  file_.grow_to(bytes);
  set_size(file_.size());
}

void host_heap_memory::zero(std::byte* at, std::size_t bytes, std::size_t known) {
  // What the file has grown by is zero and stays untouched.
  const auto offset = static_cast<std::size_t>(at - base());
  if (offset < known) std::memset(at, 0, std::min(bytes, known - offset));
}

void host_heap_memory::empty(std::byte* at, std::size_t bytes) {
  // Linux does not take back what the process has locked (mlockall).
  if (::madvise(at, bytes, MADV_REMOVE) != 0) std::memset(at, 0, bytes);
}

void host_heap_memory::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

std::size_t host_heap_memory::registration_unit() const { return page_bytes(); }

void host_heap_memory::require_adoptable(const void* buffer, std::size_t bytes) const {
  const auto start = reinterpret_cast<std::uintptr_t>(buffer);
  const std::size_t page = page_bytes();
  if (!buffer || bytes == 0 || start % page != 0 || bytes % page != 0)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_register: buffer {} of {} bytes; both must be multiples of the page size "
                "{} and not 0 "
                "(aligned_alloc({}, ...) gives such memory)",
                buffer, bytes, page, page);
  if (const auto why = why_not_adoptable(start, start + bytes); !why.empty())
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "heddle_register: buffer {} of {} bytes {}", buffer,
                bytes, why);
}

void host_heap_memory::adopt(void* buffer, std::size_t bytes, std::byte* alias) {
  std::memcpy(alias, buffer, bytes);
  if (::mmap(buffer, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_.descriptor(),
             static_cast<off_t>(alias - base())) == MAP_FAILED)
    throw_system_error(errno, "heddle_register: putting the heap's pages at {}", buffer);
}

void host_heap_memory::give_back(void* buffer, std::size_t bytes, const std::byte* alias) {
  // New pages are filled beside the buffer and moved over it, so that it has its content at any
  // time.
  void* fresh = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED)
    throw_error(HEDDLE_ERROR_OUT_OF_MEMORY,
                "heddle_unregister: no memory for the {} bytes of {}: {}", bytes, buffer,
                std::generic_category().message(errno));
  std::memcpy(fresh, alias, bytes);
  if (::mremap(fresh, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, buffer) == MAP_FAILED) {
    const int failure = errno;
    ::munmap(fresh, bytes);
    throw_system_error(failure, "heddle_unregister: giving {} its own pages", buffer);
  }
}

}  // namespace heddle
