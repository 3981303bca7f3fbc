// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "host/runtime.hpp"
#include "host/team.hpp"
#include "support/throw_error.hpp"

namespace heddle {

/// The checks that one-sided host calls share. Each takes the name of the C function for its
/// message.

inline heddle_team& checked_team(heddle_team_t team, const char* function) {
  auto& known = required(team, function, "team");
  known.require_reachable(function);
  known.check();
  return known;
}

inline void check_pe(const heddle_team& team, int pe, const char* function) {
  if (pe < 0 || pe >= team.n_pes())
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: PE {} is not one of the {} PEs of team {}",
                function, pe, team.n_pes(), team.name());
}

/// The address in the heap of a symmetric object, given by its heap address or as a registered
/// buffer.
template <class T>
T* symmetric(const heddle_team& team, T* object, std::size_t bytes, const char* function,
             const char* argument) {
  if (bytes == 0) return object;
  const auto& heap = team.runtime().heap_of(object);
  const void* alias = heap.translate(object, bytes);
  if (!heap.contains(alias, bytes))
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: {} {} of {} bytes is not symmetric: neither in {} this PE's heap ({} to {}) "
                "nor registered; allocate it with heddle_malloc or register it",
                function, argument, static_cast<const void*>(object), bytes,
                team.compares_calls() ? "one block of" : "what is given out of",
                static_cast<const void*>(heap.begin()), static_cast<const void*>(heap.end()));
  return static_cast<T*>(const_cast<void*>(alias));
}

inline void check_local(const void* buffer, std::size_t bytes, const char* function,
                        const char* argument) {
  if (bytes > 0 && !buffer)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is NULL, with a size of {} bytes", function,
                argument, bytes);
}

/// A symmetric word of 4 or 8 bytes, naturally aligned.
template <class T>
T* symmetric_word(const heddle_team& team, T* word, std::size_t bytes, const char* function,
                  const char* argument) {
  if (reinterpret_cast<std::uintptr_t>(word) % bytes != 0)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} {} is not aligned to {} bytes", function,
                argument, static_cast<const void*>(word), bytes);
  return static_cast<T*>(symmetric(team, word, bytes, function, argument));
}

inline cmp checked_cmp(heddle_cmp_t how, const char* function) {
  if (static_cast<unsigned>(how) > HEDDLE_CMP_LE)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is not a heddle_cmp_t", function,
                static_cast<int>(how));
  return static_cast<cmp>(how);
}

inline signal_op checked_signal_op(heddle_signal_op_t op, const char* function) {
  if (static_cast<unsigned>(op) > HEDDLE_SIGNAL_ADD)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is not a heddle_signal_op_t", function,
                static_cast<int>(op));
  return static_cast<signal_op>(op);
}

}  // namespace heddle
