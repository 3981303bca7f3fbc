// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/fork_shield.hpp"

#include <fcntl.h>
#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace heddle {
namespace {

// A fork is the process's own, hence so is this list. Its mutex is held across fork, so that the
// child finds the list whole.
struct shield_list {
  std::mutex mutex;
  std::vector<int> fds;
};

shield_list& shielded() {
  static auto* list = [] {
    auto* made = new shield_list;  // never destroyed: forks may come during exit
    ::pthread_atfork([] { shielded().mutex.lock(); }, [] { shielded().mutex.unlock(); },
                     [] {
                       int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
                       for (int fd : shielded().fds)
                         if (null < 0 || ::dup3(null, fd, O_CLOEXEC) < 0) ::close(fd);
                       if (null >= 0) ::close(null);
                       shielded().mutex.unlock();
                     });
    return made;
  }();
  return *list;
}

}  // namespace

shielded_fd::shielded_fd(unique_fd fd) : fd_(std::move(fd)) {
  if (!fd_) return;
  auto& list = shielded();
  std::lock_guard lock(list.mutex);
  list.fds.push_back(fd_.get());
}

shielded_fd& shielded_fd::operator=(shielded_fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::move(other.fd_);
  }
  return *this;
}

void shielded_fd::reset() {
  if (!fd_) return;
  auto& list = shielded();
  std::lock_guard lock(list.mutex);
  auto place = std::find(list.fds.begin(), list.fds.end(), fd_.get());
  if (place != list.fds.end()) list.fds.erase(place);
  fd_.reset();
}

}  // namespace heddle
