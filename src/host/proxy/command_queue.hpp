// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <heddle/device/command_queue.hpp>
#include <memory>

#include "host/proxy/command_engine.hpp"

namespace heddle {

/// The proxy's end of one queue: see <heddle/device/command_queue.hpp>.
class command_queue final : public command_engine::producer {
 public:
  /// What producers and the proxy share, all zero at the start.
  struct shared_words {
    command ring[command_queue_ref::slots];
    command_reply replies[command_queue_ref::slots];
    alignas(2 * cache_line) std::uint64_t consumed;
  };

  /// `kernels`: the queue of the same context that a device's kernels fill, where that is another
  /// one. A quiet in this one is about what was in that one before it, too.
  command_queue(shared_words& shared, int lane, const command_queue* kernels = nullptr)
      : shared_(shared), kernels_(kernels) {
    active_.from = this;
    active_.lane = lane;
  }

  /// Whether consume has anything to do: cheap, for whoever looks again and again.
  [[nodiscard]] bool has_work() const {
    return is_active_ || given_back_ < next_ || has_new_command();
  }
  /// Hands up to `most` commands to the engine, in order, as far as it takes them. True if there
  /// was one.
  bool consume(command_engine& engine, int most);
  /// Whether a command is there that the engine has not seen. By whoever may consume.
  [[nodiscard]] bool has_new_command() const {
    return !is_active_ &&
           load(&shared_.ring[next_ % command_queue_ref::slots].turn, acquire) == next_ + 1;
  }

  void reply(std::uint64_t index, std::uint64_t value, int lost) override;
  [[nodiscard]] bool gave_up(std::uint64_t index) const override;

 private:
  bool fetch();
  /// Where what producers have finished by now ends.
  [[nodiscard]] std::uint64_t end_of_finished() const;
  /// Gives slots back to the producers: in order, those with which they are done.
  void give_back();
  [[nodiscard]] bool is_done_with(const command& what, std::uint64_t index) const;

  shared_words& shared_;
  const command_queue* const kernels_;
  std::uint64_t next_ = 0;  ///< to be handed over
  std::uint64_t given_back_ = 0;
  bool is_active_ = false;
  std::uint64_t after_kernels_ = 0;  ///< up to where kernels_ is to be handed over before it
  command_engine::active_command active_;
};

}  // namespace heddle
