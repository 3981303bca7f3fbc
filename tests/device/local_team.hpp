// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <functional>
#include <heddle/device/coll/scratch.hpp>
#include <heddle/device/impl/team_ref_builder.hpp>
#include <new>
#include <vector>

#include "coll/team_order.hpp"
#include "device/device.hpp"
#include "device/resident_threads.hpp"

namespace heddle::testing {

/// A team of PEs that are threads of the test, over arenas of its own: the device API and the
/// collectives without a runtime. Each PE has a host device; its kernels run in blocks of
/// `threads`.
class local_team {
 public:
  struct options {
    int threads = 1;
    double timeout = 60;
    std::uint32_t flag_period = 0xffffffffu;
    std::size_t user_bytes = std::size_t{64} << 20;
    bool table = false;  ///< slots by table, in reverse, and not by a stride
    team_order ring{};
  };

  local_team(int n_pes, options options) : n_pes_(n_pes), options_(options) {
    scratch_offset_ = round_up(sizeof(team_memory));
    user_offset_ = round_up(scratch_offset_ + channel_scratch::bytes_per_team(n_pes));
    stride_ = round_up(user_offset_ + options.user_bytes);
    arena_ = static_cast<byte*>(::mmap(nullptr, stride_ * static_cast<std::size_t>(n_pes),
                                       PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (arena_ == MAP_FAILED) throw std::bad_alloc();
    control_.resize(static_cast<std::size_t>(n_pes));
    for (int pe = 0; pe < n_pes; ++pe) {
      slots_.push_back(options.table ? n_pes - 1 - pe : pe);
      devices_.push_back(exec::create_host_device());
    }
  }
  ~local_team() { ::munmap(arena_, stride_ * static_cast<std::size_t>(n_pes_)); }
  local_team(const local_team&) = delete;
  local_team& operator=(const local_team&) = delete;

  [[nodiscard]] int n_pes() const { return n_pes_; }
  [[nodiscard]] const team_order& ring() const { return options_.ring; }
  [[nodiscard]] byte* heap(int pe) const {
    return arena_ + static_cast<std::size_t>(slots_[static_cast<std::size_t>(pe)]) * stride_;
  }
  /// Where users' symmetric objects may be, zero at the start.
  template <class T>
  [[nodiscard]] T* user(int pe, std::size_t offset = 0) const {
    return reinterpret_cast<T*>(heap(pe) + user_offset_ + offset);
  }
  [[nodiscard]] team_ref ref(int pe) const {
    return team_ref_builder::build(
        {.my_pe = pe,
         .n_pes = n_pes_,
         .my_slot = slots_[static_cast<std::size_t>(pe)],
         .slot_step = options_.table ? 0 : 1,
         .slot_stride = static_cast<std::int64_t>(stride_),
         .slots = options_.table ? slots_.data() : nullptr,
         .ring = options_.ring.pes().empty() ? nullptr : options_.ring.pes().data(),
         .ring_position = options_.ring.position(pe),
         .heap = heap(pe),
         .heap_bytes = stride_,
         .memory = reinterpret_cast<team_memory*>(heap(pe)),
         .scratch = heap(pe) + scratch_offset_,
         .control = const_cast<team_control*>(
             &control_[static_cast<std::size_t>(slots_[static_cast<std::size_t>(pe)])]),
         .control_stride = sizeof(team_control),
         .timeout_ns = static_cast<std::uint64_t>(options_.timeout * 1e9),
         .spin = 4,
         .flag_period = options_.flag_period});
  }

  /// body(pe) on a thread for each PE; throws again what the first of them threw. The threads are
  /// kept: some suites make a hundred thousand calls.
  void run(const std::function<void(int)>& body) const {
    static exec::resident_threads threads;
    threads.run(n_pes_, body);
  }

  /// kernel(block) by `grid` blocks on the device of `pe`, from within run.
  template <class Kernel>
  void launch(int pe, int grid, const Kernel& kernel) const {
    devices_[static_cast<std::size_t>(pe)]->default_stream().launch(
        {grid, options_.threads},
        {.on_host =
             [](const void* arguments, const void* block) {
               (*static_cast<const Kernel*>(arguments))(*static_cast<const host_block*>(block));
             },
         .on_cuda = nullptr},
        &kernel, sizeof kernel);
  }

 private:
  static std::size_t round_up(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

  int n_pes_;
  options options_;
  std::size_t scratch_offset_ = 0;
  std::size_t user_offset_ = 0;
  std::size_t stride_ = 0;
  byte* arena_ = nullptr;
  std::vector<team_control> control_;  // by slot, apart from the heaps
  std::vector<std::int32_t> slots_;
  std::vector<std::unique_ptr<exec::device>> devices_;
};

}  // namespace heddle::testing
