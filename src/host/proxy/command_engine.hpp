// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <heddle/device/command_queue.hpp>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/proxy/exposed_memory.hpp"
#include "host/proxy/frame.hpp"
#include "host/proxy/lane.hpp"
#include "host/proxy/network_memory.hpp"
#include "host/proxy/staging_pool.hpp"
#include "host/proxy/token_table.hpp"
#include "host/transport/transport.hpp"

namespace heddle {

/// Makes what heddle promises of what a transport does.
///
///     put         small: a record of a frame, which the peer's proxy writes; large: writes
///     signal      a record, which the peer's proxy carries out when the writes before it are there
///     atomic      the same, with a reply; or the network's own, where those match a processor's
///     iput, iget  records of packed elements
///     fence       records follow records and writes anyhow; a write or an atomic of the network
///                 waits until all that is before the fence is there, and records wait for atomics
///     quiet       all records are acknowledged, all writes and reads done
///
/// Records for one peer that are posted together travel in one frame. One thread at a time calls.
class command_engine final : transport::listener {
 public:
  struct options {
    int my_pe = 0;
    int n_pes = 1;
    int lanes = 1;
    std::uint64_t job = 0;           ///< of the job's secret: frames without it are dropped
    std::uint32_t first_number = 0;  ///< of frames and writes, on all PEs: for tests of their wrap
    const device_memory* device = nullptr;
  };
  /// Who posted a command, and learns of its end.
  class producer {
   public:
    virtual ~producer() = default;
    /// `lost`: the PE without which there is no answer, as the teams with it are about to be told;
    /// or nobody.
    virtual void reply(std::uint64_t index, std::uint64_t value, int lost) = 0;
    static constexpr int nobody = -1;
    /// Nobody waits for that reply any more: the local memory of the command may be gone.
    [[nodiscard]] virtual bool gave_up(std::uint64_t index) const = 0;
  };
  /// What a quiet or fence waits for with one peer: what had been posted when it was first looked
  /// at.
  struct quiet_mark {
    int pe;
    std::uint64_t frame;
    std::uint64_t writes;
    std::uint64_t device_writes;
    std::uint64_t reads;
  };
  /// A command on its way. `payload` lives until carry_out has returned true.
  struct active_command {
    command what{};
    std::span<const std::byte> payload[2];  ///< the ring may have wrapped
    producer* from = nullptr;
    std::uint64_t index = 0;
    int lane = 0;

    std::uint64_t done = 0;         ///< bytes, or elements, that are posted
    std::uint64_t operation = 0;    ///< its token; 0: none yet
    std::vector<quiet_mark> marks;  ///< those that are not reached
  };
  using failure_callback = std::function<void(int pe, const std::string& reason)>;

  command_engine(const options& options, transport& network, failure_callback on_failure);
  ~command_engine() override;

  /// There is memory at that offset of a region of this PE: peers may name it in records.
  void add_memory(int region, std::uint64_t offset, std::byte* start, std::size_t size);
  /// What was added, or a part of it, goes: nobody uses it any more.
  void remove_memory(int region, std::uint64_t offset, std::size_t size);
  /// The network itself is to reach it too: at once, or piece by piece when it is asked for.
  void expose(int region, std::uint64_t offset, std::byte* start, std::size_t size);
  /// Ends that, here and with the peers' memory at the same offset, which nobody uses any more.
  void conceal(int region, std::uint64_t offset);

  /// Carries a command out as far as that can be now. True when nothing of it is left to post; what
  /// wants a reply is replied to then or later. Else it is called again with the same object.
  bool carry_out(active_command& command);
  /// Sends what is in open frames, and moves the network on. True if anything happened.
  bool progress();
  /// Whether the network has refused anything since forget_refusals(): it is to be tried again, of
  /// its own accord. What waits otherwise waits for what the network will tell.
  [[nodiscard]] bool was_refused() const { return was_refused_; }
  void forget_refusals() { was_refused_ = false; }
  /// The local memory of what its producers have given up is not read or written after this.
  void settle() { network_.keep_given_up(*this); }

  /// `pe` is gone (-1: all are): what waits for it is replied to.
  void drop_peer(int pe);
  /// What this PE's proxy knows of `pe`: for messages.
  [[nodiscard]] std::string describe(int pe) const;
  /// Whether cards read and write the heap in this PE's GPU.
  [[nodiscard]] bool reaches_gpu() const { return options_.device && !reached_.is_hidden(0); }
  /// The PEs whose acknowledgement a quiet lacks that is waited for; else those that have told
  /// nothing of what was sent to them. In order.
  [[nodiscard]] std::vector<int> awaited() const;

 private:
  struct peer_state {
    std::vector<lane_state> lanes;
    std::vector<exposed_memory::piece> pieces;  ///< of its memory; `start` is not used
    std::vector<symmetric_place> asked;         ///< in which piece they are, and not answered
    unsigned unreached_regions = 0;             ///< bits: the network does not reach those
    bool is_lost = false;
    bool has_left = false;  ///< in order: nobody waits for what it is sent
  };
  /// A command whose end the network or a peer tells.
  struct operation {
    producer* from;
    std::uint64_t index;
    bool wants_reply;
    bool all_posted;
    int pe;
    std::uint32_t parts;     ///< posted and not done
    std::uint64_t value;     ///< of the reply
    std::uint32_t replies;   ///< of `parts`, those that a record tells of
    std::byte* local;        ///< where elements go; null: to the value
    std::uint64_t stride;    ///< bytes from one to the next
    std::uint64_t unit;      ///< bytes of one
    std::uint64_t elements;  ///< how many were asked for
    int lane;                ///< whose quiet waits for it; -1: it waits for parts alone
    std::uint64_t read;      ///< its number among the lane's reads, if that waits for it
  };
  /// What the network was asked for in one call.
  struct part {
    std::uint64_t operation;  ///< 0: none
    int pe;
    int lane;
    bool is_write;
    std::uint64_t number;  ///< of the lane's reads, or of its writes, where those are tracked
    int chunk;             ///< of staging; -1: none, or abandoned
    std::byte* local;      ///< where what was read into the chunk goes
    std::size_t bytes;
  };
  struct late_record {
    record_header header;
    std::vector<std::byte> data;
  };

  // transport::listener
  void on_message(std::span<const std::byte> message) override;
  void on_write(std::uint32_t immediate) override;
  void on_complete(std::uint64_t token, std::uint64_t value) override;
  void on_failure(int pe, const std::string& reason) override;
  void on_left(int pe) override;
  bool is_wanted(std::uint64_t token) override;

  // Carrying out (command_engine.cpp)
  bool post(active_command& command);
  void reply(const active_command& command);
  void reply_without(const active_command& command, int lost);
  void begin_operation(active_command& command);
  /// All of it is posted: replies at once if nothing is left to wait for.
  bool all_posted(active_command& command);
  void finish_part(std::uint64_t operation);
  /// Whether the local memory of an operation may still be written.
  [[nodiscard]] static bool is_waited_for(const operation* what) {
    return what && !(what->wants_reply && what->from->gave_up(what->index));
  }
  /// For whoever cannot go on since the network takes nothing now.
  bool refused() {
    was_refused_ = true;
    return false;
  }
  /// Whether it is symmetric memory; else that is told.
  [[nodiscard]] bool check_place(const active_command& command, symmetric_place place,
                                 std::size_t bytes) {
    if (bytes == 0 || memory_.resolve(place, bytes)) [[likely]]
      return true;
    refuse_place(command, place, bytes);
    return false;
  }
  void refuse_place(const active_command& command, symmetric_place place, std::size_t bytes);
  /// The same of an iput's or iget's elements there, before the first; else it is replied to.
  [[nodiscard]] bool check_elements(const active_command& command);
  bool send_abort(const active_command& command);
  /// Peers are told to send records for that region of this PE.
  void give_up_region(int region, const std::string& why);

  // What needs no answer (puts.cpp)
  bool put(active_command& command);
  bool put_in_records(active_command& command);
  bool put_by_writes(active_command& command);
  bool send_signal(const active_command& command);
  bool iput(active_command& command);

  // What is answered (gets.cpp)
  bool get(active_command& command);
  bool iget(active_command& command);
  /// Bytes of an element, and from one to the next: there, and in local memory.
  struct element_layout {
    std::uint64_t unit;
    std::uint64_t there;
    std::uint64_t here;
  };
  bool get_elements(active_command& command, const element_layout& layout);
  bool atomic(active_command& command);

  // What the network itself moves (network_transfers.cpp)
  /// Whether the network's own writes and reads reach that memory of `pe`, as far as is known.
  [[nodiscard]] bool is_reached(int pe, symmetric_place place) const {
    const auto& peer = peers_[static_cast<std::size_t>(pe)];
    return !peer || (peer->unreached_regions >> region_of(place) & 1) == 0;
  }
  /// The peer's piece that a place is in; null if it is not known.
  [[nodiscard]] static const exposed_memory::piece* known_piece(const peer_state& peer,
                                                                symmetric_place place);
  /// As known_piece; the peer is asked for one that is not known.
  const exposed_memory::piece* piece_of(int pe, int lane, symmetric_place place);
  /// The local side of a transfer of up to `bytes`: where to, how much, and the chunk of staging.
  struct local_side {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
    int chunk = -1;
  };
  int take_staging();
  [[nodiscard]] std::optional<local_side> local_side_of(std::uint64_t address, std::size_t bytes,
                                                        bool may_be_given_up);
  /// What of a put or get the network can move in one call, from `done` on; nothing: not now.
  struct transfer {
    remote_place place;
    local_side side;
    std::uint64_t local;  ///< the command's own memory, perhaps behind a chunk
  };
  [[nodiscard]] std::optional<transfer> next_transfer(const active_command& command);
  /// The network has refused it.
  void take_back(const transfer& refused, std::uint64_t token);

  // The order of commands (ordering.cpp)
  void heed(int pe, int lane_index);
  void heed_everything(int lane_index);
  [[nodiscard]] bool fence_allows(int pe, int lane_index);
  bool fence(active_command& command);
  /// What quiet waits for if it begins now.
  [[nodiscard]] static quiet_mark mark_of(int pe, const lane_state& state);
  void mark(active_command& command);
  /// It ends; what it has not reached is remembered.
  void unmark(const active_command& command);
  /// Whether the peer has said that it has carried out all of it.
  [[nodiscard]] bool is_carried_out(const lane_state& state, const quiet_mark& mark) const;
  /// And reads and writes of the network are done.
  [[nodiscard]] bool is_complete(const lane_state& state, const quiet_mark& mark) const;
  [[nodiscard]] bool is_complete(const lane_state& state) const {
    return is_complete(state, mark_of(0, state));
  }
  [[nodiscard]] bool is_reached(int lane_index, const quiet_mark& mark);
  bool quiet(active_command& command);

  // Frames (frames.cpp)
  lane_state& lane(int pe, int index) {
    auto& peer = peers_[static_cast<std::size_t>(pe)];
    if (!peer) meet(peer);
    return peer->lanes[static_cast<std::size_t>(index)];
  }
  void meet(std::unique_ptr<peer_state>& peer) const;
  /// Room for a record in the lane's open frame; null: not now.
  std::byte* append(int pe, int lane_index, const record_header& header);
  bool append(int pe, int lane_index, const record_header& header, std::span<const std::byte> data);
  /// As append, kept and sent later if it cannot be now.
  void append_or_keep(int pe, int lane_index, const record_header& header,
                      std::span<const std::byte> data);
  bool open_frame(int pe, int lane_index);
  void send_open_frame(int pe, int lane_index);
  void close_frame(int pe, int lane_index);
  void send_open_frames();
  void send_late();
  void acknowledge(int pe, int lane_index);
  [[nodiscard]] bool writes_allow_frame(const lane_state& lane) const;
  void ask_for_acknowledgement(int pe, int lane_index);

  // Receiving (records.cpp)
  bool take_frame(lane_state& state, const frame_header& header, std::span<const std::byte> frame);
  void take_held(lane_state& state);
  void carry_out_record(int from, int lane_index, const record_header& header,
                        std::span<const std::byte> data);
  void scatter(int from, const record_header& header, std::span<const std::byte> data);
  void gather(int from, int lane_index, const record_header& header);
  void tell_piece(int from, int lane_index, const record_header& header);
  void learn_piece(int from, const record_header& header, std::span<const std::byte> data);
  void take_reply(int from, const record_header& header);
  void take_gathered(int from, int lane_index, const record_header& header,
                     std::span<const std::byte> data);
  void complain(int from, const std::string& what);
  /// What the network has written to the device's memory is to be seen there.
  void flush_device() const {
    if (options_.device && about_.reaches_gpu) options_.device->flush();
  }

  // Peers that are no more (ended_peers.cpp)
  /// Somebody waits for a PE that has left.
  void miss(int pe);
  [[nodiscard]] bool is_awaited(int pe);
  /// Forgets what is on its way to a PE.
  void release(int pe);

  const options options_;
  transport& network_;
  const transport::traits& about_;
  const failure_callback on_failure_;
  const bool tracks_writes_;     ///< each write's completion is waited for
  const bool uses_atomics_;      ///< of the network
  const std::size_t most_data_;  ///< bytes that one record holds
  exposed_memory memory_;
  std::vector<std::unique_ptr<peer_state>> peers_;
  token_table<operation> operations_;
  token_table<part> parts_;
  network_memory reached_;
  staging_pool staging_;
  struct lane_name {
    int pe;
    int lane;
  };
  std::vector<lane_name> open_frames_;
  std::vector<std::vector<int>> dirty_;  ///< by lane: peers since the last quiet
  std::vector<const active_command*> marked_;
  struct given_up_mark {
    int lane;
    quiet_mark mark;
  };
  std::vector<given_up_mark> given_up_;  ///< what quiets waited for in vain
  std::vector<int> lost_in_;             ///< by lane: a PE that something was lost with, or nobody
  /// By peer and lane: one that takes nothing holds up no other.
  std::map<std::pair<int, int>, std::deque<late_record>> late_records_;
  std::deque<lane_name> late_acks_;
  bool happened_ = false;
  bool was_refused_ = false;  ///< since forget_refusals()
  bool all_are_lost_ = false;
  bool was_warned_ = false;  ///< of strangers
};

}  // namespace heddle
