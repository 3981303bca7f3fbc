// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/transport/transport.hpp"

namespace heddle {

/// Ends of peers that a transport has noticed, often in the middle of something else, until it can
/// tell its listener.
class endings {
 public:
  [[nodiscard]] bool empty() const { return all_.empty(); }
  /// `pe` has ended its use of the network in order.
  void left(int pe) { all_.push_back({pe, {}}); }
  /// `pe` (-1: everybody) cannot be reached any more.
  void lost(int pe, std::string reason) { all_.push_back({pe, std::move(reason)}); }
  /// Whether there was anything to tell.
  bool tell(transport::listener& listener) {
    if (all_.empty()) return false;
    const auto all = std::exchange(all_, {});
    for (const auto& each : all)
      each.failure ? listener.on_failure(each.pe, *each.failure) : listener.on_left(each.pe);
    return true;
  }

 private:
  struct ending {
    int pe;
    std::optional<std::string> failure;
  };
  std::vector<ending> all_;
};

}  // namespace heddle
