// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <string>
#include <vector>

#include "kernels/on_device.hpp"

/// Collectives that go a way that the test chooses, where their PEs' placement has it.
namespace heddle::testing {

struct way {
  heddle_algorithm_t algorithm;
  heddle_protocol_t protocol;
  const char* name;  ///< as heddle_plan begins
};

/// For as long as it lives, a team's calls of a collective go one way.
class forced {
 public:
  forced(const team& of, heddle_collective_t what, const way& wanted, int channels = 0)
      : team_(of), what_(what), choice_{wanted.algorithm, wanted.protocol, channels, 0} {
    team_.set_chooser(choose, this);
  }
  ~forced() { (void)heddle_team_set_chooser(team_.handle(), nullptr, nullptr); }
  forced(const forced&) = delete;
  forced& operator=(const forced&) = delete;

 private:
  static void choose(void* self, heddle_collective_t what, std::size_t, int,
                     heddle_choice_t* into) {
    const auto& mine = *static_cast<const forced*>(self);
    if (what == mine.what_) *into = mine.choice_;
  }

  team team_;
  heddle_collective_t what_;
  heddle_choice_t choice_;
};

/// Where the PEs of a job are to each other.
struct placement {
  bool all_mapped = true;
  bool has_hierarchy = false;  ///< several hosts with as many PEs each, and several
  bool has_links = true;       ///< memory for rings and trees, which GPUs that map each other lack
};

inline bool asks_for_links() {
  const char* algo = std::getenv("HEDDLE_ALGO");
  return algo && (std::string(algo) == "ring" || std::string(algo) == "tree");
}

inline placement find_placement(const runtime& self, const stream& queue) {
  const auto world = self.world();
  const auto n = static_cast<std::size_t>(self.n_pes());
  const symmetric_array<int> sizes(self, n + 1);
  placement found;
  for (int pe = 0; pe < self.n_pes(); ++pe)
    found.all_mapped &= self.ptr(sizes.data(), pe) != nullptr;
  write(queue, sizes.data() + n,
        std::vector<int>{found.all_mapped ? self.n_pes() : self.node().n_pes()});
  world.all_gather(sizes.data() + n, sizes.data(), 1, queue);
  const auto all = read(queue, static_cast<const int*>(sizes.data()), n);
  found.has_links = !on_gpu() || !found.all_mapped || asks_for_links();
  // With P2P disabled the node has several PEs all the same, of which none maps another.
  bool near = false;
  for (int pe = 0; pe < self.n_pes(); ++pe)
    near |= pe != self.my_pe() && self.ptr(sizes.data(), pe) != nullptr;
  found.has_hierarchy =
      !found.all_mapped && near && all[0] > 1 &&
      std::all_of(all.begin(), all.end(), [&](int each) { return each == all[0]; });
  return found;
}

/// By numbers, in which of their settings suites run: as threads or as a job, of PEs that memory
/// joins, that the network joins, or that are imitated hosts' in part. What a suite takes a share
/// of, it takes another of in each.
inline std::size_t setting_of(const placement& at) {
  const std::size_t joined = std::getenv("HEDDLE_PES_PER_HOST") ? 2 : at.all_mapped ? 0 : 1;
  return joined + (job_size() != 0 ? 3 : 0);
}

}  // namespace heddle::testing
