// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "dataset.hpp"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

dataset read_digits(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path + "; give the file with --data");
  std::vector<digit> all;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    digit read{};
    char comma = 0;
    int value = 0;
    for (float& pixel : read.image) {
      fields >> value >> comma;
      pixel = static_cast<float>(value) / 16.0f;
    }
    if (!(fields >> read.label) || read.label < 0 || read.label > 9)
      throw std::runtime_error(path + ": line " + std::to_string(all.size() + 1) +
                               " is not 64 pixels and a digit");
    all.push_back(read);
  }
  if (all.empty()) throw std::runtime_error(path + " is empty");
  // std::shuffle may differ between libraries; this does not.
  std::mt19937 random(1797);
  for (std::size_t i = all.size() - 1; i > 0; --i) std::swap(all[i], all[random() % (i + 1)]);
  dataset divided;
  for (std::size_t i = 0; i < all.size(); ++i)
    (i % 5 == 4 ? divided.test : divided.training).push_back(all[i]);
  return divided;
}
