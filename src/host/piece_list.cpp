// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/piece_list.hpp"

#include <algorithm>
#include <numeric>

#include "host/element_bytes.hpp"
#include "host/runtime.hpp"
#include "host/team.hpp"
#include "support/throw_error.hpp"

namespace heddle {

std::size_t piece_list::largest() const {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

std::size_t piece_list::end() const {
  std::size_t last = 0;
  for (std::size_t pe = 0; pe < bytes.size(); ++pe)
    if (bytes[pe] > 0) last = std::max(last, offsets[pe] + bytes[pe]);
  return last;
}

piece_list list_pieces(const char* function, const char* which, const std::size_t* counts,
                       const std::size_t* displacements, heddle_type_t type, int n_pes) {
  if (!counts || !displacements)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {}{} is NULL", function, which,
                counts ? "displacements" : "counts");
  const std::size_t size = element_bytes(function, type);
  piece_list list;
  for (int pe = 0; pe < n_pes; ++pe) {
    const std::size_t bytes = bytes_of_elements(function, counts[pe], type);
    if (displacements[pe] > (most_bytes - bytes) / size)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "{}: {}displacements[{}] is {} elements, more than an address can reach",
                  function, which, pe, displacements[pe]);
    list.bytes.push_back(bytes);
    list.offsets.push_back(displacements[pe] * size);
  }
  return list;
}

void require_apart(const char* function, const piece_list& output) {
  std::vector<std::size_t> order(output.bytes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t pe) { return output.bytes[pe] == 0; });
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return output.offsets[a] < output.offsets[b]; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (output.offsets[order[i - 1]] + output.bytes[order[i - 1]] > output.offsets[order[i]])
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "{}: the pieces from PEs {} and {} overlap in the output", function, order[i - 1],
                  order[i]);
}

namespace {

/// Every PE's list of one number for each PE.
std::vector<std::vector<std::uint64_t>> exchange_lists(const heddle_team& team,
                                                       const std::size_t* mine) {
  const auto n_pes = static_cast<std::size_t>(team.n_pes());
  std::vector<std::vector<std::uint64_t>> lists(n_pes);
  for (std::size_t at = 0; at < n_pes; at += std::tuple_size_v<heddle_team::words>) {
    heddle_team::words some{};
    for (std::size_t i = 0; i < some.size() && at + i < n_pes; ++i) some[i] = mine[at + i];
    const auto all = team.exchange(some);
    for (std::size_t pe = 0; pe < n_pes; ++pe)
      lists[pe].insert(lists[pe].end(), all[pe].begin(), all[pe].end());
  }
  return lists;
}

}  // namespace

void require_alike(const heddle_team& team, const char* function, const std::size_t* counts) {
  if (!team.compares_calls()) return;
  const auto lists = exchange_lists(team, counts);
  // All look at all, so that all tell the same.
  for (std::size_t pe = 0; pe < lists.size(); ++pe)
    for (std::size_t other = 0; other < lists.size(); ++other)
      if (lists[pe][other] != lists[0][other])
        throw_error(HEDDLE_ERROR_MISMATCH,
                    "{} on team {}: PE {} gave count {} for PE {}, PE 0 gave {}", function,
                    team.name(), pe, lists[pe][other], other, lists[0][other]);
}

void require_matching(const heddle_team& team, const char* function, const std::size_t* sent,
                      const std::size_t* received) {
  if (!team.compares_calls()) return;
  const auto lists = exchange_lists(team, sent);
  const auto me = static_cast<std::size_t>(team.my_pe());
  // Whose pieces differ, what is received and what is sent.
  heddle_team::words mine{};
  for (std::size_t other = 0; other < lists.size() && mine[0] == 0; ++other)
    if (received[other] != lists[other][me]) mine = {1, other, received[other], lists[other][me]};
  // What one alone sees, all tell.
  const auto found = team.exchange(mine);
  for (std::size_t pe = 0; pe < found.size(); ++pe)
    if (const auto& differs = found[pe]; differs[0] != 0)
      throw_error(HEDDLE_ERROR_MISMATCH,
                  "{} on team {}: PE {} receives {} elements from PE {}, which sends {}", function,
                  team.name(), pe, differs[2], differs[1], differs[3]);
}

}  // namespace heddle
