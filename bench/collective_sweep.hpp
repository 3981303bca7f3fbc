// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <string_view>

#include "program.hpp"

/// The benchmark of the collectives beside AllReduce, of every contender: bytes, or float32 and sum
/// for those that combine; blocking calls, root 0. As in nccl-tests a size is that of the larger
/// buffer: of all pieces, where each PE has one.
namespace bench {

/// `piece` is what goes from one PE to another, in bytes. A broadcast is within `output()`; the
/// others are from `input()` to `output()`, which hold `capacity()` bytes.
template <class T>
concept collective_contender = requires(T& contender, std::size_t piece, double x) {
  { contender.my_pe() } -> std::convertible_to<int>;
  { contender.n_pes() } -> std::convertible_to<int>;
  { contender.input() } -> std::same_as<unsigned char*>;
  { contender.output() } -> std::same_as<unsigned char*>;
  { contender.largest(x) } -> std::convertible_to<double>;  ///< of all PEs, to all
  contender.broadcast(piece);
  contender.all_gather(piece);
  contender.all_to_all(piece);
  contender.gather(piece);
  contender.scatter(piece);
  contender.reduce_scatter(piece);  ///< of floats
  contender.reduce(piece);
};

enum class collective {
  broadcast,
  all_gather,
  all_to_all,
  gather,
  scatter,
  reduce_scatter,
  reduce
};
inline constexpr std::array<std::string_view, 7> collective_names = {
    "broadcast", "all_gather", "all_to_all", "gather", "scatter", "reduce_scatter", "reduce"};

template <collective_contender Contender>
class collective_sweep {
 public:
  collective_sweep(Contender& contender, collective what)
      : contender_(contender), what_(what), me_(contender.my_pe()), n_pes_(contender.n_pes()) {}

  /// What goes from one PE to another of `bytes` in all.
  [[nodiscard]] std::size_t piece_of(std::size_t bytes) const {
    if (what_ == collective::broadcast || what_ == collective::reduce) return bytes;
    const std::size_t piece = bytes / static_cast<std::size_t>(n_pes_);
    return combines() ? piece / sizeof(float) * sizeof(float) : piece;
  }

  /// Back to back calls; each changes the first and the last byte of each piece that is sent.
  double time(std::size_t bytes, const effort& effort) {
    const std::size_t piece = piece_of(bytes);
    const double us = time_per_iteration(
        [&](std::uint64_t iterations) {
          for (std::uint64_t i = 0; i < iterations; ++i) {
            ++call_;
            renew(piece);
            run(piece);
          }
        },
        [&](double x) { return contender_.largest(x); }, effort.for_size(bytes));
    verify(piece);
    return us;
  }

 private:
  [[nodiscard]] bool is_root() const { return me_ == 0; }
  [[nodiscard]] bool sends_to_each() const {
    return what_ == collective::all_to_all || what_ == collective::scatter ||
           what_ == collective::reduce_scatter;
  }
  [[nodiscard]] bool combines() const {
    return what_ == collective::reduce_scatter || what_ == collective::reduce;
  }
  [[nodiscard]] unsigned char value(int from, int to) const {
    return static_cast<unsigned char>(call_ * 13 + static_cast<std::uint64_t>(from) * 7 +
                                      static_cast<std::uint64_t>(sends_to_each() ? to : 0) * 3);
  }
  void run(std::size_t piece) {
    switch (what_) {
      case collective::broadcast:
        return contender_.broadcast(piece);
      case collective::all_gather:
        return contender_.all_gather(piece);
      case collective::all_to_all:
        return contender_.all_to_all(piece);
      case collective::gather:
        return contender_.gather(piece);
      case collective::scatter:
        return contender_.scatter(piece);
      case collective::reduce_scatter:
        return contender_.reduce_scatter(piece);
      case collective::reduce:
        return contender_.reduce(piece);
    }
  }
  void renew(std::size_t piece) {
    if ((what_ == collective::broadcast || what_ == collective::scatter) && !is_root()) return;
    unsigned char* input =
        what_ == collective::broadcast ? contender_.output() : contender_.input();
    for (int to = 0; to < (sends_to_each() ? n_pes_ : 1); ++to) {
      unsigned char* start = input + static_cast<std::size_t>(to) * piece;
      if (combines()) {
        auto* numbers = reinterpret_cast<float*>(start);
        numbers[0] = numbers[piece / sizeof(float) - 1] = value(me_, to);
      } else {
        start[0] = start[piece - 1] = value(me_, to);
      }
    }
  }
  void verify(std::size_t piece) const {
    if ((what_ == collective::gather || what_ == collective::reduce) && !is_root()) return;
    if (combines()) return verify_sum(piece);
    const bool from_all = what_ != collective::broadcast && what_ != collective::scatter;
    for (int from = 0; from < (from_all ? n_pes_ : 1); ++from) {
      const unsigned char* start = contender_.output() + static_cast<std::size_t>(from) * piece;
      if (start[0] != value(from, me_) || start[piece - 1] != value(from, me_))
        throw std::runtime_error(
            "wrong result: " + std::string(collective_names[static_cast<std::size_t>(what_)]) +
            " of " + std::to_string(piece) + " bytes from PE " + std::to_string(from) + " to PE " +
            std::to_string(me_));
    }
  }

  void verify_sum(std::size_t piece) const {
    float sum = 0;
    for (int from = 0; from < n_pes_; ++from) sum += value(from, me_);
    const auto* numbers = reinterpret_cast<const float*>(contender_.output());
    if (numbers[0] != sum || numbers[piece / sizeof(float) - 1] != sum)
      throw std::runtime_error(
          "wrong result: " + std::string(collective_names[static_cast<std::size_t>(what_)]) +
          " of " + std::to_string(piece) + " bytes on PE " + std::to_string(me_));
  }

  Contender& contender_;
  collective what_;
  int me_;
  int n_pes_;
  std::uint64_t call_ = 0;
};

/// Measures every pattern over the sizes.
template <collective_contender Contender>
void sweep_collectives(Contender& contender, const std::string& variant, const options& options) {
  for (std::size_t i = 0; i < collective_names.size(); ++i) {
    collective_sweep<Contender> sweep(contender, static_cast<collective>(i));
    const auto& wanted = options.collectives;
    if (!wanted.empty() && std::ranges::find(wanted, collective_names[i]) == wanted.end()) continue;
    for (const std::size_t bytes : options.sizes()) {
      if (sweep.piece_of(bytes) == 0) continue;
      const double us = sweep.time(bytes, options.measure);
      if (contender.my_pe() == 0) report(std::string(collective_names[i]), variant, bytes, us);
    }
  }
}

}  // namespace bench
