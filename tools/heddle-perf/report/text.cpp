// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace perf::report {

std::string escape(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char each : text) {
    switch (each) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default: {
        const auto code = static_cast<unsigned char>(each);
        const bool control = (code < 0x20 && each != '\n' && each != '\t') || code == 0x7f;
        if (control)
          safe += "\xef\xbf\xbd";  // U+FFFD
        else
          safe += each;
      }
    }
  }
  return safe;
}

std::string size_text(std::size_t bytes) {
  constexpr std::array<const char*, 6> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return value == std::floor(value) ? fmt::format("{:.0f} {}", value, units[unit])
                                    : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string number_text(double value) {
  const double size = std::fabs(value);
  if (size < 0.1) return fmt::format("{:.3g}", value);
  if (size < 1) return fmt::format("{:.3f}", value);
  if (size < 10) return fmt::format("{:.2f}", value);
  if (size < 100) return fmt::format("{:.1f}", value);
  auto text = fmt::format("{:.0f}", value);
  for (auto at = static_cast<int>(text.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

}  // namespace perf::report
