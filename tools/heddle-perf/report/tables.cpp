// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text.hpp"

namespace perf::report {

namespace {

constexpr const char* table_start = "<div class='scroll'><table>";
constexpr const char* table_end = "</tbody></table></div>";

std::string cell(const std::string& html) { return "<td>" + html + "</td>"; }
std::string nothing() { return "<td class='none'>-</td>"; }

const ratio* ratio_at(const std::vector<ratio>& all, std::size_t bytes) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const ratio& each) { return each.bytes == bytes; });
  return found == all.end() ? nullptr : &*found;
}

std::string ratio_cell(const ratio* of, role theirs) {
  if (!of) return nothing();
  return cell(
      fmt::format("{} <small>{}</small>", ratio_mark(of->value, theirs), escape(of->against)));
}

/// The ratios' columns: of the peers, and of the limits, where there are any.
struct ratio_columns {
  std::vector<ratio> peers;
  std::vector<ratio> limits;

  explicit ratio_columns(const comparison& of)
      : peers(of.ratios(role::peer)), limits(of.ratios(role::limit)) {}

  [[nodiscard]] std::string heads(const char* attributes) const {
    std::string html;
    if (!peers.empty()) html += fmt::format("<th{}>heddle / best peer</th>", attributes);
    if (!limits.empty()) html += fmt::format("<th{}>heddle / limit</th>", attributes);
    return html;
  }
  [[nodiscard]] std::string cells(std::size_t bytes) const {
    return (peers.empty() ? "" : ratio_cell(ratio_at(peers, bytes), role::peer)) +
           (limits.empty() ? "" : ratio_cell(ratio_at(limits, bytes), role::limit));
  }
};

bool has_bandwidth(const curve& each) {
  return std::any_of(each.points.begin(), each.points.end(),
                     [](const point& at) { return at.busbw > 0; });
}

}  // namespace

std::string ratio_mark(double value, role theirs) {
  const char* judged = theirs != role::peer ? "" : value <= 1 ? " class='good'" : " class='bad'";
  return fmt::format("<b{}>{:.2f}</b>", judged, value);
}

std::string numbers_table(const comparison& compared) {
  const auto with_bandwidth =
      std::count_if(compared.curves.begin(), compared.curves.end(), has_bandwidth);
  const ratio_columns ratios(compared);
  std::string html = table_start;
  html += fmt::format(
      "<thead><tr><th rowspan='2'>size</th><th colspan='{}' class='group'>time (us)</th>",
      compared.curves.size());
  if (with_bandwidth > 0)
    html += fmt::format("<th colspan='{}' class='group'>bus bandwidth (GB/s)</th>", with_bandwidth);
  html += ratios.heads(" rowspan='2'") + "</tr><tr>";
  for (const auto& each : compared.curves) html += fmt::format("<th>{}</th>", escape(each.name));
  for (const auto& each : compared.curves)
    if (has_bandwidth(each)) html += fmt::format("<th>{}</th>", escape(each.name));
  html += "</tr></thead><tbody>";
  for (const std::size_t bytes : compared.sizes()) {
    html += fmt::format("<tr><th>{}</th>", size_text(bytes));
    for (const auto& each : compared.curves) {
      const point* at = each.at(bytes);
      html += at ? cell(number_text(at->time_us)) : nothing();
    }
    for (const auto& each : compared.curves) {
      if (!has_bandwidth(each)) continue;
      const point* at = each.at(bytes);
      html += at && at->busbw > 0 ? cell(number_text(at->busbw)) : nothing();
    }
    html += ratios.cells(bytes) + "</tr>";
  }
  return html + table_end;
}

std::string single_sizes_table(const std::vector<const comparison*>& compared) {
  std::vector<std::string> names;
  bool peers = false;
  bool limits = false;
  for (const auto* each : compared) {
    for (const auto& one : each->curves)
      if (std::find(names.begin(), names.end(), one.name) == names.end()) names.push_back(one.name);
    peers |= !each->ratios(role::peer).empty();
    limits |= !each->ratios(role::limit).empty();
  }
  std::string html = table_start;
  html += "<thead class='single'><tr><th>time (us)</th><th>size</th>";
  for (const auto& name : names) html += fmt::format("<th>{}</th>", escape(name));
  if (peers) html += "<th>heddle / best peer</th>";
  if (limits) html += "<th>heddle / limit</th>";
  html += "</tr></thead><tbody class='single'>";
  for (const auto* each : compared) {
    const ratio_columns ratios(*each);
    for (const std::size_t bytes : each->sizes()) {
      html += fmt::format("<tr><th>{}</th>", escape(each->title));
      html += bytes > 0 ? cell(size_text(bytes)) : nothing();
      for (const auto& name : names) {
        const auto found = std::find_if(each->curves.begin(), each->curves.end(),
                                        [&](const curve& one) { return one.name == name; });
        const point* at = found == each->curves.end() ? nullptr : found->at(bytes);
        html += at ? cell(number_text(at->time_us)) : nothing();
      }
      if (peers) html += ratio_cell(ratio_at(ratios.peers, bytes), role::peer);
      if (limits) html += ratio_cell(ratio_at(ratios.limits, bytes), role::limit);
      html += "</tr>";
    }
  }
  return html + table_end;
}

std::string facts_table(const std::vector<fact>& facts) {
  std::string html = "<dl>";
  for (const auto& [name, value] : facts)
    html += fmt::format("<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
  return html + "</dl>";
}

std::string verdicts_table(const std::vector<verdict>& verdicts) {
  std::string html = table_start;
  html +=
      "<thead "
      "class='text'><tr><th>rule</th><th>limit</th><th>found</th><th>verdict</th></tr></"
      "thead><tbody "
      "class='text'>";
  for (const auto& each : verdicts)
    html += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td><b class='{}'>{}</b></td></tr>",
                        escape(each.rule), escape(each.limit), escape(each.found),
                        each.word == "PASS"   ? "good"
                        : each.word == "FAIL" ? "bad"
                                              : "skip",
                        escape(each.word));
  return html + table_end;
}

}  // namespace perf::report
