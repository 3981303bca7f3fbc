// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace heddle {

/// Which PEs each PE of a job maps, as every PE knows it of all: what they decide by it, they
/// decide alike. Kept as ranges of PEs, which are few.
class mapped_pes {
 public:
  using bytes = std::vector<std::byte>;

  /// What a PE that maps these tells the others.
  static bytes find(int n_pes, const std::function<bool(int pe)>& is_mapped);

  mapped_pes() = default;
  /// `told`: by each PE.
  explicit mapped_pes(const std::vector<bytes>& told);

  /// Whether every PE maps all of the job.
  [[nodiscard]] bool is_all() const;
  /// Whether each of these maps all of them.
  [[nodiscard]] bool map_each_other(std::vector<std::int32_t> pes) const;
  /// Whether each of these maps none but itself of them.
  [[nodiscard]] bool are_apart(std::vector<std::int32_t> pes) const;

 private:
  struct range {
    std::int32_t begin;
    std::int32_t end;
  };
  [[nodiscard]] std::span<const range> ranges_of(std::size_t pe) const;
  /// Whether each of these maps `n` of them.
  [[nodiscard]] bool map(std::vector<std::int32_t> pes, std::size_t n) const;

  std::vector<range> ranges_;
  std::vector<std::uint32_t> begins_;  ///< of each PE's in `ranges_`; then the end
};

}  // namespace heddle
