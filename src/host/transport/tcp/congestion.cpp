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
constexpr std::chrono::milliseconds near{2};

bool choose(int socket, std::string_view name) {
  return ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
}

/// Empty: it cannot be asked.
std::string choice_of(int socket) {
  std::array<char, 16> text{};
  socklen_t size = text.size();
  if (::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, text.data(), &size) != 0) return {};
  return text.data();
}

/// What lets a connection down whose round trips take microseconds: see congestion.hpp.
bool is_for_long_ways(std::string_view name) { return name.starts_with("bbr") || name == "cubic"; }

unique_fd new_socket() { return unique_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

}  // namespace

void check_congestion_control(const std::string& wish) {
  if (wish == "auto" || wish == "system") return;
  const auto socket = new_socket();
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
  else if (is_for_long_ways(choice_of(socket)))
    (void)choose(socket, "reno");  // which every kernel has
}

void heed_distance(int socket, const std::string& wish, std::chrono::microseconds round_trip) {
  if (wish != "auto" || round_trip < near) return;
  const auto fresh = new_socket();
  if (const auto usual = choice_of(fresh.get());
      is_for_long_ways(usual) && choice_of(socket) == "reno")
    (void)choose(socket, usual);
}

std::chrono::microseconds round_trip_of(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool is_known =
      ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_rtt > 0;
  return is_known ? std::chrono::microseconds(info.tcpi_rtt) : std::chrono::microseconds::max();
}

}  // namespace heddle::tcp
