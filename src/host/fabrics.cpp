// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/fabrics.hpp"

#if defined(HEDDLE_HAVE_LIBFABRIC)

#include <dlfcn.h>
#include <rdma/fabric.h>

#include <algorithm>
#include <memory>

namespace heddle {
namespace {

template <class Function>
Function* function_of(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

std::vector<fabric_description> find_fabrics() {
  std::vector<fabric_description> result;
  // Never closed: providers leave threads and handlers behind.
  void* library = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return result;
  auto* get = function_of<decltype(fi_getinfo)>(library, "fi_getinfo");
  auto* free = function_of<decltype(fi_freeinfo)>(library, "fi_freeinfo");
  auto* duplicate = function_of<decltype(fi_dupinfo)>(library, "fi_dupinfo");
  if (!get || !free || !duplicate) return result;
  const std::unique_ptr<fi_info, decltype(free)> hints(duplicate(nullptr), free);
  if (!hints) return result;
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_RMA;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_RAW;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  fi_info* found = nullptr;
  if (get(FI_VERSION(1, 9), nullptr, nullptr, 0, hints.get(), &found) != 0) return result;
  const std::unique_ptr<fi_info, decltype(free)> owner(found, free);
  for (const fi_info* info = found; info; info = info->next) {
    const fabric_description row{info->fabric_attr->prov_name, info->fabric_attr->name,
                                 info->domain_attr->name};
    if (std::find(result.begin(), result.end(), row) == result.end()) result.push_back(row);
  }
  return result;
}

}  // namespace heddle

#else

std::vector<heddle::fabric_description> heddle::find_fabrics() { return {}; }

#endif
