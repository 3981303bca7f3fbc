// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>

#include "host/call_group.hpp"
#include "host/guarded_call.hpp"
#include "host/runtime.hpp"
#include "host/team.hpp"

using heddle::guarded;
using heddle::required;
using heddle::throw_error;

heddle_status_t heddle_all_reduce(heddle_team_t team, const void* input, void* output, size_t count,
                                  heddle_type_t type, heddle_op_t op, heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_all_reduce", "team")
        .reductions()
        .all_reduce(input, output, count, type, op, stream);
  });
}

heddle_status_t heddle_team_set_chooser(heddle_team_t team, heddle_chooser_t chooser, void* user) {
  return guarded(
      [&] { required(team, "heddle_team_set_chooser", "team").set_chooser(chooser, user); });
}

heddle_status_t heddle_team_set_max_channels(heddle_team_t team, int channels) {
  return guarded(
      [&] { required(team, "heddle_team_set_max_channels", "team").set_max_channels(channels); });
}

heddle_status_t heddle_team_max_channels(heddle_team_t team, int* channels) {
  return guarded([&] {
    const auto& of = required(team, "heddle_team_max_channels", "team");
    required(channels, "heddle_team_max_channels", "channels") = of.max_channels();
  });
}

heddle_status_t heddle_team_set_accumulate_f32(heddle_team_t team, int on) {
  return guarded([&] {
    required(team, "heddle_team_set_accumulate_f32", "team").set_accumulate_f32(on != 0);
  });
}

heddle_status_t heddle_plan(heddle_team_t team, heddle_collective_t what, size_t count,
                            heddle_type_t type, char* text, size_t bytes) {
  return guarded([&] {
    auto& checked = required(team, "heddle_plan", "team");
    auto* out = &required(text, "heddle_plan", "text");
    const auto asked = static_cast<heddle::collective>(what);
    if (what < 0 || what > HEDDLE_COLLECTIVE_TRANSFER)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "heddle_plan: {} is not a heddle_collective_t",
                  static_cast<int>(what));
    if (!heddle::is_type(type))
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "heddle_plan: {} is not a heddle_type_t",
                  static_cast<int>(type));
    const auto told = heddle::is_reduction(asked) ? checked.reductions().explain(asked, count, type)
                                                  : checked.exchanges().explain(asked, count, type);
    if (bytes > 0) std::snprintf(out, bytes, "%s", told.c_str());
  });
}

heddle_status_t heddle_reduce_scatter(heddle_team_t team, const void* input, void* output,
                                      size_t count, heddle_type_t type, heddle_op_t op,
                                      heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_reduce_scatter", "team")
        .reductions()
        .reduce_scatter(input, output, count, type, op, stream);
  });
}

heddle_status_t heddle_reduce(heddle_team_t team, const void* input, void* output, size_t count,
                              heddle_type_t type, heddle_op_t op, int root,
                              heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_reduce", "team")
        .reductions()
        .reduce(input, output, count, type, op, root, stream);
  });
}

heddle_status_t heddle_reduce_scatter_v(heddle_team_t team, const void* input, void* output,
                                        const size_t* counts, const size_t* displacements,
                                        heddle_type_t type, heddle_op_t op,
                                        heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_reduce_scatter_v", "team")
        .reductions()
        .reduce_scatter_v(input, output, counts, displacements, type, op, stream);
  });
}

heddle_status_t heddle_op_create_scaled_sum(heddle_team_t team, heddle_type_t type,
                                            const void* factor, heddle_scalar_t where,
                                            heddle_op_t* op) {
  return guarded([&] {
    constexpr auto function = "heddle_op_create_scaled_sum";
    auto& sums = required(team, function, "team").reductions().scaled_sums();
    auto& made = required(op, function, "op");
    made = sums.create(type, factor, where);
  });
}

heddle_status_t heddle_op_destroy(heddle_team_t team, heddle_op_t op) {
  return guarded(
      [&] { required(team, "heddle_op_destroy", "team").reductions().scaled_sums().destroy(op); });
}

heddle_status_t heddle_broadcast(heddle_team_t team, const void* input, void* output, size_t count,
                                 heddle_type_t type, int root, heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_broadcast", "team")
        .exchanges()
        .broadcast(input, output, count, type, root, stream);
  });
}

heddle_status_t heddle_all_gather(heddle_team_t team, const void* input, void* output, size_t count,
                                  heddle_type_t type, heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_all_gather", "team")
        .exchanges()
        .all_gather(input, output, count, type, stream);
  });
}

heddle_status_t heddle_all_to_all(heddle_team_t team, const void* input, void* output, size_t count,
                                  heddle_type_t type, heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_all_to_all", "team")
        .exchanges()
        .all_to_all(input, output, count, type, stream);
  });
}

heddle_status_t heddle_gather(heddle_team_t team, const void* input, void* output, size_t count,
                              heddle_type_t type, int root, heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_gather", "team")
        .exchanges()
        .gather(input, output, count, type, root, stream);
  });
}

heddle_status_t heddle_scatter(heddle_team_t team, const void* input, void* output, size_t count,
                               heddle_type_t type, int root, heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_scatter", "team")
        .exchanges()
        .scatter(input, output, count, type, root, stream);
  });
}

heddle_status_t heddle_all_gather_v(heddle_team_t team, const void* input, void* output,
                                    const size_t* counts, const size_t* displacements,
                                    heddle_type_t type, heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_all_gather_v", "team")
        .exchanges()
        .all_gather_v(input, output, counts, displacements, type, stream);
  });
}

heddle_status_t heddle_send(heddle_team_t team, const void* buffer, size_t count,
                            heddle_type_t type, int peer, heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_send", "team").transfers().send(buffer, count, type, peer, stream);
  });
}

heddle_status_t heddle_recv(heddle_team_t team, void* buffer, size_t count, heddle_type_t type,
                            int peer, heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_recv", "team").transfers().receive(buffer, count, type, peer, stream);
  });
}

heddle_status_t heddle_group_begin() {
  return guarded([] { heddle::call_group::of_this_thread().begin(); });
}

heddle_status_t heddle_group_end() {
  return guarded([] { heddle::call_group::of_this_thread().end(); });
}

heddle_status_t heddle_group_cancel() {
  return guarded([] { heddle::call_group::of_this_thread().cancel(); });
}

heddle_status_t heddle_all_to_all_v(heddle_team_t team, const void* input,
                                    const size_t* input_counts, const size_t* input_displacements,
                                    void* output, const size_t* output_counts,
                                    const size_t* output_displacements, heddle_type_t type,
                                    heddle_stream_t stream) {
  return guarded([&] {
    required(team, "heddle_all_to_all_v", "team")
        .exchanges()
        .all_to_all_v(input, input_counts, input_displacements, output, output_counts,
                      output_displacements, type, stream);
  });
}
