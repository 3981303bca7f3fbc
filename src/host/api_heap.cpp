// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/guarded_call.hpp"
#include "host/runtime.hpp"

using heddle::guarded;
using heddle::required;

namespace {

/// A collective call on the heap of a runtime whose world is whole. One whose deadline passes ends
/// the world, as other waits do: who comes late may find that all are there, and go on with a heap
/// that is not this PE's.
template <class Call>
heddle_status_t heap_call(const char* function, heddle_runtime_t runtime, Call&& call) {
  return guarded([&] {
    auto& checked = required(runtime, function, "runtime");
    auto& world = checked.world();
    world.check();
    try {
      call(checked);
    } catch (const heddle::error& failure) {
      if (failure.status() == HEDDLE_ERROR_TIMEOUT)
        world.abort({heddle::abort_reason::user, -1, world.my_pe()}, failure.what());
      throw;
    }
  });
}

/// The same; its result goes to *out.
template <class Call>
heddle_status_t heap_call(const char* function, heddle_runtime_t runtime, void** out, Call&& call) {
  return heap_call(function, runtime, [&](heddle_runtime& checked) {
    required(out, function, "the result's address") = call(checked);
  });
}

}  // namespace

heddle_status_t heddle_malloc(heddle_runtime_t runtime, size_t bytes, void** ptr) {
  return heap_call("heddle_malloc", runtime, ptr,
                   [&](heddle_runtime& checked) { return checked.heap().malloc(bytes); });
}

heddle_status_t heddle_malloc_host(heddle_runtime_t runtime, size_t bytes, void** ptr) {
  return heap_call("heddle_malloc_host", runtime, ptr,
                   [&](heddle_runtime& checked) { return checked.host_heap().malloc(bytes); });
}

heddle_status_t heddle_calloc(heddle_runtime_t runtime, size_t count, size_t size, void** ptr) {
  return heap_call("heddle_calloc", runtime, ptr,
                   [&](heddle_runtime& checked) { return checked.heap().calloc(count, size); });
}

heddle_status_t heddle_align(heddle_runtime_t runtime, size_t alignment, size_t bytes, void** ptr) {
  return heap_call("heddle_align", runtime, ptr,
                   [&](heddle_runtime& checked) { return checked.heap().align(alignment, bytes); });
}

heddle_status_t heddle_realloc(heddle_runtime_t runtime, void* ptr, size_t bytes, void** result) {
  return heap_call("heddle_realloc", runtime, result, [&](heddle_runtime& checked) {
    return checked.heap_of(ptr).realloc(ptr, bytes);
  });
}

heddle_status_t heddle_free(heddle_runtime_t runtime, void* ptr) {
  return heap_call("heddle_free", runtime,
                   [&](heddle_runtime& checked) { checked.heap_of(ptr).free(ptr); });
}

heddle_status_t heddle_ptr(heddle_runtime_t runtime, const void* symmetric, int pe, void** ptr) {
  return guarded([&] {
    auto& checked = required(runtime, "heddle_ptr", "runtime");
    auto& out = required(ptr, "heddle_ptr", "ptr");
    if (pe < 0 || pe >= checked.n_pes())
      heddle::throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                          "heddle_ptr: PE {} is not one of the {} PEs", pe, checked.n_pes());
    const auto& heap = checked.heap_of(symmetric);
    const void* alias = heap.translate(symmetric, 1);
    if (!heap.contains(alias, 1))
      heddle::throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                          "heddle_ptr: {} is not symmetric: neither in the heap nor registered",
                          symmetric);
    out = heap.ptr(alias, pe);
  });
}

heddle_status_t heddle_register(heddle_runtime_t runtime, void* buffer, size_t bytes,
                                void** symmetric) {
  return heap_call("heddle_register", runtime, symmetric, [&](heddle_runtime& checked) {
    return checked.heap().register_buffer(buffer, bytes);
  });
}

heddle_status_t heddle_unregister(heddle_runtime_t runtime, void* buffer) {
  return heap_call("heddle_unregister", runtime,
                   [&](heddle_runtime& checked) { checked.heap().unregister_buffer(buffer); });
}
