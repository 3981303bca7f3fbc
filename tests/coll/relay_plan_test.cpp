// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <vector>

#include "coll/exchange_plan.hpp"
#include "coll/relay_tree.hpp"

using namespace heddle;

TEST_CASE("the tree of a broadcast reaches every PE once, and enters each host once") {
  for (const auto shape : {algorithm::ring, algorithm::tree, algorithm::hierarchical})
    for (const auto& domain_of : std::vector<std::vector<int>>{
             {0}, {0, 0, 0}, {0, 1, 2}, {0, 1, 0, 1}, {0, 0, 0, 1, 1, 2}, {2, 0, 1, 2, 2, 1, 0}}) {
      const auto domains = find_domains(domain_of);
      const auto n = static_cast<int>(domain_of.size());
      for (int root = 0; root < n; ++root) {
        CAPTURE(name_of(shape));
        CAPTURE(root);
        std::vector<int> sent(domain_of.size());
        int crossings = 0;
        for (int pe = 0; pe < n; ++pe) {
          const auto mine = relay_place_of(shape, domains, pe, root);
          CHECK((mine.parent < 0) == (pe == root));
          for (const int child : mine.children) {
            CHECK(relay_place_of(shape, domains, child, root).parent == pe);
            ++sent[static_cast<std::size_t>(child)];
            crossings += domain_of[static_cast<std::size_t>(child)] !=
                         domain_of[static_cast<std::size_t>(pe)];
          }
          if (shape == algorithm::ring) CHECK(mine.children.size() <= 1);
        }
        for (int pe = 0; pe < n; ++pe) CHECK(sent[static_cast<std::size_t>(pe)] == (pe != root));
        CHECK(crossings == domains.n_domains() - 1);
      }
    }
}

TEST_CASE("where memory does not join the PEs of a host, a tree takes each for itself") {
  auto domains = find_domains(std::vector{0, 0, 0, 0, 1, 1, 1, 1});
  domains.are_mapped = false;
  for (int pe = 0; pe < 8; ++pe) {
    CHECK(relay_place_of(algorithm::tree, domains, pe, 3).children.size() <= 2);
    CHECK(relay_place_of(algorithm::hierarchical, domains, pe, 3).children.size() ==
          (pe == 3 ? 7u : 0u));
  }
}

TEST_CASE("few bytes for all go by leaders, which have room for them, and more along rails") {
  const auto by_leaders = [](collective what, std::size_t bytes, int largest = 2,
                             const tuning* tuned = nullptr) {
    const plan_question question{.what = what,
                                 .bytes = bytes,
                                 .n_pes = 4,
                                 .is_crowded = tuned != nullptr,
                                 .all_mapped = false,
                                 .num_domains = 2,
                                 .domain_size = 2,
                                 .largest_domain = largest,
                                 .tuned = tuned};
    const auto plan = choose_exchange(what, question);
    const bool told = explain(plan, question).find("by leaders") != std::string::npos;
    CHECK(told == plan.by_leaders);
    return plan.by_leaders;
  };
  CHECK(by_leaders(collective::all_gather, 8));
  CHECK(by_leaders(collective::all_to_all, 8));
  CHECK(by_leaders(collective::all_to_all, 2048));
  CHECK_FALSE(by_leaders(collective::all_to_all, 4096));
  // Where all PEs of a host take turns, messages cost more.
  CHECK(by_leaders(collective::all_to_all, 8192, 2, &crowded_host_tuning));
  CHECK_FALSE(by_leaders(collective::all_to_all, 16384, 2, &crowded_host_tuning));
  CHECK_FALSE(by_leaders(collective::all_gather, 65536));
  CHECK_FALSE(by_leaders(collective::broadcast, 8));
  CHECK_FALSE(by_leaders(collective::all_gather, 8, barrier_memory::max_direct + 1));
  // What combines takes the same way.
  for (const auto what : {collective::all_reduce, collective::reduce_scatter, collective::reduce})
    CHECK(choose_reduction({.what = what,
                            .bytes = 64,
                            .n_pes = 4,
                            .all_mapped = false,
                            .num_domains = 2,
                            .domain_size = 2})
              .algo == algorithm::hierarchical);
}

TEST_CASE("a broadcast goes host by host where that is quickest, and an AllGather as well") {
  const auto way = [](collective what, plan_question question) {
    question.what = what;
    return choose_exchange(what, question).algo;
  };
  const plan_question two_hosts{.bytes = 8,
                                .n_pes = 16,
                                .all_mapped = false,
                                .num_domains = 2,
                                .domain_size = 8,
                                .largest_domain = 8};
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{64} << 20}) {
    auto question = two_hosts;
    question.bytes = bytes;
    CHECK(way(collective::broadcast, question) == algorithm::hierarchical);
    CHECK(way(collective::all_gather, question) == algorithm::hierarchical);
    CHECK(way(collective::all_to_all, question) ==
          (bytes == 8 ? algorithm::hierarchical : algorithm::direct));
    question.domain_size = 1;  // they have not as many PEs each
    CHECK(way(collective::all_gather, question) == algorithm::hierarchical);
    question.forced_algorithm = algorithm::direct;
    CHECK(way(collective::broadcast, question) == algorithm::direct);
    question.forced_algorithm = algorithm::ring;
    CHECK(way(collective::broadcast, question) == algorithm::ring);
    CHECK(way(collective::broadcast, {.bytes = bytes, .n_pes = 8}) == algorithm::direct);
  }
  // The root's link would carry all: a chain carries it once.
  CHECK(way(collective::broadcast,
            {.bytes = 64u << 20, .n_pes = 16, .all_mapped = false, .num_domains = 16}) ==
        algorithm::ring);
  CHECK(way(collective::broadcast, {.bytes = 64u << 20, .n_pes = 8, .on_cuda = true}) ==
        algorithm::ring);
  // But who shares a GPU reads its memory.
  CHECK(way(collective::broadcast,
            {.bytes = 64u << 20, .n_pes = 8, .on_cuda = true, .one_gpu = true}) ==
        algorithm::direct);
  CHECK(way(collective::broadcast, {.bytes = 8, .n_pes = 8, .on_cuda = true}) == algorithm::direct);
  auto question = two_hosts;
  question.what = collective::broadcast;
  CHECK(explain(choose_exchange(question.what, question), question).find("runner-up") !=
        std::string::npos);
}

TEST_CASE("on CUDA words have a block for each step, and chunks of a relay grow with its bytes") {
  const auto plan_of = [](std::size_t bytes, int max_blocks) {
    return choose_exchange(collective::all_gather,
                           {.bytes = bytes, .n_pes = 4, .on_cuda = true, .max_blocks = max_blocks});
  };
  const std::size_t most = channel_scratch::max_slot_channels * mailbox::ll_step;
  CHECK(plan_of(8, 33).channels == 1);
  CHECK(plan_of(8, 33).threads == 32);
  CHECK(plan_of(most, 33).words_up_to == most);
  CHECK(plan_of(most, 33).slots_up_to == limits_by(cuda_tuning).slots);  // and then directly
  CHECK(limits_by(cuda_tuning).slots < std::size_t{1} << 20);
  CHECK(limits_by(cuda_tuning).rooted_slots < std::size_t{1} << 20);
  CHECK(plan_of(most, 33).channels == channel_scratch::max_slot_channels);
  CHECK(plan_of(most, 33).threads == mailbox::ll_step / 8);
  CHECK(plan_of(2 * most, 33).channels == 4);  // slots, of which each has 16 KiB
  CHECK(plan_of(2 * most, 33).words_up_to == 4 * mailbox::ll_step);  // smaller pieces of a list
  CHECK(plan_of(8, 33).words_up_to == mailbox::ll_step);
  CHECK(plan_of(4 * mailbox::ll_step, 3).words_up_to == mailbox::ll_step);  // 8 KiB: slots, one

  // As a reduction's pieces go.
  plan_question question{.what = collective::reduce,
                         .bytes = 4 * mailbox::ll_step,
                         .n_pes = 4,
                         .on_cuda = true,
                         .max_blocks = 33,
                         .forced_algorithm = algorithm::one_shot,
                         .forced_protocol = protocol::ll};
  CHECK(choose_reduction(question).channels == 4);
  question.what = collective::reduce_scatter;  // a fourth of the bytes to each
  CHECK(choose_reduction(question).channels == 1);

  const auto chunk_of = [](std::size_t bytes) {
    return choose_exchange(collective::broadcast,
                           {.bytes = bytes, .n_pes = 4, .on_cuda = true, .max_blocks = 33})
        .chunk;
  };
  CHECK(chunk_of(8) == std::size_t{32} << 10);
  CHECK(chunk_of(std::size_t{32} << 20) == std::size_t{256} << 10);
}
