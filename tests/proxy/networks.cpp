// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "networks.hpp"

#include <heddle/device/proxy_ref.hpp>

#include "host/transport/libfabric/libfabric_transport.hpp"
#include "host/transport/tcp/tcp_transport.hpp"
#include "host/transport/verbs/verbs_transport.hpp"
#include "transport/unruly_transport.hpp"

namespace heddle::testing {

namespace {

using message_order = transport::message_order;

made_network with_addresses(made_network made) {
  std::vector<transport::bytes> addresses;
  for (const auto& each : made.transports) addresses.push_back(each->address());
  for (const auto& each : made.transports) each->set_addresses(addresses);
  return made;
}

network memory(const std::string& name, const memory_network_options& options) {
  return {.name = "memory_" + name,
          .make =
              [=](int n_pes, double /*timeout*/, std::uint64_t seed) {
                auto with_seed = options;
                with_seed.seed = seed;
                with_seed.traits.name = "memory " + name;
                made_network made;
                made.memory = std::make_shared<memory_network>(n_pes, with_seed);
                for (int pe = 0; pe < n_pes; ++pe) made.transports.push_back(made.memory->make(pe));
                return with_addresses(std::move(made));
              },
          .gives_events = options.gives_events,
          .tells_of_loss = true};
}

network with_gpu(network inner, bool is_reached = true) {
  inner.has_gpu = true;
  inner.waits_for_places = is_reached;
  return inner;
}

network tcp() {
  return {.name = "tcp",
          .make =
              [](int n_pes, double timeout, std::uint64_t /*seed*/) {
                tcp_options options;
                options.lanes = proxy_ref::max_contexts;
                options.one_host = true;
                options.timeout = std::chrono::duration<double>(timeout);
                made_network made;
                for (int pe = 0; pe < n_pes; ++pe)
                  made.transports.push_back(make_tcp_transport(options));
                return with_addresses(std::move(made));
              },
          .tells_of_loss = true};
}

network fabric(const std::string& name, const std::string& provider,
               std::optional<libfabric::ordering> ordering = {}) {
  return {.name = name,
          .make =
              [=](int n_pes, double timeout, std::uint64_t /*seed*/) {
                libfabric_options options;
                options.provider = provider;
                options.one_host = true;
                options.timeout = std::chrono::duration<double>(timeout);
                options.ordering = ordering;
                made_network made;
                for (int pe = 0; pe < n_pes; ++pe)
                  made.transports.push_back(make_libfabric_transport(options));
                return with_addresses(std::move(made));
              },
          // Its descriptor is not to be waited for (endpoint.cpp).
          .gives_events = provider != "net"};
}

network verbs(const std::string& name, int most_ports) {
  return {.name = name,
          .make =
              [=](int n_pes, double timeout, std::uint64_t /*seed*/) {
                verbs_options options;
                options.lanes = proxy_ref::max_contexts;
                options.most_ports = most_ports;
                // Tries again for 2 s, longer than an emulated processor may sleep. rdma_rxe takes
                // 7 retries for retries without end.
                options.timeout = 16;
                options.retry_count = 6;
                options.connect_timeout = std::chrono::duration<double>(timeout);
                made_network made;
                for (int pe = 0; pe < n_pes; ++pe) {
                  options.local_rank = pe;  // PEs begin at different ports
                  made.transports.push_back(make_verbs_transport(options));
                }
                return with_addresses(std::move(made));
              },
          .tells_of_loss = true,
          .tells_loss_in = 2};
}

/// The same, that refuses, delays and reorders what it may.
network unruly(network inner) {
  return {.name = "unruly_" + inner.name,
          .make =
              [inner](int n_pes, double timeout, std::uint64_t seed) {
                auto made = inner.make(n_pes, timeout, seed);
                std::vector<conformance::unruly_transport*> all;
                for (auto& each : made.transports) {
                  auto wrapped =
                      std::make_unique<conformance::unruly_transport>(std::move(each), ++seed);
                  all.push_back(wrapped.get());
                  each = std::move(wrapped);
                }
                made.lose = [all](int of, int pe) {
                  all[static_cast<std::size_t>(of)]->lose_soon(pe);
                };
                return made;
              },
          .gives_events = inner.gives_events,
          .tells_of_loss = inner.tells_of_loss,
          .loses_peers = true,
          .tells_loss_in = inner.tells_loss_in};
}

}  // namespace

const std::vector<network>& networks() {
  static const std::vector<network> plain = {
      memory("after_writes", {.traits = {.name = {}, .order = message_order::after_writes},
                              .completes_early = true}),
      memory("after_completions",
             {.traits = {.name = {}, .order = message_order::after_completions}}),
      memory("counted",
             {.traits = {.name = {}, .order = message_order::counted}, .completes_early = true}),
      // As InfiniBand: what is written is registered, pieces are pinned, and there are atomics.
      memory("registered", {.traits = {.name = {},
                                       .order = message_order::after_writes,
                                       .completion_is_delivery = true,
                                       .needs_registered_local = true,
                                       .pins_memory = true,
                                       .has_atomics = true,
                                       .atomics_match_cpu = true}}),
      // Takes little at a time, if at all, and has atomics that are of no use.
      memory("refusing", {.traits = {.name = {},
                                     .order = message_order::counted,
                                     .completion_is_delivery = true,
                                     .needs_registered_local = true,
                                     .has_atomics = true,
                                     .most_message_bytes = 1021,
                                     .most_transfer_bytes = 100'000,
                                     .eager_bytes = 512},
                          .refuses = 100}),
      // No descriptor to wait for, and every message carries as much as it can.
      memory("polled", {.traits = {.name = {},
                                   .order = message_order::after_completions,
                                   .most_message_bytes = 128 << 10,
                                   .eager_bytes = 128 << 10},
                        .gives_events = false,
                        .refuses = 20}),
      // The memory of a GPU: which cards reach, and which they do not.
      with_gpu(memory("gpu", {.traits = {.name = {},
                                         .order = message_order::after_writes,
                                         .completion_is_delivery = true,
                                         .needs_registered_local = true,
                                         .pins_memory = true,
                                         .reaches_gpu = true,
                                         .has_atomics = true,
                                         .atomics_match_cpu = true},
                              .completes_early = false,
                              .gives_events = true,
                              .flushes = true})),
      with_gpu(memory("gpu_counted",
                      {.traits = {.name = {}, .order = message_order::counted, .reaches_gpu = true},
                       .completes_early = false,
                       .gives_events = true,
                       .flushes = true})),
      with_gpu(
          memory("gpu_apart", {.traits = {.name = {}, .order = message_order::after_completions}}),
          false),
      tcp(),
      fabric("net", "net"),
      fabric("net_counted", "net", libfabric::ordering::counted),
      fabric("net_completions", "net", libfabric::ordering::awaited),
      fabric("tcp_rxm", "tcp;ofi_rxm"),
      fabric("sockets", "sockets"),
      fabric("sockets_fenced", "sockets", libfabric::ordering::fenced),
      fabric("udp_rxd", "udp;ofi_rxd"),
      fabric("shm", "shm"),
      // Where there is an RDMA device: in the machine of tests/rdma_vm.
      verbs("verbs", 1),
      verbs("verbs_rails", 2),
  };
  static const std::vector<network> all = [] {
    auto made = plain;
    for (const auto& each : plain) made.push_back(unruly(each));
    return made;
  }();
  return all;
}

}  // namespace heddle::testing
