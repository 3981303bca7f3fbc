// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <heddle/device/team.hpp>
#include <vector>

/// Kernels of one thread that do for the host what it cannot do itself in the memory of a device,
/// or in the order of its streams.
namespace heddle {

struct update_signal_call {
  team_ref team;
  signal* word;
  uint64_t value;
  signal_op op;
  int pe;

  template <group G>
  HEDDLE_FN void operator()(const G& group) const {
    team.update_signal(group, word, value, op, pe);
  }
};

struct wait_call {
  team_ref team;
  const signal* word;
  cmp how;
  uint64_t value;

  template <group G>
  HEDDLE_FN void operator()(const G& group) const {
    (void)team.wait_until(group, word, how, value);
  }
};

struct barrier_call {
  team_ref team;
  int index;

  template <group G>
  HEDDLE_FN void operator()(const G& group) const {
    (void)team.barrier(group, index);
  }
};

/// On a word of 4 or 8 bytes; *result is what was there.
template <class Word>
struct atomic_call {
  team_ref team;
  Word* word;
  heddle_atomic_op_t op;
  Word value;
  Word compare;
  int pe;
  Word* result;

  template <group G>
  HEDDLE_FN void operator()(const G&) const {
    *result = run();
  }

 private:
  HEDDLE_FN Word run() const {
    switch (op) {
      case HEDDLE_ATOMIC_FETCH:
        return team.atomic_fetch(word, pe);
      case HEDDLE_ATOMIC_SET:
      case HEDDLE_ATOMIC_SWAP:
        return team.atomic_swap(word, value, pe);
      case HEDDLE_ATOMIC_ADD:
        return team.atomic_fetch_add(word, value, pe);
      case HEDDLE_ATOMIC_AND:
        return team.atomic_fetch_and(word, value, pe);
      case HEDDLE_ATOMIC_OR:
        return team.atomic_fetch_or(word, value, pe);
      case HEDDLE_ATOMIC_XOR:
        return team.atomic_fetch_xor(word, value, pe);
      case HEDDLE_ATOMIC_COMPARE_SWAP:
        return team.atomic_compare_swap(word, compare, value, pe);
    }
    return 0;
  }
};

/// On this PE's own word, for a peer: *result is what was there.
template <class Word>
struct local_atomic_call {
  Word* word;
  atomic_op op;
  Word value;
  Word compare;
  Word* result;

  template <group G>
  HEDDLE_FN void operator()(const G&) const {
    *result = run();
  }

 private:
  HEDDLE_FN Word run() const {
    atomic_ref<Word> target(*word);
    switch (op) {
      case atomic_op::fetch:
        return target.load(acquire);
      case atomic_op::swap:
        return target.exchange(value, acq_rel);
      case atomic_op::add:
        return target.fetch_add(value, acq_rel);
      case atomic_op::bit_and:
        return target.fetch_and(value, acq_rel);
      case atomic_op::bit_or:
        return target.fetch_or(value, acq_rel);
      case atomic_op::bit_xor:
        return target.fetch_xor(value, acq_rel);
      case atomic_op::compare_swap: {
        Word expected = compare;
        target.compare_exchange_strong(expected, value, acq_rel, acquire);
        return expected;
      }
    }
    return 0;
  }
};

/// A put or get to a remote PE in the order of a stream.
struct copy_call {
  team_ref team;
  byte* dst;
  const byte* src;
  size_t bytes;
  int pe;
  bool is_put;

  template <group G>
  HEDDLE_FN void operator()(const G& group) const {
    if (is_put)
      team.put(group, dst, src, bytes, pe);
    else
      team.get(group, dst, src, bytes, pe);
  }
};

/// What starts a call.
template <class Call>
heddle_kernel_t kernel_of();
std::vector<heddle_kernel_t> every_word_kernel();
extern template heddle_kernel_t kernel_of<update_signal_call>();
extern template heddle_kernel_t kernel_of<wait_call>();
extern template heddle_kernel_t kernel_of<barrier_call>();
extern template heddle_kernel_t kernel_of<atomic_call<uint32_t>>();
extern template heddle_kernel_t kernel_of<atomic_call<uint64_t>>();
extern template heddle_kernel_t kernel_of<local_atomic_call<uint32_t>>();
extern template heddle_kernel_t kernel_of<local_atomic_call<uint64_t>>();
extern template heddle_kernel_t kernel_of<copy_call>();

}  // namespace heddle
