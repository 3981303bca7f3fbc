// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "pair.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace bench::bare {

namespace {

constexpr std::size_t huge_page = 2 << 20;

std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

std::size_t array_bytes(std::size_t capacity) {
  return round_up(capacity * sizeof(float), huge_page);
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) fail("sched_setaffinity");
}

/// The processors of this one's core, as the system lists them: the same text for all of them.
std::string core_of(int cpu) {
  std::string list;
  std::getline(std::ifstream("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                             "/topology/thread_siblings_list"),
               list);
  return list;
}

/// Of two cores if there are two, as launchers choose that bind to cores.
std::vector<int> two_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) fail("sched_getaffinity");
  std::vector<int> found;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
  if (found.size() < 2)
    throw std::runtime_error("two processes need two processors, and this one may use one only");
  const auto other =
      std::find_if(found.begin() + 1, found.end(),
                   [first = core_of(found[0])](int cpu) { return core_of(cpu) != first; });
  return {found[0], other == found.end() ? found[1] : *other};
}

}  // namespace

mailbox& pair::box(int pe) const { return reinterpret_cast<mailbox*>(base_)[pe]; }

float* pair::array(int index) const {
  return reinterpret_cast<float*>(base_ + round_up(2 * sizeof(mailbox), huge_page) +
                                  static_cast<std::size_t>(index) * array_bytes(capacity_));
}

std::size_t pair::mapping_bytes(std::size_t capacity) {
  return round_up(2 * sizeof(mailbox), huge_page) + 4 * array_bytes(capacity);
}

void run_pair(std::size_t capacity, const std::function<void(pair&)>& body) {
  const std::vector<int> cpus = two_processors();
  const std::size_t bytes = pair::mapping_bytes(capacity);
  const int fd = memfd_create("bare limits", MFD_CLOEXEC);
  if (fd < 0) fail("memfd_create");
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) fail("ftruncate");
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (base == MAP_FAILED) fail("mmap");
  madvise(base, bytes, MADV_HUGEPAGE);

  pair processes(static_cast<char*>(base), capacity);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int status = 0;
    try {
      bind_to(cpus[1]);
      processes.become(1);
      body(processes);
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "process 1: %s\n", failure.what());
      status = 1;
    }
    std::fflush(nullptr);
    _exit(status);
  }
  bind_to(cpus[0]);
  body(processes);
  int status = 0;
  if (waitpid(child, &status, 0) != child) fail("waitpid");
  munmap(base, bytes);
  if (status != 0) throw std::runtime_error("process 1 failed");
}

}  // namespace bench::bare
