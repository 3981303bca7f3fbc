// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <string>

namespace heddle {

/// Keeps the calling thread on the processors nearest to a device, as far as it may run there,
/// until the end of the scope. The threads that it starts meanwhile stay there, and the memory that
/// it touches first is on their NUMA node.
class near_device {
 public:
  /// `folder`: the device in sysfs, as "/sys/class/net/eth0/device". Where it is empty, or does not
  /// tell, nothing changes.
  explicit near_device(const std::string& folder);
  ~near_device();
  near_device(const near_device&) = delete;
  near_device& operator=(const near_device&) = delete;

  /// Those that it stays on, as "0-15,32"; empty: as before, since the nearest are not known.
  [[nodiscard]] const std::string& processors() const { return processors_; }

 private:
  cpu_set_t before_{};
  std::string processors_;
};

}  // namespace heddle
