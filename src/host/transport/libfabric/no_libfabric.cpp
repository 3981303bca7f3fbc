// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/libfabric/libfabric_transport.hpp"
#include "support/throw_error.hpp"

std::unique_ptr<heddle::transport> heddle::make_libfabric_transport(const libfabric_options&) {
  throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
              "asked for a network of libfabric, which this heddle was built without: install "
              "libfabric-dev and build again");
}
