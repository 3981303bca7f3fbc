// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "networks.hpp"

#include <atomic>

#include "host/transport/libfabric/libfabric_transport.hpp"
#include "host/transport/tcp/tcp_transport.hpp"
#include "host/transport/verbs/verbs_transport.hpp"

namespace heddle::conformance {
namespace {

network libfabric_network(std::string name, std::string provider,
                          std::optional<libfabric::ordering> ordering = {},
                          loss loss = loss::told) {
  return {std::move(name),
          [=](std::chrono::duration<double> timeout) {
            libfabric_options options;
            options.provider = provider;
            options.one_host = true;
            options.timeout = timeout;
            options.ordering = ordering;
            return make_libfabric_transport(options);
          },
          loss};
}

network tcp_network() {
  return {"tcp", [](std::chrono::duration<double> timeout) {
            tcp_options options;
            options.lanes = 4;
            options.one_host = true;
            options.timeout = timeout;
            return make_tcp_transport(options);
          }};
}

network with_ends_told(network of) {
  of.tells_of_ends = true;
  return of;
}

network with_mixed_contacts(network of) {
  of.orders_crossing_contacts = false;
  return of;
}

network verbs_network(std::string name, int most_ports) {
  return {std::move(name), [=](std::chrono::duration<double> timeout) {
            // PEs begin at different ports.
            static std::atomic<int> made{0};
            verbs_options options;
            options.lanes = 4;
            options.local_rank = made++;
            options.most_ports = most_ports;
            // Tries again for 2 s, longer than an emulated processor may sleep. rdma_rxe takes 7
            // retries for retries without end.
            options.timeout = 16;
            options.retry_count = 6;
            options.connect_timeout = timeout;
            return make_verbs_transport(options);
          }};
}

}  // namespace

// sockets (1.17) now and then keeps a message of one that is there after another has gone. Of two
// PEs that reach for each other at the same moment, the second message may overtake the first: one
// goes over each connection. (The command engine takes them in turn.)
// udp;ofi_rxd sends again for minutes before it gives a peer up, and what it holds until then is in
// the way of others. shm tells of nobody.
const std::vector<network>& networks() {
  static const std::vector<network> all = {
      with_ends_told(tcp_network()),
      libfabric_network("net", "net"),
      libfabric_network("net_counted", "net", libfabric::ordering::counted),
      libfabric_network("net_completions", "net", libfabric::ordering::awaited),
      libfabric_network("tcp_rxm", "tcp;ofi_rxm"),
      with_mixed_contacts(libfabric_network("sockets", "sockets", {}, loss::told_alone)),
      with_mixed_contacts(libfabric_network("sockets_fenced", "sockets",
                                            libfabric::ordering::fenced, loss::told_alone)),
      libfabric_network("udp_rxd", "udp;ofi_rxd", {}, loss::not_told),
      libfabric_network("shm", "shm", {}, loss::not_told),
      libfabric_network("shm_counted", "shm", libfabric::ordering::counted, loss::not_told),
      // Where there is an RDMA device: in the machine of tests/rdma_vm.
      with_ends_told(verbs_network("verbs", 1)),
      with_ends_told(verbs_network("verbs_rails", 2)),
      libfabric_network("verbs_rxm", "verbs;ofi_rxm"),
  };
  return all;
}

}  // namespace heddle::conformance
