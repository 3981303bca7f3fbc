// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "symmetric_heap/descriptor_exchange.hpp"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/log.hpp"
#include "support/throw_error.hpp"

/// The exchange between ranks i < j of one host:
///
///     i                                     j
///     listens, tells pid and nonce          listens, tells pid and nonce     (bootstrap's
///     all_gather) connects to j's socket checks j's pid and user (kernel) hello{secret, i} +
///     descriptor  ---->  checks i's pid and user (kernel), and the secret
///                                    <----  hello{secret, j} + descriptor
///     checks the secret
///
/// A connection waits in the listener's backlog and a message in the socket's buffer, so no rank
/// waits for another to be in the same step, and the order of ranks needs no care.
namespace heddle {

namespace {

struct hello {
  bootstrap::secret secret;
  std::int32_t rank;
};

struct introduction {
  std::int32_t pid;
  std::uint64_t nonce;
};

sockaddr_un address_of(std::string_view job, int rank, std::uint64_t nonce, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The nonce makes the name unique; the job only makes it telling, as far as there is room.
  const auto name = fmt::format("heddle-{:016x}-{}-{}", nonce, rank, job);
  const auto used = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), used);
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + used);
  return address;
}

void wait_readable(int descriptor, deadline until, int rank, const char* what) {
  pollfd entry{descriptor, POLLIN, 0};
  for (;;) {
    const int ready = ::poll(&entry, 1, until.poll_milliseconds());
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR)
      throw_system_error(errno, "waiting for {} of PE {}", what, rank);
    if (until.passed())
      throw_error(HEDDLE_ERROR_TIMEOUT, "PE {} of this host has not sent {} in time", rank, what);
  }
}

/// The process at the other end is the one that `rank` announced, of this user.
bool is_process(int connection, pid_t pid) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.pid == pid && peer.uid == ::geteuid();
}

/// What sendmsg and recvmsg are given for a hello and one descriptor.
struct envelope {
  explicit envelope(hello* message) : part{message, sizeof *message} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  envelope(const envelope&) = delete;
  envelope& operator=(const envelope&) = delete;

  iovec part;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

void send_hello(int connection, hello message, int descriptor, int rank) {
  envelope sent(&message);
  cmsghdr* rights = CMSG_FIRSTHDR(&sent.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
  if (::sendmsg(connection, &sent.header, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof message))
    throw_system_error(errno, "sending the heap's descriptor to PE {}", rank);
}

/// The message and its descriptor; an empty descriptor if it is not a hello.
unique_fd receive_hello(int connection, hello& message) {
  envelope received(&message);
  const ssize_t bytes = ::recvmsg(connection, &received.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  unique_fd descriptor;
  for (cmsghdr* item = CMSG_FIRSTHDR(&received.header); bytes >= 0 && item;
       item = CMSG_NXTHDR(&received.header, item))
    if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS) {
      int passed = -1;
      std::memcpy(&passed, CMSG_DATA(item), sizeof passed);
      descriptor = unique_fd(passed);
    }
  if (bytes != static_cast<ssize_t>(sizeof message)) descriptor.reset();
  return descriptor;
}

}  // namespace

descriptor_exchange::descriptor_exchange(bootstrap& bootstrap)
    : bootstrap_(bootstrap), listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  if (::getrandom(&nonce_, sizeof nonce_, 0) != static_cast<ssize_t>(sizeof nonce_))
    throw_system_error(errno, "reading random bytes (getrandom)");
  socklen_t length = 0;
  const auto address = address_of(bootstrap.job_id(), bootstrap.rank(), nonce_, length);
  if (!listener_ ||
      ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener_.get(), SOMAXCONN) != 0)
    throw_system_error(errno,
                       "opening the socket through which PEs of this host pass their memory");
}

std::vector<rank_process> descriptor_exchange::introduce(deadline until) {
  const introduction mine{static_cast<std::int32_t>(::getpid()), nonce_};
  const auto all = bootstrap_.all_gather(std::as_bytes(std::span(&mine, 1)), until);
  std::vector<rank_process> ranks(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    introduction theirs{};
    if (all[rank].size() != sizeof theirs)
      throw_error(
          HEDDLE_ERROR_INTERNAL,
          "PE {} introduced itself with {} bytes instead of {}: is it another version of heddle?",
          rank, all[rank].size(), sizeof theirs);
    std::memcpy(&theirs, all[rank].data(), sizeof theirs);
    auto& process = ranks[rank];
    process.same_host =
        bootstrap_.host_of(static_cast<int>(rank)) == bootstrap_.host_of(bootstrap_.rank());
    process.same_process = process.same_host && theirs.pid == mine.pid;
    process.pid = theirs.pid;
    process.nonce = theirs.nonce;
  }
  return ranks;
}

std::map<int, unique_fd> descriptor_exchange::exchange(int descriptor,
                                                       const std::vector<rank_process>& ranks,
                                                       deadline until) {
  const int me = bootstrap_.rank();
  const hello mine{bootstrap_.job_secret(), me};
  const auto elsewhere = [&](int rank) {
    const auto& process = ranks[static_cast<std::size_t>(rank)];
    return process.same_host && !process.same_process;
  };

  std::map<int, unique_fd> connections;  // to higher ranks
  int expected = 0;                      // from lower ranks
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    if (!elsewhere(rank)) continue;
    if (rank < me) {
      ++expected;
      continue;
    }
    const auto& process = ranks[static_cast<std::size_t>(rank)];
    unique_fd connection(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    socklen_t length = 0;
    const auto address = address_of(bootstrap_.job_id(), rank, process.nonce, length);
    if (!connection ||
        ::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
      throw_system_error(errno, "connecting to PE {} (process {}) of this host for its memory",
                         rank, process.pid);
    if (!is_process(connection.get(), process.pid))
      throw_error(HEDDLE_ERROR_SYSTEM,
                  "the socket of PE {} belongs to another process than {}, or to another user",
                  rank, process.pid);
    send_hello(connection.get(), mine, descriptor, rank);
    connections.emplace(rank, std::move(connection));
  }

  std::map<int, unique_fd> received;
  const auto lowest_missing = [&] {
    int rank = 0;
    while (rank < me && (!elsewhere(rank) || received.contains(rank))) ++rank;
    return rank;
  };
  while (static_cast<int>(received.size()) < expected) {
    wait_readable(listener_.get(), until, lowest_missing(), "a connection for its memory");
    unique_fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) continue;
    hello theirs{};
    // A connected peer has sent its hello before anything else; a stranger gets a moment.
    pollfd entry{connection.get(), POLLIN, 0};
    ::poll(&entry, 1, std::min(until.poll_milliseconds(), 1000));
    auto passed = receive_hello(connection.get(), theirs);
    const bool known =
        passed && theirs.secret == mine.secret && theirs.rank >= 0 && theirs.rank < me &&
        elsewhere(theirs.rank) && !received.contains(theirs.rank) &&
        is_process(connection.get(), ranks[static_cast<std::size_t>(theirs.rank)].pid);
    if (!known) {
      log::warn(log::subsystem::heap,
                "dropped a connection to this PE's memory socket that is not from a PE of the job");
      continue;
    }
    send_hello(connection.get(), mine, descriptor, theirs.rank);
    received.emplace(theirs.rank, std::move(passed));
  }
  for (auto& [rank, connection] : connections) {
    wait_readable(connection.get(), until, rank, "its memory");
    hello theirs{};
    auto passed = receive_hello(connection.get(), theirs);
    if (!passed || theirs.secret != mine.secret || theirs.rank != rank)
      throw_error(
          HEDDLE_ERROR_SYSTEM,
          "PE {} (process {}) closed the connection or did not prove that it is of this job", rank,
          ranks[static_cast<std::size_t>(rank)].pid);
    received.emplace(rank, std::move(passed));
  }
  return received;
}

}  // namespace heddle
