// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"
#include "symmetric_heap/arena.hpp"
#include "symmetric_heap/heap_memory.hpp"
#include "symmetric_heap/memory_file.hpp"

namespace heddle {

/// Heaps in host memory: each is one memory file. Each process maps all of the stride of every heap
/// it can reach when the memory is made; growing is then a step of the owner alone (the file
/// becomes longer).
class host_heap_memory : public heap_memory {
 public:
  /// Collective over the bootstrap's ranks. On return the first `bytes` of every heap have memory,
  /// which is zero. `apart`: no other heap is mapped.
  host_heap_memory(bootstrap& bootstrap, std::size_t bytes, std::size_t stride, deadline until,
                   bool apart = false);

  void grow_to(std::size_t bytes) override;
  void zero(std::byte* at, std::size_t bytes, std::size_t known) override;
  void empty(std::byte* at, std::size_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;

  [[nodiscard]] std::string why_not_mapped(int pe) const override {
    return slot_of(pe) >= 0 ? "" : apart_ ? "HEDDLE_P2P_DISABLE=1" : "it is on another host";
  }

  [[nodiscard]] std::size_t registration_unit() const override;
  void require_adoptable(const void* buffer, std::size_t bytes) const override;
  void adopt(void* buffer, std::size_t bytes, std::byte* alias) override;
  void give_back(void* buffer, std::size_t bytes, const std::byte* alias) override;
  void vacate(const std::byte*) override {}

 protected:
  /// This PE's own file; size() is not changed.
  void grow_file_to(std::size_t bytes) { file_.grow_to(bytes); }

 private:
  const bool apart_;
  memory_file file_;
  std::shared_ptr<arena> arena_;
};

}  // namespace heddle
