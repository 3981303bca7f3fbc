// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "host/transport/transport.hpp"
#include "host/transport/verbs/peer_address.hpp"
#include "host/transport/verbs/registered_memory.hpp"

namespace heddle::verbs {

/// One number per rail.
using rail_keys = std::array<std::uint32_t, peer_address::most_rails>;

/// This PE's memory that its cards know: what peers may reach, and what may be the local side of an
/// operation. Every piece is registered with every rail.
class local_memory {
 public:
  /// `gpu`: of region 0; null if that is the host's. `ways`: to it, by domain.
  local_memory(std::vector<ibv_pd*> domains, bool has_atomics, const gpu_memory* gpu,
               std::vector<gpu_way> ways)
      : domains_(std::move(domains)),
        has_atomics_(has_atomics),
        gpu_(gpu),
        ways_(std::move(ways)) {}

  /// Returns what remote_memory::add of a peer takes.
  transport::bytes expose(int region, std::uint64_t offset, void* start, std::size_t size);
  void conceal(int region, std::uint64_t offset) noexcept;
  void register_local(void* start, std::size_t size);
  void forget_local(void* start) noexcept;

  struct part {
    std::size_t size;  ///< of what was asked for, from its start
    const rail_keys* keys;
  };
  /// The first part of [start, start + size) that is in one piece. Throws HEDDLE_ERROR_INTERNAL if
  /// `start` is in none.
  [[nodiscard]] part find(const void* start, std::size_t size) const;
  /// Whether no processor reads what is there.
  [[nodiscard]] bool is_on_gpu(const void* start) const;

 private:
  struct piece {
    std::size_t size = 0;
    bool is_on_gpu = false;
    rail_keys local_keys{};
    std::vector<owned_region> registrations;
  };
  piece register_piece(void* start, std::size_t size, int access, const gpu_memory* gpu) const;
  [[nodiscard]] const std::pair<const std::byte* const, piece>* piece_at(const void* start) const;

  std::vector<ibv_pd*> domains_;
  bool has_atomics_;
  const gpu_memory* gpu_;
  std::vector<gpu_way> ways_;
  std::multimap<const std::byte*, piece> pieces_;  ///< by start
  std::map<std::pair<int, std::uint64_t>, std::multimap<const std::byte*, piece>::iterator>
      exposed_;
  std::map<const void*, std::multimap<const std::byte*, piece>::iterator> local_;
};

/// What one peer has exposed.
class remote_memory {
 public:
  struct target {
    std::uint64_t address;
    const rail_keys* keys;  ///< by the peer's rails
  };

  /// Throws HEDDLE_ERROR_MISMATCH if `key` is none of local_memory::expose.
  void add(int region, std::uint64_t offset, std::size_t size, std::span<const std::byte> key);
  /// Throws HEDDLE_ERROR_INTERNAL if [place, place + size) is not inside one piece.
  [[nodiscard]] target find(const remote_place& place, std::size_t size) const;

 private:
  struct piece {
    std::size_t size = 0;
    std::uint64_t address = 0;
    rail_keys keys{};
  };
  std::map<std::pair<int, std::uint64_t>, piece> pieces_;  ///< by region and offset
};

}  // namespace heddle::verbs
