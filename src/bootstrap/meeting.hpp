// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Makes a rank's first connections: accepts those of the ranks that will call it and calls one
// itself, all at once in one loop, each through the handshake of handshake.hpp.
//
// - No connection can hold up another: all sockets are non-blocking, and one that has not proved
//   itself within `patience` is dropped (the first such is a warning, all are counted).
// - At most `most_strangers` connections that have proved nothing are held; past it the oldest
// goes.
// - A caller retries with growing pauses until the deadline, unless the listener itself refuses it.
//   Once it has proved itself it waits for the verdict until then, or until the connection ends.
#pragma once

#include <heddle/heddle.h>

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/frame_link.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/poller.hpp"
#include "bootstrap/socket_address.hpp"
#include "support/deadline.hpp"

namespace heddle {

class meeting {
 public:
  struct request {
    link_purpose purpose{};
    int rank = 0;
    int size = 1;
    bootstrap::secret secret{};
    std::vector<int> listeners;       ///< descriptors, owned by the caller
    std::vector<int> expected;        ///< the ranks that will call
    int callee = -1;                  ///< the rank to call, -1 for none
    std::vector<socket_address> at;   ///< where to call it; tried in turn
    bool callee_may_be_late = false;  ///< a refused connection is tried again
    /// If set, what is known by other means of a rank that will not come: looked at while others
    /// are awaited.
    std::function<std::optional<bootstrap::loss>()> first_loss;
    std::chrono::milliseconds patience{5000};
    std::size_t most_strangers = 1024;
  };

  explicit meeting(request request);
  ~meeting();

  /// Called for an accepted link with something to read, while others are awaited. Has to receive()
  /// it; one that turns out to have ended ends run() with HEDDLE_ERROR_PEER_LOST.
  using reader = std::function<void(int rank, frame_link&)>;
  void on_readable(reader reader) { reader_ = std::move(reader); }

  /// Returns when every expected rank has called and the callee has accepted. Throws
  /// HEDDLE_ERROR_TIMEOUT with the missing ranks, HEDDLE_ERROR_PEER_LOST if the callee is not there
  /// any more or another rank is known to be lost, HEDDLE_ERROR_INVALID_USAGE if it refuses this
  /// rank.
  void run(deadline until);

  /// The links made so far, by rank; also after run() has thrown.
  std::map<int, std::unique_ptr<frame_link>>& links() { return links_; }
  /// The expected ranks that have not called.
  [[nodiscard]] std::vector<int> missing() const;
  /// Throws HEDDLE_ERROR_TIMEOUT with the missing ranks, awaited until `when`. For a reader that
  /// hears of a rank that can wait no longer.
  [[noreturn]] void time_out(std::string_view when) const;

 private:
  using clock = deadline::clock;
  struct stranger;
  struct call;

  void throw_if_lost() const;
  void read_link(int rank, frame_link& link);
  void accept_some(int listener);
  /// Out of descriptors (`reason`): whether a stranger has given up its own for who calls. Throws
  /// if there is none that could.
  bool free_descriptor(int listener, int reason);
  void serve(std::list<stranger>::iterator who);
  void drop(std::list<stranger>::iterator who, const std::string& problem);
  std::string judge(const caller_hello& hello) const;
  void start_call();
  void advance_call();
  void retry_call(std::string problem);
  [[noreturn]] void fail_call(heddle_status_t status, const std::string& problem);
  int next_wake(deadline until) const;
  void dispatch(const epoll_event& event);

  request request_;
  poller poller_;
  reader reader_;
  std::map<int, std::unique_ptr<frame_link>> links_;
  std::list<stranger> strangers_;
  std::uint64_t next_key_;
  std::unique_ptr<call> call_;
  int dropped_ = 0;
  std::string last_drop_;
};

/// Options of a TCP socket between ranks: no delay; a peer machine that is gone is noticed within 4
/// s.
void prepare_stream(int socket);

}  // namespace heddle
