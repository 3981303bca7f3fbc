// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <heddle/device/types.hpp>
#include <heddle/error.hpp>
#include <iterator>
#include <set>
#include <string>
#include <thread>

#include "bootstrap/environment_variable.hpp"
#include "support/environment.hpp"
#include "support/last_cache.hpp"
#include "support/log.hpp"
#include "support/near_device.hpp"

using namespace heddle;

TEST_CASE("sizes are read and written") {
  CHECK(parse_bytes("0") == 0);
  CHECK(parse_bytes("4096") == 4096);
  CHECK(parse_bytes("64K") == 65536);
  CHECK(parse_bytes("64M") == 64u << 20);
  CHECK(parse_bytes("1GiB") == 1u << 30);
  CHECK(parse_bytes("2GB") == std::size_t{2} << 30);
  CHECK(parse_bytes("1t") == std::size_t{1} << 40);
  CHECK(parse_bytes("12B") == 12);
  for (const char* bad : {"", "M", "64X", "1.5G", "-1", "64 M", "64MM", "99999999999T"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_bytes(bad));
  }
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_bytes(64u << 20) == "64 MiB");
  CHECK(last_cache_bytes() >= 1u << 18);
}

TEST_CASE("every variable has a name of its own, a default that is valid, and a meaning") {
  std::set<std::string> names;
  for (const auto& row : environment::describe()) {
    CAPTURE(row.name);
    CHECK(row.name.starts_with("HEDDLE_"));
    CHECK(names.insert(row.name).second);
    CHECK(row.meaning.size() > 10);
    CHECK((row.is_set || row.value == row.default_value));
  }
  CHECK_NOTHROW((void)environment::from_process());
}

TEST_CASE("a secret is described as set, and not shown") {
  const auto shown = [] {
    for (const auto& row : environment::describe())
      if (row.name == "HEDDLE_JOB_SECRET") return row.value;
    return std::string("no such variable");
  };
  environment_variable secret("HEDDLE_JOB_SECRET", "open sesame");
  CHECK(shown() == "(set, not shown)");
}

TEST_CASE("docs/environment.md lists every variable as it is") {
  std::ifstream file(HEDDLE_SOURCE_DIR "/docs/environment.md");
  REQUIRE(file);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::size_t rows = 0;
  for (std::size_t at = text.find("\n| `HEDDLE_"); at != std::string::npos;
       at = text.find("\n| `HEDDLE_", at + 1))
    ++rows;
  CHECK(rows == environment::describe().size());
  for (const auto& variable : environment::describe()) {
    const auto shown =
        variable.default_value.empty() ? "empty" : "`" + variable.default_value + "`";
    const auto row = "\n| `" + variable.name + "` | " + shown + " | " + variable.meaning + " |\n";
    INFO("missing:", row);
    CHECK(text.find(row) != std::string::npos);
  }
}

TEST_CASE("log levels and subsystems are chosen by name") {
  log::configure("INFO", "COLL,init");
  CHECK(log::enabled(log::level::info, log::subsystem::coll));
  CHECK(log::enabled(log::level::info, log::subsystem::init));
  CHECK_FALSE(log::enabled(log::level::info, log::subsystem::heap));
  CHECK(log::enabled(log::level::warn, log::subsystem::heap));
  CHECK_FALSE(log::enabled(log::level::trace, log::subsystem::coll));
  log::configure("TRACE", "^HEAP");
  CHECK(log::enabled(log::level::trace, log::subsystem::coll));
  CHECK_FALSE(log::enabled(log::level::info, log::subsystem::heap));
  log::configure("NONE", "ALL");
  CHECK_FALSE(log::enabled(log::level::error, log::subsystem::coll));
  CHECK_THROWS_WITH_AS(log::configure("LOUD", "ALL"), doctest::Contains("NONE, WARN, INFO, TRACE"),
                       error);
  CHECK_THROWS_WITH_AS(log::configure("WARN", "COIL"), doctest::Contains("coll"), error);
}

TEST_CASE(
    "half precision and bfloat16: every value is exact in float and comes back, rounding is to "
    "nearest even") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const f16 half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value))
      CHECK(std::isnan(to_float(to_f16(value))));
    else if (to_f16(value).bits != bits)
      FAIL_CHECK("f16 " << bits);
    const bf16 brain{static_cast<std::uint16_t>(bits)};
    const float wide = to_float(brain);
    if (std::isnan(wide))
      CHECK(std::isnan(to_float(to_bf16(wide))));
    else if (to_bf16(wide).bits != bits)
      FAIL_CHECK("bf16 " << bits);
  }
  CHECK(to_float(f16{0x3c00}) == 1.0f);
  CHECK(to_float(f16{0x0001}) == std::ldexp(1.0f, -24));
  CHECK(to_f16(65504.0f).bits == 0x7bff);
  CHECK(to_f16(65520.0f).bits == 0x7c00);
  CHECK(to_f16(65519.0f).bits == 0x7bff);
  CHECK(to_f16(1.0f + 0x1p-11f).bits == 0x3c00);  // halfway: to even
  CHECK(to_f16(1.0f + 0x3p-11f).bits == 0x3c02);
  CHECK(to_f16(0x1p-25f).bits == 0x0000);
  CHECK(to_f16(0x1.8p-25f).bits == 0x0001);
  CHECK(to_f16(-2.0f).bits == 0xc000);
  CHECK(to_bf16(1.0f).bits == 0x3f80);
  CHECK(to_bf16(std::bit_cast<float>(0x3f808000u)).bits == 0x3f80);
  CHECK(to_bf16(std::bit_cast<float>(0x3f818000u)).bits == 0x3f82);
}

TEST_CASE("conversions to and from float8 round to the nearest, of two to the even one") {
  const auto check_format = [](auto make, auto narrow, int largest) {
    std::vector<double> values;
    for (int bits = 0; bits <= largest; ++bits)
      values.push_back(to_float(make(static_cast<std::uint8_t>(bits))));
    CHECK(std::is_sorted(values.begin(), values.end()));
    std::uint32_t random = 1;
    for (int i = 0; i < 300'000; ++i) {
      random = random * 1664525u + 1013904223u;
      // Half of them anywhere, half where the format has numbers.
      const auto bits = i % 2 == 0 ? random & 0x7fffffffu : 0x36000000u + random % 0x12000000u;
      const auto value = std::bit_cast<float>(bits);
      if (std::isnan(value)) continue;
      const auto above = std::lower_bound(values.begin(), values.end(), double{value});
      auto nearest = static_cast<int>(above - values.begin());
      if (nearest > largest) {
        nearest = largest;
      } else if (nearest > 0) {
        const double up = *above - double{value};
        const double down = double{value} - *(above - 1);
        if (down < up || (down == up && nearest % 2 == 1)) --nearest;
      }
      if (narrow(value).bits != nearest || narrow(-value).bits != (nearest | 0x80))
        FAIL_CHECK("float8 of " << value);
    }
  };
  using heddle::f8_e4m3;
  using heddle::f8_e5m2;
  check_format([](std::uint8_t bits) { return f8_e4m3{bits}; }, heddle::to_f8_e4m3, 0x7e);
  check_format([](std::uint8_t bits) { return f8_e5m2{bits}; }, heddle::to_f8_e5m2, 0x7b);
  CHECK(to_float(f8_e4m3{0x7e}) == 448.0f);
  CHECK(to_float(f8_e5m2{0x7b}) == 57344.0f);
  CHECK(to_float(f8_e4m3{0x01}) == 0x1p-9f);
  CHECK(to_float(f8_e5m2{0x01}) == 0x1p-16f);
  CHECK(std::isnan(to_float(f8_e4m3{0x7f})));
  CHECK(std::isinf(to_float(f8_e5m2{0x7c})));
  CHECK(std::isnan(to_float(heddle::to_f8_e4m3(NAN))));
  CHECK(std::isnan(to_float(heddle::to_f8_e5m2(NAN))));
}

TEST_CASE("a thread stays near a device as far as it may, with the threads that it starts") {
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  const auto now = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    ::sched_getaffinity(0, sizeof set, &set);
    return set;
  };
  const auto same = [](const cpu_set_t& a, const cpu_set_t& b) { return CPU_EQUAL(&a, &b) != 0; };
  unsigned mine = 0;
  while (!CPU_ISSET(mine, &before)) ++mine;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(mine, &one);

  const auto bus =
      std::filesystem::temp_directory_path() / fmt::format("heddle-bus-{}", ::getpid());
  std::filesystem::create_directories(bus / "card" / "port");
  const auto tell = [&](const std::string& list) {
    std::ofstream(bus / "card" / "local_cpulist") << list << "\n";
  };
  // 1000 and on are beyond this machine.
  tell(fmt::format("{},1000-1003", mine));
  {
    const heddle::near_device near((bus / "card" / "port").string());
    CHECK(near.processors() == std::to_string(mine));
    CHECK(same(now(), one));
    std::thread([&] { CHECK(same(now(), one)); }).join();
  }
  CHECK(same(now(), before));
  for (const auto* none : {"1000-1003", "", "-", "9-1"}) {
    tell(none);
    const heddle::near_device near((bus / "card").string());
    CHECK(near.processors().empty());
    CHECK(same(now(), before));
  }
  CHECK(heddle::near_device("").processors().empty());
  CHECK(heddle::near_device((bus / "nothing").string()).processors().empty());
  std::filesystem::remove_all(bus);
}
