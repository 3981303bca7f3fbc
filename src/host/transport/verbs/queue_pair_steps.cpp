// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/queue_pair_steps.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::verbs {
namespace {

/// How long a card waits before it tries a receiver again that had no buffer: 0.64 ms.
constexpr std::uint8_t receiver_retry_timer = 12;
constexpr std::uint8_t receiver_retry_for_ever = 7;

}  // namespace

ibv_ah_attr path_between(const rdma_port& port, const rail_address& own, const rail_address& peer,
                         const verbs_options& options) {
  ibv_ah_attr path{};
  path.port_num = static_cast<std::uint8_t>(port.port);
  path.sl = static_cast<std::uint8_t>(options.service_level);
  path.dlid = peer.lid;
  if (port.link == link_layer::ethernet || peer.network != own.network || peer.lid == 0) {
    path.is_global = 1;
    std::memcpy(path.grh.dgid.raw, peer.value.data(), peer.value.size());
    path.grh.sgid_index = static_cast<std::uint8_t>(port.chosen_gid);
    path.grh.hop_limit = 255;
    path.grh.traffic_class = static_cast<std::uint8_t>(options.traffic_class);
  }
  return path;
}

queue_pair_step step_to_init(int port, ibv_atomic_cap atomics) {
  queue_pair_step step;
  auto& state = step.attributes;
  state.qp_state = IBV_QPS_INIT;
  state.port_num = static_cast<std::uint8_t>(port);
  state.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  if (atomics != IBV_ATOMIC_NONE) state.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
  step.mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  return step;
}

queue_pair_step step_to_receive(const ibv_ah_attr& path, const rail_address& own,
                                const rail_address& peer, std::uint32_t queue,
                                std::uint32_t first_packet) {
  queue_pair_step step;
  auto& state = step.attributes;
  state.qp_state = IBV_QPS_RTR;
  state.path_mtu = static_cast<ibv_mtu>(std::min(own.mtu_code, peer.mtu_code));
  state.dest_qp_num = queue;
  state.rq_psn = first_packet;
  state.max_dest_rd_atomic = own.most_reads;
  state.min_rnr_timer = receiver_retry_timer;
  state.ah_attr = path;
  step.mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  return step;
}

queue_pair_step step_to_send(const rail_address& peer, std::uint32_t first_packet, int card_reads,
                             const verbs_options& options) {
  queue_pair_step step;
  auto& state = step.attributes;
  state.qp_state = IBV_QPS_RTS;
  state.timeout = static_cast<std::uint8_t>(options.timeout);
  state.retry_cnt = static_cast<std::uint8_t>(options.retry_count);
  state.rnr_retry = receiver_retry_for_ever;
  state.sq_psn = first_packet;
  state.max_rd_atomic =
      static_cast<std::uint8_t>(std::clamp(card_reads, 0, static_cast<int>(peer.most_reads)));
  step.mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
              IBV_QP_MAX_QP_RD_ATOMIC;
  return step;
}

}  // namespace heddle::verbs
