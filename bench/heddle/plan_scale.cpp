// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How long a PE of 65,536 on 8,192 nodes takes to find its team's domains, its place in rings and
// trees, and the way of every collective at every power of two from 8 bytes to 1 GiB. No PE is
// started: what is timed are the functions that a team calls for it.
#include <vector>

#include "../program.hpp"
#include "../timing.hpp"
#include "coll/domains.hpp"
#include "coll/exchange_plan.hpp"
#include "coll/plan.hpp"
#include "coll/team_order.hpp"
#include "coll/topology.hpp"

namespace {

using namespace heddle;

constexpr int n_pes = 65'536;
constexpr int n_nodes = 8'192;

struct found {
  team_domains domains;
  team_topology topology;
  long channels = 0;  ///< of all plans: they are used
};

/// The launcher deals the PEs to the nodes in turn: no PE's neighbour is on its node.
found find_all(const std::vector<int>& node_of, int pe) {
  found all;
  all.domains = find_domains(node_of);
  const team_order order(all.domains.pes);
  all.topology = topology_of(pe, n_pes, order);
  set_domains(all.topology, all.domains, all.domains.pes.data());
  set_root(all.topology, n_pes, n_pes - 1 - pe, order);
  plan_question question{.n_pes = n_pes,
                         .all_mapped = false,
                         .num_domains = all.domains.count,
                         .domain_size = all.domains.size,
                         .largest_domain = all.domains.largest()};
  for (int what = 0; what <= static_cast<int>(collective::transfer); ++what) {
    question.what = static_cast<collective>(what);
    for (question.bytes = 8; question.bytes <= std::size_t{1} << 30; question.bytes *= 2)
      all.channels += is_reduction(question.what)
                          ? choose_reduction(question).channels
                          : choose_exchange(question.what, question).channels;
  }
  return all;
}

}  // namespace

int main() {
  return bench::run_program("plan_scale", [] {
    std::vector<int> node_of;
    for (int pe = 0; pe < n_pes; ++pe) node_of.push_back(pe % n_nodes);
    std::vector<double> times;
    for (const int pe : {0, 1, n_pes / 2 + 1, n_pes - 2, n_pes - 1}) {
      const double start = bench::now_us();
      const found all = find_all(node_of, pe);
      times.push_back(bench::now_us() - start);
      if (all.domains.n_domains() != n_nodes || all.topology.ring_next < 0 || all.channels < 1)
        throw std::runtime_error("the team was not found as it is");
    }
    bench::report_fact("plans_of_65536_pes", bench::median(times));
  });
}
