// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/deadline.hpp"

namespace heddle {

/// A place in the memory that a PE has exposed: regions are numbered alike on all PEs (0: the heap,
/// 1: the host's heap beside one in GPU memory), and an object of the heap has the same offset in
/// each.
struct remote_place {
  int pe = -1;  ///< of the world
  int region = 0;
  std::uint64_t offset = 0;
};

/// What a network does to a word of 8 bytes in one step.
enum class network_atomic : std::uint8_t { fetch_add, compare_swap };

/// A network as one PE uses it: it writes and reads the exposed memory of other PEs, and sends them
/// short messages. What heddle promises its users (signals after data, fence, quiet, every atomic)
/// the command engine makes of these (src/host/proxy/command_engine.hpp); a new network is one more
/// implementation of this class that passes tests/transport.
///
/// One thread at a time calls; calls do not block. `lane` (0 to lanes - 1) is an independent stream
/// of operations to a peer: what is promised of order is promised within a lane and a peer.
///
/// Connections are made on first use, by whichever side posts first. A call that cannot be made yet
/// (no connection, no room in a queue) does nothing and says so; the caller makes progress and
/// calls again.
class transport {
 public:
  /// What holds when a message is handed to on_message, of the writes that its sender posted before
  /// it on the same lane. Messages of a lane themselves arrive in the order in which they were
  /// sent.
  enum class message_order : std::uint8_t {
    after_writes,       ///< they are visible here
    after_completions,  ///< those that on_complete was called for, at the sender, are visible here
    /// Those that on_write was called for here are visible: each write carries a number
    /// (`immediate`).
    counted
  };

  struct traits {
    std::string name;       ///< of the network, for people: "libfabric tcp;ofi_rxm (eth0)"
    std::string card = {};  ///< its folder in sysfs; empty: not known
    message_order order = message_order::after_writes;
    /// Writes, too, take effect after the messages and writes that were posted before them on the
    /// same lane: what the peer does for a message is done by then.
    bool is_ordered = false;
    /// Whether on_complete of a write says that it is visible at the target; else only that its
    /// source may be reused.
    bool completion_is_delivery = false;
    /// Whether reads and writes need the local side in memory that was exposed or that
    /// register_local was called for.
    bool needs_registered_local = false;
    /// Whether the local side is touched within progress() alone: of a read while
    /// listener::is_wanted says so, of a write until keep_given_up copies it. Else until the
    /// completion, by threads or cards of the network's own.
    bool asks_before_touching = false;
    /// drop() ends what is under way: no local side is touched for that peer any more. Else a read
    /// or write that had begun may go on.
    bool ends_what_is_dropped = false;
    /// Whether expose() takes physical memory for all of the range: it is called for what is used
    /// alone.
    bool pins_memory = false;
    /// Region 0 may lie in a GPU's memory, and so may the local side of reads and writes.
    bool reaches_gpu = false;
    /// network_atomic is there, on words of 8 bytes.
    bool has_atomics = false;
    /// ... and its steps are indivisible with those of processors on the same word.
    bool atomics_match_cpu = false;
    std::size_t most_message_bytes = 4096;
    std::size_t most_transfer_bytes = SIZE_MAX;  ///< of one read or write
    /// Bytes up to which a write is quicker inside a message.
    std::size_t eager_bytes = 2048;
  };

  /// What is told from within progress(). It may post, and calls no progress().
  class listener {
   public:
    virtual ~listener() = default;
    /// From a PE of this job or from a stranger: whoever reaches the address.
    virtual void on_message(std::span<const std::byte> message) = 0;
    /// A write with this immediate has arrived (message_order::counted).
    virtual void on_write(std::uint32_t immediate) = 0;
    /// The operation posted with this token is done: a read's data is here, a write's source may
    /// be reused. `value`: what a network_atomic found.
    virtual void on_complete(std::uint64_t token, std::uint64_t value) = 0;
    /// `pe` cannot be reached any more (-1: nobody can): what was posted to it is lost. Once per
    /// PE.
    virtual void on_failure(int pe, const std::string& reason) = 0;
    /// `pe` has ended its use of the network in order, after all that it has sent: what is posted
    /// to it is dropped, and its tokens do not complete. Not every network tells.
    virtual void on_left(int /*pe*/) {}
    /// Whether the local side of a read or write is still there: see traits::asks_before_touching.
    virtual bool is_wanted(std::uint64_t /*token*/) { return true; }
  };

  /// For a transport that ends: whoever listened does not any more.
  class nobody final : public listener {
   public:
    void on_message(std::span<const std::byte> /*message*/) override {}
    void on_write(std::uint32_t /*immediate*/) override {}
    void on_complete(std::uint64_t /*token*/, std::uint64_t /*value*/) override {}
    void on_failure(int /*pe*/, const std::string& /*reason*/) override {}
  };

  using bytes = std::vector<std::byte>;
  /// Of a write whose completion nobody asks for.
  static constexpr std::uint64_t no_token = ~std::uint64_t{0};

  virtual ~transport() = default;
  transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  [[nodiscard]] virtual const traits& about() const = 0;

  /// What peers need to reach this PE; at most 256 bytes.
  [[nodiscard]] virtual bytes address() const = 0;
  /// The address of every PE of the world, which is kept; called once, before anything is posted.
  virtual void set_addresses(std::vector<bytes> addresses) = 0;
  /// An address for people: "10.77.0.11:5012", "mlx5_0 port 1, GID fe80::...".
  [[nodiscard]] virtual std::string describe(int pe) const = 0;

  /// Lets peers read and write `size` bytes at `start` (this process's address; in GPU memory if
  /// the region is). Throws HEDDLE_ERROR_OUT_OF_MEMORY (or SYSTEM) with the limit that was met. The
  /// key is what a peer gives to add_remote; at most 64 bytes.
  virtual bytes expose(int region, std::uint64_t offset, void* start, std::size_t size) = 0;
  /// Ends that; no peer uses it any more.
  virtual void conceal(int region, std::uint64_t offset) noexcept = 0;
  /// What `pe` has exposed: [offset, offset + size) of that region of it. Other places are neither
  /// read nor written.
  virtual void add_remote(int pe, int region, std::uint64_t offset, std::size_t size,
                          std::span<const std::byte> key) = 0;
  /// Makes memory of this process fit for the local side of reads and writes, where that is needed.
  virtual void register_local(void* start, std::size_t size) = 0;
  virtual void forget_local(void* start) noexcept = 0;

  /// Copies [from, from + size) to the place; size <= most_transfer_bytes, inside one piece of
  /// add_remote. False: not now. `immediate` is told to the target where order is `counted`.
  [[nodiscard]] virtual bool post_write(int lane, const remote_place& to, const void* from,
                                        std::size_t size, std::uint64_t token,
                                        std::uint32_t immediate) = 0;
  /// Copies from the place; size > 0, since not every network ends a read of nothing.
  [[nodiscard]] virtual bool post_read(int lane, void* to, const remote_place& from,
                                       std::size_t size, std::uint64_t token) = 0;
  /// On an aligned word of 8 bytes: adds `value`, or replaces `compare` by `value`.
  [[nodiscard]] virtual bool post_atomic(int lane, network_atomic op, const remote_place& word,
                                         std::uint64_t value, std::uint64_t compare,
                                         std::uint64_t token) = 0;

  /// A place of most_message_bytes for a message to `pe`, which the caller fills and posts; empty:
  /// not now. Several may be filled at a time, one for each lane and peer.
  [[nodiscard]] virtual std::span<std::byte> begin_message(int lane, int pe) = 0;
  /// The first `size` bytes of it go to the peer (size 0: nothing does), in the order of these
  /// calls and of post_write. Never refused: what the network does not take yet waits here.
  virtual void post_message(int lane, int pe, std::span<std::byte> message, std::size_t size) = 0;

  /// Moves everything on and tells `listener`. True if anything happened.
  virtual bool progress(listener& listener) = 0;

  /// Copies what writes have still to take from memory that is lent no longer, as is_wanted says:
  /// it arrives all the same, since messages behind it tell that it has (asks_before_touching).
  virtual void keep_given_up(listener& /*listener*/) {}

  /// Nothing that was posted to `pe` is wanted any more, and nothing of it is to be told. What of
  /// it is under way ends here, where the network can end it.
  virtual void drop(int /*pe*/) {}
  /// This PE posts nothing any more, and what it has lent for writes and reads is about to go.
  /// Peers learn that it has ended in order, where the network can tell them.
  virtual void leave() {}

  /// A descriptor that becomes readable when there is something for progress(); -1 if the network
  /// has none.
  [[nodiscard]] virtual int wait_descriptor() const = 0;
  /// Called before a wait for it: false if there is something to do at once.
  [[nodiscard]] virtual bool may_wait() = 0;
  /// Whether something waits for room of which no event tells: progress() tries it again.
  [[nodiscard]] virtual bool tries_again() const { return false; }
};

}  // namespace heddle
