// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
// In place of hwloc_machine.cpp where heddle is built without hwloc.

#include <unistd.h>

#include "support/throw_error.hpp"
#include "topology/read_machine.hpp"

namespace heddle::topology {

machine read_hwloc(const std::string& file, bool& is_here) {
  if (!file.empty())
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "{} cannot be read: heddle was built without hwloc; install libhwloc-dev and build "
                "heddle again",
                file);
  is_here = true;
  machine result;
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  result.name = name;
  result.notes.emplace_back(
      "Processors, PCIe and NICs are not known: heddle was built without hwloc; install "
      "libhwloc-dev and build "
      "heddle again");
  return result;
}

}  // namespace heddle::topology
