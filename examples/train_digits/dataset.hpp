// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// One image of a digit: pixels from 0 to 1, row by row. As it is in memory of the device too.
struct digit {
  static constexpr int pixels = 64;
  float image[pixels];
  int label;
};

struct dataset {
  std::vector<digit> training;
  std::vector<digit> test;
};

/// Reads the file and divides it: a fixed shuffle, then every fifth image is for the test. Throws
/// std::runtime_error for a file that is not as data/README.md says.
dataset read_digits(const std::string& path);
