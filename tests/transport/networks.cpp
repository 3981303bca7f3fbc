// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "networks.hpp"

#include "host/transport/libfabric/libfabric_transport.hpp"

namespace heddle::conformance {
namespace {

using message_order = transport::message_order;

network libfabric_network(std::string name, std::string provider,
                          std::optional<message_order> order = {}, loss loss = loss::told) {
  return {std::move(name),
          [=](std::chrono::duration<double> timeout) {
            libfabric_options options;
            options.provider = provider;
            options.one_host = true;
            options.timeout = timeout;
            options.order = order;
            return make_libfabric_transport(options);
          },
          loss};
}

}  // namespace

// udp;ofi_rxd sends again for minutes before it gives a peer up, and what it holds until then is in
// the way of others. shm looks into the memory of a peer in its own process, which is unmapped when
// that ends.
const std::vector<network>& networks() {
  static const std::vector<network> all = {
      libfabric_network("net", "net"),
      libfabric_network("net_counted", "net", message_order::counted),
      libfabric_network("net_completions", "net", message_order::after_completions),
      libfabric_network("tcp_rxm", "tcp;ofi_rxm"),
      libfabric_network("sockets", "sockets"),
      libfabric_network("udp_rxd", "udp;ofi_rxd", {}, loss::not_told),
      libfabric_network("shm", "shm", {}, loss::ends_process),
      libfabric_network("shm_counted", "shm", message_order::counted, loss::ends_process),
  };
  return all;
}

}  // namespace heddle::conformance
