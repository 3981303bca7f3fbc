// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/transport/tcp/outbox.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

namespace heddle::tcp {

namespace {

/// Of one call: in the time that more would take, what has arrived is better taken in.
constexpr std::size_t most_bytes = 512 << 10;
constexpr std::size_t most_parts = 64;

/// The parts of memory that one call sends.
class gathered {
 public:
  [[nodiscard]] bool is_full() const { return n_ + 2 > parts_.size() || bytes_ >= most_bytes; }
  /// Without the first `skip` bytes, which are taken off it.
  void add(const void* start, std::size_t size, std::size_t& skip) {
    const std::size_t skipped = std::min(skip, size);
    skip -= skipped;
    const std::size_t left = std::min(size - skipped, most_bytes - std::min(bytes_, most_bytes));
    if (left == 0) return;
    parts_[n_++] = {const_cast<std::byte*>(static_cast<const std::byte*>(start)) + skipped, left};
    bytes_ += left;
  }
  /// What the kernel took, as sendmsg says it.
  [[nodiscard]] ssize_t send(int socket) {
    constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    if (n_ == 1) return ::send(socket, parts_[0].iov_base, parts_[0].iov_len, flags);
    msghdr all{};
    all.msg_iov = parts_.data();
    all.msg_iovlen = n_;
    return ::sendmsg(socket, &all, flags);
  }

 private:
  std::array<iovec, most_parts> parts_;
  std::size_t n_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

void outbox::add_message(std::byte* message, std::size_t size) {
  const operation_header header{operation_kind::message, 0, size, 0};
  std::memcpy(message - sizeof header, &header, sizeof header);
  waiting_.push_back({header, nullptr, message, transport::no_token, {}});
}

void outbox::add(const operation_header& header, const std::byte* data, std::uint64_t token) {
  waiting_.push_back({header, data, nullptr, token, {}});
}

outbox::outcome outbox::send(int socket, transport::listener& listener) {
  if (lacks_memory_) [[unlikely]] {
    errno = ENOMEM;
    return outcome::failed;
  }
  gathered parts;
  std::size_t skip = sent_of_first_;
  for (std::size_t i = 0; i < waiting_.size() && !parts.is_full(); ++i) {
    const auto& one = waiting_[i];
    if (one.message) {
      parts.add(one.message - sizeof one.header, one.bytes(), skip);
    } else {
      parts.add(&one.header, sizeof one.header, skip);
      if (one.data) parts.add(one.data, one.header.size, skip);
    }
  }
  const auto taken = parts.send(socket);
  if (taken < 0)
    return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? outcome::nothing
                                                                 : outcome::failed;
  sent(static_cast<std::size_t>(taken), listener);
  return outcome::something;
}

void outbox::sent(std::size_t bytes, transport::listener& listener) {
  sent_of_first_ += bytes;
  while (!waiting_.empty() && sent_of_first_ >= waiting_.front().bytes()) {
    const outgoing done = waiting_.front();
    waiting_.pop_front();
    sent_of_first_ -= done.bytes();
    if (done.message) pool_->give_back(done.message);
    if (done.token != transport::no_token) listener.on_complete(done.token, 0);
  }
}

/// Of what has begun to leave, the rest.
void outbox::keep(outgoing& one) {
  constexpr std::size_t head = sizeof one.header;
  const std::size_t left = &one == &waiting_.front() ? std::max(sent_of_first_, head) - head : 0;
  one.copy.reset(new std::byte[one.header.size]);
  std::memcpy(one.copy.get() + left, one.data + left, one.header.size - left);
  one.data = one.copy.get();
}

void outbox::keep_copies(const std::byte* start, std::size_t size) {
  for (auto& one : waiting_)
    if (one.data && one.data >= start && one.data < start + size) keep(one);
}

void outbox::keep_unwanted(transport::listener& listener) {
  try {
    for (auto& one : waiting_)
      if (one.data && !one.copy && one.token != transport::no_token &&
          !listener.is_wanted(one.token))
        keep(one);
  } catch (const std::bad_alloc&) {
    lacks_memory_ = true;
  }
}

bool outbox::forget_data() {
  const bool has_begun = sent_of_first_ > 0 && waiting_.front().data != nullptr;
  if (has_begun) return false;
  const auto first = std::find_if(waiting_.begin(), waiting_.end(),
                                  [](const outgoing& one) { return one.data != nullptr; });
  for (auto each = first; each != waiting_.end(); ++each)
    if (each->message) pool_->give_back(each->message);
  waiting_.erase(first, waiting_.end());
  return true;
}

void outbox::clear() {
  if (waiting_.empty()) return;  // mostly: all has been sent
  for (const auto& one : waiting_)
    if (one.message) pool_->give_back(one.message);
  waiting_.clear();
  sent_of_first_ = 0;
}

}  // namespace heddle::tcp
