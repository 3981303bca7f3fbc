// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "support/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <cctype>
#include <memory>
#include <string>

#include "support/throw_error.hpp"

namespace heddle::log {

namespace {

constexpr std::array<std::string_view, 8> subsystem_names = {
    "init", "bootstrap", "heap", "device", "team", "coll", "transport", "env"};
constexpr unsigned all_subsystems = (1u << subsystem_names.size()) - 1;
constexpr std::array<std::string_view, 4> level_names = {"ERROR", "WARN", "INFO", "TRACE"};

std::atomic<int> highest_level{static_cast<int>(level::warn)};
std::atomic<unsigned> chosen_subsystems{all_subsystems};
thread_local int this_pe = -1;

spdlog::logger& logger() {
  // Not in spdlog's registry: a program's own use of spdlog and heddle's do not meet. Never
  // destroyed: heddle's threads may speak while the process ends.
  static spdlog::logger* const instance = [] {
    auto* made = new spdlog::logger("heddle", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("heddle[%P] %v");
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

unsigned parse_subsystems(std::string_view list) {
  const bool excludes = list.starts_with('^');
  if (excludes) list.remove_prefix(1);
  unsigned named = 0;
  while (!list.empty()) {
    const auto comma = list.find(',');
    const auto name = lower(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    unsigned bit = name == "all" ? all_subsystems : 0;
    for (std::size_t i = 0; i < subsystem_names.size(); ++i)
      if (subsystem_names[i] == name) bit = 1u << i;
    if (bit == 0)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "HEDDLE_DEBUG_SUBSYS names {}, which is none of ALL, {}", name,
                  fmt::join(subsystem_names, ", "));
    named |= bit;
  }
  return excludes ? all_subsystems & ~named : named;
}

}  // namespace

bool enabled(level level, subsystem subsystem) {
  return static_cast<int>(level) <= highest_level.load(std::memory_order_relaxed) &&
         (level <= level::warn || (chosen_subsystems.load(std::memory_order_relaxed) &
                                   (1u << static_cast<unsigned>(subsystem))));
}

void write(level level, subsystem subsystem, std::string_view text) {
  const auto pe = this_pe >= 0 ? fmt::format("pe {} ", this_pe) : std::string();
  logger().info("{}{} {}: {}", pe, level_names[static_cast<std::size_t>(level)],
                subsystem_names[static_cast<std::size_t>(subsystem)], text);
}

void set_pe(int pe) { this_pe = pe; }

void configure(std::string_view level, std::string_view subsystems) {
  const auto name = lower(level);
  int highest = -2;
  if (name == "none") highest = -1;
  for (std::size_t i = 0; i < level_names.size(); ++i)
    if (lower(level_names[i]) == name) highest = static_cast<int>(i);
  if (highest == -2)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "HEDDLE_DEBUG={}: not one of NONE, WARN, INFO, TRACE", level);
  const unsigned chosen = parse_subsystems(subsystems);
  highest_level.store(highest, std::memory_order_relaxed);
  chosen_subsystems.store(chosen, std::memory_order_relaxed);
}

}  // namespace heddle::log
