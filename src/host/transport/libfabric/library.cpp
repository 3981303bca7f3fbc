// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/libfabric/library.hpp"

#include <dlfcn.h>

#include <optional>

namespace heddle::libfabric {
namespace {

template <class Function>
bool find(void* opened, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(opened, name));
  return into != nullptr;
}

std::optional<library> open_library() {
  void* opened = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!opened) return {};
  library found;
  const bool complete =
      find(opened, "fi_getinfo", found.getinfo) && find(opened, "fi_freeinfo", found.freeinfo) &&
      find(opened, "fi_dupinfo", found.dupinfo) && find(opened, "fi_fabric", found.fabric) &&
      find(opened, "fi_strerror", found.strerror) && find(opened, "fi_version", found.version);
  if (!complete) return {};
  return found;
}

/// What heddle calls and how: newer libraries behave to it as this one.
constexpr std::uint32_t interface_version = FI_VERSION(1, 14);

struct question {
  std::uint64_t capabilities;
  std::uint64_t order;
};

info_list ask(const library& functions, const question& asked) {
  const info_list hints(functions.dupinfo(nullptr), functions.freeinfo);
  if (!hints) return {nullptr, functions.freeinfo};
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = asked.capabilities;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->tx_attr->msg_order = asked.order;
  hints->rx_attr->msg_order = asked.order;
  // One thread at a time uses a domain, and it makes the progress.
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  if (asked.capabilities & FI_HMEM) hints->domain_attr->mr_mode |= FI_MR_HMEM;
  fi_info* found = nullptr;
  if (functions.getinfo(interface_version, nullptr, nullptr, 0, hints.get(), &found) != 0)
    found = nullptr;
  return {found, functions.freeinfo};
}

}  // namespace

std::string library::text(long long code) const {
  return strerror(static_cast<int>(code < 0 ? -code : code));
}

const library* load_library() {
  static const std::optional<library> loaded = open_library();
  return loaded ? &*loaded : nullptr;
}

offers::offers(const library& functions, std::optional<ordering> only, bool reaches_gpu) {
  constexpr std::uint64_t writes_and_messages = FI_MSG | FI_RMA;
  constexpr std::uint64_t messages_after_writes = FI_ORDER_SAS | FI_ORDER_SAW;
  std::vector<question> questions;
  const auto ask_for = [&](std::uint64_t capabilities, std::uint64_t order) {
    questions.push_back({writes_and_messages | capabilities | FI_ATOMIC, order});
    questions.push_back({writes_and_messages | capabilities, order});
  };
  if (!only || only == ordering::promised) ask_for(0, messages_after_writes);
  if (!only || only == ordering::fenced) ask_for(FI_FENCE, FI_ORDER_SAS);
  ask_for(0, FI_ORDER_SAS);
  if (reaches_gpu) {
    auto with_gpu = questions;
    for (auto& each : with_gpu) each.capabilities |= FI_HMEM;
    questions.insert(questions.begin(), with_gpu.begin(), with_gpu.end());
  }
  // For the reasons why not.
  questions.push_back({0, 0});
  for (const auto& asked : questions) {
    lists_.push_back(ask(functions, asked));
    for (const fi_info* info = lists_.back().get(); info; info = info->next) all_.push_back(info);
  }
}

}  // namespace heddle::libfabric
