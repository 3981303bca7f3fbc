// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// In front of the C library (LD_PRELOAD): PE 1 gets no thread after its first NO_THREAD_AFTER.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string_view>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) {
  static std::atomic<int> asked = 0;
  const char* rank = std::getenv("PMIX_RANK");
  const char* last = std::getenv("NO_THREAD_AFTER");
  if (rank && last && std::string_view(rank) == "1" && ++asked > std::atoi(last)) return EAGAIN;
  static const auto next =
      reinterpret_cast<decltype(&::pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, body, argument);
}
