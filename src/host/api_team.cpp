// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/call_group.hpp"
#include "host/guarded_call.hpp"
#include "host/runtime.hpp"
#include "host/team.hpp"

using heddle::guarded;
using heddle::required;
using heddle::throw_error;

heddle_status_t heddle_team_world(heddle_runtime_t runtime, heddle_team_t* team) {
  return guarded([&] {
    required(team, "heddle_team_world", "team") =
        &required(runtime, "heddle_team_world", "runtime").world();
  });
}

heddle_status_t heddle_team_node(heddle_runtime_t runtime, heddle_team_t* team) {
  return guarded([&] {
    required(team, "heddle_team_node", "team") =
        &required(runtime, "heddle_team_node", "runtime").node();
  });
}

heddle_status_t heddle_team_split_strided(heddle_team_t parent, int start, int stride, int size,
                                          heddle_team_t* team) {
  return guarded([&] {
    auto& out = required(team, "heddle_team_split_strided", "team");
    out =
        required(parent, "heddle_team_split_strided", "parent").split_strided(start, stride, size);
  });
}

heddle_status_t heddle_team_split_color(heddle_team_t parent, int color, int key,
                                        heddle_team_t* team) {
  return guarded([&] {
    auto& out = required(team, "heddle_team_split_color", "team");
    out = required(parent, "heddle_team_split_color", "parent").split_color(color, key);
  });
}

heddle_status_t heddle_team_my_pe(heddle_team_t team, int* pe) {
  return guarded([&] {
    required(pe, "heddle_team_my_pe", "pe") = required(team, "heddle_team_my_pe", "team").my_pe();
  });
}

heddle_status_t heddle_team_n_pes(heddle_team_t team, int* n_pes) {
  return guarded([&] {
    required(n_pes, "heddle_team_n_pes", "n_pes") =
        required(team, "heddle_team_n_pes", "team").n_pes();
  });
}

heddle_status_t heddle_team_translate(heddle_team_t from, int pe, heddle_team_t to,
                                      int* translated) {
  return guarded([&] {
    const auto& source = required(from, "heddle_team_translate", "from");
    const auto& target = required(to, "heddle_team_translate", "to");
    auto& out = required(translated, "heddle_team_translate", "translated");
    if (&source.runtime() != &target.runtime())
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "heddle_team_translate: teams {} and {} belong to different runtimes",
                  source.name(), target.name());
    if (pe < 0 || pe >= source.n_pes())
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "heddle_team_translate: PE {} is not one of the {} PEs of team {}", pe,
                  source.n_pes(), source.name());
    out = target.index_of(source.world_pes()[static_cast<std::size_t>(pe)]);
  });
}

heddle_status_t heddle_team_destroy(heddle_team_t team) {
  return guarded([&] {
    auto& gone = required(team, "heddle_team_destroy", "team");
    heddle::call_group::of_this_thread().require_nothing_of(gone.runtime(), "heddle_team_destroy");
    gone.runtime().require_not_destroyed(gone);
    gone.retire();
    gone.runtime().remove_team(&gone);
  });
}

heddle_status_t heddle_team_get_ref(heddle_team_t team, void* ref, size_t bytes,
                                    uint32_t layout_version) {
  return guarded([&] {
    const auto& checked = required(team, "heddle_team_get_ref", "team");
    auto& out = required(static_cast<heddle::team_ref*>(ref), "heddle_team_get_ref", "ref");
    if (layout_version != heddle::team_ref::layout || bytes != sizeof(heddle::team_ref))
      throw_error(
          HEDDLE_ERROR_INVALID_USAGE,
          "heddle_team_get_ref: the program was compiled with team_ref layout {} of {} bytes, the "
          "library has layout {} of {} bytes; compile and run with the same heddle",
          layout_version, bytes, +heddle::team_ref::layout, sizeof(heddle::team_ref));
    checked.require_reachable("heddle_team_get_ref");
    out = checked.ref();
  });
}

heddle_status_t heddle_team_status(heddle_team_t team) {
  return guarded([&] { required(team, "heddle_team_status", "team").check(); });
}

heddle_status_t heddle_team_abort(heddle_team_t team, const char* reason) {
  return guarded([&] {
    auto& checked = required(team, "heddle_team_abort", "team");
    checked.require_reachable("heddle_team_abort");
    checked.abort({heddle::abort_reason::user, -1, checked.my_pe()},
                  reason ? reason : "no reason given");
  });
}
