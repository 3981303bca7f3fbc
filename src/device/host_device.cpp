// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <deque>
#include <exception>
#include <heddle/device/group.hpp>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "device/device.hpp"
#include "device/host_kernel.hpp"
#include "device/host_streams.hpp"
#include "device/resident_threads.hpp"
#include "support/throw_error.hpp"

namespace heddle::exec {

namespace {

/// Threads of a grid are few beside a GPU's, but each has a stack: enough for tests with blocks of
/// many threads, far below what a process may have.
constexpr int thread_limit = 1024;

/// The barriers of a launched block and of its warps, and what its threads share.
class launched_block {
 public:
  launched_block(launch_shape shape, int block_rank) : barrier_(shape.block) {
    if (shape.block > 1) {
      for (int first = 0; first < shape.block; first += host_block::warp_size) {
        const int members = std::min(host_block::warp_size, shape.block - first);
        warp_barriers_.emplace_back(members);
        warps_.push_back(members > 1 ? &warp_barriers_.back() : nullptr);
      }
    }
    state_ = {shape.block > 1 ? &barrier_ : nullptr, warps_.empty() ? nullptr : warps_.data(),
              block_rank, shape.grid};
  }

  /// `kernel(block)` as that thread of it, which leaves the block's barriers then.
  template <class Kernel>
  void run(int rank, const Kernel& kernel) {
    const host_block block(&state_, rank);
    struct leave_at_end {
      launched_block& block;
      int rank;
      ~leave_at_end() { block.leave(rank); }
    } leave{*this, rank};
    kernel(block);
  }

 private:
  void leave(int rank) {
    barrier_.leave();
    if (!warps_.empty())
      warp_barriers_[static_cast<std::size_t>(rank / host_block::warp_size)].leave();
  }

  host_group_barrier barrier_;
  std::deque<host_group_barrier> warp_barriers_;
  std::vector<host_group_barrier*> warps_;
  host_block_state state_;
};

class host_device final : public device, private kernel_runner {
 public:
  void preload(const kernel&, bool) override {}
  [[nodiscard]] std::string name() const override { return "host"; }
  [[nodiscard]] int max_resident_threads() const override { return thread_limit; }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    constexpr std::align_val_t alignment{64};
    const auto release = [](void* memory) { ::operator delete(memory, alignment); };
    constexpr std::size_t addresses = std::size_t{1} << 47;
    void* raw = bytes > addresses ? nullptr : ::operator new(bytes, alignment, std::nothrow);
    if (!raw)
      throw_error(HEDDLE_ERROR_OUT_OF_MEMORY, "the host has no {} bytes of memory left", bytes);
    std::unique_ptr<void, void (*)(void*)> memory(raw, release);
    std::lock_guard lock(mutex_);
    memory_.emplace(raw, std::move(memory));
    return raw;
  }
  void free(void* memory) override {
    std::lock_guard lock(mutex_);
    if (memory_.erase(memory) == 0)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "{} is not device memory: it is not the start of what heddle_device_malloc gave, "
                  "or was freed before",
                  memory);
  }
  [[nodiscard]] stream& default_stream() override { return *default_stream_; }
  [[nodiscard]] std::unique_ptr<stream> create_stream() override {
    return create_queued_stream(*this);
  }
  [[nodiscard]] std::unique_ptr<stream> borrow_stream(void*) override {
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "heddle_stream_from_cuda: this PE's device is the host, which runs no work of CUDA "
                "streams; choose HEDDLE_DEVICE=cuda, or use heddle_stream_create");
  }
  [[nodiscard]] std::shared_ptr<event> create_event(bool) override { return create_host_event(); }

 private:
  void require_resident(launch_shape shape) const override {
    if (shape.grid < 1 || shape.block < 1)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "a launch of {} blocks of {} threads: both must be at least 1", shape.grid,
                  shape.block);
    const auto threads = static_cast<long long>(shape.grid) * shape.block;
    if (threads > thread_limit)
      throw_error(
          HEDDLE_ERROR_INVALID_ARGUMENT,
          "a launch of {} threads does not fit: all must be resident at once and the host device "
          "runs at most {}; launch fewer blocks or threads",
          threads, thread_limit);
  }

  void run(launch_shape shape, heddle_kernel_entry_t entry, const void* arguments,
           const failure_callback& on_failure) override {
    const auto tell = [&](const char* why) {
      if (on_failure) on_failure(why);
    };
    run_kernel([&] { run_blocks(shape, entry, arguments, tell); }, tell);
  }

  template <class Callback>
  void run_blocks(launch_shape shape, heddle_kernel_entry_t entry, const void* arguments,
                  const Callback& on_failure) {
    if (shape.grid == 1 && shape.block == 1) return entry(arguments, &one_thread_block);
    std::deque<launched_block> blocks;
    for (int i = 0; i < shape.grid; ++i) blocks.emplace_back(shape, i);
    threads_.run(shape.grid * shape.block, [&](int i) {
      blocks[static_cast<std::size_t>(i / shape.block)].run(
          i % shape.block, [&](const host_block& block) {
            run_kernel([&] { entry(arguments, &block); }, on_failure);
          });
    });
  }

  std::mutex mutex_;
  std::unordered_map<void*, std::unique_ptr<void, void (*)(void*)>> memory_;
  resident_threads threads_;
  std::unique_ptr<stream> default_stream_ = create_immediate_stream(*this);
};

}  // namespace

std::unique_ptr<device> create_host_device() { return std::make_unique<host_device>(); }

}  // namespace heddle::exec
