// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

/// Set for as long as this lives.
struct environment_variable {
  environment_variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~environment_variable() { ::unsetenv(name_); }
  const char* name_;
};
