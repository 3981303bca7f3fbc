// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/libfabric/fabric_transport.hpp"

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "host/transport/connect_time.hpp"
#include "host/transport/libfabric/offered_nic.hpp"
#include "host/transport/libfabric/provider_choice.hpp"
#include "support/throw_error.hpp"

namespace heddle::libfabric {
namespace {

constexpr std::size_t message_bytes = 4096;
constexpr std::size_t most_messages = 256;  ///< each way: 1 MiB of buffers
constexpr std::size_t most_transfers = 1024;

transport::message_order message_order_by(ordering by) {
  switch (by) {
    case ordering::counted:
      return transport::message_order::counted;
    case ordering::awaited:
      return transport::message_order::after_completions;
    default:
      return transport::message_order::after_writes;
  }
}

transport::traits traits_of(const endpoint& endpoint, const std::string& interface, ordering by) {
  const auto& info = endpoint.info();
  transport::traits traits;
  traits.name = fmt::format("libfabric {} ({})", info.fabric_attr->prov_name, interface);
  traits.card = "/sys/" + card_folder(info, interface);
  traits.order = message_order_by(by);
  traits.completion_is_delivery = by == ordering::awaited;
  traits.needs_registered_local = (info.domain_attr->mr_mode & FI_MR_LOCAL) != 0;
  traits.pins_memory = (info.domain_attr->mr_mode & FI_MR_ALLOCATED) != 0;
  traits.reaches_gpu = endpoint.reaches_gpu();
  traits.has_atomics = has_sound_atomics(info);
  traits.most_message_bytes = std::min(message_bytes, info.ep_attr->max_msg_size);
  traits.most_transfer_bytes = std::min(std::size_t{1} << 30, info.ep_attr->max_msg_size);
  traits.eager_bytes = traits.most_message_bytes / 2;
  return traits;
}

/// Whether the endpoint itself has both atomics on words of 8 bytes.
bool has_word_atomics(fid_ep* endpoint) {
  std::size_t count = 0;
  return ::fi_fetch_atomicvalid(endpoint, FI_UINT64, FI_SUM, &count) == 0 && count >= 1 &&
         ::fi_compare_atomicvalid(endpoint, FI_UINT64, FI_CSWAP, &count) == 0 && count >= 1;
}

}  // namespace

fabric_transport::fabric_transport(const library& functions, const fi_info& chosen,
                                   const std::string& interface, ordering by,
                                   std::chrono::duration<double> timeout, const gpu_memory* gpu)
    : endpoint_(functions, chosen, gpu != nullptr),
      ordering_(by),
      traits_(traits_of(endpoint_, interface, by)),
      memory_(endpoint_, traits_.reaches_gpu ? gpu : nullptr),
      timeout_(timeout),
      most_to_one_peer_(most_to_one_peer(endpoint_.info())),
      inject_size_(endpoint_.info().tx_attr->inject_size),
      keeps_contexts_((endpoint_.info().mode & (FI_CONTEXT | FI_CONTEXT2)) != 0),
      receives_(std::min(endpoint_.info().rx_attr->size, most_messages)),
      messages_(std::min(endpoint_.info().tx_attr->size, most_messages)),
      transfers_(std::min(endpoint_.info().tx_attr->size, most_transfers)) {
  if (traits_.has_atomics) traits_.has_atomics = has_word_atomics(endpoint_.get());
  const std::size_t buffer_bytes =
      (receives_.size() + messages_.size()) * traits_.most_message_bytes;
  // Not touched before it is used.
  buffers_.reset(new std::byte[buffer_bytes]);  // NOLINT(modernize-make-unique)
  if (memory_.needs_registered_local()) {
    constexpr std::uint64_t both = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
    registered_buffers_ = registration(endpoint_, buffers_.get(), buffer_bytes, both);
    registered_transfers_ = registration(endpoint_, transfers_.data(),
                                         transfers_.size() * sizeof transfers_.front(), both);
  }
  std::byte* buffer = buffers_.get();
  for (auto* all : {&receives_, &messages_}) {
    for (auto& one : *all) {
      one.kind = all == &receives_ ? operation::kind::receive : operation::kind::message;
      one.buffer = buffer;
      buffer += traits_.most_message_bytes;
      all == &receives_ ? receive_into(&one) : free_messages_.push(&one);
    }
  }
  for (auto& one : transfers_) free_transfers_.push(&one);
}

void fabric_transport::leave() {
  // Some providers do not close an endpoint to which regions are bound.
  registered_buffers_ = {};
  registered_transfers_ = {};
  memory_.forget_all();
  endpoint_.close();
}

void fabric_transport::set_addresses(std::vector<bytes> addresses) {
  addresses_ = std::move(addresses);
  peers_.resize(addresses_.size());
}

std::string fabric_transport::describe(int pe) const {
  const auto& address = addresses_.at(static_cast<std::size_t>(pe));
  if (address.empty()) return "no address";
  std::array<char, 256> text{};
  std::size_t size = text.size();
  ::fi_av_straddr(endpoint_.addresses(), address.data(), text.data(), &size);
  text.back() = 0;
  const std::string_view all = text.data();
  constexpr std::string_view scheme = "://";
  const auto at = all.find(scheme);
  return std::string(at == std::string_view::npos ? all : all.substr(at + scheme.size()));
}

void fabric_transport::add_remote(int pe, int region, std::uint64_t offset, std::size_t size,
                                  std::span<const std::byte> key) {
  const auto told = read_key(key);
  peer_of(pe).memory.add(region, offset, size, told.start, told.key);
}

fabric_transport::peer& fabric_transport::peer_of(int pe) {
  auto& place = peers_.at(static_cast<std::size_t>(pe));
  if (!place) {
    place = std::make_unique<peer>();
    place->silent.kind = operation::kind::silent;
    place->silent.pe = pe;
    place->lost = lost_all_;
  }
  return *place;
}

bool fabric_transport::can_reach(peer& to) {
  if (to.address != FI_ADDR_UNSPEC) return !to.lost;
  if (to.lost) return false;
  const auto& address = addresses_[static_cast<std::size_t>(to.silent.pe)];
  const auto code = address.empty() ? -FI_EADDRNOTAVAIL
                                    : ::fi_av_insert(endpoint_.addresses(), address.data(), 1,
                                                     &to.address, 0, nullptr);
  if (code == 1 && to.address != FI_ADDR_NOTAVAIL) return true;
  to.address = FI_ADDR_UNSPEC;
  lose(to, fmt::format("its address is none (fi_av_insert): {}",
                       endpoint_.functions().text(code < 0 ? code : -FI_EINVAL)));
  return false;
}

operation* fabric_transport::begin_transfer(int pe, std::uint64_t token) {
  operation* one = free_transfers_.pop();
  if (!one) return nullptr;
  one->pe = pe;
  one->token = token;
  one->found = 0;
  return one;
}

void fabric_transport::end(operation* one) {
  peer& of = peer_of(one->pe);
  of.reached = true;
  if (one->kind != operation::kind::silent) --of.under_way;
  give_back(one);
}

void fabric_transport::give_back(operation* one) {
  if (one->kind == operation::kind::transfer) free_transfers_.push(one);
  if (one->kind == operation::kind::message) free_messages_.push(one);
}

bool fabric_transport::taken(peer& to, operation* one, long long code, const char* call) {
  if (code == 0) {
    to.refused = false;
    if (one && one->kind != operation::kind::silent) ++to.under_way;
    return true;
  }
  if (one) give_back(one);
  if (code != -FI_EAGAIN) {
    lose(to, fmt::format("{}: {}", call, endpoint_.functions().text(code)));
    return true;
  }
  // Refusals that nobody came back to for a while do not add up.
  constexpr std::chrono::seconds pause(5);
  const auto now = clock::now();
  if (!to.refused || now - to.refused_last > pause) to.refused_since = now;
  to.refused = true;
  to.refused_last = now;
  // What a lost peer held may have been in this one's way.
  const auto patience = to.reached ? timeout_ : connect_time(timeout_);
  if (now - std::max(to.refused_since, last_loss_) <= patience) return false;
  lose(to, fmt::format("{}: not connected, or took nothing, for {:.3g} s", call, patience.count()));
  return true;
}

bool fabric_transport::post_write(int /*lane*/, const remote_place& to, const void* from,
                                  std::size_t size, std::uint64_t token, std::uint32_t immediate) {
  peer& target = peer_of(to.pe);
  if (!can_reach(target)) return true;
  if (!target.waiting.empty()) return false;
  const auto [address, key] = target.memory.find(to, size);
  const bool counted = ordering_ == ordering::counted;
  const bool fenced = ordering_ == ordering::fenced;
  if (is_full(target)) return taken(target, nullptr, -FI_EAGAIN, "fi_writemsg");
  target.to_fence |= fenced;
  if (token == no_token && !fenced && is_injected(size) && !memory_.is_on_gpu(from)) {
    const auto code =
        counted ? ::fi_inject_writedata(endpoint_.get(), from, size, immediate, target.address,
                                        address, key)
                : ::fi_inject_write(endpoint_.get(), from, size, target.address, address, key);
    return taken(target, nullptr, code, "fi_inject_write");
  }
  const bool silent = token == no_token && !keeps_contexts_ && !counts_operations();
  operation* one = silent ? &target.silent : begin_transfer(to.pe, token);
  if (!one) return false;
  std::uint64_t flags = silent ? 0 : FI_COMPLETION;
  if (fenced || ordering_ == ordering::awaited) flags |= FI_DELIVERY_COMPLETE;
  if (counted) flags |= FI_REMOTE_CQ_DATA;
  const iovec local{const_cast<void*>(from), size};
  void* descriptor = memory_.descriptor(from, size);
  const fi_rma_iov remote{address, size, key};
  const fi_msg_rma write{&local, &descriptor,   1,        target.address, &remote,
                         1,      &one->context, immediate};
  return taken(target, one, ::fi_writemsg(endpoint_.get(), &write, flags), "fi_writemsg");
}

bool fabric_transport::post_read(int /*lane*/, void* to, const remote_place& from, std::size_t size,
                                 std::uint64_t token) {
  peer& target = peer_of(from.pe);
  if (!can_reach(target)) return true;
  if (is_full(target)) return taken(target, nullptr, -FI_EAGAIN, "fi_readmsg");
  const auto [address, key] = target.memory.find(from, size);
  operation* one = begin_transfer(from.pe, token);
  if (!one) return false;
  const iovec local{to, size};
  void* descriptor = memory_.descriptor(to, size);
  const fi_rma_iov remote{address, size, key};
  const fi_msg_rma read{&local, &descriptor, 1, target.address, &remote, 1, &one->context, 0};
  return taken(target, one, ::fi_readmsg(endpoint_.get(), &read, FI_COMPLETION), "fi_readmsg");
}

bool fabric_transport::post_atomic(int /*lane*/, network_atomic op, const remote_place& word,
                                   std::uint64_t value, std::uint64_t compare,
                                   std::uint64_t token) {
  peer& target = peer_of(word.pe);
  if (!can_reach(target)) return true;
  if (!target.waiting.empty()) return false;
  if (is_full(target)) return taken(target, nullptr, -FI_EAGAIN, "fi_atomicmsg");
  const auto [address, key] = target.memory.find(word, sizeof value);
  operation* one = begin_transfer(word.pe, token);
  if (!one) return false;
  one->operand = value;
  one->compare = compare;
  void* descriptor = registered_transfers_.descriptor();
  const fi_ioc operand{&one->operand, 1};
  const fi_ioc expected{&one->compare, 1};
  fi_ioc found{&one->found, 1};
  const fi_rma_ioc remote{address, 1, key};
  const bool adds = op == network_atomic::fetch_add;
  const fi_msg_atomic atomic{&operand,
                             &descriptor,
                             1,
                             target.address,
                             &remote,
                             1,
                             FI_UINT64,
                             adds ? FI_SUM : FI_CSWAP,
                             &one->context,
                             0};
  const auto code =
      adds ? ::fi_fetch_atomicmsg(endpoint_.get(), &atomic, &found, &descriptor, 1, FI_COMPLETION)
           : ::fi_compare_atomicmsg(endpoint_.get(), &atomic, &expected, &descriptor, 1, &found,
                                    &descriptor, 1, FI_COMPLETION);
  return taken(target, one, code, "fi_atomicmsg");
}

std::span<std::byte> fabric_transport::begin_message(int /*lane*/, int pe) {
  if (!peer_of(pe).waiting.empty()) return {};
  operation* one = free_messages_.pop();
  if (!one) return {};
  one->pe = pe;
  return {one->buffer, traits_.most_message_bytes};
}

void fabric_transport::post_message(int /*lane*/, int pe, std::span<std::byte> message,
                                    std::size_t size) {
  const auto index = static_cast<std::size_t>(message.data() - messages_.front().buffer) /
                     traits_.most_message_bytes;
  operation* one = &messages_.at(index);
  if (size > traits_.most_message_bytes)
    throw_error(HEDDLE_ERROR_INTERNAL, "a message of {} bytes to PE {}: {} takes {} at most", size,
                pe, traits_.name, traits_.most_message_bytes);
  one->size = size;
  peer& to = peer_of(pe);
  if (size == 0 || !can_reach(to)) {
    give_back(one);
    return;
  }
  const bool first = to.waiting.empty();
  if (first && send_now(to, one)) return;
  if (first) waiting_peers_.push_back(pe);
  to.waiting.push(one);
}

bool fabric_transport::send_now(peer& to, operation* message) {
  const bool injected = is_injected(message->size) && !to.to_fence;
  long long code = -FI_EAGAIN;
  if (injected) {
    code = ::fi_inject(endpoint_.get(), message->buffer, message->size, to.address);
  } else if (!is_full(to)) {
    const iovec local{message->buffer, message->size};
    void* descriptor = registered_buffers_.descriptor();
    const fi_msg sent{&local, &descriptor, 1, to.address, &message->context, 0};
    code = ::fi_sendmsg(endpoint_.get(), &sent, FI_COMPLETION | (to.to_fence ? FI_FENCE : 0));
  }
  if (!taken(to, nullptr, code, injected ? "fi_inject" : "fi_sendmsg")) return false;
  to.to_fence = false;
  if (injected || code != 0)
    give_back(message);
  else
    ++to.under_way;
  return true;
}

}  // namespace heddle::libfabric
