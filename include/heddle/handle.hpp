// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/error.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>

/// What the C++ owners of C handles share.
namespace heddle::detail {

inline void check(heddle_status_t status) {
  if (status != HEDDLE_SUCCESS) throw error(status, heddle_last_error());
}

/// Owns a C handle that `destroy` releases.
template <class Handle, heddle_status_t (*destroy)(Handle)>
struct handle_deleter {
  using pointer = Handle;
  void operator()(Handle handle) const noexcept { destroy(handle); }
};
template <class Handle, heddle_status_t (*destroy)(Handle)>
using owned = std::unique_ptr<std::remove_pointer_t<Handle>, handle_deleter<Handle, destroy>>;

/// Whether an exception that came after this was made is ending its owner. A PE that unwinds makes
/// no collective call: the others are elsewhere, would wait for it, or take it for another of
/// theirs.
class unwinding {
 public:
  explicit operator bool() const { return std::uncaught_exceptions() > before_; }

 private:
  int before_ = std::uncaught_exceptions();
};

/// What an owner of something collective does instead: ends the waits of the team on all PEs.
inline void abort_by_exception(heddle_team_t team) noexcept {
  heddle_team_abort(team, "an exception ended what a PE has of the team or of symmetric memory");
}
inline void abort_by_exception(heddle_runtime_t runtime) noexcept {
  heddle_team_t world;
  if (heddle_team_world(runtime, &world) == HEDDLE_SUCCESS) abort_by_exception(world);
}

/// The alignment of memory for which none was given.
inline constexpr std::size_t usual_alignment = 64;

/// What memory of that alignment has elements of: they go from PE to PE as bytes. (More strictly
/// aligned ones are for runtime::malloc.)
template <class T>
concept storable = std::is_trivially_copyable_v<T> && alignof(T) <= usual_alignment;

/// The bytes of n elements; what no size_t holds becomes one that no heap has room for.
template <class T>
constexpr std::size_t bytes_of(std::size_t n) {
  static_assert(std::is_trivially_copyable_v<T>, "elements go from PE to PE as bytes");
  constexpr auto most = static_cast<std::size_t>(-1);
  return n > most / sizeof(T) ? most : n * sizeof(T);
}

}  // namespace heddle::detail
