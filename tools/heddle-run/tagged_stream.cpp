// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "tagged_stream.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

namespace heddle::run {

pollfd tagged_stream::wanted() const {
  if (pending_.empty()) return {from_.get(), POLLIN, 0};
  return {to_->is_free_for(this) ? to_->fd() : -1, POLLOUT, 0};
}

void tagged_stream::move_some() {
  if (pending_.empty())
    read_some();
  else
    to_->write_some(this, pending_);
}

void tagged_stream::drop_if_unread() {
  if (!to_->is_unread()) return;
  pending_.clear();
  from_.reset();
}

void tagged_stream::read_some() {
  char buffer[65536];
  const ssize_t got = ::read(from_.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got > 0) {
    pending_ += tagger_.feed({buffer, static_cast<std::size_t>(got)});
  } else {
    pending_ += tagger_.finish();
    from_.reset();
  }
}

bool tagged_stream::leave_holder() {
  pollfd other_end{from_.get(), POLLIN, 0};
  if (!from_ || (::poll(&other_end, 1, 0) > 0 && (other_end.revents & POLLHUP))) return false;
  // A pipe's content and no more: the holder may write without end.
  int readable = 0;
  if (::ioctl(from_.get(), FIONREAD, &readable) == 0 && readable > 0) {
    std::string rest(static_cast<std::size_t>(readable), '\0');
    const ssize_t got = ::read(from_.get(), rest.data(), rest.size());
    if (got > 0) pending_ += tagger_.feed({rest.data(), static_cast<std::size_t>(got)});
  }
  pending_ += tagger_.finish();
  from_.reset();
  return true;
}

}  // namespace heddle::run
