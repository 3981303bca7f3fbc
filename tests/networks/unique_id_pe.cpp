// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A PE of a job that no launcher has made: unique_id_pe FILE PE N_PES. PE 0 leaves the unique id in
// the file, which all can read. Prints where it is and RIGHT, or WRONG and what, with status 1.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <heddle/heddle.hpp>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

void leave_id(const std::string& file) {
  heddle_unique_id_t id;
  heddle::detail::check(heddle_get_unique_id(&id));
  std::ofstream(file + ".part", std::ios::binary).write(id.bytes, sizeof id.bytes);
  std::filesystem::rename(file + ".part", file);
}

heddle_unique_id_t read_id(const std::string& file) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!std::filesystem::exists(file)) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("there is no id");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  heddle_unique_id_t id;
  std::ifstream(file, std::ios::binary).read(id.bytes, sizeof id.bytes);
  return id;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) return 2;
  const std::string file = argv[1];
  const int pe = std::atoi(argv[2]);
  const int n_pes = std::atoi(argv[3]);
  if (pe == 0) leave_id(file);
  const heddle::runtime self(read_id(file), pe, n_pes);
  const auto world = self.world();
  const heddle::symmetric_array<int> mine(self, 1000);
  for (std::size_t i = 0; i < mine.size(); ++i) mine.data()[i] = pe + 1;
  world.all_reduce(mine.data(), mine.data(), mine.size(), heddle::op::sum);
  const int wanted = n_pes * (n_pes + 1) / 2;
  for (std::size_t i = 0; i < mine.size(); ++i)
    if (mine.data()[i] != wanted) throw std::runtime_error("a sum is wrong");
  std::array<char, 64> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::printf("RIGHT: PE %d of %d on %s, %d PEs here\n", self.my_pe(), self.n_pes(), host.data(),
              self.node().n_pes());
  return 0;
} catch (const std::exception& failure) {
  std::printf("WRONG: %s\n", failure.what());
  return 1;
}
