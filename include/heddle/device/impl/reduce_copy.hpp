// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/impl/copy.hpp>
#include <heddle/device/reduction.hpp>

/// The leaf of all reductions: combines n elements of several sources, in order, and writes the
/// result to several destinations. A destination may be one of the sources (the same elements); any
/// other overlap is not allowed.
namespace heddle::detail {

template <class T>
struct operands {
  const T* const* sources;
  T* const* destinations;
  int n_sources = 0;
  int n_destinations = 0;
};

/// Room for up to N sources and N destinations.
///
/// The view is a reference to what add_ wrote, member by member: a copy would be read in wider
/// pieces than were written, for which a host processor waits until its store buffer is empty, and
/// there the stores to other PEs' lines are: as long as a hop.
template <class T, int N>
class operand_list {
 public:
  HEDDLE_FN operand_list() : operands_{sources_, destinations_} {}
  operand_list(const operand_list&) = delete;
  operand_list& operator=(const operand_list&) = delete;

  HEDDLE_FN void add_source(const void* source) {
    sources_[operands_.n_sources++] = static_cast<const T*>(source);
  }
  HEDDLE_FN void add_destination(void* destination) {
    destinations_[operands_.n_destinations++] = static_cast<T*>(destination);
  }
  HEDDLE_FN const operands<T>& view() const { return operands_; }

 private:
  operands<T> operands_;
  const T* sources_[N];
  T* destinations_[N];
};

template <class T, class Op>
HEDDLE_FN T combine_stored(T a, T b, reduce_step<Op> reduction) {
  using acc = accumulator<T>;
  return acc::narrow(reduction.combine(acc::widen(a), acc::widen(b)));
}

/// Whether an operand is only passed on, and so stays as it is: to narrow what was widened does not
/// keep all infinities.
template <class T, class Op>
HEDDLE_FN bool is_passed_on(int operands, reduce_step<Op> reduction) {
  using acc = accumulator<T>;
  return !standard::is_same_v<typename acc::type, T> && operands == 1 &&
         !reduction.template finishes<typename acc::type>();
}

template <class T, class Op>
HEDDLE_FN T finish_stored(T a, reduce_step<Op> reduction) {
  using acc = accumulator<T>;
  return reduction.template finishes<typename acc::type>()
             ? acc::narrow(reduction.finish(acc::widen(a)))
             : a;
}

#if HEDDLE_ON_CUDA

/// `Batch` units of 16 bytes, or of one element, of every operand: a thread's units are `apart`
/// elements from each other. All loads of a batch are under way before the first is combined, which
/// is what hides the way to memory. `Sources` fixes their number, so that their addresses stay in
/// registers; 0 is any number, one source after the other.
template <class T, class Op, int Elements, int Sources, int Batch>
HEDDLE_FN void reduce_units(const operands<T>& with, const T* const* sources, size_t at,
                            size_t apart, reduce_step<Op> reduction) {
  using acc = accumulator<T>;
  struct alignas(Elements == 1 ? alignof(T) : Elements * sizeof(T)) unit {
    T element[Elements];
  };
  const auto load_unit = [&](const T* source, int b) {
    return *reinterpret_cast<const unit*>(source + at + static_cast<size_t>(b) * apart);
  };
  const bool is_raw = Sources == 0 && is_passed_on<T>(with.n_sources, reduction);
  unit result[Batch];
  typename acc::type sum[Batch][Elements];
  const auto take = [&](int b, const unit& value, bool first) {
#pragma unroll
    for (int e = 0; e < Elements; ++e)
      sum[b][e] = first ? acc::widen(value.element[e])
                        : reduction.combine(sum[b][e], acc::widen(value.element[e]));
  };
  if constexpr (Sources > 0) {
    unit loaded[Sources][Batch];
#pragma unroll
    for (int s = 0; s < Sources; ++s)
#pragma unroll
      for (int b = 0; b < Batch; ++b) loaded[s][b] = load_unit(sources[s], b);
#pragma unroll
    for (int s = 0; s < Sources; ++s)
#pragma unroll
      for (int b = 0; b < Batch; ++b) take(b, loaded[s][b], s == 0);
  } else {
    for (int s = 0; s < with.n_sources; ++s)
#pragma unroll
      for (int b = 0; b < Batch; ++b) {
        const unit value = load_unit(with.sources[s], b);
        if (is_raw) result[b] = value;
        take(b, value, s == 0);
      }
  }
  if (!is_raw) {
#pragma unroll
    for (int b = 0; b < Batch; ++b)
#pragma unroll
      for (int e = 0; e < Elements; ++e)
        result[b].element[e] = acc::narrow(reduction.finish(sum[b][e]));
  }
  for (int d = 0; d < with.n_destinations; ++d) {
    T* to = with.destinations[d] + at;
#pragma unroll
    for (int b = 0; b < Batch; ++b)
      *reinterpret_cast<unit*>(to + static_cast<size_t>(b) * apart) = result[b];
  }
}

/// [0, n) in units of `Elements`, by all threads of the group.
template <class T, class Op, int Elements, int Sources, int Batch, group G>
HEDDLE_FN void reduce_part(G group, const operands<T>& with, size_t begin, size_t units,
                           reduce_step<Op> reduction) {
  const T* sources[Sources > 0 ? Sources : 1];
#pragma unroll
  for (int s = 0; s < Sources; ++s) sources[s] = with.sources[s];
  const auto threads = static_cast<size_t>(group.size());
  const size_t apart = threads * Elements;
  size_t i = static_cast<size_t>(group.rank());
  for (; i + (Batch - 1) * threads < units; i += Batch * threads)
    reduce_units<T, Op, Elements, Sources, Batch>(with, sources, begin + i * Elements, apart,
                                                  reduction);
  for (; i < units; i += threads)
    reduce_units<T, Op, Elements, Sources, 1>(with, sources, begin + i * Elements, apart,
                                              reduction);
}

/// A function of its own: a kernel calls it from several places.
template <class T, class Op, group G>
__noinline__ HEDDLE_FN void reduce_copy(G group, const operands<T>& with, size_t n,
                                        reduce_step<Op> reduction, stores = stores::cached) {
  constexpr int vector = 16 % sizeof(T) == 0 ? 16 / sizeof(T) : 1;
  uintptr_t misaligned = 0;
  for (int s = 0; s < with.n_sources; ++s)
    misaligned |= reinterpret_cast<uintptr_t>(with.sources[s]) % 16;
  for (int d = 0; d < with.n_destinations; ++d)
    misaligned |= reinterpret_cast<uintptr_t>(with.destinations[d]) % 16;
  const size_t vectors = misaligned ? 0 : n / vector;
  // 32 registers of loads and 16 of sums under way; what is widened to be combined takes more.
  constexpr int widening = sizeof(typename accumulator<T>::type) / sizeof(T);
  constexpr int half_batch = widening < 2 ? 2 / widening : 1;
  switch (with.n_sources) {
    case 2:
      reduce_part<T, Op, vector, 2, 4 / widening>(group, with, 0, vectors, reduction);
      break;
    case 4:
      reduce_part<T, Op, vector, 4, half_batch>(group, with, 0, vectors, reduction);
      break;
    case 8:
      reduce_part<T, Op, vector, 8, 1>(group, with, 0, vectors, reduction);
      break;
    default:
      reduce_part<T, Op, vector, 0, half_batch>(group, with, 0, vectors, reduction);
      break;
  }
  reduce_part<T, Op, 1, 0, 1>(group, with, vectors * vector, n - vectors * vector, reduction);
}

#else

/// Where it is known that it finishes.
template <class Op, class A>
[[gnu::always_inline]] inline A finished(const Op& op, A sum) {
  if constexpr (finishing<Op, A>) return op.finish(sum);
  return sum;
}

template <class Op, class A>
[[gnu::always_inline]] inline void finish_all(A* sum, size_t n, reduce_step<Op> reduction) {
  if constexpr (finishing<Op, A>) {
    if (reduction.template finishes<A>())
      for (size_t i = 0; i < n; ++i) sum[i] = reduction.op.finish(sum[i]);
  }
}

/// Two sources and one or two destinations: two PEs, and every step of a ring. Combined in
/// registers.
template <class T, class Op>
[[gnu::always_inline]] inline void reduce_pair(const T* a, const T* b, T* d0, T* d1, size_t n,
                                               reduce_step<Op> reduction) {
  using acc = accumulator<T>;
  auto loop = [&](auto finishes, auto second) __attribute__((always_inline)) {
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) {
      auto sum = reduction.combine(acc::widen(a[i]), acc::widen(b[i]));
      if constexpr (decltype(finishes)::value) sum = finished(reduction.op, sum);
      const T result = acc::narrow(sum);
      d0[i] = result;
      if constexpr (decltype(second)::value) d1[i] = result;
    }
  };
  using yes = std::true_type;
  using no = std::false_type;
  if constexpr (finishing<Op, typename acc::type>) {
    if (reduction.template finishes<typename acc::type>())
      return d1 ? loop(yes{}, yes{}) : loop(yes{}, no{});
  }
  d1 ? loop(no{}, yes{}) : loop(no{}, no{});
}

#if defined(__x86_64__)
/// Elements that the streaming loops combine at a time: four lines, long enough for the compiler to
/// vectorise loops over them rather than unroll them.
template <class T>
inline constexpr size_t streaming_block = 4 * cache_line / sizeof(T);

/// Numbers that are combined as they are stored can be combined a line at a time, as one vector
/// value, which stays in registers from load to streaming store.
template <class T, class Op>
inline constexpr bool combines_lines =
    bool{is_builtin_reduction<Op>} && bool{std::is_arithmetic_v<T>} &&
    std::is_same_v<typename accumulator<T>::type, T>;

/// A vector register that every x86-64 has; what is written over it compiles to wider ones where
/// that pays.
template <class T>
struct streaming_vector {
  typedef T type __attribute__((vector_size(16)));
  /// What minima and maxima are found by: see reduce_extremum.
  using ordered_element = typename std::conditional_t<
      std::is_integral_v<T>, std::make_signed<T>,
      std::type_identity<std::conditional_t<sizeof(T) == 8, int64_t, int32_t>>>::type;
  typedef ordered_element ordered __attribute__((vector_size(16)));

  [[gnu::always_inline]] static type load(const T* from) {
    return (type)_mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  [[gnu::always_inline]] static void stream(T* to, type value) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)value);
  }
  [[gnu::always_inline]] static type combine(const reduce_sum&, type a, type b) { return a + b; }
  [[gnu::always_inline]] static type combine(const reduce_prod&, type a, type b) { return a * b; }
  [[gnu::always_inline]] static type combine(const reduce_extremum& op, type a, type b) {
    const ordered flip = ordered{} + static_cast<ordered_element>(op.flipped);
    const ordered a_ordered = (ordered)a ^ flip;
    const ordered b_ordered = (ordered)b ^ flip;
    if constexpr (std::is_integral_v<T>) return b_ordered < a_ordered ? b : a;
    return (((type)b_ordered < (type)a_ordered) | (b != b)) ? b : a;
  }
  template <class Op>
  [[gnu::always_inline]] static type finish(type sum, reduce_step<Op> reduction) {
    if constexpr (std::is_same_v<Op, reduce_sum>) {
      if (reduction.template finishes<T>()) {
        if (reduction.op.scales()) return sum * reduction.op.template factor_as<T>();
        if constexpr (std::is_integral_v<T>) {
          if (reduction.op.divisor < 0)
            return (type)((ordered)sum / static_cast<ordered_element>(-reduction.op.divisor));
        }
        return sum / static_cast<T>(reduction.op.divisor);
      }
    }
    return sum;
  }
};

/// [begin, end), whole lines, with streaming stores. The destinations begin a line at `begin`.
/// Sources and Destinations fix their numbers, so that all addresses stay in registers; 0 is any
/// number.
template <class T, class Op, int Sources, int Destinations>
[[gnu::always_inline]] inline void reduce_lines(const operands<T>& with, size_t begin, size_t end,
                                                reduce_step<Op> reduction) {
  using vector = streaming_vector<T>;
  constexpr size_t width = 16 / sizeof(T);
  constexpr size_t line = cache_line / sizeof(T);
  const T* sources[Sources ? Sources : 1];
  T* destinations[Destinations ? Destinations : 1];
  for (int s = 0; s < Sources; ++s) sources[s] = with.sources[s];
  for (int d = 0; d < Destinations; ++d) destinations[d] = with.destinations[d];
  const int n_sources = Sources ? Sources : with.n_sources;
  const int n_destinations = Destinations ? Destinations : with.n_destinations;
  const T* const* from = Sources ? sources : with.sources;
  T* const* to = Destinations ? destinations : with.destinations;
  for (size_t at = begin; at < end; at += line) {
    typename vector::type sum[line / width];
    for (size_t v = 0; v < line / width; ++v) sum[v] = vector::load(from[0] + at + v * width);
    for (int s = 1; s < n_sources; ++s) {
      const T* source = from[s] + at;
      for (size_t v = 0; v < line / width; ++v)
        sum[v] = vector::combine(reduction.op, sum[v], vector::load(source + v * width));
    }
    for (auto& each : sum) each = vector::template finish<Op>(each, reduction);
    for (int d = 0; d < n_destinations; ++d) {
      T* there = to[d] + at;
      for (size_t v = 0; v < line / width; ++v) vector::stream(there + v * width, sum[v]);
    }
  }
  _mm_sfence();  // streaming stores are weakly ordered: after this they are before any later
                 // release
}

/// [begin, end), whole blocks, with streaming stores. The destinations begin a line at `begin`.
template <class T, class Op>
[[gnu::always_inline]] inline void reduce_blocks(const operands<T>& with, size_t begin, size_t end,
                                                 reduce_step<Op> reduction) {
  using acc = accumulator<T>;
  constexpr size_t block = streaming_block<T>;
  constexpr size_t line = cache_line / sizeof(T);
  alignas(cache_line) typename acc::type sum[block];
  alignas(cache_line) T result[block];
  for (size_t at = begin; at < end; at += block) {
    const T* first = with.sources[0] + at;
    const T* second = with.sources[with.n_sources > 1 ? 1 : 0] + at;
    if (with.n_sources == 1) {
      for (size_t i = 0; i < block; ++i) sum[i] = acc::widen(first[i]);
    } else {
      for (size_t i = 0; i < block; ++i)
        sum[i] = reduction.combine(acc::widen(first[i]), acc::widen(second[i]));
    }
    for (int s = 2; s < with.n_sources; ++s) {
      const T* source = with.sources[s] + at;
      for (size_t i = 0; i < block; ++i) sum[i] = reduction.combine(sum[i], acc::widen(source[i]));
    }
    finish_all<Op>(sum, block, reduction);
    for (size_t i = 0; i < block; ++i) result[i] = acc::narrow(sum[i]);
    for (size_t i = 0; i < block; i += line)
      for (int d = 0; d < with.n_destinations; ++d)
        stream_lines(reinterpret_cast<byte*>(with.destinations[d] + at + i),
                     reinterpret_cast<const byte*>(&result[i]), 1);
  }
  _mm_sfence();  // streaming stores are weakly ordered: after this they are before any later
                 // release
}
#endif

/// The first element at which all destinations begin a line; `none` if they never do together.
template <class T>
size_t first_line(const operands<T>& with, size_t begin, size_t none) {
  const auto into_line = [&](int d) {
    return reinterpret_cast<uintptr_t>(with.destinations[d] + begin) % cache_line;
  };
  for (int d = 1; d < with.n_destinations; ++d)
    if (into_line(d) != into_line(0)) return none;
  return begin + (cache_line - into_line(0)) % cache_line / sizeof(T);
}

/// Any number of operands: a tile at a time is accumulated in memory that stays in the first-level
/// cache.
template <class T, class Op>
[[gnu::always_inline]] inline void reduce_tiles(const operands<T>& with, size_t begin, size_t end,
                                                reduce_step<Op> reduction) {
  using acc = accumulator<T>;
  constexpr size_t tile = sizeof(T) <= 8 ? 1024 : 8192 / sizeof(T);
  typename acc::type sum[tile];
  T result[tile];
  for (size_t at = begin; at < end; at += tile) {
    const size_t n = at + tile < end ? tile : end - at;
    for (size_t i = 0; i < n; ++i) sum[i] = acc::widen(with.sources[0][at + i]);
    for (int s = 1; s < with.n_sources; ++s) {
      const T* source = with.sources[s] + at;
      for (size_t i = 0; i < n; ++i) sum[i] = reduction.combine(sum[i], acc::widen(source[i]));
    }
    finish_all<Op>(sum, n, reduction);
    for (size_t i = 0; i < n; ++i) result[i] = acc::narrow(sum[i]);
    for (int d = 0; d < with.n_destinations; ++d)
      std::memcpy(with.destinations[d] + at, result, n * sizeof(T));
  }
}

template <class T>
bool is_pair(const operands<T>& with) {
  return with.n_sources == 2 && with.n_destinations >= 1 && with.n_destinations <= 2;
}

template <class T, class Op>
[[gnu::always_inline]] inline void reduce_pair_of(const operands<T>& with, size_t begin, size_t end,
                                                  reduce_step<Op> reduction) {
  reduce_pair<T, Op>(with.sources[0] + begin, with.sources[1] + begin, with.destinations[0] + begin,
                     with.n_destinations == 2 ? with.destinations[1] + begin : nullptr, end - begin,
                     reduction);
}

template <class T, class Op>
[[gnu::always_inline]] inline void reduce_cached(const operands<T>& with, size_t begin, size_t end,
                                                 reduce_step<Op> reduction) {
  if (is_pair(with)) {
    reduce_pair_of<T, Op>(with, begin, end, reduction);
  } else {
    reduce_tiles<T, Op>(with, begin, end, reduction);
  }
}

template <class T, class Op>
[[gnu::always_inline]] inline void reduce_range(const operands<T>& with, size_t begin, size_t end,
                                                reduce_step<Op> reduction, stores how) {
#if defined(__x86_64__)
  if constexpr (fill_lines<T>) {
    if (how == stores::streaming) {
      const size_t lines = first_line(with, begin, end);
      if (lines < end) {
        const size_t lines_end = lines + (end - lines) / streaming_block<T> * streaming_block<T>;
        reduce_cached<T, Op>(with, begin, lines, reduction);
        if constexpr (combines_lines<T, Op>) {
          if (with.n_sources == 2 && with.n_destinations == 2) {
            reduce_lines<T, Op, 2, 2>(with, lines, lines_end, reduction);
          } else if (with.n_sources == 2 && with.n_destinations == 1) {
            reduce_lines<T, Op, 2, 1>(with, lines, lines_end, reduction);
          } else {
            reduce_lines<T, Op, 0, 0>(with, lines, lines_end, reduction);
          }
        } else {
          reduce_blocks<T, Op>(with, lines, lines_end, reduction);
        }
        begin = lines_end;
      }
    }
  }
#endif
  reduce_cached<T, Op>(with, begin, end, reduction);
}

// The same loops for the vector registers that the processor has; no fused multiply-add, so that
// the bits of a result do not depend on the processor.
template <class T, class Op>
void reduce_portable(const operands<T>& with, size_t begin, size_t end, reduce_step<Op> reduction,
                     stores how) {
  reduce_range<T, Op>(with, begin, end, reduction, how);
}

#if defined(__x86_64__)
template <class T, class Op>
[[gnu::target("avx2")]] void reduce_avx2(const operands<T>& with, size_t begin, size_t end,
                                         reduce_step<Op> reduction, stores how) {
  reduce_range<T, Op>(with, begin, end, reduction, how);
}

/// For what is combined as it is stored. Half the instructions matter where a call is as short as a
/// few hops: all stores of a few KiB then fit into the processor's store buffer.
template <class T, class Op>
[[gnu::target("avx512f,prefer-vector-width=512")]] void reduce_pair_avx512(
    const operands<T>& with, size_t begin, size_t end, reduce_step<Op> reduction) {
  reduce_pair_of<T, Op>(with, begin, end, reduction);
}
#endif

template <class T, class Op, group G>
void reduce_copy(G group, const operands<T>& with, size_t n, reduce_step<Op> reduction,
                 stores how = stores::cached) {
  const auto mine = share::of(group, n, per_line<T>);
  if (mine.begin == mine.end) return;
  if (with.n_sources == 1 && !reduction.template finishes<typename accumulator<T>::type>()) {
    for (int d = 0; d < with.n_destinations; ++d)
      if (with.destinations[d] != with.sources[0])
        copy_cached(reinterpret_cast<byte*>(with.destinations[d] + mine.begin),
                    reinterpret_cast<const byte*>(with.sources[0] + mine.begin),
                    (mine.end - mine.begin) * sizeof(T));
    return;
  }
#if defined(__x86_64__)
  if constexpr (std::is_same_v<typename accumulator<T>::type, T>) {
    if (has_avx512 && how == stores::cached && is_pair(with))
      return reduce_pair_avx512<T, Op>(with, mine.begin, mine.end, reduction);
  }
  if (has_avx2) {
    reduce_avx2<T, Op>(with, mine.begin, mine.end, reduction, how);
  } else {
    reduce_portable<T, Op>(with, mine.begin, mine.end, reduction, how);
  }
#else
  reduce_portable<T, Op>(with, mine.begin, mine.end, reduction, how);
#endif
}

#endif

}  // namespace heddle::detail
