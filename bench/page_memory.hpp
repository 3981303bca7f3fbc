// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace bench {

struct free_memory {
  void operator()(void* memory) const { std::free(memory); }
};
template <class T>
using page_pointer = std::unique_ptr<T, free_memory>;

/// Whole pages for `count` elements.
template <class T>
page_pointer<T> page_memory(std::size_t count) {
  constexpr std::size_t page = 4096;
  void* memory = std::aligned_alloc(page, (count * sizeof(T) + page - 1) / page * page);
  if (!memory) throw std::bad_alloc();
  return page_pointer<T>(static_cast<T*>(memory));
}

}  // namespace bench
