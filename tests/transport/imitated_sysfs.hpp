// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace heddle::conformance {

/// What the kernel would tell of devices, in a folder of this test's.
class imitated_sysfs {
 public:
  imitated_sysfs() {
    auto name = (std::filesystem::temp_directory_path() / "heddle_sysfs_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  ~imitated_sysfs() { std::filesystem::remove_all(folder_); }
  imitated_sysfs(const imitated_sysfs&) = delete;
  imitated_sysfs& operator=(const imitated_sysfs&) = delete;

  [[nodiscard]] std::string folder() const { return folder_.string(); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text;
  }
  /// By its path below devices, which ends in its address.
  void add_pci_device(const std::string& path, int numa_node) const {
    write("devices/" + path + "/numa_node", std::to_string(numa_node));
    const auto list = folder_ / "bus/pci/devices";
    std::filesystem::create_directories(list);
    std::filesystem::create_directory_symlink(folder_ / "devices" / path,
                                              list / path.substr(path.rfind('/') + 1));
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace heddle::conformance
