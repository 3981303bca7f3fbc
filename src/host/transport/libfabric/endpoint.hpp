// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <memory>
#include <mutex>
#include <vector>

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

/// What an endpoint stands on, and itself, which is closed first.
struct endpoint_objects {
  owned<fid_fabric> fabric;
  owned<fid_domain> domain;
  owned<fid_av> addresses;
  owned<fid_cq> completions;
  owned<fid_ep> endpoint;
};

/// shm's endpoints of one process send straight into each other's queues, which end with them: all
/// stay until the last is done with.
class shm_endpoints {
 public:
  /// The same for all who have it at a time.
  static std::shared_ptr<shm_endpoints> of_process();
  void add(std::shared_ptr<endpoint_objects> one);

 private:
  std::mutex guard_;
  std::vector<std::shared_ptr<endpoint_objects>> all_;
};

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
  [[nodiscard]] fid_domain* domain() const { return open_->domain.get(); }
  [[nodiscard]] fid_av* addresses() const { return open_->addresses.get(); }
  [[nodiscard]] fid_cq* completions() const { return open_->completions.get(); }
  [[nodiscard]] fid_ep* get() const { return open_->endpoint.get(); }
  /// Readable when something has happened since may_wait(); -1 if the provider has none.
  [[nodiscard]] int wait_descriptor() const { return events_.get(); }
  /// True if nothing is there that would not wake a wait for the descriptor.
  [[nodiscard]] bool may_wait() const;
  /// What peers insert to reach it.
  [[nodiscard]] std::vector<std::byte> name() const;
  /// Ends what was posted and not completed, whose memory the provider uses until then. No region
  /// is bound to it any more; nothing is posted or looked for afterwards. shm's stays, and does not
  /// keep a peer that has not heard of it from writing to where this PE's memory was.
  void close() noexcept {
    if (!neighbours_) open_->endpoint.reset();
  }

 private:
  void check(long long code, const char* call) const;
  void open_completions();

  const library& functions_;
  info_list info_;
  std::shared_ptr<shm_endpoints> neighbours_;  ///< of shm alone
  std::shared_ptr<endpoint_objects> open_ = std::make_shared<endpoint_objects>();
  bool reaches_gpu_ = false;
  /// What the queue's descriptor tells, once each: one may stay readable after a completion.
  unique_fd events_;
};

}  // namespace heddle::libfabric
