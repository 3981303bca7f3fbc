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

/// "two_shot simple, 1 channel of ...": the first two words.
void name_plan(const session& with, const void* input, const void* output, std::size_t count,
               heddle_type_t type, heddle_op_t op, row& measured) {
  char text[512];
  heddle::detail::check(heddle_all_reduce_plan(with.world.handle(), input, output, count, type, op,
                                               text, sizeof text));
  std::istringstream words(text);
  words >> measured.algo >> measured.proto;
  if (!measured.proto.empty() && measured.proto.back() == ',') measured.proto.pop_back();
}

/// The elements at each end of the input that change with every call.
constexpr std::size_t renewed = 8;

template <class T>
row measure_one(const session& with, heddle_op_t op, std::size_t count, T* input, T* output) {
  const auto type = static_cast<heddle_type_t>(heddle::element_type<T>);
  const exact_inputs<T> values(op, with.world.my_pe(), with.world.n_pes());
  const auto reduce = [&] {
    with.world.all_reduce(input, output, count, static_cast<heddle::op>(op), with.queue);
  };
  row measured;
  measured.collective = "all_reduce";
  measured.bytes = count * sizeof(T);
  measured.count = count;
  measured.type = name_of(type);
  measured.redop = name_of(op);
  measured.in_place = input == output;
  name_plan(with, input, output, count, type, op, measured);

  const auto fill = [&](T* part, std::size_t n, int call) {
    with.write(part, n, [&](T* to) { values.fill(to, n, call); });
  };
  const auto count_wrong = [&](const T* part, std::size_t n, int call) {
    return with.read(part, n, [&](const T* from) { return values.count_wrong(from, n, call); });
  };

  std::size_t wrong = 0;
  measured.latency_us = with.time_alone(
      measured.bytes, [&](int call) { fill(input, count, call); }, reduce,
      [&](int call) {
        if (with.chosen.check) wrong += count_wrong(output, count, call);
      });

  // Back to back only the ends of the input change with each call: all of it would be a pass over
  // memory of its own. Into a GPU they take longer than a call, and change for the last one of a
  // batch alone. In place the rest is the last result, and grows.
  const std::size_t head = std::min(count, renewed);
  const std::size_t tail = std::min(count - head, renewed);
  int call = 1000;
  fill(input, count, call);
  measured.time_us = with.time_back_to_back([&](int calls) {
    for (int i = 0; i < calls; ++i) {
      ++call;
      if (with.on_host || i + 1 == calls) {
        fill(input, head, call);
        fill(input + count - tail, tail, call);
      }
      reduce();
    }
  });
  if (with.chosen.check)
    wrong += count_wrong(output, head, call) + count_wrong(output + count - tail, tail, call);
  const double n = with.world.n_pes();
  measured.algbw = static_cast<double>(measured.bytes) / measured.time_us / 1e3;
  measured.busbw = measured.algbw * 2 * (n - 1) / n;
  if (with.chosen.check) measured.wrong = with.total(wrong);
  return measured;
}

template <class T>
void measure_type(const session& with, std::size_t bytes, heddle_op_t op, device_buffer& in,
                  device_buffer& out) {
  const std::size_t count = bytes / sizeof(T);
  with.out.progress(fmt::format("all_reduce of {} bytes, {}, {}", count * sizeof(T),
                                name_of(static_cast<heddle_type_t>(heddle::element_type<T>)),
                                name_of(op)));
  const auto apart = measure_one<T>(with, op, count, in.as<T>(), out.as<T>());
  with.out.add({apart, measure_one<T>(with, op, count, in.as<T>(), in.as<T>())});
}

}  // namespace

void measure_all_reduce(const session& with) {
  device_buffer in(with, with.chosen.max_bytes + 16);
  device_buffer out(with, with.chosen.max_bytes + 16);
  for (const heddle_type_t type : with.chosen.types)
    for (const heddle_op_t op : with.chosen.reductions)
      for (const std::size_t bytes : with.chosen.sizes()) switch (type) {
          case HEDDLE_INT32:
            measure_type<std::int32_t>(with, bytes, op, in, out);
            break;
          case HEDDLE_INT64:
            measure_type<std::int64_t>(with, bytes, op, in, out);
            break;
          case HEDDLE_INT8:
            measure_type<std::int8_t>(with, bytes, op, in, out);
            break;
          case HEDDLE_INT16:
            measure_type<std::int16_t>(with, bytes, op, in, out);
            break;
          case HEDDLE_UINT8:
            measure_type<std::uint8_t>(with, bytes, op, in, out);
            break;
          case HEDDLE_UINT16:
            measure_type<std::uint16_t>(with, bytes, op, in, out);
            break;
          case HEDDLE_UINT32:
            measure_type<std::uint32_t>(with, bytes, op, in, out);
            break;
          case HEDDLE_UINT64:
            measure_type<std::uint64_t>(with, bytes, op, in, out);
            break;
          case HEDDLE_FLOAT8_E4M3:
            measure_type<heddle::f8_e4m3>(with, bytes, op, in, out);
            break;
          case HEDDLE_FLOAT8_E5M2:
            measure_type<heddle::f8_e5m2>(with, bytes, op, in, out);
            break;
          case HEDDLE_FLOAT16:
            measure_type<heddle::f16>(with, bytes, op, in, out);
            break;
          case HEDDLE_BFLOAT16:
            measure_type<heddle::bf16>(with, bytes, op, in, out);
            break;
          case HEDDLE_FLOAT32:
            measure_type<float>(with, bytes, op, in, out);
            break;
          case HEDDLE_FLOAT64:
            measure_type<double>(with, bytes, op, in, out);
            break;
        }
}

}  // namespace perf
