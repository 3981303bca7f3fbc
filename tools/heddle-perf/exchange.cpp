// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The collectives that combine nothing, and sends and receives round all PEs (sendrecv). Sizes and
// bus bandwidths are nccl-tests': the size is what the PE with the most has, and what crosses a
// PE's links is all of it in a broadcast or a send, and (n-1)/n in the others, if pieces are equal.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "collective.hpp"
#include "device_buffer.hpp"
#include "piece_content.hpp"
#include "pieces.hpp"
#include "session.hpp"

namespace perf {

namespace {

enum class pattern { broadcast, all_gather, all_to_all, gather, scatter, sendrecv };

pattern pattern_of(std::string_view name) {
  constexpr std::array<std::string_view, 6> names = {"broadcast", "all_gather", "all_to_all",
                                                     "gather",    "scatter",    "sendrecv"};
  if (name.ends_with("_v")) name.remove_suffix(2);
  return static_cast<pattern>(std::find(names.begin(), names.end(), name) - names.begin());
}

load load_of(pattern what, int n_pes, bool uneven) {
  if (what == pattern::broadcast || what == pattern::sendrecv) return {1, 1};
  return what == pattern::all_to_all ? load_of_pairs(n_pes, uneven) : load_of_shared(n_pes, uneven);
}

/// From one operation of a group to the next.
constexpr std::size_t stride_of(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// The bytes at each piece's start that change with every call back to back.
constexpr std::size_t renewed_bytes = 32;

/// One size of one pattern, of which a piece is so many units of `unit` elements.
class exchange_measurement {
 public:
  exchange_measurement(const session& with, heddle_type_t type, std::size_t unit, int root,
                       unsigned char* input, unsigned char* output, bool in_place)
      : with_(with),
        what_(pattern_of(with.chosen.what.name)),
        uneven_(with.chosen.what.is_uneven),
        type_(type),
        unit_(unit),
        input_(input),
        output_(output),
        me_(with.world.my_pe()),
        n_pes_(with.world.n_pes()),
        root_(root),
        in_place_(in_place) {
    list_parts();
  }

  row run() const {
    const load each = load_of(what_, n_pes_, uneven_);
    row measured;
    measured.collective = with_.chosen.what.name;
    measured.count = unit_ * each.all;
    measured.bytes = bytes(measured.count);
    measured.type = name_of(type_);
    measured.root = root_;
    measured.in_place = in_place_;
    if (!with_.chosen.ways.empty()) name_plan(measured);
    measure_collective(with_, *this, measured);
    measured.set_bandwidth(each.share());
    return measured;
  }

  void fill(int call) const { write_parts(call, SIZE_MAX); }
  void renew(int call) const { write_parts(call, renewed_bytes); }
  [[nodiscard]] std::size_t count_wrong(int call) const { return read_parts(call, SIZE_MAX); }
  [[nodiscard]] std::size_t count_wrong_renewed(int call) const {
    return read_parts(call, renewed_bytes);
  }
  [[nodiscard]] static bool keeps_input() { return true; }
  [[nodiscard]] unsigned char* end() const {
    if (target() != output_) return input_ + bytes(shared_.total);
    std::size_t last = 0;
    for (const part& each : received_) last = std::max(last, each.at + each.bytes);
    return output_ + last;
  }

  void call(int operations) const {
    if (what_ == pattern::sendrecv) return heddle::grouped([&] { send_round(operations); });
    for (int i = 0; i < operations; ++i) call();
  }

 private:
  /// A piece's place in the buffer, and what content it has.
  struct part {
    std::size_t at;
    std::size_t bytes;
    int from;
    int to;
  };

  /// "direct: words up to ...": the first word. Many PEs go "by hops" or "directly"; uneven pieces
  /// no other ways than those.
  void name_plan(row& measured) const {
    constexpr std::array collectives = {HEDDLE_COLLECTIVE_BROADCAST,  HEDDLE_COLLECTIVE_ALL_GATHER,
                                        HEDDLE_COLLECTIVE_ALL_TO_ALL, HEDDLE_COLLECTIVE_GATHER,
                                        HEDDLE_COLLECTIVE_SCATTER,    HEDDLE_COLLECTIVE_TRANSFER};
    const auto text = with_.world.plan(collectives[static_cast<std::size_t>(what_)], unit_, type_);
    const auto name = text.substr(0, text.find_first_of(":, "));
    if (text.starts_with("by hops"))
      measured.algo = "hops";
    else if (uneven_ || name == "directly")
      measured.algo = "direct";
    else if (parse_way(name))
      measured.algo = name;
  }

  [[nodiscard]] std::size_t bytes(std::size_t elements) const { return elements * bytes_of(type_); }
  [[nodiscard]] int previous() const { return (me_ + n_pes_ - 1) % n_pes_; }
  [[nodiscard]] bool is_root() const { return me_ == root_; }
  /// This PE's place in a buffer that has all PEs' pieces.
  [[nodiscard]] std::size_t mine() const {
    return bytes(shared_.displacements[static_cast<std::size_t>(me_)]);
  }

  void list_parts() {
    const auto all = static_cast<std::size_t>(n_pes_);
    const auto part_of = [&](const pieces& buffer, std::size_t i, int from, int to) {
      return part{bytes(buffer.displacements[i]), bytes(buffer.counts[i]), from, to};
    };
    const part whole{0, bytes(unit_), root_, 0};
    switch (what_) {
      case pattern::broadcast:
        if (is_root()) sent_ = {whole};
        received_ = {whole};
        break;
      case pattern::all_gather:
      case pattern::gather:
        sent_ = {{0, bytes(shared_.counts[static_cast<std::size_t>(me_)]), me_, 0}};
        for (std::size_t i = 0; i < all && (what_ == pattern::all_gather || is_root()); ++i)
          received_.push_back(part_of(shared_, i, static_cast<int>(i), 0));
        break;
      case pattern::scatter:
        for (std::size_t i = 0; i < all && is_root(); ++i)
          sent_.push_back(part_of(shared_, i, me_, static_cast<int>(i)));
        received_ = {{0, bytes(unit_), root_, me_}};
        break;
      case pattern::all_to_all:
        for (std::size_t i = 0; i < all; ++i) {
          sent_.push_back(part_of(given_, i, me_, static_cast<int>(i)));
          received_.push_back(part_of(taken_, i, static_cast<int>(i), me_));
        }
        break;
      case pattern::sendrecv:
        for (int i = 0; i < with_.chosen.aggregated; ++i) {
          const std::size_t at = stride_of(bytes(unit_)) * static_cast<std::size_t>(i);
          sent_.push_back({at, bytes(unit_), me_, i});
          received_.push_back({at, bytes(unit_), previous(), i});
        }
        break;
    }
  }

  /// Where this PE has its input: in place a part of the output, or all of it.
  [[nodiscard]] unsigned char* source() const {
    if (!in_place_) return input_;
    if (what_ == pattern::all_gather || (what_ == pattern::gather && is_root()))
      return output_ + mine();
    return what_ == pattern::broadcast ? output_ : input_;
  }
  [[nodiscard]] unsigned char* target() const {
    return in_place_ && what_ == pattern::scatter && is_root() ? input_ + mine() : output_;
  }

  void call() const {
    const auto team = with_.world.handle();
    const auto queue = with_.queue.handle();
    const void* from = source();
    heddle_status_t status = HEDDLE_SUCCESS;
    switch (what_) {
      case pattern::broadcast:
        status = heddle_broadcast(team, from, output_, unit_, type_, root_, queue);
        break;
      case pattern::all_gather:
        status = uneven_ ? heddle_all_gather_v(team, from, output_, shared_.counts.data(),
                                               shared_.displacements.data(), type_, queue)
                         : heddle_all_gather(team, from, output_, unit_, type_, queue);
        break;
      case pattern::all_to_all:
        status = uneven_
                     ? heddle_all_to_all_v(
                           team, from, given_.counts.data(), given_.displacements.data(), output_,
                           taken_.counts.data(), taken_.displacements.data(), type_, queue)
                     : heddle_all_to_all(team, from, output_, unit_, type_, queue);
        break;
      case pattern::gather:
        status = heddle_gather(team, from, output_, unit_, type_, root_, queue);
        break;
      case pattern::scatter:
        status = heddle_scatter(team, from, target(), unit_, type_, root_, queue);
        break;
      case pattern::sendrecv:
        break;  // in groups alone
    }
    heddle::detail::check(status);
  }
  void send_round(int operations) const {
    using heddle::detail::check;
    const auto team = with_.world.handle();
    const auto queue = with_.queue.handle();
    for (std::size_t i = 0; i < static_cast<std::size_t>(operations); ++i) {
      check(heddle_send(team, input_ + sent_[i].at, unit_, type_, (me_ + 1) % n_pes_, queue));
      check(heddle_recv(team, output_ + received_[i].at, unit_, type_, previous(), queue));
    }
  }

  /// The first `most` bytes of each piece that this PE sends.
  void write_parts(int call, std::size_t most) const {
    for (const part& each : sent_) {
      const std::size_t n = std::min(each.bytes, most);
      with_.write(source() + each.at, n,
                  [&](unsigned char* bytes) { content_.fill(bytes, n, each.from, each.to, call); });
    }
  }
  /// What is wrong in the first `most` bytes of each piece that it receives.
  [[nodiscard]] std::size_t read_parts(int call, std::size_t most) const {
    std::size_t wrong = 0;
    for (const part& each : received_) {
      const std::size_t n = std::min(each.bytes, most);
      wrong += with_.read(target() + each.at, n, [&](const unsigned char* bytes) {
        return content_.count_wrong(bytes, n, each.from, each.to, call);
      });
    }
    return wrong;
  }

  const session& with_;
  const pattern what_;
  const bool uneven_;
  const heddle_type_t type_;
  const std::size_t unit_;
  unsigned char* const input_;
  unsigned char* const output_;
  const int me_;
  const int n_pes_;
  const int root_;
  const bool in_place_;
  /// Of a buffer that has all PEs' pieces.
  const pieces shared_ = divide(n_pes_, unit_, [&](int pe) { return units_of(pe, uneven_); });
  /// Of what this PE has for each, and each for this PE.
  const pieces given_ =
      divide(n_pes_, unit_, [&](int pe) { return units_between(me_, pe, uneven_); });
  const pieces taken_ =
      divide(n_pes_, unit_, [&](int pe) { return units_between(pe, me_, uneven_); });
  std::vector<part> sent_;
  std::vector<part> received_;
  const piece_content content_;
};

void measure_size(const session& with, heddle_type_t type, std::size_t size, int root,
                  const device_buffer& in, const device_buffer& out) {
  const auto& what = with.chosen.what;
  const load all = load_of(pattern_of(what.name), with.world.n_pes(), what.is_uneven);
  const std::size_t unit = size / bytes_of(type) / all.all;
  if (unit == 0 && size > 0) return;  // less than an element for each
  with.out.progress(fmt::format("{} of {} bytes, {}", what.name, size, name_of(type)));
  std::vector<row> line;
  for (const bool in_place : {false, true})
    if (!in_place || what.has_in_place)
      line.push_back(exchange_measurement(with, type, unit, root, in.as<unsigned char>(),
                                          out.as<unsigned char>(), in_place)
                         .run());
  with.out.add(line);
}

}  // namespace

void measure_exchange(const session& with) {
  const bool groups = pattern_of(with.chosen.what.name) == pattern::sendrecv;
  const std::size_t room = stride_of(with.chosen.max_bytes) *
                               static_cast<std::size_t>(groups ? with.chosen.aggregated : 1) +
                           guard::bytes;
  const device_buffer in(with, room);
  const device_buffer out(with, room);
  for (const heddle_type_t type : with.chosen.types)
    for (const int root : roots_of(with))
      for (const std::size_t size : with.chosen.sizes())
        measure_size(with, type, size, root, in, out);
}

}  // namespace perf
