// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <utility>

#include "networks.hpp"
#include "support/deadline.hpp"

namespace heddle::conformance {

/// What the PEs of a run share.
class job {
 public:
  explicit job(const job_options& options)
      : options(options),
        until(deadline::after(std::chrono::duration<double>(options.deadline))),
        slots(static_cast<std::size_t>(options.n_pes)) {}

  const job_options options;
  const deadline until;
  const std::uint64_t seed = std::random_device()();
  std::mutex guard;
  int arrived = 0;
  std::uint64_t round = 0;
  std::vector<transport::bytes> slots;  ///< what each gives to all
  std::atomic<bool> failed{false};
  std::string failure;  ///< of all PEs that failed, the first first

  void fail(int pe, const std::string& text) {
    const std::scoped_lock lock(guard);
    failure += fmt::format("{}PE {}: {}", failure.empty() ? "" : "; ", pe, text);
    failed = true;
  }
  /// Counts a PE in; returns the round that ends when all are.
  std::uint64_t arrive() {
    const std::scoped_lock lock(guard);
    const auto mine = round;
    if (++arrived == options.n_pes) {
      arrived = 0;
      ++round;
    }
    return mine;
  }
  bool is_over(std::uint64_t which) {
    const std::scoped_lock lock(guard);
    return round > which;
  }
  void put(int pe, transport::bytes bytes) {
    const std::scoped_lock lock(guard);
    slots[static_cast<std::size_t>(pe)] = std::move(bytes);
  }
  std::vector<transport::bytes> get() {
    const std::scoped_lock lock(guard);
    return slots;
  }
};

void record::on_message(std::span<const std::byte> message) {
  if (when_message_)
    when_message_(message);
  else
    messages.emplace_back(message.begin(), message.end());
}

void record::give_messages_to(std::function<void(std::span<const std::byte>)> take) {
  for (const auto& message : std::exchange(messages, {})) take(message);
  when_message_ = std::move(take);
}

void record::on_complete(std::uint64_t token, std::uint64_t value) {
  expect(completed.emplace(token, value).second, fmt::format("token {} completed twice", token));
}

void record::on_failure(int pe, const std::string& reason) {
  expect(failures.emplace(pe, reason).second, fmt::format("PE {} failed twice", pe));
}

test_pe::test_pe(job& all, int pe)
    : all_(all),
      pe_(pe),
      seed_(all.seed + static_cast<std::uint64_t>(pe)),
      heap_(all.options.heap_bytes),
      network_(make_transport(seed_, std::chrono::duration<double>(all.options.timeout))) {
  all_.put(pe, network_->address());
  meet();
  network_->set_addresses(all_.get());
  meet();
}

int test_pe::n_pes() const { return all_.options.n_pes; }

void test_pe::wait(const std::string& what, const std::function<bool()>& done) {
  for (pacing pace; !done();) {
    pace.after(network_ && network_->progress(told));
    if (!all_.failed && !all_.until.passed()) continue;
    std::string failures;
    for (auto& [lost, reason] : told.failures) failures += ", told that " + reason;
    throw std::runtime_error(fmt::format("waited in vain for {}{}", what, failures));
  }
}

void test_pe::sleep_until(const std::string& what, const std::function<bool()>& done) {
  while (!done()) {
    if (all_.failed) throw std::runtime_error("another PE failed");
    if (all_.until.passed()) throw std::runtime_error("waited in vain for " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void test_pe::meet() {
  const auto round = all_.arrive();
  wait("the other PEs", [&] { return all_.is_over(round); });
}

void test_pe::expose(std::size_t offset, std::size_t size) {
  all_.put(pe_, network_->expose(0, offset, heap_.data() + offset, size));
  meet();
  const auto keys = all_.get();
  for (int pe = 0; pe < n_pes(); ++pe)
    if (pe != pe_) network_->add_remote(pe, 0, offset, size, keys[static_cast<std::size_t>(pe)]);
  meet();
}

std::span<std::byte> test_pe::local(std::size_t size) {
  auto& bytes = locals_.emplace_back(std::max<std::size_t>(size, 1));
  network_->register_local(bytes.data(), bytes.size());
  return std::span(bytes).first(size);
}

void test_pe::send(int pe, std::span<const std::byte> message, int lane) {
  std::span<std::byte> place;
  wait("a place for a message", [&] {
    place = network_->begin_message(lane, pe);
    return !place.empty();
  });
  expect(place.size() >= message.size(), "the place for a message is too small");
  std::copy(message.begin(), message.end(), place.begin());
  network_->post_message(lane, pe, place, message.size());
}

std::vector<std::byte> test_pe::receive() {
  wait("a message", [&] { return !told.messages.empty(); });
  auto first = std::move(told.messages.front());
  told.messages.pop_front();
  return first;
}

std::uint32_t test_pe::next_immediate(int pe) {
  return static_cast<std::uint32_t>(pe_) << 24 | immediates_[pe]++;
}

void test_pe::write(const remote_place& to, std::span<const std::byte> from, bool wait_for_it) {
  const auto most = network_->about().most_transfer_bytes;
  std::vector<std::uint64_t> tokens;
  for (std::size_t at = 0; at == 0 || at < from.size();) {
    const auto size = std::min(most, from.size() - at);
    tokens.push_back(next_token());
    const auto immediate = next_immediate(to.pe);
    wait("room for a write", [&] {
      return network_->post_write(0, {to.pe, to.region, to.offset + at}, from.data() + at, size,
                                  tokens.back(), immediate);
    });
    if (size == 0) break;
    at += size;
  }
  if (!wait_for_it) return;
  wait("a write's completion", [&] {
    return std::all_of(tokens.begin(), tokens.end(),
                       [&](auto token) { return told.completed.contains(token); });
  });
}

void test_pe::read(std::span<std::byte> to, const remote_place& from) {
  const auto most = network_->about().most_transfer_bytes;
  for (std::size_t at = 0; at < to.size();) {
    const auto size = std::min(most, to.size() - at);
    const auto token = next_token();
    wait("room for a read", [&] {
      return network_->post_read(0, to.data() + at, {from.pe, from.region, from.offset + at}, size,
                                 token);
    });
    wait("a read's data", [&] { return told.completed.contains(token); });
    at += size;
  }
}

std::uint64_t test_pe::atomic(network_atomic op, const remote_place& word, std::uint64_t value,
                              std::uint64_t compare) {
  const auto token = next_token();
  wait("room for an atomic",
       [&] { return network_->post_atomic(0, op, word, value, compare, token); });
  wait("an atomic's value", [&] { return told.completed.contains(token); });
  return told.completed.at(token);
}

void run_job(const job_options& options, const std::function<void(test_pe&)>& body) {
  job all(options);
  std::vector<std::thread> threads;
  for (int pe = 0; pe < options.n_pes; ++pe)
    threads.emplace_back([&, pe] {
      try {
        test_pe self(all, pe);
        body(self);
        if (options.meets_at_end) self.meet();
      } catch (const std::exception& failure) {
        all.fail(pe, failure.what());
      }
    });
  for (auto& thread : threads) thread.join();
  if (all.failed) throw std::runtime_error(fmt::format("{} (seed {})", all.failure, all.seed));
}

std::byte pattern(std::size_t index, std::uint64_t salt) {
  return static_cast<std::byte>((index * 2654435761U + salt * 40503U) >> 9);
}

void fill(std::span<std::byte> out, std::uint64_t salt) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = pattern(i, salt);
}

void expect_filled(std::span<const std::byte> bytes, std::uint64_t salt, const std::string& what) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != pattern(i, salt))
      throw std::runtime_error(fmt::format("{}: byte {} of {} is {} instead of {}", what, i,
                                           bytes.size(), static_cast<int>(bytes[i]),
                                           static_cast<int>(pattern(i, salt))));
}

}  // namespace heddle::conformance
