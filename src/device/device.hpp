// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace heddle::exec {

/// A grid of blocks of threads, all resident at once.
struct launch_shape {
  int grid;
  int block;
};

using kernel = heddle_kernel_t;

/// Told, by any thread, why a kernel that a stream has taken failed, before anything goes on that
/// waits for one of its threads; more than once, perhaps. Empty: nobody.
using failure_callback = std::function<void(const std::string& why)>;

/// A point in a stream's work.
class event {
 public:
  virtual ~event() = default;
  /// Waits for the last record; an event that was never recorded is complete.
  virtual void synchronize() = 0;
  /// Milliseconds from `start` to this; both are complete, else HEDDLE_ERROR_INVALID_USAGE.
  [[nodiscard]] virtual double milliseconds_since(const event& start) const = 0;
};

/// An ordered queue of work on a device.
class stream {
 public:
  stream() = default;
  virtual ~stream() = default;
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  /// Of no other stream of the process, ever.
  [[nodiscard]] std::uint64_t serial() const { return serial_; }
  /// The capture into a graph that work now goes to; 0 if work is run.
  [[nodiscard]] virtual std::uint64_t capture() const { return 0; }
  /// Runs the kernel for every thread of the shape; the arguments are copied. Throws
  /// HEDDLE_ERROR_NOT_SUPPORTED for one that was not compiled for this device.
  virtual void launch(launch_shape shape, const kernel& kernel, const void* arguments,
                      std::size_t bytes, failure_callback on_failure) = 0;
  void launch(launch_shape shape, const kernel& kernel, const void* arguments, std::size_t bytes) {
    launch(shape, kernel, arguments, bytes, {});
  }
  /// Runs a host function in stream order. What it throws, the next synchronize throws.
  virtual void enqueue(std::function<void()> work) = 0;
  /// Copies between any memory that the device reaches, apart.
  virtual void copy(void* dst, const void* src, std::size_t bytes) = 0;
  virtual void record(std::shared_ptr<event> event) = 0;
  virtual void wait(std::shared_ptr<event> event) = 0;
  /// Waits for all work enqueued so far; throws the first error since the last synchronize.
  virtual void synchronize() = 0;
  /// True if work runs in the calling thread and is complete on return of each call.
  [[nodiscard]] virtual bool is_immediate() const = 0;
  /// True if the caller is work of this stream, on the stream's own thread: it cannot wait for it.
  [[nodiscard]] virtual bool runs_caller() const = 0;
  /// Whether the program has launched kernels of its own here, which may use any team.
  [[nodiscard]] bool has_own_kernels() const { return has_own_kernels_; }
  void set_has_own_kernels() { has_own_kernels_ = true; }

 private:
  static std::uint64_t next_serial() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }
  const std::uint64_t serial_ = next_serial();
  bool has_own_kernels_ = false;
};

/// What has memory and runs kernels: `host` here, `cuda:N` beside it.
class device {
 public:
  virtual ~device() = default;
  /// Loads a kernel, if it was compiled for this device: CUDA would load it at its first launch,
  /// and may wait for all that runs then, on which another PE's kernel waits for this one.
  /// `stays`: as long as the process.
  virtual void preload(const kernel& kernel, bool stays = true) = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  /// How many threads of a grid can be resident at once.
  [[nodiscard]] virtual int max_resident_threads() const = 0;
  /// 64-byte aligned memory (bytes > 0). Throws HEDDLE_ERROR_OUT_OF_MEMORY.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  /// Throws HEDDLE_ERROR_INVALID_ARGUMENT if it is not from allocate, or was freed before.
  virtual void free(void* memory) = 0;
  [[nodiscard]] virtual stream& default_stream() = 0;
  [[nodiscard]] virtual std::unique_ptr<stream> create_stream() = 0;
  /// The program's own CUstream as a stream, which it outlives. Throws HEDDLE_ERROR_NOT_SUPPORTED
  /// on a device that has none, HEDDLE_ERROR_INVALID_ARGUMENT for a stream of another device.
  [[nodiscard]] virtual std::unique_ptr<stream> borrow_stream(void* cuda_stream) = 0;
  /// `is_timed`: milliseconds_since is asked of it, for which a GPU notes when it gets there.
  [[nodiscard]] virtual std::shared_ptr<event> create_event(bool is_timed) = 0;
};

/// The threads of this process as a device. Devices share nothing: each PE has its own.
std::unique_ptr<device> create_host_device();

}  // namespace heddle::exec
