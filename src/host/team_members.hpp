// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "coll/domains.hpp"
#include "coll/team_order.hpp"

namespace heddle {

/// Who is in a team, and how this PE reaches them by memory: tables by member, where the host reads
/// them and where kernels do.
class team_members {
 public:
  struct tables {
    const std::int32_t* slots;      ///< of the arena; -1: memory does not join it and this PE
    const std::int32_t* world;      ///< PEs of the world
    const std::int32_t* by_domain;  ///< the members, domain by domain: not by member, but by place
  };

  /// `world_pes`: the members in order, this PE among them.
  team_members(heddle_runtime& runtime, std::vector<int> world_pes);

  [[nodiscard]] const std::vector<int>& world_pes() const { return world_pes_; }
  [[nodiscard]] int size() const { return static_cast<int>(world_pes_.size()); }
  [[nodiscard]] int world_pe(int pe) const { return world_pes_[static_cast<std::size_t>(pe)]; }
  /// The index of a PE of the world; -1 if it is not a member.
  [[nodiscard]] int index_of(int world_pe) const;
  [[nodiscard]] bool is_mapped(int pe) const { return slots_[static_cast<std::size_t>(pe)] >= 0; }
  /// As all members see them.
  [[nodiscard]] const team_domains& domains() const { return domains_; }
  [[nodiscard]] const team_order& ring_order() const { return ring_order_; }
  /// Slots at equal distances need no table: that distance; 0 if they are not, or not all members
  /// map all.
  [[nodiscard]] int slot_step() const;

  [[nodiscard]] tables for_host() const;
  [[nodiscard]] tables for_kernels() const;

 private:
  using device_table = std::unique_ptr<std::int32_t, std::function<void(std::int32_t*)>>;
  [[nodiscard]] device_table copy_for_kernels(heddle_runtime& runtime) const;

  const std::vector<int> world_pes_;
  const std::vector<std::int32_t> slots_;
  const team_domains domains_;
  const team_order ring_order_;
  const device_table in_device_;  ///< all three in a row; null where kernels read the host's
};

}  // namespace heddle
