// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <new>

#include "bootstrap/byte_stream.hpp"
#include "host/guarded_call.hpp"
#include "host/pe_place.hpp"
#include "host/runtime.hpp"
#include "topology/read_machine.hpp"
#include "topology/views.hpp"

namespace heddle {
namespace {

/// Adds the PEs of this host. Collective.
void add_pes(topology::machine& machine, heddle_runtime& runtime) {
  byte_writer mine;
  pe_place::find(runtime.place()).write(mine);
  const auto all = runtime.bootstrap().all_gather(mine.bytes(), runtime.wait_deadline());
  const auto& hosts = runtime.bootstrap();
  // With HWLOC_XMLFILE the PEs do not run there.
  const auto is_shown = [&](int rank) {
    return machine.source.empty() && hosts.host_of(rank) == hosts.host_of(runtime.my_pe());
  };
  for (int rank = 0; rank < runtime.n_pes(); ++rank) {
    byte_reader told(all[static_cast<std::size_t>(rank)]);
    const auto place =
        pe_place::read(told);  // or it is of another call: those of all hosts are read
    if (is_shown(rank)) add_pe(machine, rank, place);
  }
}

/// Before anything is read or sent.
void check_form(heddle_topology_form_t form) {
  if (form < HEDDLE_TOPOLOGY_TEXT || form > HEDDLE_TOPOLOGY_SVG)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_topology: {} is not a heddle_topology_form_t", static_cast<int>(form));
}

std::string write(const topology::machine& machine, heddle_topology_form_t form) {
  if (form == HEDDLE_TOPOLOGY_JSON) return topology::to_json(machine);
  return form == HEDDLE_TOPOLOGY_SVG ? topology::to_svg(machine) : topology::to_text(machine);
}

}  // namespace
}  // namespace heddle

heddle_status_t heddle_topology(heddle_runtime_t runtime, const char* file,
                                heddle_topology_form_t form, char** text) {
  using namespace heddle;
  return guarded([&] {
    auto& out = required(text, "heddle_topology", "text");
    if (runtime && file)
      throw_error(
          HEDDLE_ERROR_INVALID_ARGUMENT,
          "heddle_topology: the PEs of a runtime do not run on the machine of {}; pass NULL "
          "for one of them",
          file);
    if (runtime) (void)required(runtime, "heddle_topology", "runtime");
    check_form(form);
    if (file && *file == 0)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "heddle_topology: the file has no name; pass NULL for this machine");
    if (runtime) runtime->heap().compare(heap_call::topology);
    auto machine = topology::read_machine(file ? file : "");
    if (runtime) add_pes(machine, *runtime);
    const auto written = write(machine, form);
    out = ::strdup(written.c_str());
    if (!out) throw std::bad_alloc();
  });
}
