// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/loss_record.hpp"

#include <algorithm>
#include <utility>

namespace heddle {

bool loss_record::add(int rank, std::string_view reason) {
  if (!note(rank, reason)) return false;
  tell();
  return true;
}

bool loss_record::note(int rank, std::string_view reason) {
  std::lock_guard lock(mutex_);
  if (std::any_of(losses_.begin(), losses_.end(), [&](auto& l) { return l.rank == rank; }))
    return false;
  losses_.push_back({rank, std::string(reason)});
  return true;
}

void loss_record::tell() {
  std::unique_lock lock(mutex_);
  tell(lock);
}

void loss_record::set_callback(bootstrap::lost_callback callback) {
  std::unique_lock lock(mutex_);
  call_ended_.wait(
      lock, [&] { return teller_ == std::thread::id() || teller_ == std::this_thread::get_id(); });
  callback_ = callback ? std::make_shared<bootstrap::lost_callback>(std::move(callback)) : nullptr;
  told_ = 0;
  tell(lock);
}

std::optional<loss_record::loss> loss_record::first() const {
  std::lock_guard lock(mutex_);
  if (losses_.empty()) return std::nullopt;
  return losses_.front();
}

// One thread tells at a time; a loss noted meanwhile is told by the thread that is telling already.
void loss_record::tell(std::unique_lock<std::mutex>& lock) {
  if (teller_ != std::thread::id()) return;
  while (callback_ && told_ < losses_.size()) {
    auto callback = callback_;
    loss next = losses_[told_++];
    teller_ = std::this_thread::get_id();
    lock.unlock();
    (*callback)(next.rank, next.reason);
    lock.lock();
    teller_ = {};
    call_ended_.notify_all();
  }
}

}  // namespace heddle
