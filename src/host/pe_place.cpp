// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/pe_place.hpp"

#include <sched.h>

#include <cstddef>
#include <utility>

#include "support/processor_list.hpp"

namespace heddle {

pe_place pe_place::find(pe_device& device) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  (void)::sched_getaffinity(0, sizeof processors, &processors);
  return {.device = device.executor().name(),
          .pci_address = device.pci_address(),
          .processors = list_of_processors(processors)};
}

pe_place pe_place::read(byte_reader& told) {
  pe_place place;
  place.device = told.text();
  place.pci_address = told.text();
  place.processors = told.text();
  return place;
}

void pe_place::write(byte_writer& told) const {
  told.text(device).text(pci_address).text(processors);
}

void add_pe(topology::machine& machine, int rank, const pe_place& place) {
  topology::pe pe{.rank = rank,
                  .device = place.device,
                  .processors = place.processors,
                  .where = topology::locate(machine, place.processors)};
  for (std::size_t i = 0; !place.pci_address.empty() && i < machine.gpus.size(); ++i)
    if (machine.gpus[i].place.address == place.pci_address) pe.gpu = static_cast<int>(i);
  machine.pes.push_back(std::move(pe));
}

}  // namespace heddle
