// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/svg_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace heddle::topology {
namespace {

/// Colours by class, light and dark. Plain properties: not all programs know variables.
constexpr std::string_view style_sheet = R"(
text { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', Verdana, Arial, sans-serif; fill: #1c2733; }
.strong { font-weight: bold; }
.muted { fill: #566372; }
.pe { fill: #7a2f8f; font-weight: bold; }
.warn { fill: #b02a1e; font-weight: bold; }
.paper { fill: #ffffff; }
.package { fill: #eef1f5; stroke: #b9c3cf; }
.node { fill: #ffffff; stroke: #ccd4dd; }
.apart { fill: none; stroke: #8793a1; stroke-dasharray: 5 4; }
.bar { fill: #e1e6ec; stroke: #b9c3cf; }
.switch { fill: #d5e6f8; stroke: #4b82ba; }
.nic { fill: #fdf0da; stroke: #cf8d2e; }
.down { fill: #f1f1f1; stroke: #9a9a9a; stroke-dasharray: 4 3; }
.gpu { fill: #e2f4df; stroke: #479540; }
.nvswitch { fill: #cbeac6; stroke: #37762f; }
.label { fill: #ffffff; }
.pcie { stroke: #8290a0; stroke-width: 1.6; fill: none; }
.nvlink { stroke: #3f9a37; stroke-width: 2.4; fill: none; }
.interconnect { stroke: #7758b8; stroke-width: 5; fill: none; }
@media (prefers-color-scheme: dark) {
text { fill: #e7ecf2; }
.muted { fill: #a0adbb; }
.pe { fill: #dcaaf0; }
.warn { fill: #ff9486; }
.paper { fill: #11161c; }
.package { fill: #1b232c; stroke: #45515f; }
.node { fill: #141a21; stroke: #3a4552; }
.apart { stroke: #7d8a98; }
.bar { fill: #2a3541; stroke: #4a5867; }
.switch { fill: #1a3654; stroke: #5f97d0; }
.nic { fill: #443318; stroke: #d29a45; }
.down { fill: #262626; stroke: #777777; }
.gpu { fill: #1b3a20; stroke: #5caf54; }
.nvswitch { fill: #235029; stroke: #6cc263; }
.label { fill: #11161c; }
.pcie { stroke: #77879a; }
.nvlink { stroke: #67c05d; }
.interconnect { stroke: #a288e0; }
}
)";

/// Of a character, in parts of the font's size: DejaVu Sans, which is wider than most.
double width_of(char character) {
  constexpr std::string_view narrow = "ijltfI.,:;|!'()[]/ -r";
  constexpr std::string_view wide = "mwMW@%#&+<=>^~";
  if (narrow.find(character) != std::string_view::npos) return 0.42;
  if (wide.find(character) != std::string_view::npos) return 1.0;
  return character >= 'A' && character <= 'Z' ? 0.79 : 0.645;
}

/// Bytes of the character at the beginning; 0 if it is not UTF-8.
std::size_t bytes_of_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = first < 0x80           ? 1
                            : (first >> 5) == 0x06 ? 2
                            : (first >> 4) == 0x0e ? 3
                            : (first >> 3) == 0x1e ? 4
                                                   : 0;
  if (bytes > text.size()) return 0;
  unsigned code = bytes == 1 ? first : first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return 0;
    code = code << 6 | (next & 0x3f);
  }
  constexpr std::array<unsigned, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_xml = code >= least[bytes] && code <= 0x10ffff &&
                      (code < 0xd800 || code > 0xdfff) && code != 0xfffe && code != 0xffff;
  return is_xml ? bytes : 0;
}

}  // namespace

double text_width(std::string_view text, double size) {
  double width = 0;
  while (!text.empty()) {
    const auto bytes = bytes_of_character(text);
    width += bytes > 1 ? 1.0 : width_of(text.front());
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return width * size;
}

std::string fit_text(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  constexpr std::string_view ellipsis = "\u2026";
  std::size_t end = 0;
  while (end < text.size()) {
    const auto bytes = std::max<std::size_t>(1, bytes_of_character(text.substr(end)));
    if (text_width(text.substr(0, end + bytes), size) + size > width) break;
    end += bytes;
  }
  return std::string(text.substr(0, end)).append(ellipsis);
}

std::vector<std::string> wrap_text(std::string_view text, double size, double width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const auto end = text.find(' ');
    const auto word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    auto longer = lines.back();
    longer.append(longer.empty() ? "" : " ").append(word);
    if (lines.back().empty() || text_width(longer, size) <= width)
      lines.back() = std::move(longer);
    else
      lines.emplace_back(word);
  }
  for (auto& line : lines) line = fit_text(line, size, width);
  return lines;
}

std::string escape_xml(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto bytes = bytes_of_character(text);
    const char first = text.front();
    const bool is_control = bytes == 1 && first >= 0 && first < ' ';
    if (bytes == 0 || is_control)
      result += '?';
    else if (first == '&')
      result += "&amp;";
    else if (first == '<')
      result += "&lt;";
    else if (first == '>')
      result += "&gt;";
    else if (first == '"')
      result += "&quot;";
    else
      result += text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return result;
}

void svg_writer::box(const rect& where, const char* style, double radius) {
  body_ += fmt::format(
      R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{:.0f}"/>)"
      "\n",
      style, where.x, where.y, where.width, where.height, radius);
}

void svg_writer::line(double x1, double y1, double x2, double y2, const char* style) {
  body_ += fmt::format(R"(<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)"
                       "\n",
                       style, x1, y1, x2, y2);
}

void svg_writer::bow(double x1, double x2, double y, double depth, const char* style) {
  // A cubic goes down to three quarters of its control points.
  const double below = y + depth / 0.75;
  body_ += fmt::format(
      R"(<path class="{}" d="M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}"/>)"
      "\n",
      style, x1, y, x1, below, x2, below, x2, y);
}

void svg_writer::text(double x, double y, double size, double width, std::string_view text,
                      const char* style, anchor at) {
  constexpr std::array<const char*, 3> anchors = {"start", "middle", "end"};
  const std::string_view wanted(style);
  const bool is_bold = wanted == "strong" || wanted == "pe" || wanted == "warn";
  const double room = is_bold ? width / bold_width : width;
  body_ += fmt::format(
      R"(<text class="{}" x="{:.1f}" y="{:.1f}" font-size="{:g}" text-anchor="{}">{}</text>)"
      "\n",
      style, x, y, size, anchors[static_cast<std::size_t>(at)],
      escape_xml(fit_text(text, size, room)));
}

void svg_writer::begin_group(std::string_view title) {
  body_ += fmt::format("<g><title>{}</title>\n", escape_xml(title));
}

void svg_writer::end_group() { body_ += "</g>\n"; }

std::string svg_writer::document(double width, double height, std::string_view title,
                                 std::string_view description) const {
  return fmt::format(
      R"(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title description" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}">
<title id="title">{2}</title>
<desc id="description">{3}</desc>
<style>{4}</style>
<rect class="paper" width="100%" height="100%"/>
{5}</svg>
)",
      width, height, escape_xml(title), escape_xml(description), style_sheet, body_);
}

}  // namespace heddle::topology
