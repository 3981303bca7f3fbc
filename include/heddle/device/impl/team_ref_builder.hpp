// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/team.hpp>

namespace heddle {

/// Makes team_refs: for the library alone.
class team_ref_builder {
 public:
  struct parts {
    int my_pe;
    int n_pes;
    int my_slot;
    int slot_step;  ///< from PE i's slot to PE i+1's; 0: slots tells
    int64_t slot_stride;
    const int32_t* slots;
    const int32_t* world = nullptr;
    const proxy_ref* proxy = nullptr;
    const int32_t* ring = nullptr;
    int ring_position = 0;
    byte* heap;
    uint64_t heap_bytes;
    byte* multicast = nullptr;
    uint64_t multicast_bytes = 0;
    team_memory* memory;
    byte* scratch;
    team_control* control;
    int64_t control_stride;
    uint64_t* alarm = nullptr;
    uint64_t streaming_from = ~uint64_t{0};
    uint64_t timeout_ns;
    uint32_t spin;
    uint32_t flag_period;
    bool accumulates_f32 = false;
    bool is_apart = false;
  };

  static team_ref build(const parts& from) {
    team_ref ref;
    ref.my_pe_ = from.my_pe;
    ref.n_pes_ = from.n_pes;
    ref.my_slot_ = from.my_slot;
    ref.slot_step_ = from.slot_step;
    ref.pe_stride_ = from.slot_step * from.slot_stride;
    ref.slot_stride_ = from.slot_stride;
    ref.slots_ = from.slots;
    ref.world_ = from.world;
    ref.proxy_ = from.proxy;
    ref.ring_ = from.ring;
    ref.ring_position_ = from.ring_position;
    ref.heap_ = from.heap;
    ref.heap_bytes_ = from.heap_bytes;
    ref.multicast_ = from.multicast;
    ref.multicast_bytes_ = from.multicast_bytes;
    ref.memory_ = from.memory;
    ref.scratch_ = from.scratch;
    ref.control_ = from.control;
    ref.control_stride_ = from.control_stride;
    ref.alarm_ = from.alarm;
    ref.streaming_from_ = from.streaming_from;
    ref.timeout_ns_ = from.timeout_ns;
    ref.spin_ = from.spin;
    ref.flag_period_ = from.flag_period;
    set_accumulate_f32(ref, from.accumulates_f32);
    ref.is_apart_ = from.is_apart ? 1 : 0;
    return ref;
  }
  static void set_accumulate_f32(team_ref& ref, bool on) { ref.accumulates_f32_ = on ? 1 : 0; }
};

}  // namespace heddle
