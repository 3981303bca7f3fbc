// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/rdma_port.hpp"

#include <arpa/inet.h>

#include "host/transport/verbs/gid_choice.hpp"

namespace heddle::verbs {

std::string text_of(const gid& value) {
  char text[INET6_ADDRSTRLEN] = {};
  const bool is_ipv4 = is_ipv4_mapped(value);
  ::inet_ntop(is_ipv4 ? AF_INET : AF_INET6, value.data() + (is_ipv4 ? 12 : 0), text, sizeof text);
  return text;
}

const char* text_of(gid_kind kind) {
  switch (kind) {
    case gid_kind::infiniband:
      return "InfiniBand";
    case gid_kind::roce_v1:
      return "RoCE v1";
    default:
      return "RoCE v2";
  }
}

const char* text_of(link_layer link) {
  switch (link) {
    case link_layer::infiniband:
      return "InfiniBand";
    case link_layer::ethernet:
      return "Ethernet";
    default:
      return "unknown";
  }
}

}  // namespace heddle::verbs
