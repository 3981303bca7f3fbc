// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <heddle/device/coll/scratch.hpp>

#include <bit>
#include <heddle/error.hpp>
#include <vector>

#include "coll/domains.hpp"
#include "coll/exchange_plan.hpp"
#include "coll/plan.hpp"
#include "coll/topology.hpp"

using namespace heddle;

namespace {

/// Checks one tree of n PEs: parents and children agree, every PE hangs below the one root, no path
/// is long.
void check_tree(const std::vector<team_topology>& all, int which) {
  const int n = static_cast<int>(all.size());
  int roots = 0;
  for (int pe = 0; pe < n; ++pe) {
    const auto& tree = all[static_cast<std::size_t>(pe)].trees[which];
    if (tree.parent < 0) {
      ++roots;
    } else {
      REQUIRE(tree.parent < n);
      CHECK(all[static_cast<std::size_t>(tree.parent)].trees[which].children[tree.place] == pe);
    }
    for (int place = 0; place < 2; ++place)
      if (tree.children[place] >= 0) {
        const auto& child = all[static_cast<std::size_t>(tree.children[place])].trees[which];
        CHECK(child.parent == pe);
        CHECK(child.place == place);
      }
    int depth = 0;
    for (int at = pe; at >= 0 && depth <= n; ++depth)
      at = all[static_cast<std::size_t>(at)].trees[which].parent;
    CHECK(depth <= std::bit_width(static_cast<unsigned>(n)) + 1);
  }
  CHECK(roots == 1);
}

bool is_inner(const team_topology::tree& tree) {
  return tree.children[0] >= 0 || tree.children[1] >= 0;
}

}  // namespace

TEST_CASE("rings and double binary trees are whole, for any number of PEs") {
  std::vector<int> sizes = {1000, 4096, 65'536};
  for (int n = 1; n <= 130; ++n) sizes.push_back(n);
  for (int n : sizes) {
    CAPTURE(n);
    std::vector<team_topology> all;
    for (int pe = 0; pe < n; ++pe) all.push_back(topology_of(pe, n));
    for (int pe = 0; pe < n; ++pe) {
      const auto& mine = all[static_cast<std::size_t>(pe)];
      CHECK(all[static_cast<std::size_t>(mine.ring_next)].ring_previous == pe);
      CHECK(all[static_cast<std::size_t>(mine.ring_next)].ring_position ==
            (mine.ring_position + 1) % n);
      const bool inner_in_both = is_inner(mine.trees[0]) && is_inner(mine.trees[1]);
      CHECK_FALSE(inner_in_both);
    }
    check_tree(all, 0);
    check_tree(all, 1);
  }
}

TEST_CASE("a ring crosses between hosts once for each, whatever the launcher's order") {
  for (const int n : {8, 1000, 65'536}) {
    for (const int hosts : {2, 8, n / 8}) {
      if (hosts < 2) continue;
      // PEs are dealt to the hosts in turn, and the last host has one less.
      std::vector<int> host_of;
      for (int pe = 0; pe < n - 1; ++pe) host_of.push_back(pe % hosts);
      const int members = n - 1;
      const auto domains = find_domains(host_of);
      CHECK(domains.pes.size() == host_of.size());
      const team_order order(domains.pes);
      int crossings = 0;
      int tree_crossings = 0;
      for (int pe = 0; pe < members; ++pe) {
        const auto mine = topology_of(pe, members, order);
        const auto host = [&](int other) { return host_of[static_cast<std::size_t>(other)]; };
        CHECK(order.pe(mine.ring_position) == pe);
        CHECK(order.position(mine.ring_next) == (mine.ring_position + 1) % members);
        crossings += host(mine.ring_next) != host(pe);
        if (mine.trees[0].parent >= 0) tree_crossings += host(mine.trees[0].parent) != host(pe);
      }
      CHECK(crossings == std::min(hosts, members));
      CHECK(tree_crossings < 4 * hosts);
    }
  }
  // In each host in the order that its machine has them, the hosts by their first PEs.
  CHECK(
      find_domains(std::vector<int>{1, 2, 1, 2, 1}, std::vector<std::int32_t>{4, 3, 0, 1, 2}).pes ==
      std::vector<std::int32_t>{2, 4, 0, 3, 1});
  // Of one host, or block by block: nothing to reorder.
  CHECK(team_order(find_domains(std::vector<int>{5, 5, 5}).pes).pes().empty());
  CHECK(team_order(find_domains(std::vector<int>{1, 1, 2}).pes).pes().empty());
  CHECK(team_order(find_domains(std::vector<int>{1, 2, 1}).pes).pes().size() == 3);
}

TEST_CASE("on CUDA a plan has blocks and threads for its bytes, as many as are resident") {
  plan_question question{.bytes = 8, .n_pes = 4, .on_cuda = true, .max_blocks = 33};
  const plan tiny = choose_reduction(question);
  CHECK(tiny.algo == algorithm::one_shot);
  CHECK(tiny.proto == protocol::ll);
  CHECK(tiny.channels == 1);
  CHECK(tiny.threads == 32);
  question.bytes = 3 << 10;
  const plan small = choose_reduction(question);
  CHECK(small.proto == protocol::ll);
  CHECK(small.channels == 1);
  CHECK(small.threads == 384);
  question.bytes = 64 << 10;
  CHECK(choose_reduction(question).proto == protocol::ll);
  CHECK(choose_reduction(question).channels == 16);
  CHECK(choose_reduction(question).threads == 512);
  question.bytes = 256 << 10;
  CHECK(choose_reduction(question).algo == algorithm::one_shot);
  CHECK(choose_reduction(question).proto == protocol::simple);
  question.bytes = 64 << 20;
  const plan large = choose_reduction(question);
  CHECK(large.algo == algorithm::two_shot);
  CHECK(large.channels == 33);
  CHECK(large.threads == most_cuda_threads);
  question.forced_channels = 50;
  CHECK(choose_reduction(question).channels == 33);
  question.forced_channels = 0;
  question.max_blocks = 132;
  CHECK(choose_reduction(question).channels == 64);
  question.max_blocks = 0;
  CHECK(choose_reduction(question).channels == 1);
}

TEST_CASE("multicast is chosen where the user has asked for it and it is there") {
  plan_question question{.bytes = 64 << 20, .n_pes = 4, .on_cuda = true, .has_multicast = true};
  const plan chosen = choose_reduction(question);
  CHECK(chosen.algo == algorithm::multicast);
  CHECK(explain(chosen, question).find("for each PE an NVLink switch combines") !=
        std::string::npos);
  CHECK(choose_reduction({.bytes = 64 << 20, .n_pes = 2, .on_cuda = true, .has_multicast = true})
            .algo == algorithm::two_shot);
  question.has_multicast = false;
  question.forced_algorithm = algorithm::multicast;
  const plan instead = choose_reduction(question);
  CHECK(instead.algo == algorithm::two_shot);
  CHECK(explain(instead, question).find("that is not here") != std::string::npos);
  question.on_cuda = false;
  CHECK(choose_reduction(question).algo == algorithm::multicast);
  question.forced_protocol = protocol::ll;
  CHECK_THROWS_WITH_AS((void)choose_reduction(question), doctest::Contains("simple alone"), error);
}

TEST_CASE("a team's memory is enough for all smaller teams") {
  for (const bool with_links : {false, true})
    for (const bool of_cuda : {false, true}) {
      std::size_t known = 0;
      for (int n = 1; n <= 200; ++n) {
        const auto bytes = channel_scratch::bytes_per_team(n, with_links, of_cuda);
        CHECK(bytes >= known);
        known = bytes;
      }
    }
  // As docs/running.md says.
  CHECK(channel_scratch::bytes_per_team(2, false, true) < std::size_t{14} << 20);
  CHECK(channel_scratch::bytes_per_team(8, false, true) < std::size_t{31} << 20);
}

TEST_CASE("a plan follows from the question, and what is forced is obeyed or refused") {
  const plan tiny = choose_reduction({.bytes = 8, .n_pes = 2});
  CHECK(tiny.algo == algorithm::one_shot);
  CHECK(tiny.proto == protocol::ll);
  const plan large = choose_reduction({.bytes = 64u << 20, .n_pes = 2});
  CHECK(large.algo == algorithm::two_shot);
  CHECK(large.streaming);
  CHECK_FALSE(choose_reduction({.bytes = 1 << 20, .n_pes = 2}).streaming);
  const plan few = choose_reduction({.bytes = 8, .n_pes = 4, .all_mapped = false});
  CHECK(few.algo == algorithm::one_shot);
  CHECK(few.proto == protocol::simple);
  CHECK(choose_reduction({.bytes = 1 << 30, .n_pes = 4, .all_mapped = false}).algo ==
        algorithm::ring);
  CHECK(choose_reduction({.bytes = 8, .n_pes = 1000}).algo == algorithm::tree);

  plan_question forced{
      .bytes = 100, .n_pes = 4, .forced_algorithm = algorithm::ring, .forced_channels = 3};
  const plan ring = choose_reduction(forced);
  CHECK(ring.algo == algorithm::ring);
  CHECK(ring.channels == 3);
  CHECK(explain(ring, forced)
            .starts_with("ring ll, 3 channels of 1 thread: HEDDLE_ALGO; HEDDLE_CHANNELS; "));

  forced.forced_channels = 64;
  const plan clamped = choose_reduction(forced);
  CHECK(clamped.channels == 16);
  CHECK(explain(clamped, forced).find("HEDDLE_CHANNELS (at most 16 here)") != std::string::npos);

  forced.forced_algorithm = algorithm::two_shot;
  CHECK(choose_reduction(forced).channels == 64);
  forced.n_pes = 65;
  CHECK_THROWS_WITH_AS((void)choose_reduction(forced), doctest::Contains("choose ring or tree"),
                       error);
  forced.n_pes = 4;
  forced.forced_protocol = protocol::ll;
  CHECK_THROWS_WITH_AS((void)choose_reduction(forced), doctest::Contains("simple alone"), error);
  CHECK_FALSE(parse_algorithm(""));
  CHECK(parse_algorithm("tree") == algorithm::tree);
  CHECK(parse_protocol("ll128") == protocol::ll128);
  CHECK_THROWS_WITH_AS((void)parse_protocol("ll64"), doctest::Contains("simple, ll, ll128"), error);
}

TEST_CASE("what is expected is told, and what is next best where there was a choice") {
  const auto has = [](plan_question question, const char* part) {
    return explain(choose_reduction(question), question).find(part) != std::string::npos;
  };
  CHECK(has({.bytes = 65'536, .n_pes = 2}, " us expected, runner-up "));
  CHECK(has({.bytes = 8, .n_pes = 2}, " us expected, runner-up one_shot simple 0."));
  CHECK_FALSE(has({.bytes = 8, .n_pes = 1}, "expected"));
  const plan_question forced{.bytes = 8, .n_pes = 2, .forced_algorithm = algorithm::ring};
  CHECK(has(forced, " us expected"));
  CHECK_FALSE(has(forced, "runner-up"));
}

TEST_CASE("a team of several domains of several PEs goes by them") {
  plan_question question{.bytes = 1 << 20, .n_pes = 4, .all_mapped = false, .domain_size = 2};
  const plan chosen = choose_reduction(question);
  CHECK(chosen.algo == algorithm::hierarchical);
  CHECK(chosen.proto == protocol::simple);
  CHECK(explain(chosen, question).find("by memory in each") != std::string::npos);
  CHECK(explain(chosen, question).find("of a host in place") != std::string::npos);
  question.n_pes = 66;
  CHECK(explain(chosen, question).find("buffers staged") != std::string::npos);
  question.n_pes = 4;
  question.forced_algorithm = algorithm::hierarchical;
  question.domain_size = 1;
  const plan instead = choose_reduction(question);
  CHECK(instead.algo == algorithm::ring);
  CHECK(explain(instead, question).find("that is not here") != std::string::npos);

  question.forced_algorithm = algorithm::two_shot;
  CHECK(choose_reduction(question).algo == algorithm::two_shot);
  question.on_cuda = true;
  CHECK(choose_reduction(question).algo == algorithm::ring);

  const std::vector<int> hosts = {7, 3, 7, 3, 3, 7};
  const auto domains = find_domains(hosts);
  CHECK(domains.count == 2);
  CHECK(domains.size == 3);
  CHECK(domains.pes == std::vector<std::int32_t>{0, 2, 5, 1, 3, 4});
  CHECK(domains.is_hierarchy());
  CHECK_FALSE(find_domains(std::vector<int>{1, 1, 2}).is_hierarchy());
  CHECK_FALSE(find_domains(std::vector<int>{1, 2, 3}).is_hierarchy());
  CHECK_FALSE(find_domains(std::vector<int>{1, 1, 1}).is_hierarchy());
  CHECK_FALSE(find_domains(std::vector<int>(34, 0)).is_hierarchy());
}

TEST_CASE(
    "65,536 PEs that are dealt to 8,192 nodes have rings node by node, and a plan of each call") {
  constexpr int n_pes = 65'536;
  constexpr int n_nodes = 8'192;
  const auto node_of = [](int pe) { return pe % n_nodes; };
  std::vector<int> nodes;
  for (int pe = 0; pe < n_pes; ++pe) nodes.push_back(node_of(pe));
  const auto domains = find_domains(nodes);
  REQUIRE(domains.is_hierarchy());
  CHECK(domains.count == n_nodes);
  CHECK(domains.size == n_pes / n_nodes);
  const team_order order(domains.pes);
  int crossings = 0;
  int seen = 0;
  int pe = 0;
  do {
    const int next = topology_of(pe, n_pes, order).ring_next;
    crossings += node_of(next) != node_of(pe);
    ++seen;
    pe = next;
  } while (pe != 0 && seen < n_pes);
  CHECK(seen == n_pes);
  CHECK(crossings == n_nodes);
  plan_question question{.n_pes = n_pes,
                         .all_mapped = false,
                         .num_domains = domains.count,
                         .domain_size = domains.size,
                         .largest_domain = domains.largest()};
  for (int what = 0; what <= static_cast<int>(collective::transfer); ++what) {
    question.what = static_cast<collective>(what);
    CAPTURE(name_of(question.what));
    for (question.bytes = 1; question.bytes <= std::size_t{1} << 40; question.bytes *= 4) {
      const int channels = is_reduction(question.what)
                               ? choose_reduction(question).channels
                               : choose_exchange(question.what, question).channels;
      CHECK(channels >= 1);
    }
  }
}

TEST_CASE("LL128 is chosen where lines arrive whole, and refused where that is not known") {
  for (const std::size_t bytes : {8u, 4096u, 65'536u, 4u << 20})
    CHECK(choose_reduction({.bytes = bytes, .n_pes = 4}).proto != protocol::ll128);
  plan_question joined{.bytes = 256 << 10, .n_pes = 2, .on_cuda = true, .max_blocks = 64};
  const plan mid = choose_reduction(joined);
  CHECK(mid.algo == algorithm::one_shot);
  CHECK(mid.proto == protocol::ll128);
  CHECK(explain(mid, joined).starts_with("one_shot ll128, "));
  joined.bytes = 64 << 10;
  joined.n_pes = 4;
  plan_question few = joined;
  few.bytes = 256;
  CHECK(choose_reduction(few).proto == protocol::ll);
  plan_question many = joined;
  many.bytes = 64u << 20;
  CHECK(choose_reduction(many).proto == protocol::simple);
  many.forced_protocol = protocol::ll128;
  CHECK(choose_reduction(many).algo == algorithm::one_shot);

  // Other reductions' one hop is of words or of slots.
  for (const auto what : {collective::reduce_scatter, collective::reduce}) {
    plan_question other = joined;
    other.what = what;
    for (other.bytes = 8; other.bytes < 1u << 20; other.bytes *= 2)
      CHECK(choose_reduction(other).proto != protocol::ll128);
    other.forced_algorithm = algorithm::one_shot;
    other.forced_protocol = protocol::ll128;
    const plan by_slots = choose_reduction(other);
    CHECK(by_slots.algo == algorithm::one_shot);
    CHECK(by_slots.proto == protocol::simple);
    CHECK(explain(by_slots, other).find("one_shot has no ll128") != std::string::npos);
  }

  plan_question apart = joined;
  apart.whole_lines = false;
  CHECK(choose_reduction(apart).proto != protocol::ll128);
  apart.forced_protocol = protocol::ll128;
  CHECK_THROWS_WITH_AS((void)choose_reduction(apart), doctest::Contains("joined by NVLink"), error);
  plan_question remote = joined;
  remote.all_mapped = false;
  CHECK(choose_reduction(remote).proto != protocol::ll128);
  remote.forced_protocol = protocol::ll128;
  const plan over_network = choose_reduction(remote);
  CHECK(over_network.proto == protocol::simple);
  CHECK(explain(over_network, remote).find("simple where PEs are remote") != std::string::npos);

  plan_question threads = joined;
  threads.forced_threads = 48;
  CHECK_THROWS_WITH_AS((void)choose_reduction(threads), doctest::Contains("multiple of 32"), error);
}
