// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "shared_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace heddle::run {

shared_output::shared_output(int fd) : fd_(fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !(S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))) return;
  // O_NONBLOCK on the descriptor itself would be seen by all who share it, the PEs among them; and
  // they may take the room that poll() has told of.
  again_ = unique_fd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                            O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

void shared_output::write_some(const void* stream, std::string& text) {
  // Another may have taken the last room, or begun a line, since the stream was told of some.
  pollfd room{fd(), POLLOUT, 0};
  if (!is_free_for(stream) || ::poll(&room, 1, 0) <= 0) return;
  // A pipe that can be written to takes as much at once. A line that is longer goes in pieces.
  std::string_view piece = std::string_view(text).substr(0, PIPE_BUF);
  if (const auto end = piece.rfind('\n'); end != std::string_view::npos)
    piece = piece.substr(0, end + 1);
  const ssize_t written = ::write(fd(), piece.data(), piece.size());
  if (written < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (written <= 0) {
    if (errno == EPIPE)
      unread_ = true;
    else if (failure_ == 0)
      failure_ = errno;
    in_line_ = nullptr;
    return text.clear();
  }
  const auto taken = static_cast<std::size_t>(written);
  in_line_ = piece[taken - 1] == '\n' ? nullptr : stream;
  text.erase(0, taken);
}

std::string message(std::string_view text) { return fmt::format("heddle-run: {}\n", text); }

bool same_file(int one, int other) {
  struct stat first {};
  struct stat second {};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace heddle::run
