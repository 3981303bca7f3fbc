// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <string>
#include <vector>

#include "kernels/on_device.hpp"

/// Ways that HEDDLE_ALGO and HEDDLE_PROTO force for collectives that combine nothing. A plan takes
/// another where there is none such, and results would be right all the same.
namespace heddle::testing {

struct forced_exchange {
  std::string algorithm;
  std::string protocol;
};

/// In how many parts the network divides a team: memory joins the PEs of each. Called by its PEs,
/// which are these of the world; `word` is symmetric.
inline int count_domains(const runtime& self, const team& team, const std::vector<int>& world_pes,
                         const int* word) {
  const auto queue = self.create_stream();
  int first = 0;
  while (!self.ptr(word, world_pes[static_cast<std::size_t>(first)])) ++first;
  const device_array<int> is_first(self, 1 + world_pes.size());
  write(queue, is_first.data(), {first == team.my_pe() ? 1 : 0});
  team.all_gather(is_first.data(), is_first.data() + 1, 1, queue);
  const auto all = read(queue, is_first.data() + 1, world_pes.size());
  return static_cast<int>(std::count(all.begin(), all.end(), 1));
}
/// Of all PEs.
inline int count_domains(const runtime& self) {
  const symmetric_array<int> word(self, 1);
  std::vector<int> all;
  for (int pe = 0; pe < self.n_pes(); ++pe) all.push_back(pe);
  return count_domains(self, self.world(), all, word.data());
}

/// That a team of up to 64 PEs, in so many domains, takes the way for `count` elements, where the
/// collective has it.
inline void check_taken(const forced_exchange& wanted, const team& team, int domains,
                        heddle_collective_t what, std::size_t count) {
  if (team.n_pes() == 1 || wanted.algorithm.empty()) return;
  const auto plan = team.plan(what, count, HEDDLE_INT32);
  const auto require = [&](bool is_so) {
    check(is_so, wanted.algorithm + " " + wanted.protocol + " of " + std::to_string(domains) +
                     " domains, collective " + std::to_string(what) + " became " + plan);
  };
  const auto begins = [&](const std::string& with) { return plan.rfind(with, 0) == 0; };
  const auto tells = [&](const char* part) { return plan.find(part) != std::string::npos; };

  const bool broadcasts = what == HEDDLE_COLLECTIVE_BROADCAST;
  const bool has_hierarchy = (broadcasts || what == HEDDLE_COLLECTIVE_ALL_GATHER ||
                              what == HEDDLE_COLLECTIVE_ALL_TO_ALL) &&
                             domains > 1 && domains < team.n_pes();
  const auto& algorithm = wanted.algorithm;
  const bool is_direct = algorithm == "one_shot" || algorithm == "direct";
  if (is_direct || (!broadcasts && !has_hierarchy))
    require(begins("direct: "));
  else if (algorithm == "hierarchical" ? has_hierarchy
                                       : broadcasts && (algorithm == "ring" || algorithm == "tree"))
    require(begins(algorithm));
  // Leaders send what they have in messages, of whatever size.
  if (begins("hierarchical, by leaders")) return;
  if (algorithm == "one_shot")
    require(tells("slots up to any size") && (domains == 1 || tells("(any size by the network)")));
  if (algorithm == "direct")
    require(tells("slots up to 0 bytes") && (domains == 1 || tells("(0 bytes by the network)")));
  if (wanted.protocol == "ll") require(tells("words up to any size"));
  if (wanted.protocol == "simple" || algorithm == "direct") require(tells("words up to 0 bytes"));
}
inline void check_taken(const forced_exchange& wanted, const team& team, int domains,
                        std::size_t count) {
  for (const auto what :
       {HEDDLE_COLLECTIVE_BROADCAST, HEDDLE_COLLECTIVE_ALL_GATHER, HEDDLE_COLLECTIVE_ALL_TO_ALL,
        HEDDLE_COLLECTIVE_GATHER, HEDDLE_COLLECTIVE_SCATTER})
    check_taken(wanted, team, domains, what, count);
}

/// On two and three PEs, each way that pieces of their own sizes, and sends and receives, have.
inline void in_ways_of_pieces(const std::function<void(runtime&, const forced_exchange&)>& body) {
  for (const auto& way :
       std::vector<forced_exchange>{{"one_shot", "ll"}, {"one_shot", "simple"}, {"direct", ""}}) {
    const environment_variable algorithm("HEDDLE_ALGO", way.algorithm);
    const environment_variable protocol("HEDDLE_PROTO", way.protocol);
    for (const int n_pes : fewer_if_cut_short({2, 3})) {
      CAPTURE(way.algorithm);
      CAPTURE(way.protocol);
      CAPTURE(n_pes);
      run_pes(n_pes, [&](runtime& self) { body(self, way); });
    }
  }
}

}  // namespace heddle::testing
