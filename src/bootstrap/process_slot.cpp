// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/process_slot.hpp"

#include <unistd.h>

#include <mutex>

#include "support/throw_error.hpp"

namespace heddle {
namespace {

struct holder {
  std::mutex mutex;
  bool taken = false;
  pid_t process = 0;
  pid_t thread = 0;
};

holder& only() {
  static auto* made = new holder;  // never destroyed: bootstraps may end during exit
  return *made;
}

}  // namespace

process_slot::process_slot() {
  auto& slot = only();
  std::lock_guard lock(slot.mutex);
  if (slot.taken && slot.process != ::getpid())
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "asked to join the environment's job in process {}, which was forked by process {} "
                "while that used the rank; a forked child has no rank of its own",
                ::getpid(), slot.process);
  if (slot.taken)
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "asked to join the environment's job a second time: this process's rank is in use "
                "since thread {} joined; finalize that runtime first, or give further PEs ranks of "
                "their own (heddle_init_thread, heddle_init_unique_id)",
                slot.thread);
  slot.taken = true;
  slot.process = ::getpid();
  slot.thread = ::gettid();
}

process_slot::~process_slot() {
  auto& slot = only();
  std::lock_guard lock(slot.mutex);
  // What a forked child has is a copy: the place stays its parent's.
  if (slot.process == ::getpid()) slot.taken = false;
}

}  // namespace heddle
