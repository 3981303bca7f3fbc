// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/frame_link.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "bootstrap/byte_stream.hpp"

namespace heddle {

frame::frame(std::uint16_t type, std::span<const std::byte> payload) {
  byte_writer out;
  out.number(static_cast<std::uint32_t>(payload.size())).number(type).number(std::uint16_t{0});
  out.raw(payload);
  bytes_ = std::make_shared<const std::vector<std::byte>>(out.take());
}

std::uint16_t frame::type() const {
  return byte_reader(std::span(*bytes_).subspan(4)).number<std::uint16_t>();
}

frame_link::frame_link(shielded_fd socket, std::vector<std::byte> early)
    : socket_(std::move(socket)), in_(std::move(early)) {}

void frame_link::fail(std::string problem) {
  if (state_ == state::failed) return;
  state_ = state::failed;
  problem_ = std::move(problem);
  drop_output();
}

void frame_link::drop_output() {
  out_.clear();
  sent_of_front_ = 0;
}

void frame_link::flush() {
  while (state_ != state::failed && !out_.empty()) {
    std::array<iovec, 32> parts;
    std::size_t count = 0, skip = sent_of_front_;
    for (; count < parts.size() && count < out_.size(); ++count, skip = 0) {
      auto bytes = out_[count].bytes().subspan(skip);
      parts[count] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) drop_output();
      return;
    }
    sent_of_front_ += static_cast<std::size_t>(sent);
    while (!out_.empty() && sent_of_front_ >= out_.front().bytes().size()) {
      sent_of_front_ -= out_.front().bytes().size();
      out_.pop_front();
    }
  }
}

void frame_link::receive(const std::function<void(frame)>& handle, std::size_t budget) {
  std::size_t received = 0;
  do {
    while (auto whole = take()) handle(std::move(*whole));
  } while (received < budget && read_more(received));
}

std::optional<frame> frame_link::receive_one() {
  std::size_t received = 0;
  for (;;) {
    if (auto whole = take()) return whole;
    if (!read_more(received)) return std::nullopt;
  }
}

/// False when nothing has come, or nothing will.
bool frame_link::read_more(std::size_t& received) {
  constexpr std::size_t least = std::size_t{16} << 10, most = std::size_t{1} << 20;
  if (state_ == state::failed) return false;
  in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(std::exchange(in_used_, 0)));
  // Grows with what has arrived, not with what a header promises.
  const std::size_t before = in_.size();
  const std::size_t room = std::clamp(before, least, most);
  in_.resize(before + room);
  ssize_t got = 0;
  do got = ::recv(socket_.get(), in_.data() + before, room, MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  const int problem = errno;
  in_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && problem != EAGAIN) fail(std::generic_category().message(problem));
  if (got == 0 && state_ == state::open) state_ = state::ended;
  if (got <= 0) return false;
  received += static_cast<std::size_t>(got);
  return true;
}

std::optional<frame> frame_link::take() {
  const auto rest = std::span(in_).subspan(in_used_);
  if (state_ == state::failed || rest.size() < frame::header_size) return std::nullopt;
  const std::size_t length = byte_reader(rest).number<std::uint32_t>();
  if (length > frame::longest) {
    fail("it sent a message of " + std::to_string(length) + " bytes");
    return std::nullopt;
  }
  const std::size_t whole = frame::header_size + length;
  if (rest.size() < whole) return std::nullopt;
  if (in_used_ == 0 && in_.size() == whole) return frame(std::exchange(in_, {}));
  in_used_ += whole;
  return frame(
      std::vector<std::byte>(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(whole)));
}

void frame_link::shut_down() { ::shutdown(socket_.get(), SHUT_WR); }

bool frame_link::in_flight() const {
  int left = 0, family = 0;
  socklen_t size = sizeof family;
  // On a Unix socket what was written is with the peer, and the ioctl would count what it has not
  // read.
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 || family == AF_UNIX)
    return false;
  return ::ioctl(socket_.get(), SIOCOUTQ, &left) == 0 && left > 0;
}

}  // namespace heddle
