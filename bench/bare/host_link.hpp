// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace bench::bare {

/// A TCP connection between two processes, on whichever hosts: they meet by RANK (0 or 1),
/// MASTER_ADDR and MASTER_PORT, as tests/networks/run_job.sh sets them. Throws where the other
/// process does not come or goes.
class host_link {
 public:
  host_link();
  ~host_link();
  host_link(const host_link&) = delete;
  host_link& operator=(const host_link&) = delete;

  [[nodiscard]] int me() const { return me_; }
  /// Of this process on the network that leads to the other.
  [[nodiscard]] std::string local_address() const;

  /// Sends `out` and receives as many bytes: both processes call. Neither sleeps; the other goes
  /// on even when there is more under way than the sockets hold.
  void exchange(std::span<const std::byte> out, std::span<std::byte> in);
  /// What is called while exchange() waits for the other process.
  std::function<void()> idle = [] {};

  /// The larger x of the two; a barrier.
  double agree(double x);

  /// Sends 8 bytes to the other process, and waits, awake, until they are back.
  void ask();
  /// Sleeps in the kernel until 8 bytes come, and sends them back.
  void answer();

 private:
  int me_;
  int socket_ = -1;
};

}  // namespace bench::bare
