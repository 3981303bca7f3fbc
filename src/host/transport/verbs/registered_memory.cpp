// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/registered_memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <numeric>

#include "host/transport/verbs/failure_text.hpp"
#include "support/round_up.hpp"
#include "support/throw_error.hpp"

namespace heddle::verbs {

namespace {

[[noreturn]] void throw_refusal(std::size_t size, int failure) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  (void)::getrlimit(RLIMIT_MEMLOCK, &limit);
  throw_error(failure == ENOMEM ? HEDDLE_ERROR_OUT_OF_MEMORY : HEDDLE_ERROR_SYSTEM, "{}",
              registration_failure(size, failure, limit.rlim_cur));
}

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

bool takes_dmabufs(ibv_pd* domain) {
  if (!found_library().reg_dmabuf_mr) return false;
  // No card has this descriptor; one that takes none at all says so first.
  const owned_region none(
      found_library().reg_dmabuf_mr(domain, 0, page_bytes(), 0, -1, IBV_ACCESS_LOCAL_WRITE));
  return none || (errno != EOPNOTSUPP && errno != EPROTONOSUPPORT && errno != ENOSYS);
}

}  // namespace

owned_region register_memory(ibv_pd* domain, void* start, std::size_t size, int access) {
  owned_region region((found_library().reg_mr)(domain, start, size, access));
  if (!region) throw_refusal(size, errno);
  return region;
}

gpu_way way_to_gpu(ibv_pd* domain, const gpu_memory& gpu, std::string& why_none) {
  const bool takes = takes_dmabufs(domain);
  if (takes && gpu.has_dmabufs()) return gpu_way::dmabuf;
  std::error_code ignored;
  if (std::filesystem::exists("/sys/module/nvidia_peermem", ignored)) return gpu_way::peer_memory;
  why_none = takes ? "the GPU's driver exports no dmabuf"
                   : fmt::format("{} takes no dmabuf",
                                 found_library().get_device_name(domain->context->device));
  why_none += ", and nvidia_peermem is not loaded";
  return gpu_way::none;
}

owned_region register_gpu_memory(ibv_pd* domain, gpu_way way, const gpu_memory& gpu, void* start,
                                 std::size_t size, int access) {
  if (way != gpu_way::dmabuf) return register_memory(domain, start, size, access);
  const auto at = reinterpret_cast<std::uintptr_t>(start);
  const auto first = at / page_bytes() * page_bytes();
  const unique_fd pages = gpu.share_with_cards(reinterpret_cast<void*>(first),
                                               round_up(at + size - first, page_bytes()));
  owned_region region(
      found_library().reg_dmabuf_mr(domain, at - first, size, at, pages.get(), access));
  if (!region) throw_refusal(size, errno);
  return region;
}

buffer_pool::buffer_pool(ibv_pd* domain, std::size_t piece_bytes, std::size_t pieces)
    : piece_bytes_(piece_bytes),
      memory_(std::make_unique<std::byte[]>(piece_bytes * pieces)),
      region_(register_memory(domain, memory_.get(), piece_bytes * pieces, IBV_ACCESS_LOCAL_WRITE)),
      free_(pieces) {
  // The first is taken first.
  std::iota(free_.rbegin(), free_.rend(), 0u);
}

}  // namespace heddle::verbs
