// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/cost_model.hpp"

#include <algorithm>
#include <bit>
#include <heddle/device/coll/all_reduce_hierarchical.hpp>

namespace heddle {

namespace {

double levels_of(int n_pes) {
  return static_cast<double>(std::bit_width(static_cast<unsigned>(n_pes - 1)));
}

const way_cost& cost_of(const tuning& costs, algorithm algo, protocol proto, bool remote) {
  const bool ll = proto == protocol::ll;
  const bool ll128 = proto == protocol::ll128;
  switch (algo) {
    case algorithm::one_shot:
      if (remote) return costs.network_one_shot;
      return ll ? costs.one_shot_ll : ll128 ? costs.one_shot_ll128 : costs.one_shot;
    case algorithm::two_shot:
    case algorithm::multicast:
      return costs.two_shot;
    default:
      if (remote) return costs.network_link;
      return ll ? costs.link_ll : ll128 ? costs.link_ll128 : costs.link;
  }
}

double ns_of(const way_cost& cost, const route& by, double bytes) {
  const way_cost all = cost.times(by.hops, by.bytes);
  return all.hop_ns + all.ns_per_kib * bytes / 1024;
}

/// By memory in each domain, then along rails, each with one PE of every domain and its part of the
/// bytes, as the channels of all_reduce_hierarchical.hpp go: all of it, whatever a PE keeps.
double hierarchical_ns(const tuning& costs, const plan_question& question, int channels) {
  const int domains = question.n_pes / question.domain_size;
  const auto bytes = static_cast<double>(question.bytes);
  const int owners = bytes / channels <= detail::most_for_one_owner ? 1 : question.domain_size;
  const double rail_bytes = bytes / owners;
  const auto rail = question.n_pes <= channel_scratch::max_direct_pes &&
                            rail_bytes / channels <= channel_scratch::one_shot_capacity
                        ? algorithm::one_shot
                        : algorithm::ring;
  return ns_of(costs.two_shot,
               route_of(collective::all_reduce, algorithm::two_shot, question.domain_size, false),
               bytes) +
         ns_of(cost_of(costs, rail, protocol::simple, true),
               route_of(collective::all_reduce, rail, domains, true), rail_bytes);
}

way_cost cost_by_memory(const tuning& costs, const plan_question& question, const plan& plan) {
  if (question.on_cuda && goes_by_mailbox(question.what, plan.algo))
    return plan.proto == protocol::ll ? costs.words : costs.slots;
  way_cost cost = cost_of(costs, plan.algo, plan.proto, false);
  // Where each has a processor, leaves run ahead of their root in one shot, and meet it in two.
  if (question.what == collective::reduce && plan.algo == algorithm::two_shot && !question.on_cuda)
    cost.hop_ns = costs.rooted_direct.hop_ns / 2;
  return cost;
}

/// A Reduce of PEs that take turns, whose work adds up: in one shot the leaves' writes to slots,
/// which they make running ahead; in two the parts of all, and the root's copies of them.
double crowded_reduce_ns(const tuning& costs, const plan_question& question, const plan& plan) {
  const double leaves = question.n_pes - 1;
  const auto bytes = static_cast<double>(question.bytes);
  if (plan.algo != algorithm::one_shot)
    return ns_of(costs.two_shot, {2, leaves / question.n_pes}, bytes);
  return ns_of(plan.proto == protocol::ll ? costs.rooted_words : costs.rooted_slots,
               {leaves, leaves}, bytes);
}

/// An AllReduce takes its slots of all PEs in lock-step; and so do a GPU's blocks those of a
/// mailbox.
double one_shot_rounds(const plan_question& question, const plan& plan) {
  const auto channels = static_cast<std::size_t>(plan.channels);
  std::size_t round = channels * channel_scratch::one_shot_bytes(plan.proto);
  if (goes_by_mailbox(question.what, plan.algo)) {
    if (!question.on_cuda) return 1;
    const int pieces = question.what == collective::reduce_scatter ? question.n_pes : 1;
    round = channels * bytes_of_step(plan.proto == protocol::ll) * static_cast<std::size_t>(pieces);
  }
  return static_cast<double>(std::max<std::size_t>((question.bytes + round - 1) / round, 1));
}

}  // namespace

route route_of(collective what, algorithm algo, int n_pes, bool remote) {
  const double n = n_pes;
  const double part = 1 / n;
  const bool both_ways = what == collective::all_reduce;
  switch (algo) {
    case algorithm::one_shot: {
      // Messages to many leave one after the other: half of a hop each.
      const double hops = remote ? n / 2 : 1;
      return {hops, what == collective::reduce_scatter ? (n - 1) * part : n - 1};
    }
    case algorithm::two_shot:
      return {2, (what == collective::reduce_scatter ? 1 : 2) * (n - 1) * part};
    case algorithm::multicast:  // the switch sends each a part of the combination, and all of it
      return {2, both_ways ? 1 + part : 2 * part};
    case algorithm::tree:
      if (what == collective::reduce_scatter) return {levels_of(n_pes), (n - 1) * part};
      return {(both_ways ? 2 : 1) * levels_of(n_pes), both_ways ? 2.0 : 1.0};
    default:
      if (what == collective::reduce) return {n - 1, 1};
      if (remote && n_pes == 2) return {1, both_ways ? 1 : part};  // all_reduce_of_two.hpp
      // A slot and its credit for each hop, where one shot is a packet.
      if (what == collective::reduce_scatter && remote) return {2 * (n - 1), (n - 1) * part};
      return {(both_ways ? 2 : 1) * (n - 1), (both_ways ? 2 : 1) * (n - 1) * part};
  }
}

double expected_ns(const plan_question& question, const plan& plan) {
  if (question.n_pes == 1) return 0;
  const tuning& costs = costs_of(question);
  const bool remote = !question.all_mapped;
  if (plan.algo == algorithm::hierarchical) return hierarchical_ns(costs, question, plan.channels);
  if (question.what == collective::reduce && question.is_crowded && !remote && is_direct(plan.algo))
    return crowded_reduce_ns(costs, question, plan);
  way_cost cost =
      remote ? cost_of(costs, plan.algo, plan.proto, true) : cost_by_memory(costs, question, plan);
  cost.ns_per_kib *=
      std::max(1.0, costs.full_channels / plan.channels) * (plan.wide ? question.widening : 1);
  route by = route_of(question.what, plan.algo, question.n_pes, remote);
  if (plan.algo == algorithm::one_shot) by.hops *= one_shot_rounds(question, plan);
  return ns_of(cost, by, static_cast<double>(question.bytes));
}

}  // namespace heddle
