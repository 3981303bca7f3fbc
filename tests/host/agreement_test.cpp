// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/agreement.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bootstrap/forwarding_bootstrap.hpp"
#include "bootstrap/thread_bootstrap.hpp"

// Whether PEs take turns on processors, which the library asks the system, by what they share.

namespace {

using heddle::bootstrap;

/// As if each rank were on that host.
class on_hosts final : public heddle::forwarding_bootstrap {
 public:
  on_hosts(std::unique_ptr<bootstrap> real, const std::vector<std::string>& hosts)
      : forwarding_bootstrap(std::move(real)), hosts_(hosts) {}
  [[nodiscard]] std::string_view host_of(int rank) const override {
    return hosts_[static_cast<std::size_t>(rank)];
  }

 private:
  const std::vector<std::string>& hosts_;
};

/// The calling thread may run on the first of its processors alone.
void keep_to_one_processor() {
  cpu_set_t all, one;
  REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
  std::size_t first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
}

struct agreed {
  double turns;
  int spin;
};
/// What the last PE is told of a job on these hosts, whose PEs all may run on one processor.
agreed agree(const std::vector<std::string>& hosts) {
  agreed told{};
  heddle::thread_rendezvous job(static_cast<int>(hosts.size()));
  std::vector<std::jthread> pes;
  for (std::size_t pe = 0; pe < hosts.size(); ++pe)
    pes.emplace_back([&, pe] {
      keep_to_one_processor();
      on_hosts mine(job.join(static_cast<int>(pe)), hosts);
      heddle::environment settings;
      settings.spin = -1;
      const double turns =
          heddle::agree_on_settings(mine, settings, heddle::built_in_tuning(false),
                                    heddle::deadline::after(std::chrono::seconds(30)));
      if (pe + 1 == hosts.size()) told = {.turns = turns, .spin = settings.spin};
    });
  pes.clear();
  return told;
}

}  // namespace

TEST_CASE("PEs of containers that share a machine take turns on its processors") {
  const auto one = agree({"boot-a.net1.pid1", "boot-a.net1.pid1"});
  CHECK(one.turns == 2);
  CHECK(one.spin == 0);
  const auto two = agree({"boot-a.net1.pid1", "boot-a.net2.pid2", "boot-a.net1.pid1/7"});
  CHECK(two.turns == 3);
  CHECK(two.spin == 0);
}

TEST_CASE("PEs of other machines have other processors") {
  const auto apart = agree({"boot-a.net1.pid1", "boot-b.net1.pid1"});
  CHECK(apart.turns == 1);
  CHECK(apart.spin > 0);
  // All plan by the machine with the fewest; who spins goes by its own.
  const auto mixed = agree({"boot-a.net1.pid1", "boot-a.net2.pid1", "boot-b.net1.pid1"});
  CHECK(mixed.turns == 2);
  CHECK(mixed.spin > 0);
}
