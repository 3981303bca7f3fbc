// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "device_buffer.hpp"
#include "exact_inputs.hpp"
#include "session.hpp"

namespace perf {

namespace {

enum class kind { all_reduce, reduce_scatter, reduce };

/// "two_shot simple, 1 channel of ...": the first two words.
void name_plan(const session& with, kind what, std::size_t count, heddle_type_t type,
               row& measured) {
  const auto collective = what == kind::reduce           ? HEDDLE_COLLECTIVE_REDUCE
                          : what == kind::reduce_scatter ? HEDDLE_COLLECTIVE_REDUCE_SCATTER
                                                         : HEDDLE_COLLECTIVE_ALL_REDUCE;
  std::istringstream words(with.world.plan(collective, count, type));
  words >> measured.algo >> measured.proto;
  if (!measured.proto.empty() && measured.proto.back() == ',') measured.proto.pop_back();
}

/// The elements at each end of a piece that change with every call.
constexpr std::size_t renewed = 8;

/// One size, type and reduction of one of the three.
template <class T>
class measurement {
 public:
  /// `count` elements of the output; the input has `pieces` times as many.
  measurement(const session& with, kind what, heddle_op_t op, std::size_t count, T* input,
              T* output)
      : with_(with),
        what_(what),
        op_(op),
        count_(count),
        input_(input),
        output_(output),
        root_(with.chosen.root < 0 ? 0 : with.chosen.root),
        values_(op, with.world.my_pe(), with.world.n_pes()) {}

  row run() {
    const double n = with_.world.n_pes();
    row measured;
    measured.collective = with_.chosen.operation;
    measured.count = count_ * pieces();
    measured.bytes = measured.count * sizeof(T);
    measured.type = name_of(type);
    measured.redop = name_of(op_);
    if (what_ == kind::reduce) measured.root = root_;
    measured.in_place = output_ == place_in_input();
    name_plan(with_, what_, count_, type, measured);

    std::size_t wrong = 0;
    measured.latency_us = with_.time_alone(
        measured.bytes, [&](int call) { fill(0, measured.count, call); }, [&] { call(); },
        [&](int call) {
          if (with_.chosen.check) wrong += count_wrong(0, count_, call);
        });

    // Back to back only the ends of each piece change with each call: all of it would be a pass
    // over memory of its own. Into a GPU they take longer than a call, and change for the last one
    // of a batch alone. In place the rest is the last result, and grows.
    const std::size_t head = std::min(count_, renewed);
    const std::size_t tail = std::min(count_ - head, renewed);
    int number = 1000;
    fill(0, measured.count, number);
    measured.time_us = with_.time_back_to_back([&](int calls) {
      for (int i = 0; i < calls; ++i) {
        ++number;
        if (with_.on_host || i + 1 == calls)
          for (std::size_t piece = 0; piece < pieces(); ++piece) {
            fill(piece * count_, head, number);
            fill((piece + 1) * count_ - tail, tail, number);
          }
        call();
      }
    });
    if (with_.chosen.check) {
      wrong += count_wrong(0, head, number) + count_wrong(count_ - tail, tail, number);
      measured.wrong = with_.total(wrong);
    }
    measured.algbw = static_cast<double>(measured.bytes) / measured.time_us / 1e3;
    measured.busbw = measured.algbw * (what_ == kind::all_reduce       ? 2 * (n - 1) / n
                                       : what_ == kind::reduce_scatter ? (n - 1) / n
                                                                       : 1);
    return measured;
  }

 private:
  static constexpr auto type = static_cast<heddle_type_t>(heddle::element_type<T>);

  [[nodiscard]] std::size_t pieces() const {
    return what_ == kind::reduce_scatter ? static_cast<std::size_t>(with_.world.n_pes()) : 1;
  }
  /// Where in the input the elements of this PE's output are.
  [[nodiscard]] std::size_t first() const {
    return what_ == kind::reduce_scatter ? static_cast<std::size_t>(with_.world.my_pe()) * count_
                                         : 0;
  }
  [[nodiscard]] const T* place_in_input() const { return input_ + first(); }

  void call() const {
    const auto op = static_cast<heddle::op>(op_);
    if (what_ == kind::all_reduce)
      with_.world.all_reduce(input_, output_, count_, op, with_.queue);
    else if (what_ == kind::reduce_scatter)
      with_.world.reduce_scatter(input_, output_, count_, op, with_.queue);
    else
      with_.world.reduce(input_, output_, count_, op, root_, with_.queue);
  }
  void fill(std::size_t at, std::size_t n, int call) const {
    with_.write(input_ + at, n, [&](T* to) { values_.fill(to, n, call, at); });
  }
  [[nodiscard]] std::size_t count_wrong(std::size_t at, std::size_t n, int call) const {
    if (what_ == kind::reduce && with_.world.my_pe() != root_) return 0;
    return with_.read(output_ + at, n, [&](const T* from) {
      return values_.count_wrong(from, n, call, first() + at);
    });
  }

  const session& with_;
  const kind what_;
  const heddle_op_t op_;
  const std::size_t count_;
  T* const input_;
  T* const output_;
  const int root_;
  const exact_inputs<T> values_;
};

template <class T>
void measure_type(const session& with, kind what, std::size_t bytes, heddle_op_t op,
                  device_buffer& in, device_buffer& out) {
  const bool scatters = what == kind::reduce_scatter;
  const auto n_pes = static_cast<std::size_t>(with.world.n_pes());
  const std::size_t count = bytes / sizeof(T) / (scatters ? n_pes : 1);
  if (count == 0) return;  // less than an element for each
  with.out.progress(fmt::format("{} of {} bytes, {}, {}", with.chosen.operation, bytes,
                                name_of(static_cast<heddle_type_t>(heddle::element_type<T>)),
                                name_of(op)));
  T* input = in.as<T>();
  T* in_place = input + (scatters ? static_cast<std::size_t>(with.world.my_pe()) * count : 0);
  const auto apart = measurement<T>(with, what, op, count, input, out.as<T>()).run();
  with.out.add({apart, measurement<T>(with, what, op, count, input, in_place).run()});
}

}  // namespace

void measure_reduction(const session& with) {
  const auto& operation = with.chosen.operation;
  const kind what = operation == "reduce"           ? kind::reduce
                    : operation == "reduce_scatter" ? kind::reduce_scatter
                                                    : kind::all_reduce;
  if (with.chosen.root >= with.world.n_pes())
    throw std::runtime_error(
        fmt::format("-r {}: there are {} PEs", with.chosen.root, with.world.n_pes()));
  device_buffer in(with, with.chosen.max_bytes + 16);
  device_buffer out(with, with.chosen.max_bytes + 16);
  for (const heddle_type_t type : with.chosen.types)
    for (const heddle_op_t op : with.chosen.reductions)
      for (const std::size_t bytes : with.chosen.sizes()) switch (type) {
          case HEDDLE_INT32:
            measure_type<std::int32_t>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_INT64:
            measure_type<std::int64_t>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_INT8:
            measure_type<std::int8_t>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_INT16:
            measure_type<std::int16_t>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_UINT8:
            measure_type<std::uint8_t>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_UINT16:
            measure_type<std::uint16_t>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_UINT32:
            measure_type<std::uint32_t>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_UINT64:
            measure_type<std::uint64_t>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_FLOAT8_E4M3:
            measure_type<heddle::f8_e4m3>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_FLOAT8_E5M2:
            measure_type<heddle::f8_e5m2>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_FLOAT16:
            measure_type<heddle::f16>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_BFLOAT16:
            measure_type<heddle::bf16>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_FLOAT32:
            measure_type<float>(with, what, bytes, op, in, out);
            break;
          case HEDDLE_FLOAT64:
            measure_type<double>(with, what, bytes, op, in, out);
            break;
        }
}

}  // namespace perf
