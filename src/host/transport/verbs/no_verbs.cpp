// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/port_list.hpp"
#include "host/transport/verbs/verbs_transport.hpp"
#include "support/throw_error.hpp"

namespace {

constexpr const char* not_built =
    "this heddle was built without rdma-core: install libibverbs-dev and build again";

}  // namespace

std::unique_ptr<heddle::transport> heddle::make_verbs_transport(const verbs_options&) {
  throw_error(HEDDLE_ERROR_NOT_SUPPORTED, "asked for the verbs transport: {}", not_built);
}

namespace heddle::verbs {

std::vector<rdma_port> list_ports(int, const device_place&, std::string& why_none) {
  why_none = not_built;
  return {};
}

}  // namespace heddle::verbs
