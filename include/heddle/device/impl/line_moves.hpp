// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/impl/reduce_copy.hpp>
#include <heddle/device/ll128.hpp>
#include <heddle/device/team.hpp>

/// What reduce_copy is to slots of data: combines lines that peers have sent and elements of this
/// PE, and writes the result as elements here and as lines to peers.
namespace heddle::detail {

/// Lines that a peer writes here or this PE writes there, and the flag that they carry.
struct line_end {
  ll128_line* lines;
  uint64_t flag;
  int peer;
};

/// The elements of a word of 8 bytes.
template <class T>
struct alignas(8) word_elements {
  static constexpr int count = 8 / sizeof(T);
  T element[count];
};

/// What of a line's elements is there: at most `n` from `from` on.
template <class T, group G>
HEDDLE_FN void read_elements(const line_team<G>& team, const T* from, size_t n,
                             line_words<G>& words) {
  for (uint64_t& word : words) word = 0;
#if HEDDLE_ON_CUDA
  using unit = word_elements<T>;
  const bool aligned = reinterpret_cast<uintptr_t>(from) % 8 == 0;
#pragma unroll
  for (int w = 0; w < line_team<G>::words; ++w) {
    const size_t at = static_cast<size_t>(team.part() + w * line_team<G>::threads) * unit::count;
    unit value{};
    if (aligned && at + unit::count <= n) {
      value = *reinterpret_cast<const unit*>(from + at);
    } else {
#pragma unroll
      for (size_t e = 0; e < unit::count; ++e)
        if (at + e < n) value.element[e] = from[at + e];
    }
    memcpy(&words[w], &value, sizeof value);
  }
#else
  (void)team;
  memcpy(words, from, n * sizeof(T));
#endif
}

template <class T, group G>
HEDDLE_FN void write_elements(const line_team<G>& team, T* to, size_t n,
                              const line_words<G>& words) {
#if HEDDLE_ON_CUDA
  using unit = word_elements<T>;
  const bool aligned = reinterpret_cast<uintptr_t>(to) % 8 == 0;
#pragma unroll
  for (int w = 0; w < line_team<G>::words; ++w) {
    const size_t at = static_cast<size_t>(team.part() + w * line_team<G>::threads) * unit::count;
    unit value;
    memcpy(&value, &words[w], sizeof value);
    if (aligned && at + unit::count <= n) {
      *reinterpret_cast<unit*>(to + at) = value;
    } else {
#pragma unroll
      for (size_t e = 0; e < unit::count; ++e)
        if (at + e < n) to[at + e] = value.element[e];
    }
  }
#else
  (void)team;
  memcpy(to, words, n * sizeof(T));
#endif
}

/// Waits until `Lines` lines, `apart` from each other, have come from a peer, as far as there are
/// so many.
template <int Lines>
HEDDLE_FN bool wait_for_lines(const team_ref& team, const line_end& from, size_t first,
                              size_t apart, size_t lines, operation op) {
  auto look = [&](uint64_t& seen) {
    uint64_t flags[Lines];
    for (int l = 0; l < Lines; ++l) {
      const size_t line = first + static_cast<size_t>(l) * apart;
      flags[l] = line < lines ? ll128_flag(&from.lines[line]) : from.flag;
    }
    seen = from.flag;
    for (int l = 0; l < Lines; ++l)
      if (flags[l] != from.flag) seen = flags[l];
    return seen == from.flag;
  };
  return team.wait_by_thread(look, &from.lines[first].flag, cmp::eq, from.flag, op, from.peer) ==
         wait_status::ok;
}

/// The lines of n elements. `ends` tells what is combined, in which order, and where it goes:
///
///   count(), own()      how many operands there are, and which of them is `input`; -1 for none
///   source(i)           the line_end of any other operand
///   n_destinations(), destination(d)
///   lines, sources      how many of each a CUDA thread has under way
///
/// The result goes to `output` (if not null) as well, and is finished if `reduction` says so. False
/// on the threads that have met the team's end; nothing is known then about what was written.
template <class T, class Op, group G, class Ends>
HEDDLE_FN bool move_lines(G group, const team_ref& team, const Ends& ends, const T* input,
                          T* output, size_t n, reduce_step<Op> reduction, operation op) {
  using acc = accumulator<T>;
  constexpr int at_once = HEDDLE_ON_CUDA ? Ends::lines : 1;
  constexpr int under_way = HEDDLE_ON_CUDA ? Ends::sources : 1;
  constexpr size_t per_line = ll128_line::bytes / sizeof(T);
  constexpr int words = line_team<G>::words;
  using unit = word_elements<T>;

  const line_team<G> threads(group);
  const size_t lines = (n + per_line - 1) / per_line;
  const size_t apart = threads.apart();
  const int count = ends.count();
  const int own = ends.own();
  const bool is_raw = own == 0 && is_passed_on<T>(count, reduction);
  // The threads that agree go on together, also those that have no line any more.
  for (size_t pass = 0; threads.first_line() + pass < lines; pass += at_once * apart) {
    const size_t first = threads.line() + pass;
    const auto line = [&](int l) { return first + static_cast<size_t>(l) * apart; };
    const auto line_of = [&](const line_end& end, int l) -> ll128_line* {
      return line(l) < lines ? &end.lines[line(l)] : nullptr;
    };
    const auto size = [&](int l) {
      const size_t from = line(l) * per_line;
      return from >= n ? 0 : n - from < per_line ? n - from : per_line;
    };
    const auto is_combined = [&](int l, int w, int e) {
      const auto at = static_cast<size_t>(threads.part() + w * line_team<G>::threads);
      return is_builtin_reduction<Op> || at * unit::count + static_cast<size_t>(e) < size(l);
    };
    line_words<G> mine[at_once];
    if (own >= 0)
      for (int l = 0; l < at_once; ++l)
        read_elements<T>(threads, input + line(l) * per_line, size(l), mine[l]);

    bool arrived = true;
    for (int i = threads.part(); i < count; i += line_team<G>::threads)
      if (i != own)
        arrived &= wait_for_lines<at_once>(team, ends.source(i), first, apart, lines, op);
    if (!threads.all(arrived)) return false;

    typename acc::type sum[at_once][words][unit::count] = {};
    for (int begin = 0; begin < count; begin += under_way) {
      line_words<G> loaded[under_way][at_once];
      for (int s = 0; s < under_way; ++s) {
        const bool is_peers = begin + s < count && begin + s != own;
        const line_end from = is_peers ? ends.source(begin + s) : line_end{};
        for (int l = 0; l < at_once; ++l)
          ll128_load(threads, is_peers ? line_of(from, l) : nullptr, loaded[s][l]);
      }
      for (int s = 0; s < under_way; ++s) {
        if (begin + s >= count) continue;
        for (int l = 0; l < at_once; ++l)
          for (int w = 0; w < words; ++w) {
            const uint64_t word = begin + s == own ? mine[l][w] : loaded[s][l][w];
            unit value;
            memcpy(&value, &word, sizeof value);
            for (int e = 0; e < unit::count; ++e)
              if (is_combined(l, w, e))
                sum[l][w][e] = begin + s == 0
                                   ? acc::widen(value.element[e])
                                   : reduction.combine(sum[l][w][e], acc::widen(value.element[e]));
          }
      }
    }

    line_words<G> result[at_once];
    for (int l = 0; l < at_once; ++l) {
      for (int w = 0; w < words; ++w) {
        unit value{};
        for (int e = 0; e < unit::count; ++e)
          if (is_combined(l, w, e)) value.element[e] = acc::narrow(reduction.finish(sum[l][w][e]));
        memcpy(&result[l][w], &value, sizeof value);
        if (is_raw) result[l][w] = mine[l][w];
      }
      if (output) write_elements(threads, output + line(l) * per_line, size(l), result[l]);
    }
    for (int d = 0; d < ends.n_destinations(); ++d) {
      const line_end to = ends.destination(d);
      for (int l = 0; l < at_once; ++l) ll128_store(threads, line_of(to, l), result[l], to.flag);
    }
  }
  return true;
}

}  // namespace heddle::detail
