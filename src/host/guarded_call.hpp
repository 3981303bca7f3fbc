// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <cstdio>
#include <heddle/error.hpp>
#include <new>
#include <system_error>

#include "bootstrap/byte_stream.hpp"
#include "host/live_handle.hpp"
#include "support/throw_error.hpp"

namespace heddle {

/// Keeps the message that heddle_last_error returns to this thread, and gives the status back.
heddle_status_t remember_error(heddle_status_t status, const char* message) noexcept;

/// The border between exceptions inside and statuses outside: the body of every C function.
template <class Body>
heddle_status_t guarded(Body&& body) noexcept {
  try {
    body();
    return HEDDLE_SUCCESS;
  } catch (const error& failure) {
    return remember_error(failure.status(), failure.what());
  } catch (const malformed_message& foreign) {
    char text[256];
    std::snprintf(text, sizeof text,
                  "what another PE has said is not of this call (%s): every PE must run the same "
                  "heddle and make the same calls in the same order, which HEDDLE_CHECK=1 compares",
                  foreign.what());
    return remember_error(HEDDLE_ERROR_MISMATCH, text);
  } catch (const std::bad_alloc&) {
    return remember_error(HEDDLE_ERROR_OUT_OF_MEMORY, "the process is out of memory");
  } catch (const std::system_error& refused) {
    return remember_error(HEDDLE_ERROR_SYSTEM, refused.what());
  } catch (const std::exception& failure) {
    return remember_error(HEDDLE_ERROR_INTERNAL, failure.what());
  } catch (...) {
    return remember_error(HEDDLE_ERROR_INTERNAL, "an exception of unknown type");
  }
}

/// For arguments that may not be NULL.
template <class T>
requires(!std::derived_from<T, live_handle>) T& required(T* pointer, const char* function,
                                                         const char* argument) {
  if (!pointer) throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is NULL", function, argument);
  return *pointer;
}

}  // namespace heddle
