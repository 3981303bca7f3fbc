// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "pe_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "support/throw_error.hpp"

namespace heddle::run {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// Between fork and exec: only what is safe in a copy of a process with threads.
[[noreturn]] void become(const pe_start& start, char* const* arguments, char* const* environment,
                         pid_t parent, int complaints) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // heddle-run may have ended before the line above.
  if (::getppid() != parent) ::_exit(1);
  if (start.processors) ::sched_setaffinity(0, sizeof *start.processors, &*start.processors);
  int input = start.input >= 0 ? start.input : ::open("/dev/null", O_RDONLY);
  if (input != STDIN_FILENO) ::dup2(input, STDIN_FILENO);
  if (start.output >= 0) ::dup2(start.output, STDOUT_FILENO);
  if (start.errors >= 0) ::dup2(start.errors, STDERR_FILENO);
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(start.program.c_str(), arguments, environment);
  int failed = errno;
  (void)!::write(complaints, &failed, sizeof failed);
  ::_exit(127);
}

}  // namespace

std::string find_program(const std::string& name) {
  std::vector<std::string> places;
  if (name.find('/') != std::string::npos) {
    places.push_back(name);
  } else {
    const char* path = std::getenv("PATH");
    std::string list = path ? path : "/usr/bin:/bin";
    for (std::size_t at = 0; at <= list.size();) {
      auto end = std::min(list.find(':', at), list.size());
      auto folder = list.substr(at, end - at);
      places.push_back((folder.empty() ? "." : folder) + "/" + name);
      at = end + 1;
    }
  }
  std::string unusable;
  for (auto& place : places) {
    struct stat status {};
    if (::stat(place.c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode) && ::access(place.c_str(), X_OK) == 0) return place;
    unusable = place;
  }
  if (!unusable.empty())
    throw program_error{fmt::format("{} is not an executable file", unusable), 126};
  throw program_error{name.find('/') == std::string::npos
                          ? fmt::format("program \"{}\" was not found in PATH; give its path", name)
                          : fmt::format("program \"{}\" was not found", name),
                      127};
}

pid_t start_pe(const pe_start& start) {
  auto arguments = pointers(start.arguments);
  auto environment = pointers(start.environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_system_error(errno, "asked for a pipe");
  unique_fd reading(ends[0]), writing(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0)
    throw_system_error(errno, "asked for a process to run {}; raise ulimit -u", start.program);
  if (child == 0) become(start, arguments.data(), environment.data(), parent, writing.get());
  // Both sides do it, so that it is done whichever comes first.
  ::setpgid(child, child);
  writing.reset();
  int failed = 0;
  ssize_t got;
  do got = ::read(reading.get(), &failed, sizeof failed);
  while (got < 0 && errno == EINTR);
  if (got == sizeof failed) {
    ::waitpid(child, nullptr, 0);
    throw program_error{fmt::format("{} cannot be run: {}", start.program, std::strerror(failed)),
                        failed == ENOENT ? 127 : 126};
  }
  return child;
}

}  // namespace heddle::run
