// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/transport/libfabric/libfabric_transport.hpp"

namespace heddle::libfabric {

/// The few functions that libfabric.so.1 exports and heddle calls; everything else goes through the
/// tables of what they return.
struct library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  decltype(&::fi_version) version = nullptr;

  /// The text of a code that libfabric returned, which is negative.
  [[nodiscard]] std::string text(long long code) const;
};

/// Null if it is not there or too old. Loaded at the first call and never closed: providers leave
/// threads and handlers behind, and what they bring along takes up to 0.2 s to start, which
/// programs without remote peers do not pay.
const library* load_library();

using info_list = std::unique_ptr<fi_info, decltype(&::fi_freeinfo)>;

/// What libfabric has for endpoints that send to any peer (FI_EP_RDM), in heddle's order of
/// liking: first with messages after writes and with atomics, then with less.
class offers {
 public:
  /// `only`: for that, and no order that would do without; `reaches_gpu`: with memory of GPUs
  /// (FI_HMEM) first.
  explicit offers(const library& functions, std::optional<ordering> only = {},
                  bool reaches_gpu = false);
  [[nodiscard]] const std::vector<const fi_info*>& all() const { return all_; }

 private:
  std::vector<info_list> lists_;
  std::vector<const fi_info*> all_;
};

}  // namespace heddle::libfabric
