// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <optional>

namespace heddle::verbs {
namespace {

struct search {
  std::optional<library> found;
  std::string why_not;
};

search look() {
  search result;
  // Never closed: the drivers that it loads leave threads and handlers behind.
  void* handle = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = ::dlerror();
    result.why_not = fmt::format("libibverbs cannot be loaded ({}); install rdma-core",
                                 why ? why : "no reason given");
    return result;
  }
  library table;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (!function && result.why_not.empty())
      result.why_not = fmt::format("libibverbs.so.1 has no {}: it is too old", name);
  };
  find(table.get_device_list, "ibv_get_device_list");
  find(table.free_device_list, "ibv_free_device_list");
  find(table.get_device_name, "ibv_get_device_name");
  find(table.open_device, "ibv_open_device");
  find(table.close_device, "ibv_close_device");
  find(table.query_device, "ibv_query_device");
  find(table.query_port, "ibv_query_port");
  find(table.query_gid_ex, "_ibv_query_gid_ex");
  find(table.alloc_pd, "ibv_alloc_pd");
  find(table.dealloc_pd, "ibv_dealloc_pd");
  find(table.reg_mr, "ibv_reg_mr");
  find(table.dereg_mr, "ibv_dereg_mr");
  find(table.create_comp_channel, "ibv_create_comp_channel");
  find(table.destroy_comp_channel, "ibv_destroy_comp_channel");
  find(table.create_cq, "ibv_create_cq");
  find(table.destroy_cq, "ibv_destroy_cq");
  find(table.get_cq_event, "ibv_get_cq_event");
  find(table.ack_cq_events, "ibv_ack_cq_events");
  find(table.create_srq, "ibv_create_srq");
  find(table.destroy_srq, "ibv_destroy_srq");
  find(table.create_qp, "ibv_create_qp");
  find(table.modify_qp, "ibv_modify_qp");
  find(table.destroy_qp, "ibv_destroy_qp");
  find(table.create_ah, "ibv_create_ah");
  find(table.destroy_ah, "ibv_destroy_ah");
  find(table.get_async_event, "ibv_get_async_event");
  find(table.ack_async_event, "ibv_ack_async_event");
  find(table.wc_status_str, "ibv_wc_status_str");
  find(table.event_type_str, "ibv_event_type_str");
  // Since rdma-core 34; without it there are no dmabufs.
  table.reg_dmabuf_mr =
      reinterpret_cast<decltype(table.reg_dmabuf_mr)>(::dlsym(handle, "ibv_reg_dmabuf_mr"));
  if (result.why_not.empty()) result.found = table;
  return result;
}

const search& searched() {
  static const search result = look();
  return result;
}

}  // namespace

const library* find_library(std::string& why_not) {
  const auto& result = searched();
  why_not = result.why_not;
  return result.found ? &*result.found : nullptr;
}

const library& found_library() { return *searched().found; }

bool query_port(ibv_context* context, int port, ibv_port_attr& attributes) {
  attributes = {};
  const auto number = static_cast<std::uint8_t>(port);
  int failure = 0;
  if (auto* extended = verbs_get_ctx_op(context, query_port)) {
    failure = extended->query_port(context, number, &attributes, sizeof attributes);
  } else {
    failure = found_library().query_port(context, number,
                                         reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
  }
  if (failure != 0) errno = failure;
  return failure == 0;
}

}  // namespace heddle::verbs
