// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "host/transport/transport.hpp"

namespace heddle {

/// Keeps a network whose calls may never return away from whoever uses it: a thread of its own
/// makes them, and the callers of this class wait for it within a limit, if at all.
///
///     post_*, drop -----> requests of each peer, in order ---.
///     expose, conceal --> requests, and the caller waits ----+--> thread: inner transport
///     progress() <------- events, in order <-----------------'
///
/// A call that does not return in `timeout` is a failure of the whole network. leave() gives the
/// thread up where one has not returned in 5 s, with all that it uses: it ends by itself once the
/// call returns, if ever, which alone may still touch memory that was lent. After leave() nothing
/// is called but that which ends what was exposed or registered.
class isolated_transport final : public transport {
 public:
  /// Throws HEDDLE_ERROR_SYSTEM. The inner one does not ask before it touches
  /// (traits::asks_before_touching).
  isolated_transport(std::unique_ptr<transport> inner, std::chrono::duration<double> timeout);
  ~isolated_transport() override { leave(); }

  [[nodiscard]] const traits& about() const override { return traits_; }
  [[nodiscard]] bytes address() const override { return address_; }
  void set_addresses(std::vector<bytes> addresses) override;
  [[nodiscard]] std::string describe(int pe) const override {
    return described_.at(static_cast<std::size_t>(pe));
  }

  /// Throws HEDDLE_ERROR_TIMEOUT, too.
  bytes expose(int region, std::uint64_t offset, void* start, std::size_t size) override;
  void conceal(int region, std::uint64_t offset) noexcept override;
  void add_remote(int pe, int region, std::uint64_t offset, std::size_t size,
                  std::span<const std::byte> key) override;
  void register_local(void* start, std::size_t size) override;
  void forget_local(void* start) noexcept override;

  [[nodiscard]] bool post_write(int lane, const remote_place& to, const void* from,
                                std::size_t size, std::uint64_t token,
                                std::uint32_t immediate) override;
  [[nodiscard]] bool post_read(int lane, void* to, const remote_place& from, std::size_t size,
                               std::uint64_t token) override;
  [[nodiscard]] bool post_atomic(int lane, network_atomic op, const remote_place& word,
                                 std::uint64_t value, std::uint64_t compare,
                                 std::uint64_t token) override;
  [[nodiscard]] std::span<std::byte> begin_message(int lane, int pe) override;
  void post_message(int lane, int pe, std::span<std::byte> message, std::size_t size) override;

  bool progress(listener& listener) override;
  void drop(int pe) override;
  void leave() override;
  [[nodiscard]] int wait_descriptor() const override;
  [[nodiscard]] bool may_wait() override;

 private:
  class worker;
  using message_buffer = std::shared_ptr<std::byte[]>;

  /// Has the thread do this, and waits. Throws what it throws, or HEDDLE_ERROR_TIMEOUT.
  void call(const char* what, std::function<void(transport&)> of_inner);
  /// The same; what it throws becomes a warning.
  void call_quietly(const char* what, std::function<void(transport&)> of_inner) noexcept;
  [[nodiscard]] std::string failure() const;

  traits traits_;
  bytes address_;
  std::chrono::duration<double> timeout_;
  std::vector<std::string> described_;
  std::map<const std::byte*, message_buffer> begun_;  ///< messages that are being filled
  std::shared_ptr<worker> worker_;                    ///< the thread's as well; null after leave()
  std::thread thread_;
};

}  // namespace heddle
