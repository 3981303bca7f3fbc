// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <deque>
#include <heddle/device/group.hpp>

#include "device/device.hpp"
#include "device/host_streams.hpp"
#include "device/resident_threads.hpp"

namespace heddle::exec {

namespace {

/// Threads of a grid are few beside a GPU's, but each has a stack: enough for tests with blocks of
/// many threads, far below what a process may have.
constexpr int thread_limit = 1024;

/// The barriers of a launched block and of its warps.
struct block_barriers {
  explicit block_barriers(int threads) : block(threads) {
    for (int first = 0; first < threads; first += host_block::warp_size)
      warps.emplace_back(std::min(host_block::warp_size, threads - first));
  }
  host_group_barrier block;
  std::deque<host_group_barrier> warps;
};

class host_device final : public device, private kernel_runner {
 public:
  [[nodiscard]] std::string name() const override { return "host"; }
  [[nodiscard]] int max_resident_threads() const override { return threads_.limit(); }
  [[nodiscard]] stream& default_stream() override { return *default_stream_; }
  [[nodiscard]] std::unique_ptr<stream> create_stream() override {
    return create_queued_stream(*this);
  }
  [[nodiscard]] std::shared_ptr<event> create_event() override { return create_host_event(); }

 private:
  void run(launch_shape shape, heddle_kernel_entry_t entry, const void* arguments) override {
    if (shape.grid == 1 && shape.block == 1) {
      host_block block(0, 1);
      entry(arguments, &block);
      return;
    }
    std::deque<block_barriers> blocks;
    for (int i = 0; i < shape.grid; ++i) blocks.emplace_back(shape.block);
    threads_.run(shape.grid * shape.block, [&](int i) {
      const int rank = i % shape.block;
      auto& barriers = blocks[static_cast<std::size_t>(i / shape.block)];
      auto& warp = barriers.warps[static_cast<std::size_t>(rank / host_block::warp_size)];
      host_block block(shape.block > 1 ? &barriers.block : nullptr,
                       warp.members() > 1 ? &warp : nullptr, rank, i / shape.block, shape.grid);
      struct leave_at_end {
        host_group_barrier &block, &warp;
        ~leave_at_end() {
          block.leave();
          warp.leave();
        }
      } leave{barriers.block, warp};
      entry(arguments, &block);
    });
  }

  resident_threads threads_{thread_limit};
  std::unique_ptr<stream> default_stream_ = create_immediate_stream(*this);
};

}  // namespace

std::unique_ptr<device> create_host_device() { return std::make_unique<host_device>(); }

}  // namespace heddle::exec
