// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "host/transport/tcp/wire.hpp"

namespace heddle::tcp {

/// Places for messages with their headers before them, used again.
class message_pool {
 public:
  /// 16 KiB of data, and what goes with it.
  static constexpr std::size_t most_message_bytes = 17 << 10;

  /// Where the message goes: its header's place is before it.
  std::byte* take() {
    std::unique_ptr<place> taken;
    if (free_.empty()) {
      taken = std::make_unique_for_overwrite<place>();
    } else {
      taken = std::move(free_.back());
      free_.pop_back();
    }
    return taken.release()->message;
  }
  void give_back(std::byte* message) {
    std::unique_ptr<place> given(reinterpret_cast<place*>(message - sizeof(operation_header)));
    if (free_.size() < most_kept) free_.push_back(std::move(given));
  }

 private:
  static constexpr std::size_t most_kept = 256;
  struct place {
    operation_header header;
    std::byte message[most_message_bytes];
  };
  std::vector<std::unique_ptr<place>> free_;
};

}  // namespace heddle::tcp
