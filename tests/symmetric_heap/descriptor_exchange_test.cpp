// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/descriptor_exchange.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <heddle/error.hpp>
#include <thread>

#include "bootstrap/unique_id_bootstrap.hpp"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

deadline late() { return deadline::after(60s); }

/// How many ranks have been told of a failure: a word that the processes of a run share.
class told_ranks {
 public:
  told_ranks()
      : count_(static_cast<std::atomic<int>*>(::mmap(nullptr, sizeof(std::atomic<int>),
                                                     PROT_READ | PROT_WRITE,
                                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(count_ != MAP_FAILED);
  }
  ~told_ranks() { ::munmap(count_, sizeof(std::atomic<int>)); }
  told_ranks(const told_ranks&) = delete;
  told_ranks& operator=(const told_ranks&) = delete;

  /// This one is; returns when `n` are.
  void add(int n) {
    ++*count_;
    for (const auto until = deadline::after(10s); *count_ < n && !until.passed();)
      std::this_thread::sleep_for(1ms);
  }

 private:
  std::atomic<int>* count_;
};

/// A rank of three processes that have introduced themselves to each other.
struct introduced_rank {
  introduced_rank(const heddle_unique_id_t& id, int rank, told_ranks& told)
      : self(join_unique_id(id, rank, 3, "=lo", late())), exchange(*self), told(told) {
    ranks = exchange.introduce(late());
  }
  std::map<int, unique_fd> pass(int descriptor) {
    return exchange.exchange(descriptor, ranks, late());
  }
  std::unique_ptr<bootstrap> self;
  descriptor_exchange exchange;
  std::vector<rank_process> ranks;
  told_ranks& told;
};

/// What rank 0 and two forked processes make of `body`, which returns 0 if it is right.
std::vector<int> run(const std::function<int(introduced_rank&)>& body) {
  const auto id = make_unique_id("=lo");
  told_ranks told;
  const auto run_rank = [&](int rank) {
    try {
      introduced_rank mine(id, rank, told);
      return body(mine);
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "rank %d: %s\n", rank, failure.what());
      return 1;
    }
  };
  std::vector<pid_t> children;
  for (int rank = 1; rank < 3; ++rank) {
    children.push_back(::fork());
    REQUIRE(children.back() >= 0);
    if (children.back() == 0) ::_exit(run_rank(rank));
  }
  std::vector<int> results = {run_rank(0)};
  for (const pid_t child : children) {
    int state = 0;
    ::waitpid(child, &state, 0);
    results.push_back(WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state));
  }
  return results;
}

/// 0 if pass() ends soon with this status and a message that has `part`.
int check_refusal(introduced_rank& mine, heddle_status_t status, const char* part) {
  const auto start = std::chrono::steady_clock::now();
  const unique_fd file(::memfd_create("test", MFD_CLOEXEC));
  try {
    (void)mine.pass(file.get());
  } catch (const error& failure) {
    if (failure.status() == status && std::strstr(failure.what(), part) &&
        std::chrono::steady_clock::now() - start < 10s) {
      // The end of this process is no news before that of the one that both wait for.
      mine.told.add(2);
      return 0;
    }
    std::fprintf(stderr, "rank %d: %s\n", mine.self->rank(), failure.what());
  }
  return 1;
}

int take_all_descriptors() {
  const rlimit few{256, 256};
  int last = ::setrlimit(RLIMIT_NOFILE, &few);
  for (int fd = 0; fd >= 0; fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) last = fd;
  return last;
}

}  // namespace

TEST_CASE("every process gets the descriptor of every other") {
  CHECK(run([](introduced_rank& mine) {
          const char letter = static_cast<char>('a' + mine.self->rank());
          const unique_fd file(::memfd_create("test", MFD_CLOEXEC));
          (void)!::pwrite(file.get(), &letter, 1, 0);
          const auto passed = mine.pass(file.get());
          bool right = passed.size() == 2;
          for (const auto& [rank, descriptor] : passed) {
            char read = 0;
            right = ::pread(descriptor.get(), &read, 1, 0) == 1 && read == 'a' + rank && right;
          }
          mine.self->barrier(late());
          mine.self->leave();
          return right ? 0 : 1;
        }) == std::vector<int>{0, 0, 0});
}

TEST_CASE("a process that is killed before it connects is named at once") {
  CHECK(run([](introduced_rank& mine) {
          if (mine.self->rank() == 1) {
            std::this_thread::sleep_for(200ms);
            ::raise(SIGKILL);
          }
          return check_refusal(mine, HEDDLE_ERROR_PEER_LOST, "PE 1 is lost");
        }) == std::vector<int>{0, 128 + SIGKILL, 0});
}

TEST_CASE("a process without descriptors for its peers says so") {
  CHECK(run([](introduced_rank& mine) {
          if (mine.self->rank() != 2) {
            // They see it end; it is rank 2 that knows why.
            return check_refusal(mine, HEDDLE_ERROR_PEER_LOST, "PE 2 is lost");
          }
          const unique_fd room(::dup(0));
          // UndefinedBehaviorSanitizer needs descriptors to look at the first error that it sees.
          (void)error(HEDDLE_ERROR_SYSTEM, "").status();
          if (take_all_descriptors() < 0) return 2;
          try {
            (void)mine.pass(room.get());
          } catch (const error& failure) {
            return failure.status() == HEDDLE_ERROR_SYSTEM &&
                           std::strstr(failure.what(), "ulimit -n")
                       ? 0
                       : 3;
          }
          return 4;
        }) == std::vector<int>{0, 0, 0});
}
