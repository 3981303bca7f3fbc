// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How fast a grid of PE 0 moves an array to PE 1 and from it, each thread, warp or block its part.
#include <heddle/symmetric_array.hpp>

#include "../partition.cuh"
#include "gpu_pe.hpp"

namespace {

using bench::gpu_pe;
using heddle::team_ref;
using heddle::uint64_t;

template <class By>
HEDDLE_FN bench::array_part part_of(heddle::size_t words, const auto& block) {
  const auto group = By::of(block);
  const int groups = block.size() / group.size();
  return bench::array_part::of(
      words, static_cast<heddle::size_t>(block.block_rank() * groups + block.rank() / group.size()),
      static_cast<heddle::size_t>(block.num_blocks() * groups));
}

/// n times the whole array.
template <class By>
struct put_parts {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, uint64_t* to, uint64_t* from,
                            heddle::size_t words, uint64_t n) const {
    const auto part = part_of<By>(words, block);
    for (uint64_t i = 0; i < n; ++i)
      team.put(By::of(block), to + part.begin, from + part.begin, part.count, 1);
    team.quiet();
  }
};

template <class By>
struct get_parts {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, uint64_t* to, uint64_t* from,
                            heddle::size_t words, uint64_t n) const {
    const auto part = part_of<By>(words, block);
    for (uint64_t i = 0; i < n; ++i)
      team.get(By::of(block), to + part.begin, from + part.begin, part.count, 1);
  }
};

class bandwidths {
 public:
  explicit bandwidths(gpu_pe& pe)
      : pe_(pe),
        target_(pe.runtime(), pe.options().max_bytes / sizeof(uint64_t)),
        source_(pe.runtime(), pe.options().max_bytes / sizeof(uint64_t)) {
    std::vector<uint64_t> content(source_.size());
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = held_by(pe.my_pe(), i);
    pe_.write(source_.data(), content);
    pe_.agree(0);
  }

  template <class By>
  void measure() {
    for (const int blocks : bench::bandwidth_blocks) {
      if (pe_.options().smoke && blocks > 8) continue;
      measure(bench::blocks_name("put", blocks), By::name, blocks, put_parts<By>{}, 1);
      measure(bench::blocks_name("get", blocks), By::name, blocks, get_parts<By>{}, 0);
    }
  }

 private:
  /// What word i of a PE's source is.
  static uint64_t held_by(int pe, std::size_t i) {
    return bench::pattern(i) + static_cast<uint64_t>(pe);
  }

  /// After `kernel` PE `receiver` has the array in its target.
  template <class Kernel>
  void measure(const std::string& what, const char* variant, int blocks, Kernel kernel,
               int receiver) {
    const int threads = bench::on_gpu() ? bench::bandwidth_threads : 2;
    auto sizes = bench::bandwidth_sizes(blocks);
    if (pe_.options().smoke) sizes = {pe_.options().max_bytes};
    for (const std::size_t bytes : pe_.options().up_to_max(sizes)) {
      const std::size_t words = bytes / sizeof(uint64_t);
      const auto run = [&](std::uint64_t n) {
        if (pe_.my_pe() == 0)
          heddle::launch(pe_.stream(), blocks, threads, kernel, pe_.world().ref(), target_.data(),
                         source_.data(), words, n);
      };
      if (bytes <= bench::verified_bytes) verify(what, variant, words, receiver, run);
      const double us = pe_.time(run);
      pe_.report(what, variant, bytes, us);
    }
  }

  template <class Run>
  void verify(const std::string& what, const char* variant, std::size_t words, int receiver,
              Run run) {
    pe_.write(target_.data(), std::vector<uint64_t>(words));
    pe_.agree(0);
    run(1);
    pe_.stream().synchronize();
    pe_.agree(0);
    if (pe_.my_pe() != receiver) return;
    const auto moved = pe_.read(target_.data(), words);
    for (std::size_t i = 0; i < words; ++i)
      if (moved[i] != held_by(1 - receiver, i))
        throw std::runtime_error(what + " by a " + variant + ": word " + std::to_string(i) +
                                 " of " + std::to_string(words) + " did not arrive");
  }

  gpu_pe& pe_;
  heddle::symmetric_array<uint64_t> target_;
  heddle::symmetric_array<uint64_t> source_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_heddle_bandwidth", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    if (options.pes != 2) throw std::invalid_argument("bandwidths are between 2 PEs");
    bench::run_gpu_pes(options, [](gpu_pe& pe) {
      bandwidths all(pe);
      all.measure<bench::by_thread>();
      all.measure<bench::by_warp>();
      all.measure<bench::by_block>();
    });
  });
}
