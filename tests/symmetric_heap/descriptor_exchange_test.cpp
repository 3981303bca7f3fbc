// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/descriptor_exchange.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <heddle/error.hpp>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/unique_id_bootstrap.hpp"
#include "symmetric_heap/child_process.hpp"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

deadline late() { return deadline::after(60s); }

/// How many ranks have come to a point: a word that the processes of a run share.
class rank_count {
 public:
  rank_count()
      : count_(static_cast<std::atomic<int>*>(::mmap(nullptr, sizeof(std::atomic<int>),
                                                     PROT_READ | PROT_WRITE,
                                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(count_ != MAP_FAILED);
  }
  ~rank_count() { ::munmap(count_, sizeof(std::atomic<int>)); }
  rank_count(const rank_count&) = delete;
  rank_count& operator=(const rank_count&) = delete;

  /// This one has; returns when `n` have.
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
  introduced_rank(const heddle_unique_id_t& id, int rank, rank_count& told)
      : self(join_unique_id(id, rank, 3, "=lo", late())), exchange(*self), told(told) {
    ranks = exchange.introduce(late());
  }
  std::map<int, unique_fd> pass(int descriptor) {
    return exchange.exchange(descriptor, ranks, late());
  }
  std::unique_ptr<bootstrap> self;
  descriptor_exchange exchange;
  std::vector<rank_process> ranks;
  rank_count& told;  ///< of a failure
};

/// What rank 0 and two forked processes make of `body`, which returns 0 if it is right.
std::vector<int> run(const std::function<int(introduced_rank&)>& body) {
  const auto id = make_unique_id("=lo");
  rank_count told;
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

/// 0 if the letter in the file of every other rank has come.
int pass_letters(introduced_rank& mine) {
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
}

/// A process of no job, which calls the ranks that others call, before those do. It is made before
/// the ranks are: ThreadSanitizer allows no fork beside their threads.
class stranger {
 public:
  stranger() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    members_ = unique_fd(ends[0]);
    own_ = unique_fd(ends[1]);
    process_ = std::make_unique<testing::child_process>([this] { return run(); });
    own_.reset();
  }

  /// Called by a rank once all listen. Returns when the stranger has connected, and has said what
  /// it says.
  void intrude(const bootstrap& job) const {
    const auto& secret = job.job_secret();
    std::string told(reinterpret_cast<const char*>(secret.data()), secret.size());
    told += job.job_id();
    char done = 0;
    if (::send(members_.get(), told.data(), told.size(), MSG_NOSIGNAL) < 0 ||
        !is_readable(members_.get()) || ::recv(members_.get(), &done, 1, 0) != 1)
      throw std::runtime_error("the stranger has not called");
  }
  /// Called when all ranks have ended. 0 if nobody has answered it.
  int wait() {
    members_.reset();  // one that was never told to call ends too
    return process_->wait();
  }

 private:
  /// As in descriptor_exchange.cpp.
  struct hello {
    bootstrap::secret secret;
    std::int32_t rank;
  };

  static bool is_readable(int descriptor) {
    pollfd entry{descriptor, POLLIN, 0};
    return ::poll(&entry, 1, 20'000) == 1;
  }

  /// The name of the socket at which that rank waits, as the system tells anybody.
  static std::string find_socket(int rank, const std::string& job) {
    const auto end = "-" + std::to_string(rank) + "-" + job;
    std::ifstream all("/proc/net/unix");
    for (std::string line; std::getline(all, line);)
      if (const auto at = line.find("@heddle-"); at != line.npos && line.ends_with(end))
        return line.substr(at + 1);
    throw std::runtime_error("no socket is called @heddle-..." + end);
  }

  void call(const std::string& name, std::span<const std::byte> say) {
    unique_fd connection(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto length = name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address),
                  static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length)) != 0 ||
        (!say.empty() && ::send(connection.get(), say.data(), say.size(), MSG_NOSIGNAL) < 0))
      throw std::runtime_error("calling " + name + ": " + std::strerror(errno));
    calls_.push_back(std::move(connection));
  }

  void call(const std::string& name, const hello& say) {
    call(name, std::as_bytes(std::span(&say, 1)));
  }

  int run() {
    members_.reset();  // the end of all that have the other end is heard
    std::array<char, 512> told{};
    bootstrap::secret secret{};
    const auto bytes = ::recv(own_.get(), told.data(), told.size(), 0);
    if (bytes <= static_cast<ssize_t>(secret.size())) return 2;
    std::memcpy(secret.data(), told.data(), secret.size());
    const std::string job(told.data() + secret.size(),
                          static_cast<std::size_t>(bytes) - secret.size());
    auto wrong = secret;
    wrong[5] ^= std::byte{1};
    const std::vector<std::byte> garbage(1000, std::byte{0xa5});
    for (const int rank : {1, 2}) {
      const auto name = find_socket(rank, job);
      call(name, std::span<const std::byte>());  // it says nothing, and stays
      call(name, hello{wrong, 0});
      // Those know the secret, but are of another process, and partly of no rank that would call.
      for (const int claimed : {0, rank, 3, -1}) call(name, hello{secret, claimed});
      call(name, std::span(garbage).first(1));
      call(name, garbage);
    }
    (void)!::send(own_.get(), "x", 1, MSG_NOSIGNAL);
    std::array<char, 100> answer{};
    for (const auto& each : calls_)
      if (!is_readable(each.get()) || ::recv(each.get(), answer.data(), answer.size(), 0) > 0)
        return 3;
    return 0;
  }

  unique_fd members_;
  unique_fd own_;
  std::unique_ptr<testing::child_process> process_;
  std::vector<unique_fd> calls_;  ///< its own
};

int take_all_descriptors() {
  const rlimit few{256, 256};
  int last = ::setrlimit(RLIMIT_NOFILE, &few);
  for (int fd = 0; fd >= 0; fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) last = fd;
  return last;
}

}  // namespace

TEST_CASE("every process gets the descriptor of every other") {
  CHECK(run(pass_letters) == std::vector<int>{0, 0, 0});
}

TEST_CASE("strangers get no descriptor, and keep nobody from the others'") {
  stranger other;
  CHECK(run([&](introduced_rank& mine) {
          if (mine.self->rank() == 2) other.intrude(*mine.self);
          mine.self->barrier(late());
          const auto start = std::chrono::steady_clock::now();
          const int result = pass_letters(mine);
          // Each rank that is called waits a second for what the silent one might say.
          return std::chrono::steady_clock::now() - start < 20s ? result : 2;
        }) == std::vector<int>{0, 0, 0});
  CHECK(other.wait() == 0);
}

TEST_CASE("a process that is killed before it connects is named at once") {
  rank_count introduced;
  CHECK(run([&](introduced_rank& mine) {
          introduced.add(3);
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
