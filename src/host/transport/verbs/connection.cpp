// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/connection.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "bootstrap/random_bytes.hpp"
#include "host/transport/verbs/queue_pair_steps.hpp"
#include "support/throw_error.hpp"

namespace heddle::verbs {
namespace {

std::uint32_t random_packet_number() {
  std::uint32_t number = 0;
  fill_random(std::as_writable_bytes(std::span(&number, 1)));
  return number & 0xffffff;
}

}  // namespace

connection::connection(rail& local, const rail_address& remote, const verbs_options& options,
                       const route& route, std::uint32_t id)
    : rail_(local),
      remote_(remote),
      options_(options),
      route_(route),
      id_(id),
      completions_(local.completions_for(depth)),
      first_packet_(random_packet_number()),
      operations_(depth) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = completions_.queue.get();
  wanted.recv_cq = local.arrivals();
  wanted.srq = local.receives();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap.max_send_wr = depth;
  wanted.cap.max_send_sge = 1;
  // A card refuses more than it has, and tells its limit nowhere.
  for (const std::uint32_t size : {256u, 128u, 64u, 0u}) {
    wanted.cap.max_inline_data = size;
    queue_.reset(found_library().create_qp(local.domain(), &wanted));
    if (queue_) break;
  }
  if (!queue_)
    throw_system_error(errno, "asked {} for a queue pair to PE {}", local.port().name(), route.pe);
  most_inline_ = wanted.cap.max_inline_data;
  auto step = step_to_init(local.port().port, local.device().atomic_cap);
  if (const int failure = found_library().modify_qp(queue_.get(), &step.attributes, step.mask))
    throw_system_error(failure, "made a queue pair of {} to PE {} ready", local.port().name(),
                       route.pe);
}

connection::~connection() { lose(); }

ibv_ah* connection::path() {
  if (!path_) {
    auto attributes = rail_.path_to(remote_);
    path_.reset(found_library().create_ah(rail_.domain(), &attributes));
  }
  return path_.get();
}

std::string connection::join(std::uint32_t queue, std::uint32_t first_packet) {
  const auto take = [&](const char* what, queue_pair_step step) -> std::string {
    const int failure = found_library().modify_qp(queue_.get(), &step.attributes, step.mask);
    if (failure == 0) return {};
    return fmt::format("{} could not {} on {}: {}", rail_.port().name(), what,
                       text_of(remote_.value), std::generic_category().message(failure));
  };
  auto problem =
      take("receive from a queue pair",
           step_to_receive(rail_.path_to(remote_), rail_.address(), remote_, queue, first_packet));
  if (!problem.empty()) return problem;
  problem =
      take("send to a queue pair",
           step_to_send(remote_, first_packet_, rail_.device().max_qp_init_rd_atom, options_));
  if (problem.empty()) joined_queue_ = queue;
  return problem;
}

void connection::lose() {
  if (state_ == phase::lost) return;
  state_ = phase::lost;
  // From here on the card touches no buffer of it.
  queue_.reset();
  forget();
}

void connection::forget() {
  chained_ = 0;
  while (retired_ != added_) retire();
}

ibv_send_wr& connection::add(const operation& held) {
  auto& kept = operations_[added_ % depth] = held;
  auto& work = chain_[chained_++].work;
  work = {};
  work.wr_id = std::uint64_t{id_} << 32 | added_;
  ++silent_;
  kept.is_signaled = held.is_signaled || held.token != transport::no_token ||
                     held.message != operation::none || held.word != operation::none ||
                     silent_ >= depth / 4;
  if (kept.is_signaled) {
    work.send_flags = IBV_SEND_SIGNALED;
    silent_ = 0;
    ++completions_.signaled;
    ++signaled_;
  }
  ++added_;
  ++completions_.under_way;
  return work;
}

void connection::set_memory(ibv_send_wr& work, const void* start, std::size_t size,
                            std::uint32_t key, bool is_inline) {
  if (size == 0) return;
  auto& memory = chain_[chained_ - 1].memory;
  memory = {reinterpret_cast<std::uintptr_t>(start), static_cast<std::uint32_t>(size), key};
  work.sg_list = &memory;
  work.num_sge = 1;
  if (is_inline) work.send_flags |= IBV_SEND_INLINE;
}

int connection::flush() {
  if (chained_ == 0) return 0;
  if (state_ == phase::lost) {
    forget();
    return 0;
  }
  for (std::size_t i = 0; i + 1 < chained_; ++i) chain_[i].work.next = &chain_[i + 1].work;
  chain_[chained_ - 1].work.next = nullptr;
  chained_ = 0;
  ibv_send_wr* refused = nullptr;
  return ibv_post_send(queue_.get(), &chain_[0].work, &refused);
}

const connection::operation* connection::next_retired(std::uint64_t label) {
  const auto last = static_cast<std::uint32_t>(label);
  // Numbers go round: `last` is at most `depth` ahead of what is retired, or behind it.
  if (state_ == phase::lost || last - retired_ >= added_ - retired_) return nullptr;
  return &operations_[retired_ % depth];
}

void connection::retire() {
  auto& held = operations_[retired_ % depth];
  if (held.message != operation::none) rail_.messages().give_back(held.message);
  if (held.word != operation::none) rail_.words().give_back(held.word);
  if (held.is_signaled) {
    --completions_.signaled;
    --signaled_;
  }
  held = {};
  ++retired_;
  --completions_.under_way;
}

}  // namespace heddle::verbs
