// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "symmetric_heap/descriptor_exchange.hpp"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "support/log.hpp"
#include "support/throw_error.hpp"

/// The exchange between ranks i < j of one host:
///
///     i                                              j
///     listens, tells pid and nonce                   listens, tells pid and nonce
///         (by the bootstrap's all_gather)
///     connects, checks j's pid and user (kernel)
///     hello{secret, i} + descriptor           ---->  checks i's pid and user (kernel), the secret
///     checks the secret                       <----  hello{secret, j} + descriptor
///
/// Ranks go through the rounds 0, 1 ... n - 1 of their host, in which i and j meet if (i + j) % n
/// is the round: whoever waits, waits for one that is in an earlier round, and the earliest for
/// nobody. Who calls early waits in the listener's backlog. Only so many descriptors may be on
/// their way at one time (ulimit -n, for all processes of a user), hence not all at once. Every
/// wait ends too when the bootstrap loses any rank of the job.
namespace heddle {

namespace {

/// How often a wait asks for losses, in milliseconds.
constexpr int news_pause = 20;
/// How long after a PE has closed its socket the bootstrap is expected to tell who is lost.
constexpr auto wait_for_news = std::chrono::seconds(1);
constexpr auto moment_for_strangers = std::chrono::seconds(1);

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
    header.msg_controllen = CMSG_LEN(sizeof(int));  // room for one: a stranger may send more
  }
  envelope(const envelope&) = delete;
  envelope& operator=(const envelope&) = delete;

  iovec part;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

[[noreturn]] void throw_lost(const bootstrap::loss& loss) {
  throw_error(HEDDLE_ERROR_PEER_LOST, "PE {} is lost while PEs pass each other their memory: {}",
              loss.rank, loss.reason);
}

struct received_hello {
  bool whole = false;  ///< all of `said` has come
  bool ended = false;  ///< the other side has closed the connection
  hello said{};
  unique_fd descriptor;  ///< none if the message brought none, or there was no room for it
};

received_hello receive_hello(int connection) {
  received_hello got;
  envelope received(&got.said);
  const ssize_t bytes = ::recvmsg(connection, &received.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  for (cmsghdr* item = CMSG_FIRSTHDR(&received.header); bytes >= 0 && item;
       item = CMSG_NXTHDR(&received.header, item))
    if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS) {
      int passed = -1;
      std::memcpy(&passed, CMSG_DATA(item), sizeof passed);
      got.descriptor = unique_fd(passed);
    }
  got.whole = bytes == static_cast<ssize_t>(sizeof got.said);
  got.ended = bytes == 0 || (bytes < 0 && errno == ECONNRESET);
  return got;
}

/// Passes one descriptor to the ranks of this host in other processes, and takes theirs.
class round_of_exchange {
 public:
  round_of_exchange(bootstrap& bootstrap, int listener, int descriptor,
                    const std::vector<rank_process>& ranks, deadline until)
      : bootstrap_(bootstrap),
        listener_(listener),
        descriptor_(descriptor),
        ranks_(ranks),
        until_(until),
        mine_{bootstrap.job_secret(), bootstrap.rank()} {}

  std::map<int, unique_fd> run() {
    const int me = mine_.rank;
    std::vector<int> here;
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
      if (process(rank).same_host) here.push_back(rank);
    const auto mine =
        static_cast<std::size_t>(std::find(here.begin(), here.end(), me) - here.begin());
    for (std::size_t round = 0; round < here.size(); ++round) {
      const int other = here[(round + here.size() - mine) % here.size()];
      if (!elsewhere(other)) continue;
      if (me < other)
        receive_answer(other, call(other).get());
      else
        while (!received_.contains(other)) accept_one(other);
    }
    return std::move(received_);
  }

 private:
  [[nodiscard]] const rank_process& process(int rank) const {
    return ranks_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] bool elsewhere(int rank) const {
    return process(rank).same_host && !process(rank).same_process;
  }

  unique_fd call(int rank) const {
    unique_fd connection(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    socklen_t length = 0;
    const auto address = address_of(bootstrap_.job_id(), rank, process(rank).nonce, length);
    while (!connection ||
           ::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
      // It listened before it told of its socket.
      if (errno == ECONNREFUSED) throw_gone(rank);
      // Of more PEs than its backlog takes, others are accepted first.
      if (errno != EAGAIN)
        throw_system_error(errno, "connecting to PE {} (process {}) of this host for its memory",
                           rank, process(rank).pid);
      throw_if_passed(rank, "accepted connections for its memory");
      wait_a_moment();
    }
    if (!is_process(connection.get(), process(rank).pid))
      throw_error(HEDDLE_ERROR_SYSTEM,
                  "the socket of PE {} belongs to another process than {}, or to another user",
                  rank, process(rank).pid);
    if (!send_hello(connection.get(), rank)) throw_gone(rank);
    return connection;
  }

  /// False: `rank` has closed the connection.
  [[nodiscard]] bool send_hello(int connection, int rank) const {
    hello message = mine_;
    envelope sent(&message);
    cmsghdr* rights = CMSG_FIRSTHDR(&sent.header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor_, sizeof(int));
    // Of too many, others' are taken by whom they are for.
    while (::sendmsg(connection, &sent.header, MSG_NOSIGNAL) < 0) {
      if (errno == EPIPE || errno == ECONNRESET) return false;
      if (errno != ETOOMANYREFS)
        throw_system_error(errno, "sending the heap's descriptor to PE {}", rank);
      throw_if_passed(rank, "taken the descriptors under way, as many as ulimit -n allows,");
      wait_a_moment();
    }
    return true;
  }

  void wait_a_moment() const {
    if (auto loss = bootstrap_.first_loss()) throw_lost(*loss);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  /// Accepts one connection, of the awaited rank or of whoever comes before it.
  void accept_one(int awaited) {
    wait_readable(listener_, awaited, "connected for its memory");
    unique_fd connection(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) {
      if (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED) return;
      throw_system_error(errno, "accepting PE {} of this host for its memory; raise ulimit -n",
                         awaited);
    }
    // A peer sends its hello as soon as it has connected; a stranger gets a moment.
    const auto whose = std::find_if(ranks_.begin(), ranks_.end(), [&](const auto& each) {
      return each.same_host && !each.same_process && is_process(connection.get(), each.pid);
    });
    if (whose == ranks_.end()) {
      pollfd entry{connection.get(), POLLIN, 0};
      const auto patience = deadline::after(moment_for_strangers);
      while (::poll(&entry, 1, std::min(until_.poll_milliseconds(), patience.poll_milliseconds())) <
                 0 &&
             errno == EINTR)
        continue;
    } else {
      wait_readable(connection.get(), static_cast<int>(whose - ranks_.begin()), "said who it is");
    }
    auto got = receive_hello(connection.get());
    const int caller = got.said.rank;
    const bool known = got.whole && got.said.secret == mine_.secret && caller >= 0 &&
                       caller < mine_.rank && elsewhere(caller) && !received_.contains(caller) &&
                       is_process(connection.get(), process(caller).pid);
    if (!known) {
      log::warn(log::subsystem::heap,
                "dropped a connection to this PE's memory socket that is not from a PE of the job");
      return;
    }
    if (!send_hello(connection.get(), caller)) throw_gone(caller);
    keep(caller, std::move(got.descriptor));
  }

  void receive_answer(int rank, int connection) {
    wait_readable(connection, rank, "sent its memory");
    auto got = receive_hello(connection);
    if (got.ended) throw_gone(rank);
    if (!got.whole || got.said.secret != mine_.secret || got.said.rank != rank)
      throw_error(HEDDLE_ERROR_SYSTEM, "PE {} (process {}) did not prove that it is of this job",
                  rank, process(rank).pid);
    keep(rank, std::move(got.descriptor));
  }

  /// It has closed its socket: it has ended, or has given up for the loss of another, of which this
  /// PE will hear.
  [[noreturn]] void throw_gone(int rank) const {
    const auto patience = deadline::after(wait_for_news);
    while (!patience.passed() && !until_.passed()) {
      if (auto loss = bootstrap_.first_loss()) throw_lost(*loss);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    throw_error(HEDDLE_ERROR_PEER_LOST,
                "PE {} is lost: process {} closed the socket through which it passes its memory; "
                "see what it said when it ended",
                rank, process(rank).pid);
  }

  void keep(int rank, unique_fd descriptor) {
    if (!descriptor)
      throw_system_error(EMFILE, "taking the memory of PE {} of this host; raise ulimit -n", rank);
    received_.emplace(rank, std::move(descriptor));
  }

  void wait_readable(int descriptor, int rank, const char* what) const {
    pollfd entry{descriptor, POLLIN, 0};
    for (;;) {
      const int ready = ::poll(&entry, 1, std::min(until_.poll_milliseconds(), news_pause));
      if (ready < 0 && errno != EINTR)
        throw_system_error(errno, "waiting until PE {} has {}", rank, what);
      if (auto loss = bootstrap_.first_loss()) throw_lost(*loss);
      throw_if_passed(rank, what);
      if (ready > 0) return;
    }
  }

  void throw_if_passed(int rank, const char* what) const {
    if (until_.passed())
      throw_error(HEDDLE_ERROR_TIMEOUT, "PE {} of this host has not {} in time", rank, what);
  }

  bootstrap& bootstrap_;
  const int listener_;
  const int descriptor_;
  const std::vector<rank_process>& ranks_;
  const deadline until_;
  const hello mine_;
  std::map<int, unique_fd> received_;
};

}  // namespace

descriptor_exchange::descriptor_exchange(bootstrap& bootstrap, bool apart)
    : bootstrap_(bootstrap),
      apart_(apart),
      listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
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
    const int me = bootstrap_.rank();
    process.same_host = bootstrap_.host_of(static_cast<int>(rank)) == bootstrap_.host_of(me) &&
                        (!apart_ || static_cast<int>(rank) == me);
    process.same_process = process.same_host && theirs.pid == mine.pid;
    process.pid = theirs.pid;
    process.nonce = theirs.nonce;
  }
  return ranks;
}

std::map<int, unique_fd> descriptor_exchange::exchange(int descriptor,
                                                       const std::vector<rank_process>& ranks,
                                                       deadline until) {
  return round_of_exchange(bootstrap_, listener_.get(), descriptor, ranks, until).run();
}

}  // namespace heddle
