// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <utility>

#include "host/transport/libfabric/fabric_transport.hpp"

namespace heddle::testing {

/// A table of a provider's with some of its calls replaced. One for each `Change`.
template <class Table, class Change>
void replace_in(Table*& table, const Change& change) {
  static Table ours;
  ours = *table;
  change(ours);
  table = &ours;
}

namespace detail {

inline decltype(fi_ops_fabric::domain) real_domain;
inline decltype(libfabric::library::fabric) real_fabric;
inline void (*change_domain)(fid_domain&);

inline int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** opened, void* context) {
  const int code = real_domain(fabric, info, opened, context);
  if (code == 0) change_domain(**opened);
  return code;
}
inline int open_fabric(fi_fabric_attr* attributes, fid_fabric** opened, void* context) {
  const int code = real_fabric(attributes, opened, context);
  if (code != 0) return code;
  replace_in((*opened)->ops,
             [](fi_ops_fabric& table) { real_domain = std::exchange(table.domain, open_domain); });
  return code;
}

}  // namespace detail

/// libfabric with a provider whose domains `change` has changed. One at a time.
class changed_provider {
 public:
  changed_provider(const char* name, libfabric::ordering by, void (*change)(fid_domain&))
      : functions_(loaded()), offers_(functions_, by), by_(by) {
    for (const fi_info* each : offers_.all())
      if (!info_ && std::strcmp(each->fabric_attr->prov_name, name) == 0) info_ = each;
    REQUIRE(info_);
    detail::real_fabric = std::exchange(functions_.fabric, detail::open_fabric);
    detail::change_domain = change;
  }

  [[nodiscard]] const libfabric::library& functions() const { return functions_; }
  [[nodiscard]] const fi_info& info() const { return *info_; }
  [[nodiscard]] libfabric::ordering by() const { return by_; }

 private:
  static libfabric::library loaded() {
    const auto* functions = libfabric::load_library();
    REQUIRE(functions);
    return *functions;
  }

  libfabric::library functions_;
  libfabric::offers offers_;
  libfabric::ordering by_;
  const fi_info* info_ = nullptr;
};

}  // namespace heddle::testing
