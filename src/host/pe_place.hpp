// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bootstrap/byte_stream.hpp"
#include "host/pe_device.hpp"
#include "topology/machine.hpp"

namespace heddle {

/// Where a PE runs, as it tells the others.
struct pe_place {
  std::string device;       ///< "host" or "cuda:0"
  std::string pci_address;  ///< of its GPU; empty: none
  std::string processors;   ///< that its thread may run on, "0-7"
  bool operator==(const pe_place&) const = default;

  /// Of the calling thread.
  static pe_place find(pe_device& device);
  static pe_place read(byte_reader& told);
  void write(byte_writer& told) const;
};

/// That PE among those that run on this machine.
void add_pe(topology::machine& machine, int rank, const pe_place& place);

}  // namespace heddle
