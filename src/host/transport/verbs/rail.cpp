// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/rail.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "host/transport/verbs/gid_choice.hpp"
#include "host/transport/verbs/port_list.hpp"
#include "host/transport/verbs/queue_pair_steps.hpp"
#include "support/throw_error.hpp"

namespace heddle::verbs {
namespace {

constexpr int received_messages = 512;
constexpr int received_hellos = 64;
constexpr int sent_hellos = 16;
constexpr int message_buffers = 128;
constexpr int word_buffers = 512;
constexpr int wanted_send_entries = 8192;
/// In front of every datagram.
constexpr std::size_t route_header_bytes = 40;

owned_context open_device(const std::string& name) {
  int count = 0;
  auto** devices = found_library().get_device_list(&count);
  const std::unique_ptr<ibv_device*, decltype(found_library().free_device_list)> owner(
      devices, found_library().free_device_list);
  for (int i = 0; devices && i < count; ++i) {
    if (found_library().get_device_name(devices[i]) != name) continue;
    owned_context context(found_library().open_device(devices[i]));
    if (context) return context;
    break;
  }
  throw_system_error(errno, "opened the RDMA device {}", name);
}

void set_nonblocking(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0)
    throw_system_error(errno, "made the descriptor of an RDMA device non-blocking");
}

std::uint64_t label(rail::arrival kind, std::uint32_t buffer) {
  return static_cast<std::uint64_t>(kind) << 32 | buffer;
}

}  // namespace

rail::rail(const rdma_port& port, const verbs_options& options, std::uint32_t queue_key)
    : port_(port), options_(options), context_(open_device(port.device)) {
  const auto& functions = found_library();
  const auto demand = [&](bool made, const char* what) {
    if (!made) throw_system_error(errno, "asked {} for {}", port_.name(), what);
  };
  demand(functions.query_device(context_.get(), &device_) == 0, "its attributes");
  demand(query_port(context_.get(), port_.port, attributes_), "its port's attributes");
  domain_.reset(functions.alloc_pd(context_.get()));
  demand(domain_ != nullptr, "a protection domain");
  channel_.reset(functions.create_comp_channel(context_.get()));
  demand(channel_ != nullptr, "a completion channel");
  set_nonblocking(channel_->fd);
  set_nonblocking(context_->async_fd);

  const int receives = std::min(received_messages, device_.max_srq_wr);
  received_messages_ =
      buffer_pool(domain_.get(), message_bytes, static_cast<std::size_t>(receives));
  received_hellos_ =
      buffer_pool(domain_.get(), route_header_bytes + hello::most_bytes, received_hellos);
  sent_hellos_ = buffer_pool(domain_.get(), hello::most_bytes, sent_hellos);
  messages_ = buffer_pool(domain_.get(), message_bytes, message_buffers);
  words_ = buffer_pool(domain_.get(), sizeof(std::uint64_t), word_buffers);
  arrivals_.reset(functions.create_cq(context_.get(), receives + received_hellos + sent_hellos,
                                      nullptr, channel_.get(), 0));
  demand(arrivals_ != nullptr, "a completion queue");
  ibv_srq_init_attr shared{};
  shared.attr.max_wr = static_cast<std::uint32_t>(receives);
  shared.attr.max_sge = 1;
  receives_.reset(functions.create_srq(domain_.get(), &shared));
  demand(receives_ != nullptr, "a shared receive queue");
  make_datagram_queue(queue_key);
  while (!received_messages_.empty()) idle_receives_.push_back(received_messages_.take());
  flush_receives();
  // Of a card that takes few, a quarter at most is missing meanwhile.
  receives_at_once_ = static_cast<std::size_t>(std::clamp(receives / 4, 1, 16));
  while (!received_hellos_.empty()) receive_hello(received_hellos_.take());

  const auto entry = std::find_if(port_.gids.begin(), port_.gids.end(),
                                  [&](const auto& one) { return one.index == port_.chosen_gid; });
  address_ = {entry->value,
              network_of(entry->value, port_.link, list_interface_addresses()),
              datagrams_->qp_num,
              attributes_.lid,
              static_cast<std::uint8_t>(attributes_.active_mtu),
              static_cast<std::uint8_t>(std::clamp(device_.max_qp_rd_atom, 0, most_reads)),
              port_.link,
              port_.name()};
}

void rail::make_datagram_queue(std::uint32_t queue_key) {
  const auto demand = [&](bool made, const char* what) {
    if (!made) throw_system_error(errno, "asked {} for {}", port_.name(), what);
  };
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = arrivals_.get();
  wanted.qp_type = IBV_QPT_UD;
  wanted.cap = {sent_hellos, received_hellos, 1, 1, 0};
  datagrams_.reset(found_library().create_qp(domain_.get(), &wanted));
  demand(datagrams_ != nullptr, "a datagram queue");
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_INIT;
  state.port_num = static_cast<std::uint8_t>(port_.port);
  state.qkey = queue_key;
  const auto move = [&](int mask) {
    const int failure = found_library().modify_qp(datagrams_.get(), &state, mask);
    if (failure != 0) errno = failure;
    demand(failure == 0, "a datagram queue that is ready");
  };
  move(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  state.qp_state = IBV_QPS_RTR;
  move(IBV_QP_STATE);
  state.qp_state = IBV_QPS_RTS;
  move(IBV_QP_STATE | IBV_QP_SQ_PSN);
}

ibv_ah_attr rail::path_to(const rail_address& peer) const {
  return path_between(port_, address_, peer, options_);
}

send_completions& rail::completions_for(int depth) {
  for (auto& one : sends_)
    if (one.free_entries >= depth) {
      one.free_entries -= depth;
      return one;
    }
  const int entries = std::max(depth, std::min(wanted_send_entries, device_.max_cqe));
  owned_completions queue(
      found_library().create_cq(context_.get(), entries, nullptr, channel_.get(), 0));
  if (!queue) throw_system_error(errno, "asked {} for a completion queue", port_.name());
  sends_.push_back({std::move(queue), entries - depth, 0});
  return sends_.back();
}

void rail::ask_for_events() {
  const auto ask = [](ibv_cq* queue, bool& is_asked) {
    if (!is_asked) is_asked = ibv_req_notify_cq(queue, 0) == 0;
  };
  ask(arrivals_.get(), arrivals_event_asked_);
  for (auto& one : sends_)
    if (one.under_way > 0) ask(one.queue.get(), one.event_asked);
}

void rail::take_events() {
  ibv_cq* queue = nullptr;
  void* ignored = nullptr;
  while (found_library().get_cq_event(channel_.get(), &queue, &ignored) == 0) {
    found_library().ack_cq_events(queue, 1);
    if (queue == arrivals_.get()) arrivals_event_asked_ = false;
    for (auto& one : sends_)
      if (queue == one.queue.get()) one.event_asked = false;
  }
}

void rail::send_hello(ibv_ah* path, std::uint32_t queue, std::uint32_t queue_key,
                      std::span<const std::byte> text) {
  if (sent_hellos_.empty()) return;
  const auto buffer = sent_hellos_.take();
  std::copy(text.begin(), text.end(), sent_hellos_.at(buffer));
  ibv_sge part{reinterpret_cast<std::uintptr_t>(sent_hellos_.at(buffer)),
               static_cast<std::uint32_t>(text.size()), sent_hellos_.key()};
  ibv_send_wr work{};
  work.wr_id = label(arrival::hello_sent, buffer);
  work.sg_list = &part;
  work.num_sge = 1;
  work.opcode = IBV_WR_SEND;
  work.send_flags = IBV_SEND_SIGNALED;
  work.wr.ud = {path, queue, queue_key};
  ibv_send_wr* refused = nullptr;
  if (ibv_post_send(datagrams_.get(), &work, &refused) != 0) sent_hellos_.give_back(buffer);
}

void rail::receive_hello(std::uint32_t buffer) {
  ibv_sge part{reinterpret_cast<std::uintptr_t>(received_hellos_.at(buffer)),
               static_cast<std::uint32_t>(received_hellos_.piece_bytes()), received_hellos_.key()};
  ibv_recv_wr work{label(arrival::hello, buffer), nullptr, &part, 1};
  ibv_recv_wr* refused = nullptr;
  if (const int failure = ibv_post_recv(datagrams_.get(), &work, &refused))
    throw_system_error(failure, "gave {} a buffer for datagrams", port_.name());
}

std::pair<rail::arrival, std::span<const std::byte>> rail::arrived(const ibv_wc& completion) {
  const auto kind = static_cast<arrival>(completion.wr_id >> 32);
  const auto buffer = static_cast<std::uint32_t>(completion.wr_id);
  if (completion.status != IBV_WC_SUCCESS || kind == arrival::hello_sent) return {kind, {}};
  const std::size_t size = completion.byte_len;
  if (kind == arrival::message) return {kind, {received_messages_.at(buffer), size}};
  if (size < route_header_bytes) return {kind, {}};
  return {kind, {received_hellos_.at(buffer) + route_header_bytes, size - route_header_bytes}};
}

void rail::receive_again(const ibv_wc& completion) {
  const auto buffer = static_cast<std::uint32_t>(completion.wr_id);
  switch (static_cast<arrival>(completion.wr_id >> 32)) {
    case arrival::message:
      idle_receives_.push_back(buffer);
      break;
    case arrival::hello:
      receive_hello(buffer);
      break;
    case arrival::hello_sent:
      sent_hellos_.give_back(buffer);
      break;
  }
}

void rail::flush_receives() {
  constexpr std::size_t most = 32;
  if (idle_receives_.size() < receives_at_once_) return;
  while (!idle_receives_.empty()) {
    std::array<ibv_sge, most> parts;
    std::array<ibv_recv_wr, most> work;
    const auto count = std::min(idle_receives_.size(), most);
    for (std::size_t i = 0; i < count; ++i) {
      const auto buffer = idle_receives_[idle_receives_.size() - 1 - i];
      parts[i] = {reinterpret_cast<std::uintptr_t>(received_messages_.at(buffer)),
                  static_cast<std::uint32_t>(message_bytes), received_messages_.key()};
      work[i] = {label(arrival::message, buffer), i + 1 < count ? &work[i + 1] : nullptr, &parts[i],
                 1};
    }
    ibv_recv_wr* refused = nullptr;
    if (const int failure = ibv_post_srq_recv(receives_.get(), work.data(), &refused))
      throw_system_error(failure, "gave {} buffers for messages", port_.name());
    idle_receives_.resize(idle_receives_.size() - count);
  }
}

}  // namespace heddle::verbs
