// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/launch.hpp>
#include <heddle/heddle.hpp>
#include <heddle/run_as_threads.hpp>

#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

#include "../forked.hpp"
#include "../meeting.hpp"
#include "../options.hpp"

/// PEs that are threads of one process, or processes, on the device that HEDDLE_DEVICE chooses.
namespace bench {

class gpu_pe {
 public:
  /// `largest` as agree has it.
  gpu_pe(const heddle::runtime& runtime, std::function<double(double)> largest,
         const gpu_options& options)
      : runtime_(runtime),
        world_(runtime.world()),
        stream_(runtime.create_stream()),
        largest_(std::move(largest)),
        options_(options) {}

  [[nodiscard]] const heddle::runtime& runtime() const { return runtime_; }
  [[nodiscard]] const heddle::team& world() const { return world_; }
  [[nodiscard]] const heddle::stream& stream() const { return stream_; }
  [[nodiscard]] const gpu_options& options() const { return options_; }
  [[nodiscard]] int my_pe() const { return world_.my_pe(); }
  [[nodiscard]] int n_pes() const { return world_.n_pes(); }
  [[nodiscard]] int right() const { return (my_pe() + 1) % n_pes(); }

  /// The largest x of all PEs; a barrier.
  double agree(double x) { return largest_(x); }

  /// Microseconds of an iteration. `enqueue(n)` puts n of them on the stream, of every PE alike.
  template <class Enqueue>
  double time(Enqueue enqueue) {
    return time_per_iteration(
        [&](std::uint64_t n) {
          enqueue(n);
          stream_.synchronize();
        },
        [&](double x) { return agree(x); }, options_.measure);
  }

  void report(const std::string& what, const std::string& variant, std::size_t bytes, double us) {
    if (my_pe() == 0) bench::report(what, variant, bytes, us);
  }

  template <class T>
  void write(T* to, const std::vector<T>& values) const {
    stream_.copy(to, values.data(), values.size());
    stream_.synchronize();
  }
  template <class T>
  [[nodiscard]] std::vector<T> read(const T* from, std::size_t n) const {
    std::vector<T> values(n);
    stream_.copy(values.data(), from, n);
    stream_.synchronize();
    return values;
  }

 private:
  const heddle::runtime& runtime_;
  const heddle::team world_;
  const heddle::stream stream_;
  const std::function<double(double)> largest_;
  const gpu_options& options_;
};

inline bool on_gpu() {
  const char* device = std::getenv("HEDDLE_DEVICE");
  return device && std::string_view(device).substr(0, 4) == "cuda";
}

/// Runs body(gpu_pe&) on every PE.
template <class Body>
void run_gpu_pes(const gpu_options& options, Body body) {
  if (options.processes)
    return run_forked(options.pes, "a PE", [&](int my_pe, process_meeting& all) {
      const auto id = all.from_first<heddle_unique_id_t>(my_pe, [] {
        heddle_unique_id_t made;
        if (heddle_get_unique_id(&made) != HEDDLE_SUCCESS)
          throw std::runtime_error(heddle_last_error());
        return made;
      });
      heddle::runtime runtime(id, my_pe, options.pes);
      gpu_pe pe(
          runtime, [&](double x) { return all.largest(my_pe, x); }, options);
      body(pe);
    });
  meeting all(options.pes);
  heddle::run_as_threads(options.pes, [&](heddle::runtime& runtime) {
    try {
      gpu_pe pe(
          runtime, [&](double x) { return all.largest(x); }, options);
      body(pe);
    } catch (...) {
      all.fail();
      throw;
    }
  });
}

/// Who makes a call, as kernels' template arguments. On the host a warp is one thread, and a block
/// few.
struct by_thread {
  static constexpr const char* name = "thread";
  static constexpr std::size_t most_bytes = 4096;  ///< of one call that is worth timing
  static int threads() { return on_gpu() ? 32 : 1; }
  template <heddle::block_group Block>
  HEDDLE_FN static auto of(Block block) {
    return block.thread();
  }
};
struct by_warp {
  static constexpr const char* name = "warp";
  static constexpr std::size_t most_bytes = 32'768;
  static int threads() { return on_gpu() ? 32 : 1; }
  template <heddle::block_group Block>
  HEDDLE_FN static auto of(Block block) {
    return block.warp();
  }
};
struct by_block {
  static constexpr const char* name = "block";
  static constexpr std::size_t most_bytes = 262'144;
  static int threads() { return on_gpu() ? 256 : 4; }
  template <heddle::block_group Block>
  HEDDLE_FN static auto of(Block block) {
    return block;
  }
};

/// Whether this thread is in the first of the groups, which is the one of a latency.
template <class By, heddle::block_group Block>
HEDDLE_FN bool in_first_group(Block block) {
  return block.rank() < By::of(block).size();
}

}  // namespace bench
