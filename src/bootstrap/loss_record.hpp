// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

/// The ranks that one bootstrap knows to be lost, and the callback that hears of each exactly once:
/// the part of the bootstrap contract that all implementations share.
class loss_record {
 public:
  using loss = bootstrap::loss;

  /// Notes a loss and tells the callback, on the calling thread. False if it was known.
  bool add(int rank, std::string_view reason);
  /// The two halves of it.
  bool note(int rank, std::string_view reason);
  void tell();
  /// Replaces the callback; the new one hears of earlier losses first, on the calling thread.
  /// Returns when no call of the old one is running (unless it is itself the caller).
  void set_callback(bootstrap::lost_callback callback);

  /// The loss that was noted first.
  [[nodiscard]] std::optional<loss> first() const;

 private:
  void tell(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  std::condition_variable call_ended_;
  std::vector<loss> losses_;
  std::shared_ptr<bootstrap::lost_callback> callback_;
  std::size_t told_ = 0;
  std::thread::id teller_;
};

}  // namespace heddle
