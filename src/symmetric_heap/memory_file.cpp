// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "symmetric_heap/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "support/environment.hpp"
#include "support/round_up.hpp"
#include "support/throw_error.hpp"

namespace heddle {

namespace {

constexpr std::size_t granule = std::size_t{2} << 20;

}  // namespace

memory_file::memory_file() : file_(::memfd_create("heddle-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!file_) throw_system_error(errno, "creating the heap's memory (memfd_create)");
  if (::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    throw_system_error(errno, "sealing the heap's memory against shrinking (F_ADD_SEALS)");
}

void memory_file::grow_to(std::size_t bytes) {
  if (bytes <= size_) return;
  const std::size_t size = round_up(bytes, granule);
  // Past this limit the system does not only refuse: it ends the process by SIGXFSZ.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && size > limit.rlim_cur)
    throw_error(HEDDLE_ERROR_OUT_OF_MEMORY,
                "the heap has {} and cannot grow to {}: files may have {} at most (ulimit -f), and "
                "memory that processes share counts as a file; raise that limit",
                format_bytes(size_), format_bytes(size), format_bytes(limit.rlim_cur));
  if (::ftruncate(file_.get(), static_cast<off_t>(size)) != 0)
    throw_error(HEDDLE_ERROR_OUT_OF_MEMORY,
                "the heap has {} and cannot grow to {}: the system refuses (ftruncate: {}); check "
                "the memory limit of this job",
                format_bytes(size_), format_bytes(size), std::generic_category().message(errno));
  size_ = size;
}

const char* huge_page_support() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string modes;
  std::getline(file, modes);
  if (modes.find("[always]") != std::string::npos || modes.find("[force]") != std::string::npos)
    return "always";
  if (modes.find("[within_size]") != std::string::npos) return "where a whole huge page fits";
  if (modes.find("[advise]") != std::string::npos) return "yes: heddle asks for them";
  if (modes.find("[never]") != std::string::npos)
    return "no: write advise to /sys/kernel/mm/transparent_hugepage/shmem_enabled";
  return "no: the kernel has none for shared memory";
}

}  // namespace heddle
