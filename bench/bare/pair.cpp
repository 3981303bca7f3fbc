// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "pair.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <stdexcept>
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

std::vector<int> two_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) fail("sched_getaffinity");
  std::vector<int> found;
  for (int cpu = 0; cpu < CPU_SETSIZE && found.size() < 2; ++cpu)
    if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
  if (found.size() < 2)
    throw std::runtime_error("two processes need two processors, and this one may use one only");
  return found;
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
