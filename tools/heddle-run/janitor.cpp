// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "janitor.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

#include "support/throw_error.hpp"

namespace heddle::run {
namespace {

struct notice {
  char what;  // '+' watch, '-' forget, '.' all is done
  pid_t group;
};

/// Closes the descriptors from `first` on.
void close_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0u, 0) == 0) return;
  // Not before Linux 5.9, nor where a container's filter does not know it.
  std::vector<int> open;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored))
    open.push_back(std::stoi(entry.path().filename().string()));
  for (const int fd : open)
    if (fd >= first) ::close(fd);
}

[[noreturn]] void wait_and_clean(int pipe, const std::string& folder) {
  std::set<pid_t> groups;
  notice next{};
  for (;;) {
    ssize_t got = ::read(pipe, &next, sizeof next);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof next) break;
    if (next.what == '.') ::_exit(0);
    if (next.what == '+')
      groups.insert(next.group);
    else
      groups.erase(next.group);
  }
  for (pid_t group : groups) ::kill(-group, SIGKILL);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  ::_exit(0);
}

}  // namespace

janitor::janitor() {
  const char* base = std::getenv("TMPDIR");
  // The janitor has another working directory.
  const auto folders = std::filesystem::absolute(base && *base ? base : "/tmp");
  folder_ = folders / "heddle-run-XXXXXX";
  if (!::mkdtemp(folder_.data()))
    throw_system_error(errno, "asked for a temporary folder {} (TMPDIR)", folder_);
  int ends[2];
  const auto give_up = [this](const char* asked) {
    const int failure = errno;
    ::rmdir(folder_.c_str());
    throw_system_error(failure, "asked for {}", asked);
  };
  if (::pipe2(ends, O_CLOEXEC) != 0) give_up("a pipe");
  unique_fd reading(ends[0]);
  pipe_ = unique_fd(ends[1]);
  process_ = ::fork();
  if (process_ < 0) give_up("a process; raise ulimit -u");
  if (process_ == 0) {
    pipe_.reset();  // its end is what the janitor waits for
    ::setsid();
    ::prctl(PR_SET_NAME, "heddle-janitor");
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    // Keeps nothing of the caller's open, above all no output that somebody reads to its end.
    const int pipe = ::dup2(reading.get(), 3);
    close_from(4);
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    if (::chdir("/") != 0) ::_exit(1);
    wait_and_clean(pipe, folder_);
  }
}

janitor::~janitor() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  tell('.', 0);
  pipe_.reset();
  ::waitpid(process_, nullptr, 0);
}

void janitor::watch(pid_t group) { tell('+', group); }
void janitor::forget(pid_t group) { tell('-', group); }

void janitor::tell(char what, pid_t group) {
  notice next{what, group};
  // Smaller than PIPE_BUF, hence whole. If the janitor is gone, so is its duty.
  (void)!::write(pipe_.get(), &next, sizeof next);
}

}  // namespace heddle::run
