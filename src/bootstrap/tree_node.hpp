// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// One rank's place in the tree of connections, and the thread that serves it.
//
//            0          part    up:    one rank's part of a collective, sent on at once
//          / | \        result  down:  all parts, or why there is no result
//         1  2  3       who     up:    a rank whose deadline passed asks for the absent ranks
//        / \            absent  down:  the root's answer, to that rank alone
//       4   5           lost    flood: a rank is gone
//                       left    flood: a rank has left in good order; the last word on its links
//                       failed         a neighbour could not join after all (frame_call.hpp)
//
// Invariants
// - Links keep order, and a tree has one way between two ranks. Hence `left` of a rank comes after
//   all its parts and after every result that it sent on, and whoever sees `left` of a rank above
//   it will get no further result.
// - A link that ends without `left` of its other side is the loss of that rank.
// - The thread never blocks but in its poller, so one slow rank holds up nobody else's news.
// - A process of this host that ends without having marked its membership page is lost too, even if
//   a rank between here and there is stopped.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "bootstrap/collective_rounds.hpp"
#include "bootstrap/endpoint.hpp"
#include "bootstrap/frame_call.hpp"
#include "bootstrap/frame_link.hpp"
#include "bootstrap/poller.hpp"
#include "bootstrap/tree_shape.hpp"

namespace heddle {

/// What a node tells the bootstrap it belongs to, on the node's thread.
class tree_events {
 public:
  virtual void decided(std::uint64_t number, collective_rounds::outcome outcome) = 0;
  virtual void absent(std::uint64_t number, std::vector<int> ranks) = 0;
  virtual void lost(int rank, std::string_view reason) = 0;
  /// `rank` has left in good order.
  virtual void departed(int rank) = 0;
  /// After that: `rank` is on the way to the root, and no result will come any more.
  virtual void cut_off(int rank) = 0;

 protected:
  ~tree_events() = default;
};

class tree_node {
 public:
  using links = std::map<int, std::unique_ptr<frame_link>>;
  struct watched_process {
    unique_fd handle;
    int pid;
    std::unique_ptr<membership_page> page;
  };

  tree_node(int rank, tree_shape shape, int size, links links,
            std::map<int, watched_process> watched, tree_events& events);
  /// Ends the thread and the connections, which the others take for a loss unless leave() came
  /// first.
  ~tree_node();

  void add_part(std::uint64_t number, collective_call call, bootstrap::bytes part);
  void ask_who_is_absent(std::uint64_t number);
  void report_lost(int rank, std::string reason);
  /// Says goodbye, sends what is queued (at most for `until`) and ends the thread.
  void leave(deadline until);

  /// What tells a node of a loss, also on a link of which this rank has made no node.
  static frame loss_news(const bootstrap::loss& loss);

 private:
  using clock = deadline::clock;
  enum class message : std::uint16_t {
    part = 1,
    result,
    who,
    absent,
    lost,
    left,
    failed = failure_frame
  };

  void post(std::function<void()> work);
  void run();
  void serve();
  /// After an error of the thread itself: every peer is lost to this rank.
  void give_up(const std::string& problem) noexcept;
  void serve_inbox();
  void handle(int from, const frame& received);
  void handle_part(const frame& received);
  void handle_result(const frame& received);
  void handle_absent(const frame& received);
  void process_ended(int rank);
  void check(int rank);
  void lose(int rank, const std::string& reason, int except = -1);
  void note_left(int rank, const frame& news, int except);
  void announce_decided();
  void answer_who(std::uint64_t number, int asker);
  void flood(const frame& frame, int except);
  void send_to_children(const frame& frame);
  void send_to_parent(const frame& frame);
  void flush_all();
  bool leaving_is_done();

  const int rank_;
  const int size_;
  const tree_shape shape_;
  const std::vector<int> children_;
  links links_;
  std::map<int, watched_process> watched_;
  tree_events& events_;

  // Of the thread alone:
  collective_rounds rounds_;  // the root's
  std::set<int> left_, lost_;
  std::set<int> writing_;  // links whose output waits for room
  std::optional<deadline> leaving_;
  bool shut_down_ = false;

  poller poller_;
  doorbell doorbell_;
  std::mutex mutex_;
  std::vector<std::function<void()>> inbox_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace heddle
