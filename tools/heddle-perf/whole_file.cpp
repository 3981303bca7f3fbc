// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace perf {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error) {
  throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

/// An open file, which says so when it cannot be written.
class descriptor {
 public:
  descriptor(std::string path, int number) : path_(std::move(path)), number_(number) {
    if (number_ < 0) fail(path_, errno);
  }
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  void write(std::string_view text) const {
    while (!text.empty()) {
      const auto written = ::write(number_, text.data(), text.size());
      if (written < 0 && errno != EINTR) fail(path_, errno);
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void set_mode(fs::perms mode) const { ::fchmod(number_, static_cast<mode_t>(mode)); }
  /// Some file systems tell only here that there is no space.
  void close() {
    const int number = number_;
    number_ = -1;
    if (::close(number) != 0) fail(path_, errno);
  }

 private:
  std::string path_;
  int number_;
};

/// A file in the folder of `target`, gone unless it has taken the target's place.
class file_beside {
 public:
  explicit file_beside(const std::string& asked, fs::path target)
      : asked_(asked), target_(std::move(target)), file_(asked, create()) {}
  ~file_beside() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  file_beside(const file_beside&) = delete;
  file_beside& operator=(const file_beside&) = delete;

  void replace_target(std::string_view text) {
    file_.write(text);
    std::error_code none;
    const auto before = fs::status(target_, none);
    if (fs::exists(before)) file_.set_mode(before.permissions());
    file_.close();
    if (std::rename(name_.c_str(), target_.c_str()) != 0) fail(asked_, errno);
    name_.clear();
  }

 private:
  /// With open's own mode rather than mkstemp's, so that the umask counts.
  int create() {
    for (int attempt = 0;; ++attempt) {
      name_ = target_.parent_path() / fmt::format(".heddle-perf.{}.{}", ::getpid(), attempt);
      const int made = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (made >= 0) return made;
      const bool taken = errno == EEXIST && attempt < 1000;
      if (taken) continue;
      name_.clear();
      return -1;
    }
  }

  std::string asked_;
  fs::path target_;
  std::string name_;
  descriptor file_;
};

/// What a link leads to, so that the link stays one.
fs::path target_of(const std::string& path) {
  std::error_code failed;
  auto found = fs::weakly_canonical(path, failed);
  return failed ? fs::path(path) : found;
}

/// Throws if a file is there that may not be written: a rename would not ask.
bool is_special(const std::string& path) {
  std::error_code failed;
  const auto there = fs::status(path, failed);
  if (fs::is_directory(there)) fail(path, EISDIR);
  if (fs::exists(there) && ::access(path.c_str(), W_OK) != 0) fail(path, errno);
  return fs::exists(there) && !fs::is_regular_file(there);
}

}  // namespace

void check_printed() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    fail("the standard output", errno ? errno : EIO);
}

void write_whole(const std::string& path, std::string_view text) {
  if (is_special(path)) {
    descriptor file(path, ::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    file.write(text);
    file.close();
  } else {
    file_beside(path, target_of(path)).replace_target(text);
  }
}

void check_writable(const std::string& path) {
  if (!is_special(path)) file_beside(path, target_of(path));
}

}  // namespace perf
