// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <heddle/device/team.hpp>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "host/proxy/proxy.hpp"
#include "networks.hpp"

namespace heddle::testing {

inline constexpr thread_group one{};

/// In threads of a job, where doctest's macros are slow: throws, and the case fails with the text.
inline void expect(bool condition, const std::string& text) {
  if (!condition) throw std::runtime_error(text);
}

/// How many times a litmus test goes round: `n`, times HEDDLE_DEV_TEST_SCALE (1; under sanitizers a
/// tenth).
int rounds(int n);

/// Bytes that differ by place and salt.
std::byte pattern(std::size_t index, std::uint64_t salt);
void fill(std::span<std::byte> out, std::uint64_t salt);
/// Throws with the first place that differs.
void expect_filled(std::span<const std::byte> bytes, std::uint64_t salt, const std::string& what);

class proxy_job;

/// One PE of a job, as the thread that is it sees it.
class test_pe {
 public:
  test_pe(proxy_job& all, int pe);

  const int pe;
  const int n_pes;
  const team_ref team;
  std::mt19937_64 random;

  [[nodiscard]] int right() const { return (pe + 1) % n_pes; }
  [[nodiscard]] int left() const { return (pe + n_pes - 1) % n_pes; }
  /// A symmetric object, for users, zero at the start.
  template <class T = std::byte>
  [[nodiscard]] T* user(std::size_t offset = 0) const;
  [[nodiscard]] proxy_job& all() const { return all_; }
  void barrier() const {
    expect(team.barrier(thread_group{}) == wait_status::ok, "a barrier was aborted");
  }
  template <class T>
  void wait(const T* word, cmp how, T value, const std::string& what) const {
    expect(team.wait_until(thread_group{}, word, how, value) == wait_status::ok,
           fmt::format("PE {}: waited in vain for {}", pe, what));
  }
  [[nodiscard]] std::size_t below(std::size_t n) { return random() % n; }

 private:
  proxy_job& all_;
};

/// PEs that are threads of this process and reach each other through proxies alone, each with a
/// heap of its own: the device API over the chosen network, without a runtime.
class proxy_job {
 public:
  struct options {
    int n_pes = 2;
    int contexts = 2;
    std::size_t user_bytes = std::size_t{1} << 20;  ///< of each heap
    std::size_t exposed_bytes = SIZE_MAX;           ///< of those, at the start
    double timeout = 60;                            ///< seconds that a wait lasts
    double network_timeout = 60;
    bool meets_at_end = true;
  };
  struct failure {
    int pe;
    std::string reason;
  };

  explicit proxy_job(const options& options);
  ~proxy_job();
  proxy_job(const proxy_job&) = delete;
  proxy_job& operator=(const proxy_job&) = delete;

  /// body(PE) on a thread for each; throws what the first of them to fail threw, with the seed.
  void run(const std::function<void(test_pe&)>& body);

  [[nodiscard]] int n_pes() const { return options_.n_pes; }
  [[nodiscard]] team_ref ref(int pe) const;
  [[nodiscard]] std::byte* user(int pe) const { return at(pe).heap.get() + user_offset; }
  [[nodiscard]] proxy& proxy_of(int pe) const { return *at(pe).driver; }
  [[nodiscard]] memory_network* memory() const { return network_.memory.get(); }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  static constexpr std::uint64_t job_number = 0x0123456789abcdef;
  static constexpr std::size_t user_offset = std::size_t{1} << 20;
  static constexpr std::size_t control_offset = user_offset - 4096;

  /// Exposes [from, to) of the users' memory of that PE too; peers learn of it by themselves.
  void expose(int pe, std::size_t from, std::size_t to) const;
  void conceal(int pe, std::size_t from) const;
  /// Ends a PE's proxy and transport, as its death would.
  void kill(int pe);
  /// A network that loses_peers loses one that lives, to all others.
  void lose(int pe) const;
  /// What the PE's proxy told of failures.
  [[nodiscard]] std::vector<failure> failures(int pe) const;

 private:
  struct unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const;
  };
  class imitated_gpu;
  struct pe_state {
    std::unique_ptr<std::byte, unmap> heap;
    std::vector<std::int32_t> slots;
    mutable std::mutex guard;
    std::vector<failure> failures;
    std::unique_ptr<device_memory> gpu;
    std::unique_ptr<heddle::proxy> driver;
  };
  [[nodiscard]] pe_state& at(int pe) const { return *pes_[static_cast<std::size_t>(pe)]; }
  [[nodiscard]] team_control* control(int pe) const;
  void abort(int pe, abort_code code) const;

  const options options_;
  const std::uint64_t seed_;
  made_network network_;
  std::vector<std::int32_t> world_;
  std::vector<std::unique_ptr<pe_state>> pes_;
  std::atomic<bool> ends_{false};
};

template <class T>
T* test_pe::user(std::size_t offset) const {
  return reinterpret_cast<T*>(all_.user(pe) + offset);
}

}  // namespace heddle::testing
