// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>

#include "host/runtime.hpp"
#include "host/team.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

using heddle::throw_error;

namespace {

/// The first place that is free on every member of the parent: the same answer on all.
int common_place(const std::vector<heddle_team::words>& all, std::size_t word, int places) {
  std::uint64_t free = ~std::uint64_t{0};
  for (const auto& words : all) free &= words[word];
  if (free == 0)
    throw_error(
        HEDDLE_ERROR_OUT_OF_MEMORY,
        "splitting a team: none of the {} team places is free on every PE; destroy teams that are "
        "no longer used, or raise HEDDLE_MAX_TEAMS (at most {})",
        places, heddle::team_memory_pool::max_places);
  return std::countr_zero(free);
}

}  // namespace

/// Makes the team of `world_pes`; null for a PE outside.
heddle_team* heddle_team::join_child(std::string name, const std::vector<int>& world_pes, int place,
                                     std::uint64_t id) const {
  if (std::find(world_pes.begin(), world_pes.end(), runtime_.my_pe()) == world_pes.end())
    return nullptr;
  runtime_.team_places().take(place);
  return runtime_.add_team(
      std::make_unique<heddle_team>(runtime_, kind::split, std::move(name), world_pes, place, id));
}

heddle_team* heddle_team::split_strided(int start, int stride, int size) {
  const auto last = static_cast<long long>(start) + static_cast<long long>(stride) * (size - 1LL);
  if (start < 0 || start >= n_pes() || size < 1 || (stride == 0 && size > 1) || last < 0 ||
      last >= n_pes())
    throw_error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        "heddle_team_split_strided: start {}, stride {}, size {} leave the {} PEs of team {}",
        start, stride, size, n_pes(), name_);
  const auto all = exchange_in(
      "heddle_team_split_strided",
      {0, static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(stride),
       static_cast<std::uint64_t>(size), runtime_.free_team_places(), runtime_.new_team_id()});
  for (std::size_t pe = 0; pe < all.size(); ++pe)
    if (all[pe][1] != all[0][1] || all[pe][2] != all[0][2] || all[pe][3] != all[0][3])
      throw_error(HEDDLE_ERROR_MISMATCH,
                  "heddle_team_split_strided: PE {} of team {} gave start {}, stride {}, size {}; "
                  "PE 0 gave "
                  "start {}, stride {}, size {}",
                  pe, name_, static_cast<int>(all[pe][1]), static_cast<int>(all[pe][2]),
                  static_cast<int>(all[pe][3]), static_cast<int>(all[0][1]),
                  static_cast<int>(all[0][2]), static_cast<int>(all[0][3]));
  const int place = common_place(all, 4, runtime_.environment().max_teams);
  std::vector<int> members;
  for (int i = 0; i < size; ++i) members.push_back(members_.world_pe(start + i * stride));
  return join_child(fmt::format("{}[{}:{}:{}]", name_, start, stride, size), members, place,
                    all[0][5]);
}

heddle_team* heddle_team::split_color(int color, int key) {
  if (color < -1)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_team_split_color: colour {}; it is 0 or more, or -1 for no team", color);
  const auto all =
      exchange_in("heddle_team_split_color",
                  {0, static_cast<std::uint64_t>(color), static_cast<std::uint64_t>(key),
                   runtime_.free_team_places(), runtime_.new_team_id()});
  const int place = common_place(all, 3, runtime_.environment().max_teams);
  std::vector<int> indices;
  for (int pe = 0; pe < n_pes(); ++pe)
    if (static_cast<int>(all[static_cast<std::size_t>(pe)][1]) == color) indices.push_back(pe);
  std::stable_sort(indices.begin(), indices.end(), [&](int a, int b) {
    return static_cast<int>(all[static_cast<std::size_t>(a)][2]) <
           static_cast<int>(all[static_cast<std::size_t>(b)][2]);
  });
  std::vector<int> members;
  if (color != -1)
    for (int index : indices) members.push_back(members_.world_pe(index));
  return join_child(fmt::format("{}/colour {}", name_, color), members, place, all[0][4]);
}

void heddle_team::retire() {
  if (kind_ != kind::split)
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "heddle_team_destroy: team {} belongs to the runtime and goes with it", name_);
  runtime_.drain(queues_);
  const bool was_aborted = ref().aborted();
  if (compares_calls_ && !was_aborted) try {
      (void)exchange_in("heddle_team_destroy", {});
    } catch (const heddle::error& failed) {
      // Whatever else it was, the end goes on: as that of an aborted team, mostly.
      if (failed.status() == HEDDLE_ERROR_MISMATCH) throw;
    }
  // Of an aborted team a member may have come to that barrier for another call, and given up there.
  met_at_the_end_ = host_ref().barrier(heddle::thread_group{}, heddle::team_memory::host_barrier) ==
                        heddle::wait_status::ok &&
                    !ref().aborted();
  if (!met_at_the_end_ && !was_aborted)
    heddle::log::warn(heddle::log::subsystem::team,
                      "heddle_team_destroy of team {}: this PE did not meet all others; it goes on "
                      "without them",
                      name_);
  // After the barrier's own words. Where the others have met, one of them may have made its place
  // zero by now, and a new team may be there: that has another id.
  auto* mail = runtime_.team_places().mail_slots(place_);
  for (int pe = 0; pe < n_pes(); ++pe) host_ref().tell(&mail[my_pe()].has_left, id_, pe);
  // Where a barrier goes through others, what a PE has sent here may come after it, but not after
  // this word.
  if (!host_ref().has_remote() || n_pes() <= heddle::barrier_memory::max_direct) return;
  for (int pe = 0; pe < n_pes() && met_at_the_end_; ++pe)
    met_at_the_end_ =
        host_ref().wait_by_thread(&mail[pe].has_left, heddle::cmp::eq, id_,
                                  heddle::operation::barrier, pe) == heddle::wait_status::ok;
}

bool heddle_team::all_have_left() const {
  if (met_at_the_end_) return true;
  const auto* mail = runtime_.team_places().mail_slots(place_);
  for (int pe = 0; pe < n_pes(); ++pe)
    if (heddle::load(&mail[pe].has_left, heddle::acquire) != id_ &&
        !runtime_.is_lost(members_.world_pe(pe)))
      return false;
  return true;
}
