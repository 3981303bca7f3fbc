// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>
#include <heddle/device/coll/mailbox_channel.hpp>

/// One-shot ReduceScatter and Reduce: every PE sends each piece of its input to the mailbox of the
/// PE that combines it, which takes the pieces from there, in the order of the PEs. One hop. By
/// words, if there are no remote PEs, or by slots; by packets where memory joins no two. All go in
/// step: what is combined at a time has come from everybody. Of elements that fill cache lines.
namespace heddle::detail {

template <class T, class Op, block_group B>
class one_shot_pieces : mailbox_channel<B> {
  using base = mailbox_channel<B>;
  using base::block_, base::team_, base::after;

 public:
  HEDDLE_FN one_shot_pieces(B block, const all_reduce_args& args, Op op, bool words)
      : base(block, args.team, operation_of(args.kind)),
        args_(args),
        reduction_{op},
        piece_(this->part_of(words              ? way::words
                             : team_.is_apart() ? way::packets
                                                : way::slots,
                             0, args.count * sizeof(T))) {}

  HEDDLE_APART HEDDLE_FN void run() {
    block_.sync();  // the call before has counted
    const size_t steps = piece_.steps();
    bool going = true;
    for (size_t step = 0; going && step < steps; ++step) {
      going = send(step) && receive(step);
      for (int i = 1 + block_.rank(); going && i < team_.n_pes(); i += block_.size())
        if (combines(team_.my_pe())) this->give_back(after(i), piece_, step, combines(after(i)));
    }
    const piece nothing{way::none, 0, 0};
    for (int i = 1 + block_.rank(); going && i < team_.n_pes(); i += block_.size()) {
      const int pe = after(i);
      if (steps == 1)
        this->count_one_step_with(pe, piece_, combines(pe), combines(team_.my_pe()));
      else
        this->count_steps_with(pe, combines(pe) ? piece_ : nothing,
                               combines(team_.my_pe()) ? piece_ : nothing, false);
    }
    this->settle_all();
  }

 private:
  HEDDLE_FN bool combines(int pe) const {
    return args_.kind == reduce_kind::reduce_scatter || pe == args_.root;
  }
  /// This PE's input to what `pe` combines.
  HEDDLE_FN const byte* input_to(int pe, size_t step) const {
    const size_t begin =
        args_.kind == reduce_kind::reduce_scatter ? static_cast<size_t>(pe) * args_.count : 0;
    return static_cast<const byte*>(args_.input) + begin * sizeof(T) + piece_.offset_in(step);
  }

  HEDDLE_FN bool send(size_t step) const {
    bool going = true;
    for (int i = 1 + block_.rank(); i < team_.n_pes(); i += block_.size())
      if (combines(team_.my_pe()))
        this->make_room(after(i), piece_, step, step > 0 && combines(after(i)));
    for (int i = 1; i < team_.n_pes(); ++i) {
      const int pe = after(i);
      if (!combines(pe)) continue;
      going &= this->has_room(pe, piece_, step, step > 0 && combines(team_.my_pe()));
      if (going && !team_.is_remote(pe)) this->write(pe, piece_, step, input_to(pe, step));
    }
    going = block_.all(going);
    for (int i = 1 + block_.rank(); going && i < team_.n_pes(); i += block_.size()) {
      const int pe = after(i);
      if (combines(pe) && has_flag(piece_.by))
        this->fill_slot(pe, piece_, step, input_to(pe, step));
    }
    return going;
  }

  HEDDLE_FN bool receive(size_t step) const {
    if (!combines(team_.my_pe())) return true;
    bool going = true;
    for (int i = 1 + block_.rank(); going && i < team_.n_pes(); i += block_.size())
      if (has_flag(piece_.by)) going = this->slot_is_filled(after(i), piece_, step);
    going = block_.all(going);
    if (!going) return false;
    T* output = reinterpret_cast<T*>(static_cast<byte*>(args_.output) + piece_.offset_in(step));
    if constexpr (fill_words<T>) {
      if (piece_.by == way::words) return block_.all(combine_words(step, output));
    }
    operand_list<T, channel_scratch::max_direct_pes> operands;
    for (int pe = 0; pe < team_.n_pes(); ++pe)
      operands.add_source(pe == team_.my_pe() ? input_to(pe, step)
                                              : this->slot_data(pe, piece_, step));
    operands.add_destination(output);
    reduce_copy<T, Op>(block_, operands.view(), piece_.bytes_in(step) / sizeof(T), reduction_);
    return block_.all(true);
  }

  HEDDLE_FN bool combine_words(size_t step, T* output) const {
    using acc = accumulator<T>;
    constexpr size_t per_word = 8 / sizeof(T);
    const T* mine = reinterpret_cast<const T*>(input_to(team_.my_pe(), step));
    const size_t n = piece_.bytes_in(step) / sizeof(T);
    for (auto w = static_cast<size_t>(block_.rank()); w * per_word < n;
         w += static_cast<size_t>(block_.size())) {
      const size_t first = w * per_word;
      const size_t elements = n - first < per_word ? n - first : per_word;
      typename acc::type sum[per_word]{};
      // A look at a GPU's memory takes a while: those at several PEs' words are under way together.
      constexpr int together = HEDDLE_ON_CUDA ? 4 : 1;
      for (int begin = 0; begin < team_.n_pes(); begin += together) {
        const auto pe_of = [&](int i) {
          const int pe = begin + i;
          return pe < team_.n_pes() && pe != team_.my_pe() ? pe : -1;
        };
        uint64_t data[together] = {};
        if (!this->read_word_of(pe_of, step, w, data)) return false;
        for (int i = 0; i < together && begin + i < team_.n_pes(); ++i) {
          T word[per_word]{};
          if (pe_of(i) < 0)
            for (size_t e = 0; e < elements; ++e) word[e] = mine[first + e];
          else
            memcpy(word, &data[i], sizeof data[i]);
          for (size_t e = 0; e < combined_of<Op>(elements, per_word); ++e)
            sum[e] = begin + i == 0 ? acc::widen(word[e])
                                    : reduction_.combine(sum[e], acc::widen(word[e]));
        }
      }
      for (size_t e = 0; e < elements; ++e)
        output[first + e] = acc::narrow(reduction_.finish(sum[e]));
    }
    return true;
  }

  const all_reduce_args& args_;
  reduce_step<Op> reduction_;
  piece piece_;  ///< of the output
};

}  // namespace heddle::detail
