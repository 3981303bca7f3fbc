// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "axis.hpp"
#include "text.hpp"

namespace perf::report {

namespace {

// The drawing's own units; the page scales it.
constexpr double width = 480;
constexpr double height = 330;
constexpr double left = 50;
constexpr double right = width - 16;
constexpr double top = 30;
constexpr double bottom = height - 50;

double value_of(const point& at, quantity what) {
  return what == quantity::time ? at.time_us : at.busbw;
}

bool is_drawn(const point& at, quantity what) { return at.bytes > 0 && value_of(at, what) > 0; }

/// Both axes, so that all points that are drawn are between their ends.
struct frame {
  axis x;
  axis y;

  [[nodiscard]] double place_x(double bytes) const {
    return left + 6 + (right - left - 12) * x.place(bytes);
  }
  [[nodiscard]] double place_y(double value) const {
    return bottom - (bottom - top) * y.place(value);
  }
};

frame frame_of(const comparison& compared, quantity what) {
  std::size_t least_bytes = 0;
  std::size_t most_bytes = 0;
  double least = 0;
  double most = 0;
  for (const auto& each : compared.curves)
    for (const auto& at : each.points) {
      // The sizes of all points, so that the two drawings of a comparison have the same axis.
      if (at.bytes == 0) continue;
      if (least_bytes == 0 || at.bytes < least_bytes) least_bytes = at.bytes;
      most_bytes = std::max(most_bytes, at.bytes);
      if (!is_drawn(at, what)) continue;
      const double value = value_of(at, what);
      if (least == 0 || value < least) least = value;
      most = std::max(most, value);
    }
  return {axis::of_sizes(least_bytes, most_bytes),
          what == quantity::time ? axis::of_times(least, most) : axis::of_bandwidths(most)};
}

std::string grid(const frame& in) {
  std::string drawn = "<g class='grid'>";
  for (const auto& each : in.x.ticks())
    drawn += fmt::format("<path d='M{0:.1f} {1}V{2}'/>", in.place_x(each.value), top, bottom);
  for (const auto& each : in.y.ticks())
    drawn += fmt::format("<path d='M{1} {0:.1f}H{2}'/>", in.place_y(each.value), left, right);
  drawn += "</g><g class='labels'>";
  for (const auto& each : in.x.ticks())
    if (!each.label.empty())
      drawn += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>",
                           in.place_x(each.value), bottom + 20, each.label);
  for (const auto& each : in.y.ticks())
    drawn += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{}</text>", left - 6,
                         in.place_y(each.value) + 4, each.label);
  return drawn + "</g>";
}

/// What a pointer that rests on it is told.
std::string point_title(const curve& of, const point& at) {
  auto text = fmt::format("{}, {}: {} us", of.name, size_text(at.bytes), number_text(at.time_us));
  if (at.busbw > 0) text += fmt::format(", {} GB/s", number_text(at.busbw));
  if (!at.note.empty()) text += fmt::format(" ({})", at.note);
  return text;
}

std::string line_class(const look& as) {
  constexpr std::array<std::string_view, 4> kinds = {"heddle", "variant", "peer", "limit"};
  return fmt::format("c{} {}", as.colour, kinds[static_cast<std::size_t>(as.of)]);
}

std::string line(const curve& of, const frame& in, quantity what, const look& as) {
  std::string path;
  std::string markers;
  for (const auto& at : of.points) {
    if (!is_drawn(at, what)) continue;
    const double x = in.place_x(static_cast<double>(at.bytes));
    const double y = in.place_y(value_of(at, what));
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x, y);
    markers += fmt::format("<use href='#m{}' x='{:.1f}' y='{:.1f}'><title>{}</title></use>",
                           as.marker, x, y, escape(point_title(of, at)));
  }
  if (path.empty()) return {};
  return fmt::format("<g class='{}'><path class='line' d='{}'/>{}</g>", line_class(as), path,
                     markers);
}

std::string description(const comparison& compared, quantity what) {
  std::string names;
  for (const auto& each : compared.curves) names += (names.empty() ? "" : ", ") + each.name;
  return fmt::format("{} against size, a line for each of: {}. The numbers are in the table below.",
                     what == quantity::time ? "Time of a call in microseconds"
                                            : "Bus bandwidth in gigabytes a second",
                     names);
}

}  // namespace

bool can_draw(const comparison& compared, quantity what) {
  if (!compared.has_curves()) return false;
  return std::any_of(compared.curves.begin(), compared.curves.end(), [&](const curve& each) {
    return std::any_of(each.points.begin(), each.points.end(),
                       [&](const point& at) { return is_drawn(at, what); });
  });
}

std::string draw(const comparison& compared, quantity what, const palette& looks,
                 const std::string& id) {
  const bool times = what == quantity::time;
  const auto in = frame_of(compared, what);
  auto drawn = fmt::format(
      "<svg class='chart' viewBox='0 0 {0} {1}' role='img' aria-labelledby='{2}t {2}d'>"
      "<title id='{2}t'>{3}: {4}</title><desc id='{2}d'>{5}</desc>",
      width, height, id, escape(compared.title), times ? "time" : "bus bandwidth",
      escape(description(compared, what)));
  drawn += grid(in);
  drawn += fmt::format(
      "<g class='names'><text x='0' y='14'>{}</text>"
      "<text x='{}' y='{}' text-anchor='middle'>size</text></g>",
      times ? "time of a call (us)" : "bus bandwidth (GB/s)", (left + right) / 2, height - 8);
  // heddle is drawn last, above the others.
  std::for_each(compared.curves.rbegin(), compared.curves.rend(),
                [&](const curve& each) { drawn += line(each, in, what, looks.of(each)); });
  return drawn + "</svg>";
}

std::string legend(const comparison& compared, const palette& looks) {
  std::string drawn = "<ul class='legend'>";
  for (const auto& each : compared.curves) {
    const auto as = looks.of(each);
    drawn += fmt::format(
        "<li><svg viewBox='0 0 34 14' aria-hidden='true'><g class='{}'><path class='line' "
        "d='M1 7H33'/><use href='#m{}' x='17' y='7'/></g></svg>{}</li>",
        line_class(as), as.marker, escape(each.name));
  }
  return drawn + "</ul>";
}

}  // namespace perf::report
