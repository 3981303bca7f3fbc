// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tree_bootstrap.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <heddle/error.hpp>
#include <optional>
#include <string>

#include "bootstrap/random_bytes.hpp"
#include "thread_starter.hpp"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

socket_address loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return {reinterpret_cast<sockaddr*>(&address), sizeof address};
}

/// Ranks that know each other's endpoints already.
class introduced_ranks {
 public:
  introduced_ranks(int size, int fan_out, bool uses_host) {
    prepared_.name = "tree";
    prepared_.job_id = "tree-" + random_hex(8);
    fill_random(prepared_.job_secret);
    prepared_.fan_out = fan_out;
    prepared_.uses_host = uses_host;
    for (int rank = 0; rank < size; ++rank) {
      locals_.emplace_back(std::vector{loopback()});
      prepared_.table.push_back(locals_.back().described);
    }
  }
  std::unique_ptr<bootstrap> join(int rank,
                                  std::function<std::optional<bootstrap::loss>()> first_loss = {}) {
    auto job = prepared_;
    job.rank = rank;
    job.first_loss = std::move(first_loss);
    return std::make_unique<tree_bootstrap>(
        std::move(job), std::move(locals_[static_cast<std::size_t>(rank)]), deadline::after(20s));
  }

 private:
  tree_bootstrap::job prepared_;
  std::vector<local_endpoint> locals_;
};

void check_conformance(int fan_out, bool uses_host) {
  conformance::check_all_cases([&](const conformance::test_case& chosen, int size) {
    introduced_ranks ranks(size, fan_out, uses_host);
    return conformance::run_on_threads(chosen, size, [&](int rank) { return ranks.join(rank); });
  });
}

/// As a program does that closes what it does not know.
void close_all_pollers() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    // Without the C library, where ThreadSanitizer would call it a race, which it is.
    if (target == "anon_inode:[eventpoll]")
      ::syscall(SYS_close, std::stoi(entry.path().filename().string()));
  }
}

}  // namespace

TEST_CASE("a tree over Unix sockets conforms") { check_conformance(8, true); }

TEST_CASE("a narrow tree over TCP conforms") { check_conformance(2, false); }

TEST_CASE("a rank that ends while the tree is made is named by all, not its parent that gives up") {
  introduced_ranks ranks(4, 8, true);
  std::atomic<int> joined = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto failures = conformance::run_on_all(4, [&](int rank) {
    if (rank == 2) return;
    try {
      // The launcher has told rank 0 alone so far.
      const auto self = rank != 0 ? ranks.join(rank) : ranks.join(0, [&]() {
        return joined == 2 ? std::optional(bootstrap::loss{2, "it has ended"}) : std::nullopt;
      });
      ++joined;
      self->barrier(deadline::after(20s));
    } catch (const error& failure) {
      const std::string text = failure.what();
      conformance::expect(failure.status() == HEDDLE_ERROR_PEER_LOST, text);
      conformance::expect(text.find("rank 2 of 4 ") != text.npos, text);
      conformance::expect(text.find("it has ended") != text.npos, text);
    }
  });
  CHECK(failures == "");
  CHECK(std::chrono::steady_clock::now() - start < 10s);
}

TEST_CASE("where a rank's page should be, a pipe is not waited for") {
  const auto path = std::filesystem::temp_directory_path() / ("heddle-" + random_hex(8));
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const unique_fd pipe(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::filesystem::remove(path);
  std::string problem;
  CHECK(!membership_page::open(::getpid(), pipe.get(), {}, problem));
  CHECK(problem.ends_with("is not a membership page"));
}

TEST_CASE("a program that closes the bootstrap's descriptors loses its peers, and no more") {
  for (int size : {1, 3}) {
    CAPTURE(size);
    introduced_ranks ranks(size, 8, true);
    const auto failures = conformance::run_on_all(size, [&](int rank) {
      auto self = ranks.join(rank);
      const auto start = std::chrono::steady_clock::now();
      try {
        self->barrier(deadline::after(20s));
        if (rank == 0) close_all_pollers();
        for (;;) self->barrier(deadline::after(20s));
      } catch (const error& failure) {
        const std::string text = failure.what();
        conformance::expect(failure.status() == HEDDLE_ERROR_PEER_LOST, text);
        conformance::expect(text.find("is lost: ") != text.npos, text);
      }
      conformance::expect(std::chrono::steady_clock::now() - start < 10s, "it took too long");
    });
    CHECK(failures == "");
  }
}
