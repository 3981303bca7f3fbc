// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cuda_driver/host_driver.hpp"
#include "support/unique_fd.hpp"

/// What the driver over host memory knows, guarded by one mutex.
namespace heddle::gpu::host_driver {

/// What the processes that share a multicast object know of it, in the memory of its file.
struct multicast_object {
  static constexpr std::size_t most = 16;
  struct member {
    std::atomic<bool> added;
    std::atomic<bool> bound;
    pid_t process;
    int descriptor;  // of its memory, in that process
    std::size_t offset, memory_offset, bytes;
  };
  int num_devices;
  std::size_t bytes;
  std::atomic<int> added;
  member members[most];  // by device

  [[nodiscard]] bool complete() const { return added == num_devices; }
};

/// Memory of a device, or a multicast object: lives as long as a handle or a mapping refers to it.
struct allocation {
  unique_fd file;
  std::size_t bytes = 0;
  int device = 0;      // -1: the host's
  int exports = 0;     // CUmemAllocationHandleType bits
  std::size_t* taken;  // of its device
  multicast_object* multicast = nullptr;
  std::vector<std::shared_ptr<allocation>> bound = {};  // to it, by this process
  allocation(unique_fd from, std::size_t size, int of, std::size_t* count)
      : file(std::move(from)), bytes(size), device(of), taken(count) {
    if (taken) *taken += bytes;
  }
  ~allocation() {
    if (taken) *taken -= bytes;
    if (multicast) ::munmap(multicast, sizeof *multicast);
  }
  allocation(const allocation&) = delete;
  allocation& operator=(const allocation&) = delete;
};

struct mapping {
  std::size_t bytes;
  std::shared_ptr<allocation> memory;
  std::set<int> readers, writers;           // devices
  CUmemGenericAllocationHandle handle = 0;  // that it was mapped by; 0: by none
};

struct held_handle {
  std::shared_ptr<allocation> memory;
  std::size_t references = 1;
};

struct device_state {
  int ordinal = 0;
  std::size_t taken = 0;
  std::size_t contexts = 0;
  std::size_t stack_bytes = 1024;  // CUDA's own
};

struct planned_failure {
  int skip;
  CUresult result;
};

struct stream_state {
  device_state* device;
  cuuint64_t capture = 0;   // 0: not captured
  bool has_kernel = false;  // that nobody has waited for
};

struct event_state {
  bool timed = true;
  bool recorded = false;
  cuuint64_t capture = 0;  // that it was recorded in
  std::chrono::steady_clock::time_point at{};
};

struct state {
  machine layout;
  bool initialised = false;
  std::vector<std::unique_ptr<device_state>> devices;
  std::map<CUdeviceptr, std::size_t> reservations;
  std::map<CUdeviceptr, mapping> mappings;
  std::map<CUmemGenericAllocationHandle, held_handle> handles;
  CUmemGenericAllocationHandle next_handle = 1;
  std::map<std::string, planned_failure> failures;
  std::map<CUevent, std::unique_ptr<event_state>> events;
  std::map<CUdeviceptr, std::size_t> pool;
  std::map<void*, std::size_t> host_memory;
  std::map<CUstream, std::unique_ptr<stream_state>> streams;
  cuuint64_t last_capture = 0;
  std::size_t launches = 0;
  std::size_t locked_waits = 0;
  std::size_t event_waits = 0;
  std::size_t card_flushes = 0;
};

inline std::mutex mutex;
inline std::unique_ptr<state> now;
inline thread_local std::vector<CUcontext> context_stack;

/// What every function begins with: the lock, and a failure that a test has asked for.
class call {
 public:
  explicit call(const char* function) : lock_(mutex) {
    if (!now->initialised && std::strcmp(function, "cuInit") != 0)
      result = CUDA_ERROR_NOT_INITIALIZED;
    const auto planned = now->failures.find(function);
    if (planned == now->failures.end()) return;
    if (planned->second.skip-- > 0) return;
    result = planned->second.result;
    now->failures.erase(planned);
  }
  CUresult result = CUDA_SUCCESS;

 private:
  std::lock_guard<std::mutex> lock_;
};

inline bool is_device(int device) {
  return device >= 0 && device < static_cast<int>(now->devices.size());
}

inline bool reaches(int from, int to) {
  return from == to || !now->layout.apart.contains({from, to});
}

inline bool is_granular(std::size_t bytes) {
  return bytes > 0 && bytes % now->layout.granularity == 0;
}

inline device_state* current_device() {
  return context_stack.empty() ? nullptr : reinterpret_cast<device_state*>(context_stack.back());
}

/// The registered ranges of host memory that have some of those bytes: whether all of them.
inline std::vector<bool> host_ranges_of(CUdeviceptr at, std::size_t bytes) {
  std::vector<bool> whole;
  for (const auto& [start, size] : now->host_memory) {
    const auto first = reinterpret_cast<CUdeviceptr>(start);
    if (at < first + size && first < at + bytes)
      whole.push_back(first <= at && at + bytes <= first + size);
  }
  return whole;
}

inline CUstream add_stream(device_state& device) {
  std::unique_ptr<stream_state> made(new stream_state{.device = &device});
  auto* handle = reinterpret_cast<CUstream>(made.get());
  now->streams.emplace(handle, std::move(made));
  return handle;
}

inline bool is_reserved(CUdeviceptr start, std::size_t bytes) {
  auto after = now->reservations.upper_bound(start);
  if (after == now->reservations.begin()) return false;
  const auto& [first, size] = *std::prev(after);
  return start - first <= size && bytes <= size - (start - first);
}

/// The mapping that the address is in; the end if there is none.
inline std::map<CUdeviceptr, mapping>::iterator mapping_at(CUdeviceptr at) {
  const auto after = now->mappings.upper_bound(at);
  if (after == now->mappings.begin()) return now->mappings.end();
  const auto found = std::prev(after);
  return at - found->first < found->second.bytes ? found : now->mappings.end();
}

/// The file's content; null if it cannot be mapped.
multicast_object* open_multicast(const allocation& memory);

// Each puts its functions into the table.
void add_device_functions(driver& table);
void add_handle_functions(driver& table);
void add_memory_functions(driver& table);
void add_multicast_functions(driver& table);
void add_stream_functions(driver& table);

}  // namespace heddle::gpu::host_driver
