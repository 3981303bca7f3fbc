// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "fabric_pair.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "../timing.hpp"

namespace bench::bare {
namespace {

constexpr double limit_us = 20e6;

void require(long code, const char* call) {
  if (code < 0)
    throw std::runtime_error(std::string(call) + ": " + fi_strerror(static_cast<int>(-code)));
}

template <class Object, class Open>
fabric_object<Object> opened(const char* call, Open open) {
  Object* object = nullptr;
  require(open(&object), call);
  return fabric_object<Object>(object);
}

/// Throws once it has been asked for longer than any wait should last.
class patience {
 public:
  void ask(const char* what) {
    ++asked_;
    // Longer than a round trip: what the kernel does for the network may need this processor.
    if (asked_ > polls_before_sleep) std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (asked_ % 1024 != 0) return;
    if (start_ == 0) start_ = now_us();
    if (now_us() - start_ > limit_us) throw std::runtime_error(std::string("no end of ") + what);
  }

 private:
  static constexpr unsigned long polls_before_sleep = 200;

  unsigned long asked_ = 0;
  double start_ = 0;
};

}  // namespace

fabric_pair::fabric_pair(host_link& link, const std::string& provider, std::size_t bytes,
                         bool delivery)
    : link_(link), source_(bytes, std::byte{1}), target_(bytes) {
  for (auto& context : contexts_) free_contexts_.push_back(&context);
  open(provider, delivery);
  meet();
  // A provider may need both sides to move a last acknowledgement.
  link_.idle = [this] { progress(); };
}

fabric_pair::~fabric_pair() {
  link_.idle = [] {};
}

void fabric_pair::open(const std::string& provider, bool delivery) {
  std::unique_ptr<fi_info, decltype(&fi_freeinfo)> hints(fi_allocinfo(), &fi_freeinfo);
  if (!hints) throw std::bad_alloc();
  hints->caps = FI_RMA | FI_WRITE | FI_REMOTE_WRITE;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->addr_format = FI_FORMAT_UNSPEC;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->fabric_attr->prov_name = ::strdup(provider.c_str());
  if (delivery) hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  fi_info* found = nullptr;
  const std::string address = link_.local_address();
  require(fi_getinfo(FI_VERSION(1, 14), address.c_str(), nullptr, FI_SOURCE, hints.get(), &found),
          ("fi_getinfo for " + provider + " at " + address).c_str());
  info_.reset(found);
  if (delivery) flags_ |= FI_DELIVERY_COMPLETE;

  fabric_ = opened<fid_fabric>(
      "fi_fabric", [&](auto* into) { return fi_fabric(info_->fabric_attr, into, nullptr); });
  domain_ = opened<fid_domain>("fi_domain", [&](auto* into) {
    return fi_domain(fabric_.get(), info_.get(), into, nullptr);
  });
  fi_av_attr av{};
  av.type = FI_AV_TABLE;
  addresses_ = opened<fid_av>(
      "fi_av_open", [&](auto* into) { return fi_av_open(domain_.get(), &av, into, nullptr); });
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_CONTEXT;
  cq.wait_obj = FI_WAIT_NONE;
  cq.size = 2 * most_under_way;
  queue_ = opened<fid_cq>(
      "fi_cq_open", [&](auto* into) { return fi_cq_open(domain_.get(), &cq, into, nullptr); });
  endpoint_ = opened<fid_ep>("fi_endpoint", [&](auto* into) {
    return fi_endpoint(domain_.get(), info_.get(), into, nullptr);
  });
  require(fi_ep_bind(endpoint_.get(), &addresses_->fid, 0), "fi_ep_bind of addresses");
  require(fi_ep_bind(endpoint_.get(), &queue_->fid, FI_TRANSMIT | FI_RECV),
          "fi_ep_bind of a queue");
  require(fi_enable(endpoint_.get()), "fi_enable");

  const auto expose = [&](std::vector<std::byte>& memory, std::uint64_t access, std::uint64_t key) {
    auto region = opened<fid_mr>("fi_mr_reg", [&](auto* into) {
      return fi_mr_reg(domain_.get(), memory.data(), memory.size(), access, 0, key, 0, into,
                       nullptr);
    });
    if (info_->domain_attr->mr_mode & FI_MR_ENDPOINT) {
      require(fi_mr_bind(region.get(), &endpoint_->fid, 0), "fi_mr_bind");
      require(fi_mr_enable(region.get()), "fi_mr_enable");
    }
    return region;
  };
  exposed_ = expose(target_, FI_REMOTE_WRITE, 1);
  if (info_->domain_attr->mr_mode & FI_MR_LOCAL) local_ = expose(source_, FI_WRITE, 2);
}

void fabric_pair::meet() {
  struct card {
    std::array<std::byte, 256> name;
    std::uint64_t start;
    std::uint64_t key;
  };
  card mine{};
  card theirs{};
  std::size_t size = mine.name.size();
  require(fi_getname(&endpoint_->fid, mine.name.data(), &size), "fi_getname");
  const bool by_address = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  mine.start = by_address ? reinterpret_cast<std::uintptr_t>(target_.data()) : 0;
  mine.key = fi_mr_key(exposed_.get());
  link_.exchange(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(&theirs, 1)));
  peer_start_ = theirs.start;
  peer_key_ = theirs.key;
  if (fi_av_insert(addresses_.get(), theirs.name.data(), 1, &peer_, 0, nullptr) != 1)
    throw std::runtime_error("fi_av_insert: the peer's address was not taken");
}

void fabric_pair::write(std::size_t offset, std::size_t bytes) {
  const iovec from{.iov_base = source_.data() + offset, .iov_len = bytes};
  const fi_rma_iov to{.addr = peer_start_ + offset, .len = bytes, .key = peer_key_};
  void* descriptor = local_ ? fi_mr_desc(local_.get()) : nullptr;
  fi_msg_rma message{};
  message.msg_iov = &from;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = peer_;
  message.rma_iov = &to;
  message.rma_iov_count = 1;
  patience waiting;
  while (free_contexts_.empty()) {
    progress();
    waiting.ask("writes under way");
  }
  message.context = free_contexts_.back();
  for (;;) {
    const auto code = fi_writemsg(endpoint_.get(), &message, flags_);
    if (code == 0) break;
    if (code != -FI_EAGAIN) require(code, "fi_writemsg");
    progress();
    waiting.ask("fi_writemsg's FI_EAGAIN");
  }
  free_contexts_.pop_back();
}

void fabric_pair::progress() {
  std::array<fi_cq_entry, 16> entries;
  const auto taken = fi_cq_read(queue_.get(), entries.data(), entries.size());
  for (long i = 0; i < taken; ++i)
    free_contexts_.push_back(entries[static_cast<std::size_t>(i)].op_context);
  if (taken >= 0 || taken == -FI_EAGAIN) return;
  if (taken != -FI_EAVAIL) require(taken, "fi_cq_read");
  fi_cq_err_entry error{};
  fi_cq_readerr(queue_.get(), &error, 0);
  throw std::runtime_error(std::string("a write failed: ") + fi_strerror(error.err));
}

void fabric_pair::complete(std::size_t left) {
  patience waiting;
  while (contexts_.size() - free_contexts_.size() > left) {
    progress();
    waiting.ask("writes under way");
  }
}

void fabric_pair::wait_for(std::size_t offset, std::uint64_t value) {
  auto* word = reinterpret_cast<std::uint64_t*>(target_.data() + offset);
  patience waiting;
  while (std::atomic_ref(*word).load(std::memory_order_acquire) != value) {
    progress();
    waiting.ask("the wait for a write of the peer");
  }
}

}  // namespace bench::bare
