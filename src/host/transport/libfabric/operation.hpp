// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace heddle::libfabric {

/// What a completion is told apart by: libfabric gives back the address of `context`, and may use
/// the room in it until then.
struct operation {
  enum class kind : std::uint8_t {
    receive,  ///< a place for a message
    message,
    transfer,  ///< a write, read or atomic with a token
    silent     ///< every write to one peer that nobody asks after: only failures come back
  };

  fi_context2 context{};
  operation* next = nullptr;  ///< in a list of one owner: free, waiting to be sent
  std::byte* buffer = nullptr;
  std::size_t size = 0;
  std::uint64_t token = 0;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
  std::uint64_t found = 0;  ///< what an atomic met
  int pe = -1;
  kind kind = kind::transfer;

  static operation* of(void* context) { return static_cast<operation*>(context); }
};
static_assert(std::is_standard_layout_v<operation>);

/// First in, first out, through `next`.
class operation_queue {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  void push(operation* one) {
    one->next = nullptr;
    (first_ ? last_->next : first_) = one;
    last_ = one;
  }
  void push_front(operation* one) {
    one->next = first_;
    if (!first_) last_ = one;
    first_ = one;
  }
  operation* pop() {
    operation* one = first_;
    if (one) first_ = one->next;
    return one;
  }

 private:
  operation* first_ = nullptr;
  operation* last_ = nullptr;
};

}  // namespace heddle::libfabric
