// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "chart.hpp"
#include "page_style.hpp"
#include "palette.hpp"
#include "tables.hpp"
#include "text.hpp"

namespace perf::report {

namespace {

std::string folded(const std::string& what, const std::string& html) {
  return fmt::format("<details><summary>{}</summary>{}</details>", what, html);
}

/// How a file was measured: what everyone asks first, the rest folded.
std::string run_card(const run& of) {
  constexpr std::array<std::string_view, 8> first = {
      "GPU", "machine", "device", "date", "command", "heddle version", "heddle commit", "PEs"};
  std::vector<fact> shown;
  std::vector<fact> rest;
  for (const auto& each : of.facts)
    (std::find(first.begin(), first.end(), each.first) == first.end() ? rest : shown)
        .push_back(each);
  return fmt::format("<div class='card'><h3>{}</h3>{}{}</div>", escape(of.file), facts_table(shown),
                     rest.empty() ? "" : folded("More about the machine", facts_table(rest)));
}

std::string verdicts_card(const std::vector<verdict>& verdicts) {
  const auto count = [&](const char* word) {
    return std::count_if(verdicts.begin(), verdicts.end(),
                         [&](const verdict& each) { return each.word == word; });
  };
  return fmt::format(
      "<div class='card'><h3>Speed rules</h3><p>{} hold, {} fail, {} skipped.</p>{}"
      "</div>",
      count("PASS"), count("FAIL"), count("SKIP"), folded("All rules", verdicts_table(verdicts)));
}

std::string warnings_card(const std::vector<std::string>& warnings) {
  std::string html = "<div class='card warn'><h3>What went wrong</h3><ul>";
  for (const auto& each : warnings) html += fmt::format("<li>{}</li>", escape(each));
  return html + "</ul></div>";
}

/// heddle's time over others', in a line: "mean 0.45, worst 0.77 at 64 B (Open MPI)".
std::string ratio_text(const ratio_summary& of, role theirs) {
  return fmt::format("mean {}, worst {} at {} ({})", ratio_mark(of.mean, theirs),
                     ratio_mark(of.worst.value, theirs), size_text(of.worst.bytes),
                     escape(of.worst.against));
}

std::string ratio_lines(const comparison& compared) {
  std::string html;
  if (const auto peers = summarize(compared.ratios(role::peer)))
    html +=
        fmt::format("<p>heddle's time / the best peer's: {}</p>", ratio_text(*peers, role::peer));
  if (const auto limits = summarize(compared.ratios(role::limit)))
    html += fmt::format("<p>heddle's time / the bare limit's: {}</p>",
                        ratio_text(*limits, role::limit));
  return html;
}

/// Writes the sections, and gives each comparison an id of its own.
class writer {
 public:
  explicit writer(const std::vector<section>& sections) : looks_(sections) {}

  [[nodiscard]] std::string write(const section& of) {
    std::string html = fmt::format("<section><h2>{}</h2><div class='cards'>", escape(of.title));
    for (const auto& each : of.runs) html += run_card(each);
    html += "</div>";
    if (!of.verdicts.empty()) html += verdicts_card(of.verdicts);
    if (!of.warnings.empty()) html += warnings_card(of.warnings);
    html += overview(of);
    for (const auto& each : of.blocks) html += write(each);
    if (!of.numbers.empty())
      html +=
          fmt::format("<div class='card'><h3>Other numbers</h3>{}</div>", facts_table(of.numbers));
    return html + "</section>";
  }

 private:
  /// Where heddle stands, and a way to each of the drawings below.
  [[nodiscard]] std::string overview(const section& of) const {
    std::string rows;
    std::string links;
    bool compares = false;
    int number = next_;
    for (const auto& group : of.blocks)
      for (const auto& each : group.comparisons) {
        if (!each.has_curves()) continue;
        const auto link = fmt::format("<a href='#c{}'>{}</a>", number++, escape(each.title));
        links += "<li>" + link + "</li>";
        rows += "<tr><th>" + link + "</th>";
        for (const role theirs : {role::peer, role::limit}) {
          const auto found = summarize(each.ratios(theirs));
          rows += "<td>" + (found ? ratio_text(*found, theirs) : "-") + "</td>";
          compares |= found.has_value();
        }
        rows += "</tr>";
      }
    if (number < next_ + 2) return {};
    if (!compares)
      return "<div class='card'><h3>Curves</h3><ul class='links'>" + links + "</ul></div>";
    return "<div class='card'><h3>heddle's time over others'</h3><p class='lead'>Below 1 heddle is "
           "faster. The mean over the sizes is geometric.</p><div class='scroll'><table><thead "
           "class='text'><tr><th></th><th>of the best peer</th><th>of the bare limit</th></tr>"
           "</thead><tbody class='text'>" +
           rows + "</tbody></table></div></div>";
  }

  [[nodiscard]] std::string write(const block& of) {
    std::string html;
    std::vector<const comparison*> singles;
    for (const auto& each : of.comparisons)
      if (each.has_curves())
        html += write(each);
      else
        singles.push_back(&each);
    if (!singles.empty())
      html += fmt::format("<div class='card'><h3>{}</h3>{}</div>",
                          of.title.empty() ? "Single sizes" : escape(of.title),
                          single_sizes_table(singles));
    return html;
  }

  [[nodiscard]] std::string write(const comparison& of) {
    const int number = next_++;
    std::string html = fmt::format("<article class='card' id='c{}'><h3>{}</h3>{}{}", number,
                                   escape(of.title), ratio_lines(of), legend(of, looks_));
    html += "<div class='charts'>";
    html += draw(of, quantity::time, looks_, fmt::format("c{}a", number));
    if (can_draw(of, quantity::bandwidth))
      html += draw(of, quantity::bandwidth, looks_, fmt::format("c{}b", number));
    return html + "</div>" + folded("Numbers", numbers_table(of)) + "</article>";
  }

  palette looks_;
  int next_ = 1;
};

}  // namespace

std::string make_page(const std::vector<section>& sections) {
  std::string html =
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
      "<meta name='viewport' content='width=device-width, initial-scale=1'>"
      "<title>heddle: measurements</title><style>";
  html += page_style;
  html +=
      "</style></head><body><svg width='0' height='0' style='position:absolute' "
      "aria-hidden='true'><defs>";
  html += marker_definitions();
  html +=
      "</defs></svg><header><h1>heddle: measurements</h1><p class='lead'>Less time and more "
      "bandwidth are better. A time is of one call among many back to back, of the slowest PE; bus "
      "bandwidth is what the links carry, as nccl-tests counts it. Numbers of bench/run.py are "
      "medians over its rounds; a ratio is the median of the ratios within each round, without "
      "those "
      "in which the machine changed.</p></header><main>";
  writer writes(sections);
  for (const auto& each : sections) html += writes.write(each) + "\n";
  html += "</main><div id='tip' role='status'></div><script>";
  html += page_script;
  return html + "</script></body></html>\n";
}

}  // namespace perf::report
