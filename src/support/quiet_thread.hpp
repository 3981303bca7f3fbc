// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "support/throw_error.hpp"

namespace heddle {

/// Starts a thread that takes no signals: those of the program are for its own threads. Faults of
/// the thread itself stay: blocked, they would end the process past the program's handlers. Throws
/// HEDDLE_ERROR_SYSTEM, with what the thread is for.
template <class Body>
std::thread start_quietly(std::string_view purpose, Body body) {
  sigset_t all, before;
  ::sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) ::sigdelset(&all, fault);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::move(body));
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (const std::system_error& e) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw_error(HEDDLE_ERROR_SYSTEM, "asked for a thread to {}: {}; raise ulimit -u", purpose,
                e.what());
  }
}

}  // namespace heddle
