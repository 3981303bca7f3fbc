// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "host/transport/tcp/wire.hpp"

namespace heddle::tcp {

/// Places for messages with their headers before them, used again and again.
class message_pool {
 public:
  static constexpr std::size_t most_message_bytes = 16384;

  /// Where the message goes: its header's place is before it.
  std::byte* take() {
    if (free_.empty()) {
      made_.push_back(std::make_unique<place>());
      free_.push_back(made_.back().get());
    }
    auto* taken = free_.back();
    free_.pop_back();
    return taken->message;
  }
  void give_back(std::byte* message) {
    free_.push_back(reinterpret_cast<place*>(message - sizeof(operation_header)));
  }

 private:
  struct place {
    operation_header header;
    std::byte message[most_message_bytes];
  };
  std::vector<std::unique_ptr<place>> made_;
  std::vector<place*> free_;
};

}  // namespace heddle::tcp
