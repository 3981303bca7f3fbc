// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/tcp/congestion.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <fstream>
#include <string_view>

#include "support/throw_error.hpp"
#include "support/unique_fd.hpp"

namespace heddle::tcp {
namespace {

/// Hosts of one room answer sooner.
constexpr unsigned near_microseconds = 2000;

bool choose(int socket, std::string_view name) {
  return ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
}

/// What lets a connection down whose round trips take microseconds: see congestion.hpp.
bool is_for_long_ways(int socket) {
  std::array<char, 16> text{};
  socklen_t size = text.size();
  if (::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, text.data(), &size) != 0) return false;
  const std::string_view name = text.data();
  return name.starts_with("bbr") || name == "cubic";
}

bool is_near(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         info.tcpi_rtt < near_microseconds;
}

}  // namespace

void check_congestion_control(const std::string& wish) {
  if (wish == "auto" || wish == "system") return;
  const unique_fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket && choose(socket.get(), wish)) return;
  std::string allowed;
  std::getline(std::ifstream("/proc/sys/net/ipv4/tcp_allowed_congestion_control"), allowed);
  throw_error(
      HEDDLE_ERROR_INVALID_ARGUMENT,
      "HEDDLE_TCP_CONGESTION=\"{}\" cannot be chosen here; choose auto, system or one of: {}", wish,
      allowed);
}

void choose_congestion_control(int socket, const std::string& wish) {
  if (wish == "system") return;
  if (wish != "auto")
    (void)choose(socket, wish);
  else if (is_for_long_ways(socket) && is_near(socket))
    (void)choose(socket, "reno");  // which every kernel has
}

}  // namespace heddle::tcp
