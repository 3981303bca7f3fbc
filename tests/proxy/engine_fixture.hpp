// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/proxy/command_engine.hpp"
#include "scripted_transport.hpp"

namespace heddle::testing {

inline constexpr std::uint64_t job = 42;

class waiter final : public command_engine::producer {
 public:
  void reply(std::uint64_t index, std::uint64_t value, int lost) override {
    replies.push_back({index, value});
    if (lost != nobody) missed.push_back(lost);
  }
  [[nodiscard]] bool gave_up(std::uint64_t index) const override { return index <= given_up; }
  std::uint64_t given_up = 0;  ///< all up to this one
  std::vector<std::pair<std::uint64_t, std::uint64_t>> replies;
  std::vector<int> missed;  ///< the PEs without which there were replies
};

/// What a peer says of its memory there.
inline record_header piece_at(std::uint64_t asked, std::uint64_t offset, std::uint64_t size) {
  record_header piece{};
  piece.kind = record_kind::piece;
  piece.field[0] = asked;
  piece.field[1] = offset;
  piece.field[2] = size;
  return piece;
}

/// PE 0 of four, with two lanes and 4096 bytes of heap.
struct fixture {
  explicit fixture(transport::traits traits = {}, const device_memory* device = nullptr,
                   bool refuses_memory = false)
      : network(traits, refuses_memory),
        engine({.my_pe = 0, .n_pes = 4, .lanes = 2, .job = job, .device = device}, network,
               [this](int pe, const std::string& reason) { failures.emplace_back(pe, reason); }) {
    engine.add_memory(0, 0, heap.data() + guard, heap.size() - 2 * guard);
    engine.expose(0, 0, heap.data() + guard, heap.size() - 2 * guard);
  }
  command_engine::active_command command_to(int pe, command_kind kind, int lane = 0) {
    command_engine::active_command out;
    out.what.kind = kind;
    out.what.pe = pe;
    out.what.unit = 8;
    out.what.flags = command::wants_reply;
    out.from = &producer;
    out.index = ++last_index;
    out.lane = lane;
    return out;
  }
  /// The records of a kind that were sent to `pe`.
  [[nodiscard]] int sent(int pe, record_kind kind) const {
    int n = 0;
    for (const auto& each : network.sent) {
      if (each.pe != pe) continue;
      const auto kinds = each.kinds();
      n += static_cast<int>(std::count(kinds.begin(), kinds.end(), kind));
    }
    return n;
  }
  /// PE `from` says that it has carried out the lane's frames up to this one.
  void acknowledged(int from, std::uint32_t frame, int lane = 0) {
    auto answer = frame_maker(job, from, 0, lane);
    answer.header().has_records = 0;
    answer.header().acknowledged = frame;
    network.arrives(answer.bytes());
    progress();
  }
  /// PE 1 says that what was sent last is carried out.
  void acknowledged() { acknowledged(1, network.sent.back().header().sequence); }
  void progress(int times = 4) {
    for (int i = 0; i < times; ++i) engine.progress();
  }
  static constexpr std::size_t guard = 64;
  std::vector<std::byte> heap = std::vector<std::byte>(4096 + 2 * guard);
  scripted_transport network;
  std::vector<std::pair<int, std::string>> failures;
  waiter producer;
  std::uint64_t last_index = 0;
  command_engine engine;
};

}  // namespace heddle::testing
