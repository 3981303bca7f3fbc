// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/proxy/staging_pool.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "support/throw_error.hpp"

namespace heddle {

void staging_pool::unmap::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

staging_pool::~staging_pool() {
  for (const auto& mapping : mappings_) network_.forget_local(mapping.get());
}

void staging_pool::add(int count) {
  const auto bytes = static_cast<std::size_t>(count) * chunk_bytes;
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw_system_error(errno, "{} bytes between the network and private memory", bytes);
  std::unique_ptr<std::byte, unmap> mapping(static_cast<std::byte*>(mapped), {bytes});
  network_.register_local(mapping.get(), bytes);
  mappings_.push_back(std::move(mapping));
  const auto before = static_cast<int>(places_.size());
  for (int i = 0; i < count; ++i)
    places_.push_back(mappings_.back().get() + static_cast<std::size_t>(i) * chunk_bytes);
  for (int i = count; i > 0; --i) free_.push_back(before + i - 1);
}

int staging_pool::take() {
  if (free_.empty() && to_replace_ > 0) add(std::exchange(to_replace_, 0));
  if (free_.empty()) return -1;
  const int chunk = free_.back();
  free_.pop_back();
  return chunk;
}

}  // namespace heddle
