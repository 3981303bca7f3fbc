// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "report/axis.hpp"
#include "report/chart.hpp"
#include "report/palette.hpp"
#include "report/text.hpp"

using namespace perf::report;

namespace {

std::vector<std::string> labels(const axis& of) {
  std::vector<std::string> all;
  for (const auto& each : of.ticks())
    if (!each.label.empty()) all.push_back(each.label);
  return all;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

section with_curves(const std::vector<std::pair<std::string, role>>& curves) {
  comparison compared{"AllReduce", {}};
  for (const auto& [name, of] : curves)
    compared.curves.push_back({name, of, {{8, 1, 0.5, {}, {1}}, {64, 2, 1, {}, {2}}}, {}});
  section all;
  all.blocks.push_back({"", {compared}});
  return all;
}

}  // namespace

TEST_CASE("text of files is harmless in HTML") {
  CHECK(escape("a < b & c > \"d\" 'e'") == "a &lt; b &amp; c &gt; &quot;d&quot; &#39;e&#39;");
  CHECK(escape("caf\xc3\xa9\tand\nmore") == "caf\xc3\xa9\tand\nmore");
  CHECK(escape(std::string("a\0b\x1b", 4)) ==
        "a\xef\xbf\xbd"
        "b\xef\xbf\xbd");
}

TEST_CASE("sizes and numbers are written as people read them") {
  CHECK(size_text(8) == "8 B");
  CHECK(size_text(1536) == "1.5 KiB");
  CHECK(size_text(std::size_t{64} << 20) == "64 MiB");
  CHECK(number_text(0.02171) == "0.0217");
  CHECK(number_text(0.36) == "0.360");
  CHECK(number_text(1.851) == "1.85");
  CHECK(number_text(99.4) == "99.4");
  CHECK(number_text(317.2) == "317");
  CHECK(number_text(2114.3) == "2,114");
  CHECK(number_text(1234567) == "1,234,567");
}

TEST_CASE("an axis of sizes has powers of two, the smallest and the largest labelled") {
  const auto all = axis::of_sizes(8, std::size_t{64} << 20);
  CHECK(labels(all) ==
        std::vector<std::string>{"8 B", "128 B", "2 KiB", "32 KiB", "512 KiB", "8 MiB", "64 MiB"});
  CHECK(all.place(8) == doctest::Approx(0));
  CHECK(all.place(64 << 20) == doctest::Approx(1));
  CHECK(all.place(8 << 10) > all.place(4 << 10));
  CHECK(labels(axis::of_sizes(8, 64)) == std::vector<std::string>{"8 B", "16 B", "32 B", "64 B"});
  CHECK(labels(axis::of_sizes(40, 68'880)).front() == "64 B");
  CHECK(labels(axis::of_sizes(40, 68'880)).back() == "64 KiB");
  const auto one = axis::of_sizes(8, 8);
  CHECK(one.place(8) == doctest::Approx(0.5));
  for (const std::size_t most : {100u, 5000u, 70'000u, 1u << 20, 1u << 31})
    CHECK(labels(axis::of_sizes(1, most)).size() <= 8);
}

TEST_CASE("an axis of times ends at 1, 2 or 5 times a power of ten") {
  const auto wide = axis::of_times(0.26, 18'391);
  CHECK(labels(wide) == std::vector<std::string>{"1", "10", "100", "1,000", "10,000"});
  CHECK(wide.place(0.2) == doctest::Approx(0));
  CHECK(wide.place(20'000) == doctest::Approx(1));
  CHECK(labels(axis::of_times(1.2, 17)) == std::vector<std::string>{"1", "2", "5", "10", "20"});
  CHECK(labels(axis::of_times(5, 5)) == std::vector<std::string>{"5", "10", "20", "50"});
  CHECK(labels(axis::of_times(0.001, 0.003)).front() == "0.001");
}

TEST_CASE("an axis of bandwidths begins at 0 and ends at a round number") {
  CHECK(labels(axis::of_bandwidths(89)) ==
        std::vector<std::string>{"0", "20", "40", "60", "80", "100"});
  CHECK(labels(axis::of_bandwidths(0.0031)).front() == "0");
  for (const double most : {0.0001, 0.7, 1.0, 23.4, 470.0, 9e5}) {
    const auto one = axis::of_bandwidths(most);
    CAPTURE(most);
    CHECK(one.place(0) == doctest::Approx(0));
    CHECK(one.place(most) <= doctest::Approx(1));
    CHECK(one.place(most) > 0.6);
    CHECK(one.ticks().size() <= 8);
  }
}

TEST_CASE("contenders that share a drawing look different, each the same in all drawings") {
  std::vector<std::pair<std::string, role>> many = {{"heddle", role::heddle}};
  for (int i = 0; i < 20; ++i) many.emplace_back("peer " + std::to_string(i), role::peer);
  many.emplace_back("bare", role::limit);
  const std::vector<section> sections = {
      with_curves(many), with_curves({{"peer 7", role::peer}, {"new", role::variant}})};
  const palette looks(sections);
  std::set<std::pair<int, int>> seen;
  for (const auto& each : sections[0].blocks[0].comparisons[0].curves)
    seen.emplace(looks.of(each).colour, looks.of(each).marker);
  CHECK(seen.size() == many.size());
  const auto& fewer = sections[1].blocks[0].comparisons[0].curves;
  CHECK(looks.of(fewer[0]).marker ==
        looks.of(sections[0].blocks[0].comparisons[0].curves[8]).marker);
  CHECK(looks.of(fewer[1]).colour != looks.of(fewer[0]).colour);
}

TEST_CASE("a drawing has a title, a description, and a marker with its value for each point") {
  const auto part = with_curves({{"heddle", role::heddle}, {"<peer>", role::peer}});
  const palette looks({part});
  const auto& compared = part.blocks[0].comparisons[0];
  const auto drawn = draw(compared, quantity::time, looks, "c1");
  CHECK(count(drawn, "role='img' aria-labelledby='c1t c1d'") == 1);
  CHECK(count(drawn, "<desc id='c1d'>") == 1);
  CHECK(count(drawn, "<use ") == 4);
  CHECK(count(drawn, "<title>heddle, 64 B: 2.00 us, 1.00 GB/s</title>") == 1);
  CHECK(count(drawn, "<title>&lt;peer&gt;, 8 B: 1.00 us, 0.500 GB/s</title>") == 1);
  CHECK(count(drawn, "<peer>") == 0);
  CHECK(count(legend(compared, looks), "<li>") == 2);
}

TEST_CASE("what has one size, or no bandwidth, is not drawn") {
  comparison one{"Barrier", {{"heddle", role::heddle, {{0, 1, 0, {}, {1}}}, {}}}};
  CHECK_FALSE(can_draw(one, quantity::time));
  one.curves[0].points.push_back({8, 1, 0, {}, {1}});
  CHECK_FALSE(can_draw(one, quantity::time));
  one.curves[0].points.push_back({16, 1, 0, {}, {1}});
  CHECK(can_draw(one, quantity::time));
  CHECK_FALSE(can_draw(one, quantity::bandwidth));
}
