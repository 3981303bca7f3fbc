// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>

/// Double binary tree AllReduce (Sanders, Speck, Traeff 2009) on links: half of the elements goes
/// up and down each of two trees; a PE that is inner in one is a leaf in the other, so all links
/// carry about the same.
///
// clang-format off
///     up      receive from the children, combine with mine (children first, in order),
///             send to the parent
///     root    finishes what it has combined and keeps it
///     down    receive the result from the parent, keep it, send it to the children
// clang-format on
///
/// Reduce goes up in the same way; then the root of the tree sends what it has combined down the
/// one path to the root of the call.
///
/// A PE runs up to `ahead` chunks up before it takes the first down, so that the tree is a
/// pipeline; `ahead` is below the slots of a link, so that a PE that is ahead never waits for one
/// that waits for it.
///
/// Link indices of tree t: 1 + 3t and 2 + 3t receive from child 0 and 1, 3 + 3t receives from the
/// parent. As a sender, 1 + 3t counts what goes up, 2 + 3t and 3 + 3t what goes down to child 0
/// and 1.
namespace heddle {

namespace detail {

template <protocol Protocol, class T, class Op, block_group B>
class tree_half {
 public:
  using links_type = link_set<Protocol, T, Op, B>;

  HEDDLE_FN tree_half(B block, const all_reduce_args& args, link_memory* links, int index,
                      const T* input, T* output, size_t n, Op op)
      : up_(block, args.team),
        down_(block, args.team),
        root_(args.topology.trees[index].parent < 0),
        all_(args.kind == reduce_kind::all_reduce),
        keeps_(all_ || args.topology.trees[index].to_root == team_topology::tree::here),
        sends_down_(all_ || args.topology.trees[index].to_root >= 0),
        reduction_{op},
        input_(input),
        output_(output),
        n_(n) {
    const auto& tree = args.topology.trees[index];
    auto link = [&](int which) { return &links[1 + 3 * index + which]; };
    for (int c = 0; c < 2; ++c) {
      if (tree.children[c] < 0) continue;
      up_.add_receive(link(c), link(0), tree.children[c]);
      // The root of a reduce's tree sends down what it has just combined.
      if (all_ || tree.to_root == c)
        (all_ || !root_ ? down_ : up_).add_send(link(1 + c), link(2), tree.children[c]);
    }
    if (!root_) {
      up_.add_send(link(0), link(tree.place), tree.parent);
      if (keeps_ || sends_down_) down_.add_receive(link(2), link(1 + tree.place), tree.parent);
    }
  }

  HEDDLE_FN size_t chunks() const { return (n_ + links_type::capacity - 1) / links_type::capacity; }
  HEDDLE_FN bool up(size_t chunk) {
    const size_t at = chunk * links_type::capacity;
    return up_.exchange(true, true, input_ + at, root_ && keeps_ ? output_ + at : nullptr,
                        size_of(at), reduction_.when(root_));
  }
  HEDDLE_FN bool down(size_t chunk) {
    if (!all_ && (root_ || !(keeps_ || sends_down_))) return true;
    const size_t at = chunk * links_type::capacity;
    return down_.exchange(true, true, root_ ? output_ + at : nullptr,
                          !root_ && keeps_ ? output_ + at : nullptr, size_of(at),
                          reduction_.when(false));
  }
  HEDDLE_FN void save() {
    up_.save();
    down_.save();
  }

 private:
  HEDDLE_FN size_t size_of(size_t at) const {
    return n_ - at < links_type::capacity ? n_ - at : links_type::capacity;
  }

  links_type up_;
  links_type down_;
  bool root_;        ///< of the tree
  bool all_;         ///< all PEs get the result
  bool keeps_;       ///< this one does
  bool sends_down_;  ///< some below it do
  reduce_step<Op> reduction_;
  const T* input_;
  T* output_;
  size_t n_;
};

}  // namespace detail

template <protocol Protocol, class T, class Op, block_group B>
HEDDLE_FN void all_reduce_tree(B block, const all_reduce_args& args, Op op) {
  constexpr size_t ahead = 3;
  static_assert(ahead < link_memory::slots);
  link_memory* links = channel_scratch(args.team, block.block_rank(), block.num_blocks()).links();
  const detail::channel_part<T> part(args, block.block_rank(), block.num_blocks());
  const detail::segment<T> first(part.count, 2, 0);

  block.sync();  // the call before has saved its steps
  detail::tree_half<Protocol, T, Op, B> left(block, args, links, 0, part.input, part.output,
                                             first.count, op);
  detail::tree_half<Protocol, T, Op, B> right(block, args, links, 1, part.input + first.count,
                                              part.output ? part.output + first.count : nullptr,
                                              part.count - first.count, op);
  const size_t chunks = left.chunks() > right.chunks() ? left.chunks() : right.chunks();
  for (size_t c = 0; c < chunks + ahead; ++c) {
    if (c < left.chunks() && !left.up(c)) return;
    if (c < right.chunks() && !right.up(c)) return;
    if (c < ahead) continue;
    if (c - ahead < left.chunks() && !left.down(c - ahead)) return;
    if (c - ahead < right.chunks() && !right.down(c - ahead)) return;
  }
  left.save();
  right.save();
}

}  // namespace heddle
