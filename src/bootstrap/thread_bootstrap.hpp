// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

/// A job whose PEs are threads of this process. The job object may be destroyed as soon as every
/// rank has joined; the bootstraps live on.
class thread_rendezvous {
 public:
  explicit thread_rendezvous(int size);
  ~thread_rendezvous();
  thread_rendezvous(const thread_rendezvous&) = delete;
  thread_rendezvous& operator=(const thread_rendezvous&) = delete;

  [[nodiscard]] int size() const;
  /// Makes `rank`'s bootstrap; does not wait for the others. Throws HEDDLE_ERROR_INVALID_ARGUMENT
  /// for a rank outside the job and HEDDLE_ERROR_INVALID_USAGE for one that has joined before.
  ///
  /// A bootstrap that is destroyed without leave() makes its rank lost. The lost callback runs on
  /// the thread that found the loss.
  std::unique_ptr<bootstrap> join(int rank);

  struct state;

 private:
  std::shared_ptr<state> state_;
};

}  // namespace heddle
