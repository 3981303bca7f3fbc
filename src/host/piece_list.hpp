// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <cstddef>
#include <vector>

namespace heddle {

/// What a PE's counts and displacements say, in bytes: one piece for each PE of a team.
struct piece_list {
  std::vector<std::size_t> bytes;
  std::vector<std::size_t> offsets;

  [[nodiscard]] std::size_t largest() const;
  [[nodiscard]] std::size_t end() const;  ///< of the last piece that is not empty
};

/// Throws HEDDLE_ERROR_INVALID_ARGUMENT for a list that is NULL or more than an address can reach.
/// `which` is in front of "counts" and "displacements" in what is told.
piece_list list_pieces(const char* function, const char* which, const std::size_t* counts,
                       const std::size_t* displacements, heddle_type_t type, int n_pes);
/// The pieces that a PE receives must not overlap: which would be there in the end?
void require_apart(const char* function, const piece_list& output);

/// HEDDLE_CHECK=1: all PEs gave the same counts. Collective.
void require_alike(const heddle_team& team, const char* function, const std::size_t* counts);
/// HEDDLE_CHECK=1: what each PE sends is what the other receives. Collective.
void require_matching(const heddle_team& team, const char* function, const std::size_t* sent,
                      const std::size_t* received);

}  // namespace heddle
