// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/transport/tcp/inbox.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "host/transport/tcp/message_pool.hpp"

namespace heddle::tcp {

namespace {
constexpr std::size_t buffer_bytes = sizeof(operation_header) + message_pool::most_message_bytes;
/// Calls in a row: other streams wait.
constexpr int most_rounds = 8;

/// Into the first place, and what is more into the second.
ssize_t receive_both(int socket, iovec first, iovec second) {
  std::array<iovec, 2> parts{first, second};
  msghdr all{};
  all.msg_iov = parts.data();
  all.msg_iovlen = parts.size();
  return ::recvmsg(socket, &all, MSG_DONTWAIT);
}

}  // namespace

inbox::inbox() : buffer_(buffer_bytes) {}

inbox::outcome inbox::receive(int socket, reader& to) {
  auto result = outcome::nothing;
  for (int round = 0; round < most_rounds; ++round) {
    if (begin_ > 0) {
      std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
      end_ -= begin_;
      begin_ = 0;
    }
    if (left_ > 0 && !drops_) drops_ = !to.is_wanted(header_);
    const std::size_t direct = left_ > 0 && !drops_ ? left_ : 0;
    const std::size_t buffered = buffer_.size() - end_;
    std::byte* const into = buffer_.data() + end_;
    const auto taken = direct > 0 ? receive_both(socket, {place_, direct}, {into, buffered})
                                  : ::recv(socket, into, buffered, MSG_DONTWAIT);
    if (taken < 0) {
      if (errno == EAGAIN || errno == EINTR) return result;
      return outcome::failed;
    }
    if (taken == 0) return outcome::ended;
    result = outcome::something;
    const auto bytes = static_cast<std::size_t>(taken);
    const std::size_t to_place = std::min(bytes, direct);
    place_ += to_place;
    left_ -= to_place;
    end_ += bytes - to_place;
    if (direct > 0 && left_ == 0) to.on_data(header_);
    if (!parse(to)) return outcome::malformed;
    if (!to.goes_on()) return result;
    if (bytes < direct + buffered) return result;  // that was all
  }
  return result;
}

bool inbox::parse(reader& to) {
  while (to.goes_on()) {
    if (left_ > 0) {
      const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(left_, end_ - begin_));
      if (!drops_ && here > 0) {
        std::memcpy(place_, buffer_.data() + begin_, here);
        place_ += here;
      }
      begin_ += here;
      left_ -= here;
      if (left_ > 0) return true;
      drops_ = false;
      to.on_data(header_);
      continue;
    }
    if (end_ - begin_ < sizeof header_) return true;
    std::memcpy(&header_, buffer_.data() + begin_, sizeof header_);
    if (header_.kind == operation_kind::message) {
      if (header_.size > message_pool::most_message_bytes)
        return complain(fmt::format("a message of {} bytes", header_.size));
      if (end_ - begin_ < sizeof header_ + header_.size) return true;
      begin_ += sizeof header_;
      const auto message = std::span(buffer_).subspan(begin_, header_.size);
      begin_ += header_.size;
      to.on_message(message);
      continue;
    }
    begin_ += sizeof header_;
    if (!begin(to)) return false;
  }
  return true;
}

/// An operation that is no message.
bool inbox::begin(reader& to) {
  const auto no_such_place = [this](const char* what) {
    return complain(
        fmt::format("a {} of {} bytes at offset {:#x} of region {}, which is not exposed", what,
                    header_.size, header_.offset, header_.region));
  };
  switch (header_.kind) {
    case operation_kind::write:
    case operation_kind::data:
      place_ = to.place_of(header_);
      if (!place_)
        return header_.kind == operation_kind::write ? no_such_place("write")
                                                     : complain("data that nobody asked for");
      left_ = header_.size;
      drops_ = !to.is_wanted(header_);
      if (left_ == 0) to.on_data(header_);
      return true;
    case operation_kind::read:
      return to.on_read(header_) || no_such_place("read");
    case operation_kind::goodbye:
      to.on_goodbye();
      return true;
    case operation_kind::message:
      break;
  }
  return complain(fmt::format("an operation of kind {}", static_cast<unsigned>(header_.kind)));
}

bool inbox::complain(std::string what) {
  complaint_ = std::move(what);
  return false;
}

void inbox::forget_place(const std::byte* start, std::size_t size) {
  if (left_ > 0 && place_ >= start && place_ < start + size) drops_ = true;
}

}  // namespace heddle::tcp
