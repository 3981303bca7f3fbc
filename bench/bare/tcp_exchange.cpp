// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The bare TCP exchange between two hosts: both processes send n bytes and receive n, spinning. A
// collective in which two PEs wait for each other cannot do without it: in an AllReduce each sends
// all of its bytes, in the others the half that the peer has not.
#include <array>
#include <map>
#include <string_view>

#include "../program.hpp"
#include "host_link.hpp"

namespace {

struct exchange {
  std::string_view collective;
  std::size_t divisor;  ///< of its bytes each of two PEs sends 1 / divisor
};

constexpr std::array<exchange, 4> exchanges = {
    {{"all_reduce", 1}, {"all_gather", 2}, {"reduce_scatter", 2}, {"all_to_all", 2}}};

std::size_t divisor_of(const std::string& collective) {
  for (const auto& [name, divisor] : exchanges)
    if (name == collective) return divisor;
  throw std::runtime_error(collective + " is no exchange");
}

double time_of(bench::bare::host_link& link, std::size_t bytes, const bench::effort& effort) {
  const std::vector<std::byte> out(bytes, std::byte{1});
  std::vector<std::byte> in(bytes);
  const double us = bench::time_per_iteration(
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) link.exchange(out, in);
      },
      [&](double x) { return link.agree(x); }, effort);
  if (in.back() != std::byte{1}) throw std::runtime_error("wrong bytes were received");
  return us;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::options::parse(argc, argv, "the bare TCP exchange of two hosts");
  return bench::run_program("tcp_exchange", [&] {
    auto wanted = options.collectives;
    if (wanted.empty()) wanted = {"all_reduce"};
    bench::bare::host_link link;
    bench::report_binding(link.me());
    std::map<std::size_t, double> us;  // by bytes that each sends
    for (const auto& collective : wanted) {
      for (const std::size_t bytes : options.sizes()) {
        const std::size_t each = bytes / divisor_of(collective);
        if (!us.contains(each))
          us.emplace(each, time_of(link, each, options.measure.for_size(bytes)));
        if (link.me() == 0) bench::report(collective, "bare", bytes, us.at(each));
      }
    }
  });
}
