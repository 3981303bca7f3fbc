// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The bare TCP exchange between two hosts: both processes send n bytes and receive n, spinning. No
// AllReduce of two PEs over TCP can be faster.
#include "../program.hpp"
#include "host_link.hpp"

int main(int argc, char** argv) {
  const auto options = bench::options::parse(argc, argv, "the bare TCP exchange of two hosts");
  return bench::run_program("tcp_exchange", [&] {
    bench::bare::host_link link;
    bench::report_binding(link.me());
    std::vector<std::byte> out(options.max_bytes, std::byte{1});
    std::vector<std::byte> in(options.max_bytes);
    for (const std::size_t bytes : options.sizes()) {
      const double us = bench::time_per_iteration(
          [&](std::uint64_t n) {
            for (std::uint64_t i = 0; i < n; ++i)
              link.exchange(std::span(out).first(bytes), std::span(in).first(bytes));
          },
          [&](double x) { return link.agree(x); }, options.measure.for_size(bytes));
      if (in[bytes - 1] != std::byte{1}) throw std::runtime_error("wrong bytes were received");
      if (link.me() == 0) bench::report("tcp_exchange", "bare", bytes, us);
    }
  });
}
