// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/libfabric/local_memory.hpp"

#include <rdma/fi_errno.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "bootstrap/random_bytes.hpp"
#include "support/environment.hpp"
#include "support/throw_error.hpp"

namespace heddle::libfabric {
namespace {

constexpr std::uint64_t remote_access = FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr std::uint64_t local_access = FI_READ | FI_WRITE | FI_SEND | FI_RECV;

/// As wide as the provider takes: who was not told a key shall not guess it.
std::uint64_t random_key(const fi_info& info) {
  std::uint64_t key = 0;
  fill_random(std::as_writable_bytes(std::span(&key, 1)));
  const auto bits = 8 * std::min(info.domain_attr->mr_key_size, sizeof key);
  return bits == 64 ? key : key & ((std::uint64_t{1} << bits) - 1);
}

[[noreturn]] void throw_refusal(const endpoint& endpoint, std::size_t size, long long code) {
  const bool no_room = code == -FI_ENOMEM || code == -FI_EAGAIN || code == -FI_ENOSPC;
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  throw_error(no_room ? HEDDLE_ERROR_OUT_OF_MEMORY : HEDDLE_ERROR_SYSTEM,
              "asked libfabric's provider {} to register {} of memory (fi_mr_reg): {}; this "
              "process may lock {} (ulimit -l)",
              endpoint.info().fabric_attr->prov_name, format_bytes(size),
              endpoint.functions().text(code),
              limit.rlim_cur == RLIM_INFINITY ? "any amount" : format_bytes(limit.rlim_cur));
}

}  // namespace

registration::registration(const endpoint& endpoint, void* start, std::size_t size,
                           std::uint64_t access, const gpu_memory* gpu)
    : end_(static_cast<std::byte*>(start) + size) {
  const auto& info = endpoint.info();
  const bool provider_has_keys = (info.domain_attr->mr_mode & FI_MR_PROV_KEY) != 0;
  constexpr int attempts = 16;  // a key that is taken, where keys are short
  fid_mr* region = nullptr;
  int code = -FI_ENOKEY;
  const iovec range{start, size};
  fi_mr_attr wanted{};
  wanted.mr_iov = &range;
  wanted.iov_count = 1;
  wanted.access = access;
  if (gpu) {
    wanted.iface = FI_HMEM_CUDA;
    wanted.device.cuda = gpu->ordinal();
  }
  for (int i = 0; i < attempts && (code == -FI_ENOKEY || code == -FI_EKEYREJECTED); ++i) {
    wanted.requested_key = provider_has_keys ? 0 : random_key(info);
    code = ::fi_mr_regattr(endpoint.domain(), &wanted, 0, &region);
  }
  if (code != 0) throw_refusal(endpoint, size, code);
  region_.reset(region);
  if ((info.domain_attr->mr_mode & FI_MR_ENDPOINT) == 0) return;
  code = ::fi_mr_bind(region, &endpoint.get()->fid, 0);
  if (code == 0) code = ::fi_mr_enable(region);
  if (code != 0) throw_refusal(endpoint, size, code);
}

local_memory::local_memory(const endpoint& endpoint, const gpu_memory* gpu)
    : endpoint_(endpoint),
      gpu_(gpu),
      needs_registered_local_((endpoint.info().domain_attr->mr_mode & FI_MR_LOCAL) != 0),
      keeps_addresses_((endpoint.info().domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0) {}

transport::bytes local_memory::expose(int region, std::uint64_t offset, void* start,
                                      std::size_t size) {
  registration registered(endpoint_, start, size, remote_access | local_access,
                          region == 0 ? gpu_ : nullptr);
  const remote_key key{registered.key(),
                       keeps_addresses_ ? reinterpret_cast<std::uint64_t>(start) : 0};
  if (region == 0) gpu_base_ = static_cast<const std::byte*>(start) - offset;
  exposed_[{region, offset}] = {static_cast<std::byte*>(start), std::move(registered)};
  return write_key(key);
}

void local_memory::conceal(int region, std::uint64_t offset) noexcept {
  exposed_.erase({region, offset});
}

void local_memory::register_local(void* start, std::size_t size) {
  if (needs_registered_local_)
    local_[static_cast<std::byte*>(start)] = registration(endpoint_, start, size, local_access);
}

void local_memory::forget_local(void* start) noexcept {
  local_.erase(static_cast<std::byte*>(start));
}

bool local_memory::is_on_gpu(const void* start) const {
  if (!gpu_ || start < gpu_base_) return false;
  // All pieces of a region lie at their offsets from one address.
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(start) - gpu_base_);
  auto after = exposed_.upper_bound({0, offset});
  return after != exposed_.begin() && (--after)->first.first == 0 &&
         start < after->second.registered.end();
}

void* local_memory::find_descriptor(const void* start, std::size_t size) const {
  const auto* first = static_cast<const std::byte*>(start);
  auto after = local_.upper_bound(first);
  if (after != local_.begin() && first + size <= (--after)->second.end())
    return after->second.descriptor();
  for (const auto& [place, piece] : exposed_)
    if (first >= piece.start && first + size <= piece.registered.end())
      return piece.registered.descriptor();
  throw_error(HEDDLE_ERROR_INTERNAL,
              "an operation of {} bytes at {} has a local side that was not registered with "
              "libfabric's provider {}",
              size, start, endpoint_.info().fabric_attr->prov_name);
}

transport::bytes write_key(const local_memory::remote_key& key) {
  transport::bytes text(sizeof key);
  std::memcpy(text.data(), &key, sizeof key);
  return text;
}

local_memory::remote_key read_key(std::span<const std::byte> key) {
  local_memory::remote_key result{};
  if (key.size() != sizeof result)
    throw_error(HEDDLE_ERROR_INTERNAL, "a key of {} bytes is none of libfabric's", key.size());
  std::memcpy(&result, key.data(), sizeof result);
  return result;
}

}  // namespace heddle::libfabric
