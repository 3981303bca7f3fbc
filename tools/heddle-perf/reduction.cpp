// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <heddle/scaled_sum.hpp>
#include <optional>
#include <sstream>

#include "collective.hpp"
#include "device_buffer.hpp"
#include "exact_inputs.hpp"
#include "pieces.hpp"
#include "session.hpp"

namespace perf {

namespace {

enum class kind { all_reduce, reduce_scatter, reduce_scatter_v, reduce };

kind kind_of(const operation& what) {
  return what.name == "reduce"             ? kind::reduce
         : what.name == "reduce_scatter"   ? kind::reduce_scatter
         : what.name == "reduce_scatter_v" ? kind::reduce_scatter_v
                                           : kind::all_reduce;
}
bool scatters(kind what) { return what == kind::reduce_scatter || what == kind::reduce_scatter_v; }
load load_of(const session& with) {
  const auto& what = with.chosen.what;
  return scatters(kind_of(what)) ? load_of_shared(with.world.n_pes(), what.is_uneven) : load{1, 1};
}

/// "two_shot simple, 1 channel of ...": the first two words. Uneven pieces are reduced one by one.
void name_plan(const session& with, kind what, std::size_t count, heddle_type_t type,
               row& measured) {
  const bool is_uneven = what == kind::reduce_scatter_v;
  const auto collective = what == kind::reduce || is_uneven ? HEDDLE_COLLECTIVE_REDUCE
                          : what == kind::reduce_scatter    ? HEDDLE_COLLECTIVE_REDUCE_SCATTER
                                                            : HEDDLE_COLLECTIVE_ALL_REDUCE;
  std::istringstream words(with.world.plan(collective, count, type));
  words >> measured.algo >> measured.proto;
  if (!measured.proto.empty() && measured.proto.back() == ',') measured.proto.pop_back();
}

/// The elements at each end of a piece that change with every call back to back.
constexpr std::size_t renewed_elements = 8;

/// A redop as the calls take it: mulsum is made, with the factor of exact_inputs.
template <class T>
class made_op {
 public:
  made_op(const session& with, redop op) : op_(static_cast<heddle::op>(op)) {
    if (op != redop::mulsum) return;
    using factor = typename heddle::scaled_sum<T>::factor;
    op_ = scaled_.emplace(with.world, static_cast<factor>(mulsum_factor));
  }
  operator heddle::op() const { return op_; }  // NOLINT: it stands for the operation

 private:
  heddle::op op_;
  std::optional<heddle::scaled_sum<T>> scaled_;
};

/// One size, type, reduction and root, of which a piece is so many units of `unit` elements.
template <class T>
class reduction_measurement {
 public:
  reduction_measurement(const session& with, redop op, heddle::op made,
                        const exact_inputs<T>& values, std::size_t unit, int root, T* input,
                        T* output, bool in_place)
      : with_(with),
        what_(kind_of(with.chosen.what)),
        op_(op),
        made_(made),
        root_(root),
        in_place_(in_place),
        pieces_(divide(scatters(what_) ? with.world.n_pes() : 1, unit,
                       [&](int pe) { return units_of(pe, with.chosen.what.is_uneven); })),
        first_(pieces_.displacements[mine()]),
        count_(pieces_.counts[mine()]),
        input_(input),
        output_(in_place ? input + first_ : output),
        values_(values) {}

  row run() const {
    row measured;
    measured.collective = with_.chosen.what.name;
    measured.count = pieces_.total;
    measured.bytes = measured.count * sizeof(T);
    measured.type = name_of(type);
    measured.redop = name_of(op_);
    measured.root = root_;
    measured.in_place = in_place_;
    name_plan(with_, what_, count_, type, measured);
    measure_collective(with_, *this, measured);
    const double n = with_.world.n_pes();
    measured.set_bandwidth(what_ == kind::all_reduce ? 2 * (n - 1) / n : load_of(with_).share());
    return measured;
  }

  void fill(int call) const { write(0, pieces_.total, call); }
  void renew(int call) const {
    for (std::size_t i = 0; i < pieces_.counts.size(); ++i) {
      const std::size_t at = pieces_.displacements[i];
      const std::size_t count = pieces_.counts[i];
      write(at, head_of(count), call);
      write(at + count - tail_of(count), tail_of(count), call);
    }
  }
  void call(int operations) const {
    for (int i = 0; i < operations; ++i) call();
  }
  [[nodiscard]] std::size_t count_wrong(int call) const { return count_wrong(0, count_, call); }
  [[nodiscard]] std::size_t count_wrong_renewed(int call) const {
    const std::size_t tail = tail_of(count_);
    return count_wrong(0, head_of(count_), call) + count_wrong(count_ - tail, tail, call);
  }
  [[nodiscard]] bool keeps_input() const { return !in_place_; }
  [[nodiscard]] unsigned char* end() const {
    return reinterpret_cast<unsigned char*>(in_place_ ? input_ + pieces_.total : output_ + count_);
  }

 private:
  static constexpr auto type = static_cast<heddle_type_t>(heddle::element_type<T>);

  static std::size_t head_of(std::size_t count) { return std::min(count, renewed_elements); }
  static std::size_t tail_of(std::size_t count) {
    return std::min(count - head_of(count), renewed_elements);
  }
  /// The index of this PE's piece.
  [[nodiscard]] std::size_t mine() const {
    return scatters(what_) ? static_cast<std::size_t>(with_.world.my_pe()) : 0;
  }

  void call() const {
    const auto& world = with_.world;
    switch (what_) {
      case kind::all_reduce:
        return world.all_reduce(input_, output_, count_, made_, with_.queue);
      case kind::reduce_scatter:
        return world.reduce_scatter(input_, output_, count_, made_, with_.queue);
      case kind::reduce_scatter_v:
        return world.reduce_scatter_v(input_, output_, pieces_.counts, pieces_.displacements, made_,
                                      with_.queue);
      case kind::reduce:
        return world.reduce(input_, output_, count_, made_, root_, with_.queue);
    }
  }
  void write(std::size_t at, std::size_t n, int call) const {
    with_.write(input_ + at, n, [&](T* to) { values_.fill(to, n, call, at); });
  }
  /// In elements `at` and on of the output.
  [[nodiscard]] std::size_t count_wrong(std::size_t at, std::size_t n, int call) const {
    if (what_ == kind::reduce && with_.world.my_pe() != root_) return 0;
    return with_.read(output_ + at, n, [&](const T* from) {
      return values_.count_wrong(from, n, call, first_ + at);
    });
  }

  const session& with_;
  const kind what_;
  const redop op_;
  const heddle::op made_;
  const int root_;
  const bool in_place_;
  const pieces pieces_;
  const std::size_t first_;  ///< where in the input this PE's piece is
  const std::size_t count_;  ///< of it
  T* const input_;
  T* const output_;
  const exact_inputs<T>& values_;
};

template <class T>
void measure_type(const session& with, redop op, const device_buffer& in,
                  const device_buffer& out) {
  constexpr auto type = static_cast<heddle_type_t>(heddle::element_type<T>);
  const made_op<T> made(with, op);
  const exact_inputs<T> values(op, with.world.my_pe(), with.world.n_pes());
  for (const int root : roots_of(with))
    for (const std::size_t size : with.chosen.sizes()) {
      const std::size_t unit = size / sizeof(T) / load_of(with).all;
      if (unit == 0 && size > 0) continue;  // less than an element for each
      with.out.progress(fmt::format("{} of {} bytes, {}, {}", with.chosen.what.name, size,
                                    name_of(type), name_of(op)));
      const auto run = [&](bool in_place) {
        return reduction_measurement<T>(with, op, made, values, unit, root, in.as<T>(), out.as<T>(),
                                        in_place)
            .run();
      };
      const auto apart = run(false);
      with.out.add({apart, run(true)});
    }
}

using measure_one = decltype(&measure_type<float>);

measure_one measure_of(heddle_type_t type) {
  switch (type) {
    case HEDDLE_INT32:
      return measure_type<std::int32_t>;
    case HEDDLE_INT64:
      return measure_type<std::int64_t>;
    case HEDDLE_INT8:
      return measure_type<std::int8_t>;
    case HEDDLE_INT16:
      return measure_type<std::int16_t>;
    case HEDDLE_UINT8:
      return measure_type<std::uint8_t>;
    case HEDDLE_UINT16:
      return measure_type<std::uint16_t>;
    case HEDDLE_UINT32:
      return measure_type<std::uint32_t>;
    case HEDDLE_UINT64:
      return measure_type<std::uint64_t>;
    case HEDDLE_FLOAT8_E4M3:
      return measure_type<heddle::f8_e4m3>;
    case HEDDLE_FLOAT8_E5M2:
      return measure_type<heddle::f8_e5m2>;
    case HEDDLE_FLOAT16:
      return measure_type<heddle::f16>;
    case HEDDLE_BFLOAT16:
      return measure_type<heddle::bf16>;
    case HEDDLE_FLOAT32:
      return measure_type<float>;
    case HEDDLE_FLOAT64:
      break;
  }
  return measure_type<double>;
}

}  // namespace

void measure_reduction(const session& with) {
  const std::size_t room = with.chosen.max_bytes + guard::bytes;
  const device_buffer in(with, room);
  const device_buffer out(with, room);
  for (const heddle_type_t type : with.chosen.types)
    for (const redop op : with.chosen.reductions) measure_of(type)(with, op, in, out);
}

}  // namespace perf
