// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/socket_address.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include "bootstrap/bounded_call.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

constexpr std::uint8_t tag_ipv4 = 4, tag_ipv6 = 6, tag_unix = 1;
constexpr std::size_t longest_name = 100;

template <class Address>
Address as(const sockaddr_storage& storage) {
  Address address;
  std::memcpy(&address, &storage, sizeof address);
  return address;
}

std::string_view unix_name(const sockaddr_storage& storage, socklen_t size) {
  constexpr std::size_t before = offsetof(sockaddr_un, sun_path) + 1;
  if (size <= before) return {};
  return {reinterpret_cast<const char*>(&storage) + before, size - before};
}

}  // namespace

socket_address::socket_address(const sockaddr* address, socklen_t size) : size_(size) {
  std::memcpy(&storage_, address, size);
}

socket_address socket_address::abstract(std::string_view name) {
  if (name.empty() || name.size() > longest_name)
    throw_error(HEDDLE_ERROR_INTERNAL, "asked for an abstract Unix name of {} bytes; 1 to {} fit",
                name.size(), longest_name);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return {reinterpret_cast<const sockaddr*>(&address),
          static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

std::vector<socket_address> socket_address::resolve(const std::string& host, std::uint16_t port,
                                                    deadline until) {
  struct answer {
    int failed = 0;
    std::shared_ptr<addrinfo> list;
  };
  // The resolver keeps to its own time limits, if to any.
  const auto found = call_until(until, fmt::format("resolve host \"{}\"", host), [host] {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
    return answer{failed, {failed == 0 ? list : nullptr, [](addrinfo* made) {
                             if (made) ::freeaddrinfo(made);
                           }}};
  });
  if (!found)
    throw_error(HEDDLE_ERROR_TIMEOUT,
                "asked for the address of host \"{}\", the resolver did not answer before the "
                "deadline; give a numeric address, or see this machine's name servers",
                host);
  if (found->failed != 0)
    throw_error(
        HEDDLE_ERROR_SYSTEM,
        "asked for the address of host \"{}\", the resolver says: {}; give a name that this "
        "machine can resolve, or a numeric address",
        host, ::gai_strerror(found->failed));
  std::vector<socket_address> addresses;
  for (auto* entry = found->list.get(); entry; entry = entry->ai_next)
    if (entry->ai_family == AF_INET || entry->ai_family == AF_INET6)
      addresses.push_back(socket_address(entry->ai_addr, entry->ai_addrlen).with_port(port));
  return addresses;
}

std::uint16_t socket_address::port() const {
  if (family() == AF_INET) return ntohs(as<sockaddr_in>(storage_).sin_port);
  if (family() == AF_INET6) return ntohs(as<sockaddr_in6>(storage_).sin6_port);
  return 0;
}

socket_address socket_address::with_port(std::uint16_t port) const {
  socket_address changed = *this;
  if (family() == AF_INET) {
    auto address = as<sockaddr_in>(storage_);
    address.sin_port = htons(port);
    std::memcpy(&changed.storage_, &address, sizeof address);
  } else if (family() == AF_INET6) {
    auto address = as<sockaddr_in6>(storage_);
    address.sin6_port = htons(port);
    std::memcpy(&changed.storage_, &address, sizeof address);
  }
  return changed;
}

std::string socket_address::text() const {
  if (family() == AF_UNIX) return fmt::format("@{}", unix_name(storage_, size_));
  char host[INET6_ADDRSTRLEN + IF_NAMESIZE] = "";
  if (size_ == 0 ||
      ::getnameinfo(data(), size_, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0)
    return "unknown";
  if (family() == AF_INET6) return fmt::format("[{}]:{}", host, port());
  return fmt::format("{}:{}", host, port());
}

void socket_address::write(byte_writer& out) const {
  if (family() == AF_INET) {
    auto address = as<sockaddr_in>(storage_);
    out.number(tag_ipv4).number(port()).raw(std::as_bytes(std::span(&address.sin_addr, 1)));
  } else if (family() == AF_INET6) {
    auto address = as<sockaddr_in6>(storage_);
    out.number(tag_ipv6).number(port()).raw(std::as_bytes(std::span(&address.sin6_addr, 1)));
  } else {
    out.number(tag_unix).text(unix_name(storage_, size_));
  }
}

socket_address socket_address::read(byte_reader& in) {
  auto tag = in.number<std::uint8_t>();
  if (tag == tag_unix) {
    auto name = in.text();
    if (name.empty() || name.size() > longest_name) throw malformed_message("bad Unix name");
    return abstract(name);
  }
  auto port = in.number<std::uint16_t>();
  if (tag == tag_ipv4) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    std::memcpy(&address.sin_addr, in.raw(sizeof address.sin_addr).data(), sizeof address.sin_addr);
    return {reinterpret_cast<sockaddr*>(&address), sizeof address};
  }
  if (tag == tag_ipv6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    std::memcpy(&address.sin6_addr, in.raw(sizeof address.sin6_addr).data(),
                sizeof address.sin6_addr);
    return {reinterpret_cast<sockaddr*>(&address), sizeof address};
  }
  throw malformed_message(fmt::format("address family {}", tag));
}

unique_fd listen_on(const socket_address& address) {
  unique_fd socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  int yes = 1;
  if (socket && address.family() != AF_UNIX)
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (!socket || ::bind(socket.get(), address.data(), address.size()) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    throw_system_error(errno, "asked to listen on {}", address.text());
  return socket;
}

std::vector<unique_fd> listen_on_any(const std::vector<socket_address>& addresses) {
  std::vector<unique_fd> sockets;
  std::string problems;
  for (const auto& address : addresses) {
    try {
      sockets.push_back(listen_on(address));
    } catch (const error& failure) {
      problems += (problems.empty() ? "" : "; ") + std::string(failure.what());
    }
  }
  if (sockets.empty()) throw error(HEDDLE_ERROR_SYSTEM, problems);
  if (!problems.empty()) log::info(log::subsystem::bootstrap, "{}", problems);
  return sockets;
}

socket_address local_address(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    throw_system_error(errno, "asked for the address of socket {}", socket);
  return {reinterpret_cast<sockaddr*>(&storage), size};
}

std::string peer_text(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return "unknown";
  if (storage.ss_family == AF_UNIX) return "a process of this machine";
  return socket_address(reinterpret_cast<sockaddr*>(&storage), size).text();
}

}  // namespace heddle
