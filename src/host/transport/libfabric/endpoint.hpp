// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <memory>

#include "host/transport/libfabric/library.hpp"
#include "support/unique_fd.hpp"

namespace heddle::libfabric {

struct fid_closer {
  template <class Object>
  void operator()(Object* object) const {
    ::fi_close(&object->fid);
  }
};
template <class Object>
using owned = std::unique_ptr<Object, fid_closer>;

/// An open endpoint of one provider with what it stands on: enabled, one completion queue for both
/// directions, which tells of an operation that was sent only if it asks for that.
class endpoint {
 public:
  /// Throws HEDDLE_ERROR_SYSTEM with the call that failed.
  /// `for_gpu`: the provider is to move a GPU's memory without calls of CUDA, which would wait for
  /// a kernel that waits for the provider.
  endpoint(const library& functions, const fi_info& chosen, bool for_gpu);

  [[nodiscard]] const library& functions() const { return functions_; }
  /// Whether it does that.
  [[nodiscard]] bool reaches_gpu() const { return reaches_gpu_; }
  [[nodiscard]] const fi_info& info() const { return *info_; }
  [[nodiscard]] fid_domain* domain() const { return domain_.get(); }
  [[nodiscard]] fid_av* addresses() const { return addresses_.get(); }
  [[nodiscard]] fid_cq* completions() const { return completions_.get(); }
  [[nodiscard]] fid_ep* get() const { return endpoint_.get(); }
  /// Readable when something has happened since may_wait(); -1 if the provider has none.
  [[nodiscard]] int wait_descriptor() const { return events_.get(); }
  /// True if nothing is there that would not wake a wait for the descriptor.
  [[nodiscard]] bool may_wait() const;
  /// What peers insert to reach it.
  [[nodiscard]] std::vector<std::byte> name() const;
  /// Ends what was posted and not completed, whose memory the provider uses until then. No region
  /// is bound to it any more; nothing is posted afterwards.
  void close() noexcept { endpoint_.reset(); }

 private:
  void check(long long code, const char* call) const;
  void open_completions();

  const library& functions_;
  info_list info_;
  owned<fid_fabric> fabric_;
  owned<fid_domain> domain_;
  owned<fid_av> addresses_;
  owned<fid_cq> completions_;
  owned<fid_ep> endpoint_;
  bool reaches_gpu_ = false;
  /// What the queue's descriptor tells, once each: one may stay readable after a completion.
  unique_fd events_;
};

}  // namespace heddle::libfabric
