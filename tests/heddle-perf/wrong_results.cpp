// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// For LD_PRELOAD: a heddle whose collectives leave the first byte of each result wrong. On the host
// device's default stream they have ended when they return. Results of one element are right:
// heddle-perf adds up by one what was wrong.

#include <dlfcn.h>
#include <heddle/heddle.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace {

/// What is in the group that this thread has open.
thread_local std::vector<void*> received;

void spoil(void* output) {
  if (output) *static_cast<unsigned char*>(output) ^= 1;
}

template <class Function, class... Arguments>
heddle_status_t call(const char* name, Function*, Arguments... arguments) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name))(arguments...);
}

template <class Function, class... Arguments>
heddle_status_t call_wrongly(const char* name, Function* function, void* output, std::size_t count,
                             Arguments... arguments) {
  const auto status = call(name, function, arguments...);
  if (status == HEDDLE_SUCCESS && count > 1) spoil(output);
  return status;
}

}  // namespace

#define WRONGLY(function, ...) call_wrongly(#function, &function, output, count, __VA_ARGS__)

heddle_status_t heddle_all_reduce(heddle_team_t team, const void* input, void* output, size_t count,
                                  heddle_type_t type, heddle_op_t op, heddle_stream_t stream) {
  return WRONGLY(heddle_all_reduce, team, input, output, count, type, op, stream);
}
heddle_status_t heddle_reduce_scatter(heddle_team_t team, const void* input, void* output,
                                      size_t count, heddle_type_t type, heddle_op_t op,
                                      heddle_stream_t stream) {
  return WRONGLY(heddle_reduce_scatter, team, input, output, count, type, op, stream);
}
heddle_status_t heddle_reduce(heddle_team_t team, const void* input, void* output, size_t count,
                              heddle_type_t type, heddle_op_t op, int root,
                              heddle_stream_t stream) {
  return WRONGLY(heddle_reduce, team, input, output, count, type, op, root, stream);
}
heddle_status_t heddle_broadcast(heddle_team_t team, const void* input, void* output, size_t count,
                                 heddle_type_t type, int root, heddle_stream_t stream) {
  return WRONGLY(heddle_broadcast, team, input, output, count, type, root, stream);
}
heddle_status_t heddle_all_gather(heddle_team_t team, const void* input, void* output, size_t count,
                                  heddle_type_t type, heddle_stream_t stream) {
  return WRONGLY(heddle_all_gather, team, input, output, count, type, stream);
}
heddle_status_t heddle_all_to_all(heddle_team_t team, const void* input, void* output, size_t count,
                                  heddle_type_t type, heddle_stream_t stream) {
  return WRONGLY(heddle_all_to_all, team, input, output, count, type, stream);
}
heddle_status_t heddle_gather(heddle_team_t team, const void* input, void* output, size_t count,
                              heddle_type_t type, int root, heddle_stream_t stream) {
  return WRONGLY(heddle_gather, team, input, output, count, type, root, stream);
}
heddle_status_t heddle_scatter(heddle_team_t team, const void* input, void* output, size_t count,
                               heddle_type_t type, int root, heddle_stream_t stream) {
  return WRONGLY(heddle_scatter, team, input, output, count, type, root, stream);
}

heddle_status_t heddle_recv(heddle_team_t team, void* buffer, size_t count, heddle_type_t type,
                            int peer, heddle_stream_t stream) {
  const auto status = call("heddle_recv", &heddle_recv, team, buffer, count, type, peer, stream);
  if (status == HEDDLE_SUCCESS && count > 1) received.push_back(buffer);
  return status;
}
heddle_status_t heddle_group_end() {
  const auto status = call("heddle_group_end", &heddle_group_end);
  if (status == HEDDLE_SUCCESS)
    for (void* each : std::exchange(received, {})) spoil(each);
  return status;
}
