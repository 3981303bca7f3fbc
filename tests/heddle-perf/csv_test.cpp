// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "csv.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

using namespace perf;

namespace {

auto commas(const std::string& line) { return std::count(line.begin(), line.end(), ','); }

row measured(bool in_place) {
  row one;
  one.collective = "all_reduce";
  one.bytes = 64;
  one.count = 16;
  one.type = "float";
  one.redop = "sum";
  one.in_place = in_place;
  one.algo = "one_shot";
  one.proto = "ll";
  one.time_us = in_place ? 0.25 : 0.5;
  one.latency_us = 1.5;
  one.algbw = one.busbw = 0.128;
  one.wrong = 0;
  return one;
}

}  // namespace

TEST_CASE("a field is in quotes only where it must be") {
  CHECK(csv_field("all_reduce") == "all_reduce");
  CHECK(csv_field("").empty());
  CHECK(csv_field("GPU, 80 GB") == "\"GPU, 80 GB\"");
  CHECK(csv_field("the \"fast\" one") == "\"the \"\"fast\"\" one\"");
  CHECK(csv_field("two\nlines") == "\"two\nlines\"");
  CHECK(csv_field("two\r") == "\"two\r\"");
}

TEST_CASE("the header names units, and each line has a field for each of its names") {
  const auto header = csv_header();
  CHECK(header.find("operation,pes,device,size_bytes,count_elements,type,redop,root,") == 0);
  CHECK(header.find(",out_of_place_time_us,") != std::string::npos);
  CHECK(header.find(",in_place_busbw_gb_per_s,") != std::string::npos);
  CHECK(header.back() == '\n');
  CHECK(commas(csv_line({measured(false), measured(true)}, 2, "host")) == commas(header));
  CHECK(commas(csv_line({measured(false)}, 2, "host")) == commas(header));
}

TEST_CASE("a line has both placements, and leaves empty what there is not") {
  CHECK(csv_line({measured(false), measured(true)}, 2, "host") ==
        "all_reduce,2,host,64,16,float,sum,-1,one_shot,ll,0.5,1.5,0.128,0.128,0,"
        "0.25,1.5,0.128,0.128,0,,,,\n");
  auto unchecked = measured(false);
  unchecked.wrong.reset();
  unchecked.algbw = std::numeric_limits<double>::infinity();
  unchecked.root = 3;
  unchecked.queues = 4;
  unchecked.rate = 2.5;
  unchecked.cpu_us = 0.125;
  CHECK(csv_line({unchecked}, 8, "a,b") ==
        "all_reduce,8,\"a,b\",64,16,float,sum,3,one_shot,ll,0.5,1.5,,0.128,,,,,,,4,2.5,0.125,\n");
}
