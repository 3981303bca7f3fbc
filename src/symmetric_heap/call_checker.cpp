// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "symmetric_heap/call_checker.hpp"

#include <cstring>

#include "support/throw_error.hpp"

namespace heddle {

namespace {

struct checked_call {
  heap_call call;
  std::uint64_t first, second;
  std::int64_t number;

  bool operator==(const checked_call&) const = default;
};

std::string describe(const checked_call& call) {
  switch (call.call) {
    case heap_call::malloc:
      return fmt::format("heddle_malloc({})", call.first);
    case heap_call::calloc:
      return fmt::format("heddle_calloc({}, {})", call.first, call.second);
    case heap_call::align:
      return fmt::format("heddle_align({}, {})", call.first, call.second);
    case heap_call::realloc:
      return fmt::format("heddle_realloc(offset {:#x}, {})", call.first, call.second);
    case heap_call::free:
      return fmt::format("heddle_free(offset {:#x})", call.first);
    case heap_call::register_buffer:
      return fmt::format("heddle_register({} bytes)", call.first);
    case heap_call::unregister:
      return fmt::format("heddle_unregister(offset {:#x})", call.first);
    case heap_call::topology:
      return "heddle_topology";
  }
  return "another collective call";
}

}  // namespace

void call_checker::compare(heap_call call, std::uint64_t first, std::uint64_t second) {
  if (!enabled_) return;
  const checked_call mine{call, first, second, calls_++};
  const auto all =
      bootstrap_.all_gather(std::as_bytes(std::span(&mine, 1)), deadline::after(timeout_));
  checked_call reference{};
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    checked_call theirs{static_cast<heap_call>(-1), 0, 0, 0};
    if (all[pe].size() == sizeof theirs) std::memcpy(&theirs, all[pe].data(), sizeof theirs);
    if (pe == 0) reference = theirs;
    if (theirs != reference)
      throw_error(HEDDLE_ERROR_MISMATCH,
                  "the PEs make different calls (call number {}): PE {} made {}, PE 0 made {}; "
                  "every PE must make the same calls in the same order",
                  mine.number, pe, describe(theirs), describe(reference));
  }
}

}  // namespace heddle
