// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/libfabric/endpoint.hpp"

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sys/epoll.h>

#include <string_view>
#include <utility>

#include "host/transport/libfabric/provider_choice.hpp"
#include "support/throw_error.hpp"

namespace heddle::libfabric {

namespace {

/// FI_OPT_CUDA_API_PERMITTED, which headers have since 1.18.
constexpr int cuda_api_permitted = 10;

/// Whether who waits for the provider's descriptor is woken. In 1.17 net rings once and then no
/// more, and verbs;ofi_rxm does not ring when a peer connects.
bool rings(std::string_view provider) { return provider != "net" && provider != "verbs;ofi_rxm"; }

}  // namespace

std::shared_ptr<shm_endpoints> shm_endpoints::of_process() {
  static std::mutex guard;
  static std::weak_ptr<shm_endpoints> present;
  const std::lock_guard lock(guard);
  auto all = present.lock();
  if (!all) present = all = std::make_shared<shm_endpoints>();
  return all;
}

void shm_endpoints::add(std::shared_ptr<endpoint_objects> one) {
  const std::lock_guard lock(guard_);
  all_.push_back(std::move(one));
}

endpoint::endpoint(const library& functions, const fi_info& chosen, bool for_gpu)
    : functions_(functions), info_(functions.dupinfo(&chosen), functions.freeinfo) {
  check(info_ ? 0 : -FI_ENOMEM, "fi_dupinfo");
  fid_fabric* fabric = nullptr;
  check(functions.fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric");
  open_->fabric.reset(fabric);
  fid_domain* domain = nullptr;
  check(::fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain");
  open_->domain.reset(domain);

  fi_av_attr table{};
  table.type =
      info_->domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_TABLE : info_->domain_attr->av_type;
  fid_av* addresses = nullptr;
  check(::fi_av_open(domain, &table, &addresses, nullptr), "fi_av_open");
  open_->addresses.reset(addresses);
  open_completions();

  fid_ep* opened = nullptr;
  check(::fi_endpoint(domain, info_.get(), &opened, nullptr), "fi_endpoint");
  open_->endpoint.reset(opened);
  check(::fi_ep_bind(opened, &addresses->fid, 0), "fi_ep_bind (addresses)");
  check(::fi_ep_bind(opened, &open_->completions->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION),
        "fi_ep_bind (transmit)");
  check(::fi_ep_bind(opened, &open_->completions->fid, FI_RECV), "fi_ep_bind (receive)");
  const bool permitted = false;
  reaches_gpu_ = for_gpu && (info_->caps & FI_HMEM) != 0 &&
                 ::fi_setopt(&opened->fid, FI_OPT_ENDPOINT, cuda_api_permitted, &permitted,
                             sizeof permitted) == 0;
  check(::fi_enable(opened), "fi_enable");
  if (std::string_view(info_->fabric_attr->prov_name) == shm_provider) {
    neighbours_ = shm_endpoints::of_process();
    neighbours_->add(open_);
  }
}

void endpoint::open_completions() {
  fi_cq_attr queue{};
  queue.size = info_->tx_attr->size + info_->rx_attr->size;
  queue.format = FI_CQ_FORMAT_DATA;
  queue.wait_obj = FI_WAIT_FD;
  fid_cq* opened = nullptr;
  if (::fi_cq_open(domain(), &queue, &opened, nullptr) != 0) {
    queue.wait_obj = FI_WAIT_NONE;
    check(::fi_cq_open(domain(), &queue, &opened, nullptr), "fi_cq_open");
  }
  open_->completions.reset(opened);
  if (!rings(info_->fabric_attr->prov_name)) return;
  int descriptor = -1;
  if (queue.wait_obj == FI_WAIT_NONE || ::fi_control(&opened->fid, FI_GETWAIT, &descriptor) != 0)
    return;
  unique_fd events(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLET;
  if (events && ::epoll_ctl(events.get(), EPOLL_CTL_ADD, descriptor, &wanted) == 0)
    events_ = std::move(events);
}

bool endpoint::may_wait() const {
  epoll_event event{};
  // What is taken here may have come after the last look at the queue.
  if (!events_ || ::epoll_wait(events_.get(), &event, 1, 0) != 0) return false;
  fid* queue = &open_->completions->fid;
  return ::fi_trywait(open_->fabric.get(), &queue, 1) == FI_SUCCESS;
}

std::vector<std::byte> endpoint::name() const {
  constexpr std::size_t most = 256;
  std::vector<std::byte> name(most);
  std::size_t size = most;
  check(::fi_getname(&get()->fid, name.data(), &size), "fi_getname");
  name.resize(size);
  return name;
}

void endpoint::check(long long code, const char* call) const {
  if (code == 0) return;
  throw_error(HEDDLE_ERROR_SYSTEM, "{} of libfabric's provider {} failed: {}", call,
              info_ ? info_->fabric_attr->prov_name : "?", functions_.text(code));
}

}  // namespace heddle::libfabric
