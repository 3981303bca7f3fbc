// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>

namespace heddle::verbs {

/// The functions of libibverbs that heddle calls, looked up when the first transport is made: a
/// program starts without the library. What verbs.h has as inline functions (ibv_post_send,
/// ibv_poll_cq and the like) goes through a context's own table and needs no row here.
struct library {
  decltype(&::ibv_get_device_list) get_device_list = nullptr;
  decltype(&::ibv_free_device_list) free_device_list = nullptr;
  decltype(&::ibv_get_device_name) get_device_name = nullptr;
  decltype(&::ibv_open_device) open_device = nullptr;
  decltype(&::ibv_close_device) close_device = nullptr;
  decltype(&::ibv_query_device) query_device = nullptr;
  decltype(&::ibv_query_port) query_port = nullptr;
  decltype(&::_ibv_query_gid_ex) query_gid_ex = nullptr;
  decltype(&::ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&::ibv_dealloc_pd) dealloc_pd = nullptr;
  decltype(&::ibv_reg_mr) reg_mr = nullptr;
  decltype(&::ibv_reg_dmabuf_mr) reg_dmabuf_mr = nullptr;  ///< null where it is not there
  decltype(&::ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&::ibv_create_comp_channel) create_comp_channel = nullptr;
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel = nullptr;
  decltype(&::ibv_create_cq) create_cq = nullptr;
  decltype(&::ibv_destroy_cq) destroy_cq = nullptr;
  decltype(&::ibv_get_cq_event) get_cq_event = nullptr;
  decltype(&::ibv_ack_cq_events) ack_cq_events = nullptr;
  decltype(&::ibv_create_srq) create_srq = nullptr;
  decltype(&::ibv_destroy_srq) destroy_srq = nullptr;
  decltype(&::ibv_create_qp) create_qp = nullptr;
  decltype(&::ibv_modify_qp) modify_qp = nullptr;
  decltype(&::ibv_destroy_qp) destroy_qp = nullptr;
  decltype(&::ibv_create_ah) create_ah = nullptr;
  decltype(&::ibv_destroy_ah) destroy_ah = nullptr;
  decltype(&::ibv_get_async_event) get_async_event = nullptr;
  decltype(&::ibv_ack_async_event) ack_async_event = nullptr;
  decltype(&::ibv_wc_status_str) wc_status_str = nullptr;
  decltype(&::ibv_event_type_str) event_type_str = nullptr;
};

/// Null if libibverbs is not there or lacks a function; `why_not` says which.
const library* find_library(std::string& why_not);
/// As found; for code that runs after find_library has found it.
const library& found_library();

/// What ibv_query_port tells, without its inline form, which names a symbol. False: errno says why.
bool query_port(ibv_context* context, int port, ibv_port_attr& attributes);

/// Owns an object of libibverbs. Let go in the reverse order of making: the library refuses to
/// destroy what is in use.
template <auto Destroy>
struct destroyer {
  template <class Object>
  void operator()(Object* object) const {
    if (object) (void)(found_library().*Destroy)(object);
  }
};
using owned_context = std::unique_ptr<ibv_context, destroyer<&library::close_device>>;
using owned_domain = std::unique_ptr<ibv_pd, destroyer<&library::dealloc_pd>>;
using owned_region = std::unique_ptr<ibv_mr, destroyer<&library::dereg_mr>>;
using owned_channel = std::unique_ptr<ibv_comp_channel, destroyer<&library::destroy_comp_channel>>;
using owned_completions = std::unique_ptr<ibv_cq, destroyer<&library::destroy_cq>>;
using owned_receives = std::unique_ptr<ibv_srq, destroyer<&library::destroy_srq>>;
using owned_queue_pair = std::unique_ptr<ibv_qp, destroyer<&library::destroy_qp>>;
using owned_path = std::unique_ptr<ibv_ah, destroyer<&library::destroy_ah>>;

}  // namespace heddle::verbs
