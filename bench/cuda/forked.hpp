// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "../output.hpp"

/// PEs that are a process each: forked before CUDA is used, all on the first GPU, which they share
/// by CUDA's multi-process service.
namespace bench {

/// A page that the processes share: it hands round what PE 0 has, and times are agreed on in it.
class process_meeting {
 public:
  static constexpr int most_pes = 64;

  /// In memory of its own that processes forked from here on share.
  static process_meeting& create(int n_pes) {
    void* page = mmap(nullptr, sizeof(process_meeting), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    return *new (page) process_meeting(n_pes);
  }

  /// The largest x of all PEs; a barrier.
  double largest(int pe, double x) {
    brought_[static_cast<std::size_t>(pe)] = x;
    pthread_barrier_wait(&barrier_);
    const double result = *std::max_element(brought_.begin(), brought_.begin() + n_pes_);
    pthread_barrier_wait(&barrier_);
    return result;
  }
  /// What `make()` gives to PE 0, on all.
  template <class T, class Make>
  T from_first(int pe, Make make) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(shared_));
    if (pe == 0) {
      const T made = make();
      std::memcpy(shared_.data(), &made, sizeof made);
    }
    largest(pe, 0);
    T given;
    std::memcpy(&given, shared_.data(), sizeof given);
    return given;
  }

 private:
  explicit process_meeting(int n_pes) : n_pes_(n_pes) {
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&barrier_, &shared, static_cast<unsigned>(n_pes));
    pthread_barrierattr_destroy(&shared);
  }

  int n_pes_;
  pthread_barrier_t barrier_;
  std::array<double, most_pes> brought_;
  std::array<std::byte, 1024> shared_;
};

/// Runs body(pe, meeting) in as many processes as there are PEs. The first that fails ends all.
template <class Body>
void run_forked(int pes, const char* name, Body body) {
  if (pes > process_meeting::most_pes)
    throw std::invalid_argument("the benchmark is for at most 64 processes");
  process_meeting& all = process_meeting::create(pes);
  std::vector<pid_t> children;
  for (int pe = 0; pe < pes; ++pe) {
    const pid_t child = fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::_Exit(run_program(name, [&] { body(pe, all); }));
    }
    children.push_back(child);
  }
  int first_failure = 0;
  for (std::size_t left = children.size(); left > 0; --left) {
    int status = 0;
    const pid_t ended = wait(&status);
    std::erase(children, ended);
    if (status == 0 || first_failure != 0) continue;
    first_failure = status;
    for (const pid_t child : children) kill(child, SIGKILL);
  }
  if (WIFSIGNALED(first_failure))
    throw std::runtime_error(std::string(name) + " was ended by signal " +
                             std::to_string(WTERMSIG(first_failure)));
  if (first_failure != 0) std::_Exit(1);  // the PE has said why
}

}  // namespace bench
