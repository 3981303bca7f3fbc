// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/failure_text.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <system_error>

#include "support/environment.hpp"

namespace heddle::verbs {
namespace {

const char* advice(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return "the peer's card does not acknowledge: its process has ended, a cable or switch is "
             "down, or the GID is wrong (HEDDLE_IB_GID_INDEX, HEDDLE_IB_HCA; heddle-info shows "
             "what is used); on a network that pauses longer, raise HEDDLE_IB_TIMEOUT";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "the peer takes no messages: its process hangs or has ended";
    case IBV_WC_REM_ACCESS_ERR:
      return "the peer's card refuses the address: its memory there is no longer exposed";
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
      return "the peer's card could not do the operation; its log may tell why";
    case IBV_WC_LOC_PROT_ERR:
      return "this PE's memory there is not registered, or was freed";
    case IBV_WC_WR_FLUSH_ERR:
      return "the connection had ended before, by an error at the peer";
    default:
      return "see the system's log of this card (dmesg)";
  }
}

}  // namespace

std::string completion_failure(ibv_wc_status status, const std::string& status_text,
                               unsigned vendor_error, const std::string& peer) {
  return fmt::format("an operation to {} ended with \"{}\" (status {}, vendor error {:#x}): {}",
                     peer, status_text, static_cast<int>(status), vendor_error, advice(status));
}

std::string registration_failure(std::size_t size, int error_number,
                                 unsigned long long memory_limit) {
  auto text = fmt::format("asked the network card to take {} of memory: {}", format_bytes(size),
                          std::generic_category().message(error_number));
  if (error_number == ENOMEM && memory_limit != RLIM_INFINITY)
    text += fmt::format(
        "; this process may lock {} (ulimit -l), and what a card reads and writes is locked: raise "
        "the limit, in /etc/security/limits.conf or where the launcher is started (Slurm: "
        "PropagateResourceLimitsExcept=MEMLOCK), or use less of the heap",
        format_bytes(memory_limit));
  return text;
}

}  // namespace heddle::verbs
