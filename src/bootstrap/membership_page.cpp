// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/membership_page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <new>

#include "support/throw_error.hpp"

namespace heddle {

struct membership_page::content {
  identity who;
  std::atomic<std::uint32_t> left;
};

namespace {
constexpr std::size_t page_size = 4096;
}

membership_page::membership_page(const identity& who)
    : memory_(::memfd_create("heddle-membership", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!memory_ || ::ftruncate(memory_.get(), page_size) != 0 ||
      ::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    throw_system_error(errno, "asked for a page of shared memory (memfd)");
  void* place = ::mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  if (place == MAP_FAILED) throw_system_error(errno, "asked to map a page of shared memory");
  content_ = new (place) content{who, 0};
}

membership_page::~membership_page() {
  if (content_) ::munmap(content_, page_size);
}

std::unique_ptr<membership_page> membership_page::open(int pid, int fd, const identity& who,
                                                       std::string& problem) {
  std::unique_ptr<membership_page> page(new membership_page);
  auto path = fmt::format("/proc/{}/fd/{}", pid, fd);
  // Where the process has a pipe at that number, a blocking open waits for its writer.
  page->memory_ = unique_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!page->memory_ || ::fstat(page->memory_.get(), &status) != 0) {
    problem = fmt::format("{}: {}", path, std::generic_category().message(errno));
    return nullptr;
  }
  // Only a file that cannot shrink is safe to read through a mapping.
  int seals = ::fcntl(page->memory_.get(), F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || status.st_size < static_cast<off_t>(page_size)) {
    problem = path + " is not a membership page";
    return nullptr;
  }
  void* place = ::mmap(nullptr, page_size, PROT_READ, MAP_SHARED, page->memory_.get(), 0);
  page->memory_.reset();
  if (place == MAP_FAILED) {
    problem = fmt::format("{}: {}", path, std::generic_category().message(errno));
    return nullptr;
  }
  page->content_ = static_cast<content*>(place);
  if (page->content_->who != who) {
    problem = fmt::format("process {} is not that rank", pid);
    return nullptr;
  }
  return page;
}

void membership_page::mark_left() { content_->left.store(1, std::memory_order_release); }

bool membership_page::has_left() const {
  return content_->left.load(std::memory_order_acquire) != 0;
}

unique_fd open_process(int pid) {
  return unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace heddle
