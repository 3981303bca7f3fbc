// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/pinned_heap_memory.hpp"

#include <algorithm>
#include <utility>

#include "support/round_up.hpp"
#include "symmetric_heap/agreed_step.hpp"

namespace heddle {
namespace {

/// Small blocks do not each cost an agreement.
constexpr std::size_t growth_step = std::size_t{2} << 20;

}  // namespace

pinned_heap_memory::pinned_heap_memory(bootstrap& bootstrap, options options)
    : host_heap_memory(bootstrap, options.bytes, options.stride, options.until, options.apart),
      bootstrap_(bootstrap),
      options_(std::move(options)) {
  share_everywhere(0, options_.shared, options_.until);
}

void pinned_heap_memory::grow_to(std::size_t bytes) {
  const std::size_t old = size();
  if (bytes <= old) return;
  const auto until = deadline::after(options_.timeout);
  const std::size_t grown = std::min(round_up(bytes, growth_step), stride());
  agreed_step(bootstrap_, until, [&] { grow_file_to(grown); });
  share_everywhere(old, grown - old, until);
  set_size(grown);
}

void pinned_heap_memory::share_everywhere(std::size_t offset, std::size_t bytes, deadline until) {
  std::vector<void*> shared;
  try {
    agreed_step(bootstrap_, until, [&] {
      for (int pe = 0; pe < bootstrap_.size(); ++pe) {
        if (slot_of(pe) < 0) continue;
        void* start = slot(slot_of(pe)) + offset;
        options_.share(start, bytes);
        shared.push_back(start);
      }
    });
  } catch (...) {
    for (void* start : shared) options_.unshare(start);
    throw;
  }
}

}  // namespace heddle
