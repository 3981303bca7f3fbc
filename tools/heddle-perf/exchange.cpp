// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The collectives that combine nothing, and sends and receives round all PEs (sendrecv). Sizes and
// bus bandwidths are nccl-tests': the size is what the PE with the most has, and what crosses a
// PE's links is all of it in a broadcast or a send, and (n-1)/n in the others.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "device_buffer.hpp"
#include "session.hpp"

namespace perf {

namespace {

enum class pattern { broadcast, all_gather, all_to_all, gather, scatter, sendrecv };
constexpr std::array<std::string_view, 6> names = {"broadcast", "all_gather", "all_to_all",
                                                   "gather",    "scatter",    "sendrecv"};
constexpr bool has_one_piece(pattern what) {
  return what == pattern::broadcast || what == pattern::sendrecv;
}
constexpr bool has_root(pattern what) {
  return what == pattern::broadcast || what == pattern::gather || what == pattern::scatter;
}

/// What a PE sends to another in a call: it repeats with a prime period, and moves on from call to
/// call, so that what an earlier one left does not pass.
class piece_content {
 public:
  static constexpr std::size_t period = 8191;

  piece_content() {
    for (std::size_t i = 0; i < 2 * period; ++i)
      bytes_[i] = static_cast<unsigned char>(i % period * 131 + i % period / 7);
  }
  void fill(unsigned char* to, std::size_t n, int from, int target, int call) const {
    each_run(n, from, target, call,
             [&](std::size_t at, const unsigned char* what, std::size_t run) {
               std::memcpy(to + at, what, run);
             });
  }
  [[nodiscard]] std::size_t count_wrong(const unsigned char* got, std::size_t n, int from,
                                        int target, int call) const {
    std::size_t wrong = 0;
    each_run(n, from, target, call,
             [&](std::size_t at, const unsigned char* what, std::size_t run) {
               if (std::memcmp(got + at, what, run) != 0)
                 for (std::size_t i = 0; i < run; ++i) wrong += got[at + i] != what[i];
             });
    return wrong;
  }

 private:
  template <class Body>
  void each_run(std::size_t n, int from, int target, int call, Body body) const {
    const auto start =
        (static_cast<std::size_t>(call) * 977 + static_cast<std::size_t>(from) * 389 +
         static_cast<std::size_t>(target) * 61) %
        period;
    for (std::size_t at = 0; at < n; at += period)
      body(at, &bytes_[start], n - at < period ? n - at : period);
  }

  std::array<unsigned char, 2 * period> bytes_;
};

/// One size of one pattern.
class measurement {
 public:
  measurement(const session& with, pattern what, heddle_type_t type, std::size_t piece,
              std::size_t count, unsigned char* input, unsigned char* output)
      : with_(with),
        what_(what),
        type_(type),
        piece_(piece),
        count_(count),
        input_(input),
        output_(output),
        me_(with.world.my_pe()),
        n_pes_(with.world.n_pes()),
        root_(with.chosen.root < 0 ? 0 : with.chosen.root) {}

  row run(bool in_place) {
    in_place_ = in_place;
    const bool is_one = has_one_piece(what_);
    row measured;
    measured.collective = names[static_cast<std::size_t>(what_)];
    measured.bytes = is_one ? piece_ : piece_ * static_cast<std::size_t>(n_pes_);
    measured.count = is_one ? count_ : count_ * static_cast<std::size_t>(n_pes_);
    measured.type = name_of(type_);
    if (has_root(what_)) measured.root = root_;
    measured.in_place = in_place;
    std::size_t wrong = 0;
    measured.latency_us = with_.time_alone(
        measured.bytes, [&](int call) { fill(call, piece_); }, [&] { call(); },
        [&](int call) {
          if (with_.chosen.check) wrong += count_wrong(call, piece_);
        });
    // Back to back only the start of each piece changes with each call; see reduction.cpp.
    const std::size_t renewed = std::min<std::size_t>(piece_, 32);
    int number = 1000;
    measured.time_us = with_.time_back_to_back([&](int calls) {
      for (int i = 0; i < calls; ++i) {
        ++number;
        if (with_.on_host || i + 1 == calls) fill(number, renewed);
        call();
      }
    });
    if (with_.chosen.check) {
      wrong += count_wrong(number, renewed);
      measured.wrong = with_.total(wrong);
    }
    measured.algbw = static_cast<double>(measured.bytes) / measured.time_us / 1e3;
    measured.busbw = measured.algbw * (is_one ? 1.0 : (n_pes_ - 1.0) / n_pes_);
    return measured;
  }

 private:
  [[nodiscard]] int previous() const { return (me_ + n_pes_ - 1) % n_pes_; }
  [[nodiscard]] bool is_root() const { return me_ == root_; }
  [[nodiscard]] std::size_t place(int pe) const { return static_cast<std::size_t>(pe) * piece_; }

  /// Where this PE has its input: in place a part of the output, or all of it.
  [[nodiscard]] unsigned char* source() const {
    if (!in_place_) return input_;
    if (what_ == pattern::all_gather || (what_ == pattern::gather && is_root()))
      return output_ + place(me_);
    return what_ == pattern::broadcast ? output_ : input_;
  }
  [[nodiscard]] unsigned char* target() const {
    return in_place_ && what_ == pattern::scatter && is_root() ? input_ + place(me_) : output_;
  }

  void call() const {
    const auto team = with_.world.handle();
    const auto queue = with_.queue.handle();
    const void* from = source();
    heddle_status_t status = HEDDLE_SUCCESS;
    switch (what_) {
      case pattern::broadcast:
        status = heddle_broadcast(team, from, output_, count_, type_, root_, queue);
        break;
      case pattern::all_gather:
        status = heddle_all_gather(team, from, output_, count_, type_, queue);
        break;
      case pattern::all_to_all:
        status = heddle_all_to_all(team, from, output_, count_, type_, queue);
        break;
      case pattern::gather:
        status = heddle_gather(team, from, output_, count_, type_, root_, queue);
        break;
      case pattern::scatter:
        status = heddle_scatter(team, from, target(), count_, type_, root_, queue);
        break;
      case pattern::sendrecv:
        return heddle::grouped([&] {
          using heddle::detail::check;
          check(heddle_send(team, from, count_, type_, (me_ + 1) % n_pes_, queue));
          check(heddle_recv(team, output_, count_, type_, previous(), queue));
        });
    }
    heddle::detail::check(status);
  }

  /// The first `n` bytes of each piece that this PE sends.
  void fill(int call, std::size_t n) const {
    const auto one = [&](std::size_t at, int to) {
      with_.write(source() + at, n,
                  [&](unsigned char* bytes) { content_.fill(bytes, n, me_, to, call); });
    };
    if ((what_ == pattern::broadcast || what_ == pattern::scatter) && !is_root()) return;
    if (what_ == pattern::all_to_all || what_ == pattern::scatter) {
      for (int pe = 0; pe < n_pes_; ++pe) one(place(pe), pe);
    } else {
      one(0, 0);
    }
  }
  [[nodiscard]] std::size_t count_wrong(int call, std::size_t n) const {
    const auto one = [&](std::size_t at, int from, int to) {
      return with_.read(target() + at, n, [&](const unsigned char* bytes) {
        return content_.count_wrong(bytes, n, from, to, call);
      });
    };
    if (what_ == pattern::broadcast) return one(0, root_, 0);
    if (what_ == pattern::scatter) return one(0, root_, me_);
    if (what_ == pattern::sendrecv) return one(0, previous(), 0);
    if (what_ == pattern::gather && !is_root()) return 0;
    std::size_t wrong = 0;
    for (int pe = 0; pe < n_pes_; ++pe)
      wrong += one(place(pe), pe, what_ == pattern::all_to_all ? me_ : 0);
    return wrong;
  }

  const session& with_;
  const pattern what_;
  const heddle_type_t type_;
  const std::size_t piece_;
  const std::size_t count_;
  unsigned char* const input_;
  unsigned char* const output_;
  const int me_;
  const int n_pes_;
  const int root_;
  bool in_place_ = false;
  const piece_content content_;
};

}  // namespace

void measure_exchange(const session& with) {
  const auto found = std::find(names.begin(), names.end(), with.chosen.operation) - names.begin();
  const auto what = static_cast<pattern>(found);
  const auto n_pes = static_cast<std::size_t>(with.world.n_pes());
  if (with.chosen.root >= with.world.n_pes())
    throw std::runtime_error(fmt::format("-r {}: there are {} PEs", with.chosen.root, n_pes));
  device_buffer in(with, with.chosen.max_bytes + 16);
  device_buffer out(with, with.chosen.max_bytes + 16);
  for (const heddle_type_t type : with.chosen.types)
    for (const std::size_t bytes : with.chosen.sizes()) {
      const std::size_t size = bytes_of(type);
      const std::size_t count = bytes / size / (has_one_piece(what) ? 1 : n_pes);
      if (count == 0) continue;  // less than an element for each
      with.out.progress(fmt::format("{} of {} bytes, {}", names[static_cast<std::size_t>(found)],
                                    bytes, name_of(type)));
      measurement one(with, what, type, count * size, count, in.as<unsigned char>(),
                      out.as<unsigned char>());
      std::vector<row> line = {one.run(false)};
      if (has_in_place(with.chosen.operation)) line.push_back(one.run(true));
      with.out.add(line);
    }
}

}  // namespace perf
