// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/rc_transport.hpp"

#include <algorithm>

#include "bootstrap/random_bytes.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle::verbs {
namespace {

constexpr std::size_t most_transfer = std::size_t{1} << 30;

std::uint32_t random_queue_key() {
  std::uint32_t key = 0;
  fill_random(std::as_writable_bytes(std::span(&key, 1)));
  // Keys with the upper bit are the system's own.
  return key & 0x7fffffff;
}

}  // namespace

rc_transport::rc_transport(verbs_options options, const std::vector<rdma_port>& ports)
    : options_(std::move(options)) {
  fill_random(std::as_writable_bytes(std::span(&address_.id, 1)));
  address_.queue_key = random_queue_key();
  port_down_since_.fill(clock::time_point::max());
  traits_.name = "verbs (";
  traits_.card = fmt::format("/sys/class/infiniband/{}/device", ports.front().device);
  traits_.order = message_order::after_writes;
  traits_.completion_is_delivery = true;
  traits_.needs_registered_local = true;
  traits_.ends_what_is_dropped = true;
  traits_.pins_memory = true;
  traits_.has_atomics = true;
  traits_.atomics_match_cpu = true;
  traits_.most_message_bytes = rail::message_bytes;
  traits_.most_transfer_bytes = most_transfer;
  std::vector<ibv_pd*> domains;
  for (const auto& port : ports) {
    rails_.push_back(std::make_unique<rail>(port, options_, address_.queue_key));
    auto& made = *rails_.back();
    address_.rails.push_back(made.address());
    domains.push_back(made.domain());
    waits_.add(made.channel()->fd);
    waits_.add(made.context()->async_fd);
    traits_.name +=
        fmt::format("{}{}, {}", rails_.size() > 1 ? "; " : "", port.name(), port.why_gid);
    traits_.has_atomics &= made.device().atomic_cap != IBV_ATOMIC_NONE;
    traits_.atomics_match_cpu &= made.device().atomic_cap == IBV_ATOMIC_GLOB;
    traits_.most_transfer_bytes =
        std::min<std::size_t>(traits_.most_transfer_bytes, made.attributes().max_msg_sz);
  }
  traits_.name += ")";
  traits_.reaches_gpu = options_.gpu != nullptr;
  std::vector<gpu_way> ways;
  for (auto* domain : domains) {
    if (!traits_.reaches_gpu) break;
    std::string why_none;
    ways.push_back(way_to_gpu(domain, *options_.gpu, why_none));
    traits_.reaches_gpu = ways.back() != gpu_way::none;
    if (!traits_.reaches_gpu)
      log::info(log::subsystem::transport, "the proxy copies GPU memory: {}", why_none);
  }
  memory_ =
      std::make_unique<local_memory>(std::move(domains), traits_.has_atomics,
                                     traits_.reaches_gpu ? options_.gpu : nullptr, std::move(ways));
}

void rc_transport::set_addresses(std::vector<bytes> addresses) {
  peers_ = std::vector<peer>(addresses.size());
  pe_of_id_.clear();
  for (std::size_t pe = 0; pe < addresses.size(); ++pe) {
    // One that is none is a matter of whoever posts to it.
    try {
      peers_[pe].address = decode(addresses[pe]);
      pe_of_id_[peers_[pe].address.id] = static_cast<int>(pe);
    } catch (const error& problem) {
      peers_[pe].why_no_address = problem.what();
    }
  }
  connections_.resize(addresses.size() * static_cast<std::size_t>(options_.lanes));
}

std::string rc_transport::describe(int pe) const {
  return text_of(peers_.at(static_cast<std::size_t>(pe)).address);
}

void rc_transport::add_remote(int pe, int region, std::uint64_t offset, std::size_t size,
                              std::span<const std::byte> key) {
  peer_of(pe).memory.add(region, offset, size, key);
}

rc_transport::peer& rc_transport::peer_of(int pe) { return peers_[static_cast<std::size_t>(pe)]; }

std::size_t rc_transport::index_of(int lane, int pe) const {
  return static_cast<std::size_t>(pe) * static_cast<std::size_t>(options_.lanes) +
         static_cast<std::size_t>(lane);
}

connection* rc_transport::ready(int lane, int pe) {
  auto* known = connections_[index_of(lane, pe)].get();
  if (known && known->state() == connection::phase::established) [[likely]]
    return known;
  if (is_gone(pe)) return nullptr;
  if (!known) known = open(lane, pe);
  if (known && !known->wanted) {
    const auto now = clock::now();
    known->wanted = true;
    known->give_up_at = now + std::chrono::duration_cast<clock::duration>(options_.connect_timeout);
    known->repeat_at = now;
    known->repeat_after = std::chrono::milliseconds(50);
    opening_.push_back(known);
    repeat_hellos(now);
  }
  return nullptr;
}

ibv_send_wr& rc_transport::add(connection& to, const connection::operation& held) {
  if (to.chain_is_full()) flush(to);
  if (!to.has_chain()) chained_.push_back(&to);
  return to.add(held);
}

void rc_transport::flush(connection& to) {
  if (const int problem = to.flush())
    lose(to.pe(), fmt::format("{} took no operation to {}: {}", to.local().port().name(),
                              describe(to.pe()), std::generic_category().message(problem)));
}

void rc_transport::flush_chains() {
  // A connection may be in the list twice, or be lost: both are nothing to flush.
  for (auto* one : chained_) flush(*one);
  chained_.clear();
}

bool rc_transport::transfer(ibv_wr_opcode opcode, int lane, const remote_place& place,
                            const void* here, std::size_t size, std::uint64_t token) {
  auto* to = ready(lane, place.pe);
  if (!to) return is_gone(place.pe);
  if (to->room() == 0) return false;
  const auto target = peer_of(place.pe).memory.find(place, size);
  const bool is_inline =
      opcode == IBV_WR_RDMA_WRITE && size <= to->most_inline() && !memory_->is_on_gpu(here);
  // The local side may lie in several pieces that were registered one by one: an operation each.
  const auto* at = static_cast<const std::byte*>(here);
  int parts = 1;
  if (!is_inline) {
    for (std::size_t done = memory_->find(at, size).size; done < size; ++parts)
      done += memory_->find(at + done, size - done).size;
    if (parts > connection::depth)
      throw_error(HEDDLE_ERROR_INTERNAL, "{} bytes at {} lie in {} registered pieces, above {}",
                  size, here, parts, +connection::depth);
    if (to->room() < parts) return false;
  }
  const auto key = (*target.keys)[to->remote_rail()];
  for (std::size_t done = 0; parts > 0; --parts) {
    local_memory::part part{size, nullptr};
    if (!is_inline) part = memory_->find(at + done, size - done);
    connection::operation held;
    if (parts == 1) held.token = token;
    auto& work = add(*to, held);
    work.opcode = opcode;
    work.wr.rdma = {target.address + done, key};
    to->set_memory(work, at + done, part.size, part.keys ? (*part.keys)[to->local_rail()] : 0,
                   is_inline);
    done += part.size;
  }
  return true;
}

bool rc_transport::post_write(int lane, const remote_place& to, const void* from, std::size_t size,
                              std::uint64_t token, std::uint32_t /*immediate*/) {
  return transfer(IBV_WR_RDMA_WRITE, lane, to, from, size, token);
}

bool rc_transport::post_read(int lane, void* to, const remote_place& from, std::size_t size,
                             std::uint64_t token) {
  return transfer(IBV_WR_RDMA_READ, lane, from, to, size, token);
}

bool rc_transport::post_atomic(int lane, network_atomic op, const remote_place& word,
                               std::uint64_t value, std::uint64_t compare, std::uint64_t token) {
  auto* to = ready(lane, word.pe);
  if (!to) return is_gone(word.pe);
  if (to->room() == 0) return false;
  auto& words = to->local().words();
  if (words.empty()) return false;
  const auto target = peer_of(word.pe).memory.find(word, sizeof(std::uint64_t));
  connection::operation held;
  held.token = token;
  held.word = words.take();
  auto& work = add(*to, held);
  const bool adds = op == network_atomic::fetch_add;
  work.opcode = adds ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
  work.wr.atomic = {target.address, adds ? value : compare, adds ? 0 : value,
                    (*target.keys)[to->remote_rail()]};
  to->set_memory(work, words.at(held.word), sizeof(std::uint64_t), words.key(), false);
  return true;
}

std::span<std::byte> rc_transport::begin_message(int lane, int pe) {
  auto* to = ready(lane, pe);
  if (!to && is_gone(pe)) {
    lost_message_.resize(rail::message_bytes);
    return lost_message_;
  }
  if (!to || to->room() == 0 || to->local().messages().empty()) return {};
  to->reserve(1);
  auto& messages = to->local().messages();
  return {messages.at(messages.take()), messages.piece_bytes()};
}

void rc_transport::post_message(int lane, int pe, std::span<std::byte> message, std::size_t size) {
  if (message.data() == lost_message_.data()) return;
  auto& to = *connections_[index_of(lane, pe)];
  auto& messages = to.local().messages();
  const auto buffer = messages.index_of(message.data());
  to.reserve(-1);
  if (size == 0 || to.state() != connection::phase::established) {
    messages.give_back(buffer);
    return;
  }
  const bool is_inline = size <= to.most_inline();
  connection::operation held;
  if (!is_inline) held.message = buffer;
  auto& work = add(to, held);
  work.opcode = IBV_WR_SEND;
  to.set_memory(work, message.data(), size, messages.key(), is_inline);
  flush(to);
  if (is_inline) messages.give_back(buffer);
}

}  // namespace heddle::verbs
