// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/hop.hpp>
#include <heddle/device/impl/copy.hpp>

// clang-format off
/// Collectives that combine nothing, of teams of any size: what is to go from PE to PE goes by hops
/// of 1, 2, 4 ... PEs, of which a PE has as many as its team's size has bits. exchange.hpp is
/// quicker, and needs memory for each PE of the team.
///
///     all_gather   log n rounds: in round k the 2^k blocks that a PE has go to the PE 2^k behind
///                  it (Bruck et al., "Efficient algorithms for all-to-all communications in
///                  multiport message-passing systems", IEEE TPDS 8(11), 1997)
///     all_to_all   log n rounds: a block that has i PEs to go takes the hops of the bits of i,
///                  and waits in the output between them (the same)
///     broadcast    few bytes by a binomial tree of hops; more along a chain, a slot at a time
///     gather       up a binomial tree, and down it: a subtree's blocks in one slot if they fit,
///     scatter      else its root's block and then those of the subtrees below, as they come
// clang-format on
namespace heddle {

struct rounds_args {
  team_ref team{};
  operation what = operation::none;  ///< broadcast, all_gather, all_to_all, gather or scatter
  const byte* input = nullptr;
  byte* output = nullptr;
  size_t bytes = 0;  ///< of a block
  int root = 0;
};

namespace detail {

/// One channel's part of a call: the same bytes of every block.
template <block_group B>
class rounds_channel {
 public:
  HEDDLE_FN rounds_channel(B block, const rounds_args& args)
      : block_(block),
        args_(args),
        team_(args.team),
        scratch_(team_, block.block_rank(), block.num_blocks()),
        n_pes_(team_.n_pes()),
        me_(team_.my_pe()) {
    const auto channels = static_cast<size_t>(block.num_blocks());
    const size_t lines = (args.bytes + cache_line - 1) / cache_line;
    const size_t each = (lines + channels - 1) / channels * cache_line;
    begin_ = each * static_cast<size_t>(block.block_rank());
    if (begin_ > args.bytes) begin_ = args.bytes;
    bytes_ = args.bytes - begin_ < each ? args.bytes - begin_ : each;
  }

  HEDDLE_FN void run() {
    if (bytes_ == 0) return;  // on every PE
    block_.sync();            // the call before has saved its counts
    switch (args_.what) {
      case operation::broadcast:
        return broadcast();
      case operation::all_gather:
        return all_gather();
      case operation::all_to_all:
        return all_to_all();
      case operation::gather:
        return gather();
      case operation::scatter:
        return scatter();
      default:
        return;
    }
  }

 private:
  using hop_type = hop<B>;

  HEDDLE_FN int wrapped(int pe) const {
    return pe < 0 ? pe + n_pes_ : pe < n_pes_ ? pe : pe - n_pes_;
  }
  HEDDLE_FN hop_type hop_of(int k) const { return {block_, team_, scratch_, k}; }
  HEDDLE_FN const byte* input_block(int pe) const {
    return args_.input + static_cast<size_t>(pe) * args_.bytes + begin_;
  }
  HEDDLE_FN byte* output_block(int pe) const {
    return args_.output + static_cast<size_t>(pe) * args_.bytes + begin_;
  }
  HEDDLE_FN void keep(byte* to, const byte* from) const {
    if (to != from) copy(block_, to, from, bytes_);
  }

  /// Of `count` blocks, one after the other: calls move(block, offset in it, offset in the slot,
  /// bytes) for all that is in [at, at + n).
  template <class Move>
  HEDDLE_FN void for_blocks(size_t at, size_t n, const Move& move) const {
    size_t done = 0;
    while (done < n) {
      const size_t index = (at + done) / bytes_;
      const size_t offset = (at + done) % bytes_;
      const size_t left = bytes_ - offset;
      const size_t some = n - done < left ? n - done : left;
      move(static_cast<int>(index), offset, done, some);
      done += some;
    }
  }

  /// Sends block(0) to block(count - 1) by hop k, and receives as many to where `to` says; what is
  /// sent may be overwritten by what is received in its place.
  template <class From, class To>
  HEDDLE_FN bool swap(int k, int count, const From& from, const To& to) const {
    hop_type by = hop_of(k);
    const size_t all = static_cast<size_t>(count) * bytes_;
    for (size_t at = 0; at < all; at += hop_type::capacity) {
      const size_t n = all - at < hop_type::capacity ? all - at : hop_type::capacity;
      const bool sent = by.send(n, [&](byte* slot) {
        for_blocks(at, n, [&](int i, size_t offset, size_t place, size_t some) {
          copy(block_, slot + place, from(i) + offset, some);
        });
      });
      if (!sent || !by.receive([&](const byte* slot) {
            for_blocks(at, n, [&](int i, size_t offset, size_t place, size_t some) {
              copy(block_, to(i) + offset, slot + place, some);
            });
            return true;
          }))
        return false;
    }
    by.save();
    return true;
  }

  HEDDLE_APART HEDDLE_FN void all_gather() const {
    keep(output_block(me_), args_.input + begin_);
    block_.sync();
    for (int k = 0; 1 << k < n_pes_; ++k) {
      const int have = 1 << k;
      const int count = have < n_pes_ - have ? have : n_pes_ - have;
      const auto mine = [&](int i) { return output_block(wrapped(me_ - i)); };
      const auto theirs = [&](int i) { return output_block(wrapped(wrapped(me_ - have) - i)); };
      if (!swap(k, count, mine, theirs)) return;
    }
  }

  HEDDLE_APART HEDDLE_FN void all_to_all() const {
    for (int i = 0; i < n_pes_; ++i)
      keep(output_block(wrapped(me_ - i)), input_block(wrapped(me_ + i)));
    block_.sync();
    for (int k = 0; 1 << k < n_pes_; ++k) {
      const int bit = 1 << k;
      const int rest = (n_pes_ & (2 * bit - 1)) - bit;
      const int count = n_pes_ / (2 * bit) * bit + (rest > 0 ? rest : 0);
      // The i-th block with that bit.
      const auto place = [&](int i) {
        const int distance = (i >> k) << (k + 1) | bit | (i & (bit - 1));
        return output_block(wrapped(me_ - distance));
      };
      if (!swap(k, count, place, place)) return;
    }
  }

  HEDDLE_APART HEDDLE_FN void broadcast() const {
    const int distance = wrapped(me_ - args_.root);
    byte* output = args_.output + begin_;
    if (distance == 0) {
      keep(output, args_.input + begin_);
      block_.sync();
    }
    if (bytes_ <= hop_type::capacity)
      broadcast_by_tree(distance, output);
    else
      (void)along_chain(distance, distance == n_pes_ - 1, output);
  }
  HEDDLE_FN void broadcast_by_tree(int distance, byte* output) const {
    int k = 0;
    if (distance > 0) {
      while (2 << k <= distance) ++k;
      hop_type by = hop_of(k);
      if (!by.receive([&](const byte* slot) {
            copy(block_, output, slot, bytes_);
            return true;
          }))
        return;
      by.save();
      ++k;
    }
    for (; distance + (1 << k) < n_pes_; ++k) {
      hop_type by = hop_of(k);
      if (!by.send(bytes_, [&](byte* slot) { copy(block_, slot, output, bytes_); })) return;
      by.save();
    }
  }

  /// One block from the root on: each PE keeps it and sends it on.
  HEDDLE_FN bool along_chain(int distance, bool is_last, byte* output) const {
    hop_type by = hop_of(0);
    for (size_t at = 0; at < bytes_; at += hop_type::capacity) {
      const size_t n = part_at(at);
      if (distance > 0 && !by.receive([&](const byte* slot) {
            copy(block_, output + at, slot, n);
            return true;
          }))
        return false;
      if (!is_last && !by.send(n, [&](byte* slot) { copy(block_, slot, output + at, n); }))
        return false;
    }
    by.save();
    return true;
  }
  HEDDLE_FN size_t part_at(size_t at) const {
    return bytes_ - at < hop_type::capacity ? bytes_ - at : hop_type::capacity;
  }

  // A binomial tree, by the distances to the root: the lowest bit of a PE's is its hop to its
  // parent, and below it are the distances up to where that bit would be added once more.
  HEDDLE_FN static int lowest_bit(int distance) {
    int k = 0;
    while (!(distance >> k & 1)) ++k;
    return k;
  }
  HEDDLE_FN int subtree_end(int distance, int k) const {
    return distance + (1 << k) < n_pes_ ? distance + (1 << k) : n_pes_;
  }
  /// Whether there is a child by hop k.
  HEDDLE_FN bool has_child(int distance, int k) const {
    return !(distance >> k & 1) && distance + (1 << k) < n_pes_;
  }
  HEDDLE_FN size_t bytes_between(int begin, int end) const {
    return static_cast<size_t>(end - begin) * bytes_;
  }
  /// For all slots in which the subtree of a child goes: move(distance, offset, bytes), of blocks
  /// from that distance on; one after the other, at both ends.
  template <class Move>
  HEDDLE_FN bool for_slots(int child, const Move& move) const {
    const int end = subtree_end(child, lowest_bit(child));
    for (int distance = child; distance < end;) {
      const int next = subtree_end(distance, lowest_bit(distance));
      if (bytes_between(distance, next) <= hop_type::capacity) {
        if (!move(distance, 0, bytes_between(distance, next))) return false;
        distance = next;
      } else {
        for (size_t at = 0; at < bytes_; at += hop_type::capacity)
          if (!move(distance, at, part_at(at))) return false;
        ++distance;
      }
    }
    return true;
  }

  HEDDLE_APART HEDDLE_FN void gather() const {
    const int distance = wrapped(args_.root - me_);
    if (distance == 0) return gather_here();
    const int hops = lowest_bit(distance);
    const int end = subtree_end(distance, hops);
    const byte* input = args_.input + begin_;
    hop_type up = hop_of(hops);
    bool going = true;
    if (bytes_between(distance, end) <= hop_type::capacity) {
      going &= up.send(bytes_between(distance, end), [&](byte* slot) {
        copy(block_, slot, input, bytes_);
        for (int k = 0; k < hops && has_child(distance, k) && going; ++k) {
          hop_type by = hop_of(k);
          going = by.receive([&](const byte* blocks) {
            const int child = distance + (1 << k);
            copy(block_, slot + bytes_between(distance, child), blocks,
                 bytes_between(child, subtree_end(child, k)));
            return true;
          });
          if (going) by.save();
        }
      });
    } else {
      for (size_t at = 0; at < bytes_ && going; at += hop_type::capacity)
        going =
            up.send(part_at(at), [&](byte* slot) { copy(block_, slot, input + at, part_at(at)); });
      for (int k = 0; k < hops && has_child(distance, k) && going; ++k) {
        hop_type by = hop_of(k);
        going = for_slots(distance + (1 << k), [&](int, size_t, size_t bytes) {
          return by.receive([&](const byte* slot) {
            return up.send(bytes, [&](byte* next) { copy(block_, next, slot, bytes); });
          });
        });
        if (going) by.save();
      }
    }
    if (going) up.save();
  }
  HEDDLE_FN void gather_here() const {
    keep(output_block(me_), args_.input + begin_);
    for (int k = 0; has_child(0, k); ++k) {
      hop_type by = hop_of(k);
      const bool going = for_slots(1 << k, [&](int distance, size_t at, size_t bytes) {
        return by.receive([&](const byte* slot) {
          for_blocks(at, bytes, [&](int i, size_t offset, size_t place, size_t some) {
            copy(block_, output_block(wrapped(me_ - distance - i)) + offset, slot + place, some);
          });
          return true;
        });
      });
      if (!going) return;
      by.save();
    }
  }

  HEDDLE_APART HEDDLE_FN void scatter() const {
    const int distance = wrapped(me_ - args_.root);
    if (distance == 0) return scatter_from_here();
    const int hops = lowest_bit(distance);
    byte* output = args_.output + begin_;
    hop_type up = hop_of(hops);
    bool going = true;
    if (bytes_between(distance, subtree_end(distance, hops)) <= hop_type::capacity) {
      going = up.receive([&](const byte* blocks) {
        copy(block_, output, blocks, bytes_);
        for (int k = hops - 1; k >= 0; --k) {
          if (!has_child(distance, k)) continue;
          hop_type by = hop_of(k);
          const int child = distance + (1 << k);
          const size_t bytes = bytes_between(child, subtree_end(child, k));
          if (!by.send(bytes, [&](byte* slot) {
                copy(block_, slot, blocks + bytes_between(distance, child), bytes);
              }))
            return false;
          by.save();
        }
        return true;
      });
    } else {
      for (size_t at = 0; at < bytes_ && going; at += hop_type::capacity)
        going = up.receive([&](const byte* slot) {
          copy(block_, output + at, slot, part_at(at));
          return true;
        });
      for (int k = 0; k < hops && has_child(distance, k) && going; ++k) {
        hop_type by = hop_of(k);
        going = for_slots(distance + (1 << k), [&](int, size_t, size_t bytes) {
          return up.receive([&](const byte* slot) {
            return by.send(bytes, [&](byte* next) { copy(block_, next, slot, bytes); });
          });
        });
        if (going) by.save();
      }
    }
    if (going) up.save();
  }
  /// The largest subtree first: its way is the longest.
  HEDDLE_FN void scatter_from_here() const {
    keep(args_.output + begin_, input_block(me_));
    int k = 0;
    while (has_child(0, k)) ++k;
    while (--k >= 0) {
      hop_type by = hop_of(k);
      const bool going = for_slots(1 << k, [&](int distance, size_t at, size_t bytes) {
        return by.send(bytes, [&](byte* slot) {
          for_blocks(at, bytes, [&](int i, size_t offset, size_t place, size_t some) {
            copy(block_, slot + place, input_block(wrapped(me_ + distance + i)) + offset, some);
          });
        });
      });
      if (!going) return;
      by.save();
    }
  }

  B block_;
  const rounds_args& args_;
  const team_ref& team_;
  channel_scratch scratch_;
  int n_pes_;
  int me_;
  size_t begin_;  ///< of this channel's part of a block
  size_t bytes_;
};

}  // namespace detail

/// Called by all threads of every block of a grid, on every PE of a team of more than
/// channel_scratch::max_direct_pes; at most channel_scratch::max_hop_channels blocks.
template <block_group B>
HEDDLE_FN void exchange_in_rounds(B block, const rounds_args& args) {
  detail::rounds_channel<B>(block, args).run();
}

}  // namespace heddle
