// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

/// Logging to stderr through spdlog: `heddle[pid] pe 3 INFO bootstrap: text`.
/// HEDDLE_DEBUG sets the level (WARN by default), HEDDLE_DEBUG_SUBSYS the subsystems.
namespace heddle::log {

enum class level { error, warn, info, trace };
enum class subsystem { init, bootstrap, heap, device, team, coll, transport, env };

/// True if a message of this level and subsystem would be written: the guard of costly arguments.
[[nodiscard]] bool enabled(level level, subsystem subsystem);
void write(level level, subsystem subsystem, std::string_view text);

/// Names the PE in the calling thread's messages; -1 for none.
void set_pe(int pe);

/// Level by name (NONE, WARN, INFO, TRACE) and subsystems as a comma-separated list ("ALL",
/// "INIT,COLL"; a leading ^ excludes). Throws heddle::error for an unknown name.
void configure(std::string_view level, std::string_view subsystems);

template <class... Args>
void info(subsystem subsystem, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level::info, subsystem))
    write(level::info, subsystem, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(subsystem subsystem, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level::warn, subsystem))
    write(level::warn, subsystem, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void trace(subsystem subsystem, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level::trace, subsystem))
    write(level::trace, subsystem, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace heddle::log
