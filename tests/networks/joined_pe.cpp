// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A PE of a job on several hosts, with what needs no network between them: joining, memory that all
// allocate together, the node team. joined_pe PES_PER_NODE prints where it is and RIGHT, or WRONG
// and what, with status 1.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <heddle/heddle.hpp>

namespace {

bool right(const char* what, int found, int wanted) {
  if (found == wanted) return true;
  std::printf("WRONG: %s is %d instead of %d\n", what, found, wanted);
  return false;
}

bool joins(int pes_per_node) {
  const heddle::runtime self;
  const auto node = self.node();
  bool all = right("the size of the node team", node.n_pes(), pes_per_node);
  all = right("the PE of the node team", node.my_pe(), self.my_pe() % pes_per_node) && all;

  const heddle::symmetric_array<int> mine(self, 1000);
  const int first = self.my_pe() - node.my_pe();
  for (int pe = 0; pe < self.n_pes(); ++pe) {
    const bool here = pe >= first && pe < first + pes_per_node;
    all = right("whether a PE is mapped", self.ptr(mine.data(), pe) != nullptr, here) && all;
  }
  for (std::size_t i = 0; i < mine.size(); ++i) mine.data()[i] = self.my_pe();
  node.all_reduce(mine.data(), mine.data(), mine.size(), heddle::op::sum);
  const int sum = pes_per_node * first + pes_per_node * (pes_per_node - 1) / 2;
  for (std::size_t i = 0; i < mine.size(); ++i) all = right("a sum", mine.data()[i], sum) && all;

  std::array<char, 64> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::printf("PE %d of %d on %s: %s\n", self.my_pe(), self.n_pes(), host.data(),
              all ? "RIGHT" : "WRONG");
  return all;
}

}  // namespace

int main(int argc, char** argv) try {
  const int pes_per_node = argc > 1 ? std::atoi(argv[1]) : 1;
  // Leaving is collective too: the second time begins when all have ended the first.
  return joins(pes_per_node) && joins(pes_per_node) ? 0 : 1;
} catch (const heddle::error& failure) {
  std::printf("WRONG: %s\n", failure.what());
  return 1;
}
