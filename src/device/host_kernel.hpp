// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <heddle/error.hpp>

#include "support/throw_error.hpp"

namespace heddle::exec {

/// Runs a kernel on the host, and says of what it throws, if that is no error of heddle's, that a
/// kernel threw it.
template <class Kernel>
void run_kernel(const Kernel& kernel) {
  try {
    kernel();
  } catch (const error&) {
    throw;
  } catch (const std::exception& thrown) {
    throw_error(HEDDLE_ERROR_INVALID_USAGE, "a kernel threw an exception: {}", thrown.what());
  } catch (...) {
    throw_error(HEDDLE_ERROR_INVALID_USAGE, "a kernel threw what is no std::exception");
  }
}

/// The same; `on_failure` is told of it before.
template <class Kernel, class Callback>
void run_kernel(const Kernel& kernel, const Callback& on_failure) {
  try {
    run_kernel(kernel);
  } catch (const std::exception& failure) {
    on_failure(failure.what());
    throw;
  }
}

}  // namespace heddle::exec
