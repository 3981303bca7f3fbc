// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/proxy/staging_pool.hpp"

#include <sys/mman.h>

#include <cerrno>

#include "support/throw_error.hpp"

namespace heddle {

namespace {
constexpr std::size_t pool_bytes = staging_pool::chunk_bytes * staging_pool::chunks;
}

void staging_pool::unmap::operator()(std::byte* memory) const { ::munmap(memory, pool_bytes); }

staging_pool::~staging_pool() {
  if (memory_) network_.forget_local(memory_.get());
}

int staging_pool::take() {
  if (!memory_) {
    void* mapped =
        ::mmap(nullptr, pool_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      throw_system_error(errno, "{} bytes between the network and private memory", pool_bytes);
    memory_.reset(static_cast<std::byte*>(mapped));
    network_.register_local(memory_.get(), pool_bytes);
    for (int i = chunks; i > 0; --i) free_.push_back(i - 1);
  }
  if (free_.empty()) return -1;
  const int chunk = free_.back();
  free_.pop_back();
  return chunk;
}

}  // namespace heddle
