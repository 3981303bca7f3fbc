// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/registered_memory.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <numeric>

#include "host/transport/verbs/failure_text.hpp"
#include "support/throw_error.hpp"

namespace heddle::verbs {

owned_region register_memory(ibv_pd* domain, void* start, std::size_t size, int access) {
  owned_region region((found_library().reg_mr)(domain, start, size, access));
  if (region) return region;
  const int failure = errno;
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  (void)::getrlimit(RLIMIT_MEMLOCK, &limit);
  throw_error(failure == ENOMEM ? HEDDLE_ERROR_OUT_OF_MEMORY : HEDDLE_ERROR_SYSTEM, "{}",
              registration_failure(size, failure, limit.rlim_cur));
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
