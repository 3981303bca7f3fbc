// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "report/command.hpp"
#include "report/read_files.hpp"
#include "samples.hpp"
#include "scratch_folder.hpp"

using namespace perf::report;

namespace {

bool has(const std::string& page, const std::string& part) {
  return page.find(part) != std::string::npos;
}

int report_command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "report");
  std::vector<char*> pointers;
  for (auto& each : arguments) pointers.push_back(each.data());
  return run_command(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace

TEST_CASE("a page says how was measured, and has curves, numbers and ratios") {
  const scratch_folder in;
  const auto page = make_page(
      read_files({in.file("perf.json", samples::perf), in.file("bench.json", samples::bench)}));
  CHECK(page.find("<!DOCTYPE html>") == 0);
  for (const char* part :
       {"<dt>machine</dt><dd>here</dd>", "<dt>date</dt><dd>2026-11-22 20:00</dd>",
        "<dt>heddle version</dt><dd>0.1.0</dd>", "<dt>heddle commit</dt><dd>abcdef0</dd>",
        "<dt>command</dt><dd>heddle-perf all_reduce</dd>", "1 hold, 0 fail, 0 skipped",
        "time of a call (us)", "bus bandwidth (GB/s)", "heddle / best peer",
        "<b class='good'>0.50</b>", "put_signal from 4 blocks", "3 wrong elements",
        "prefers-color-scheme: dark", "name='viewport'"})
    CHECK_MESSAGE(has(page, part), part);
}

TEST_CASE("a page escapes what files say, and needs nothing from elsewhere") {
  const scratch_folder in;
  const auto page = make_page(read_files({in.file("bench.json", samples::bench)}));
  CHECK(has(page, "a &lt;fast&gt; one"));
  CHECK(has(page, "AllReduce &amp; more"));
  CHECK(has(page, "it &lt;broke&gt;"));
  for (const char* part :
       {"<fast>", "<broke>", "http:", "https:", "<link", "<img", "@import", "src="})
    CHECK_MESSAGE(!has(page, part), part);
}

TEST_CASE("the command writes the page, or nothing") {
  const scratch_folder in;
  const auto good = in.file("good.json", samples::perf);
  const auto bad = in.file("bad.json", "{");
  const auto page = in.path("page.html");
  CHECK(report_command({good, "-o", page}) == 0);
  const auto first = in.content("page.html");
  CHECK(has(first, "</html>"));
  CHECK(report_command({good, bad, "-o", page}) == 1);
  CHECK(in.content("page.html") == first);
  CHECK(report_command({good, "-o", in.path("no/such/page.html")}) == 1);
  CHECK(report_command({good, "-o", "/dev/full"}) == 1);
  CHECK(report_command({good, "-o", good}) == 1);
  CHECK(in.content("good.json") == samples::perf);
  CHECK(report_command({"-o", page}) == 2);
  CHECK(report_command({good, "--colour"}) == 2);
  CHECK(in.count() == 3);
}
