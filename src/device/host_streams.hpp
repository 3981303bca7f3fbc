// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "device/device.hpp"

namespace heddle::exec {

/// Runs a grid now and returns when it has run.
class kernel_runner {
 public:
  /// Throws HEDDLE_ERROR_INVALID_ARGUMENT for a shape that can never run.
  virtual void require_resident(launch_shape shape) const = 0;
  virtual void run(launch_shape shape, heddle_kernel_entry_t entry, const void* arguments,
                   const failure_callback& on_failure) = 0;

 protected:
  ~kernel_runner() = default;
};

/// The default stream: work runs in the calling thread, with no hand-off.
std::unique_ptr<stream> create_immediate_stream(kernel_runner& runner);
/// A stream with a thread of its own.
std::unique_ptr<stream> create_queued_stream(kernel_runner& runner);
std::shared_ptr<event> create_host_event();

}  // namespace heddle::exec
