// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/deadline.hpp"
#include "support/environment.hpp"
#include "support/log.hpp"

namespace heddle {

/// The process's variables, checked, with logging set as they say: the first step of every init.
inline environment read_environment() {
  auto settings = environment::from_process();
  log::configure(settings.debug, settings.debug_subsys);
  return settings;
}

inline deadline init_deadline(const environment& settings) {
  return deadline::after(std::chrono::duration<double>(settings.init_timeout));
}

}  // namespace heddle
