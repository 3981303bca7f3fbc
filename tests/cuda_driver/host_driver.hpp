// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "device/cuda/driver.hpp"

/// A CUDA driver over host memory, so that the host side of the CUDA device is tested without a
/// GPU: allocations are memory files, which processes pass to each other as they pass CUDA's.
///
/// Fabric handles name the file of a process; only processes of this machine can take them.
///
/// It keeps CUDA's rules: granularity; map before access, and access for each device by itself;
/// peers that cannot reach each other; ranges that must be mapped, unmapped and freed as they were
/// made; an allocation lives as long as a handle or a mapping of it; out of memory; a context must
/// be current; a multicast object is bound and mapped after all its devices were added, each once.
/// The processor cannot touch device memory, so that code that tries to crashes here as it does
/// beside a GPU. Work of a stream is done when the call that enqueues it returns. It runs no
/// kernels and pretends nothing about them: a launch fails, unless a test asks for launches that do
/// nothing.
namespace heddle::gpu::host_driver {

struct machine {
  int devices = 1;
  std::size_t memory = std::size_t{1} << 30;  ///< of each device, in bytes
  std::size_t granularity = std::size_t{2} << 20;
  bool maps_memory = true;  ///< has virtual memory management
  bool nvlink = true;       ///< joins the devices, rather than PCI Express
  int multiprocessors = 4;
  int blocks_on_each = 2;                    ///< of any kernel, whatever its threads
  bool accepts_kernels = false;              ///< a launch succeeds, and nothing is run
  std::set<std::pair<int, int>> apart = {};  ///< pairs (from, to) of devices without peer access
  bool fabric_handles = false;               ///< its devices have them
  bool shares_with_cards = true;             ///< GPUDirect RDMA
  bool exports_dmabufs = true;
  bool orders_card_writes = true;
  bool flushes_card_writes = true;
  bool imex_channel = true;      ///< which a process needs to make and take them
  std::set<int> multicast = {};  ///< devices that have it
  std::size_t multicast_granularity = std::size_t{2} << 20;
  std::size_t multicast_recommended_granularity = std::size_t{2} << 20;
};

/// A fresh driver of that machine, started; forgets all that the one before had.
const driver& start(const machine& machine);

/// The call after `skip` further ones of that function (by CUDA's name) fails with `result`.
void fail(const std::string& function, CUresult result, int skip = 0);

/// Stores as the multimem instructions of that device would, at an address that a multicast object
/// is mapped at: into the memory of every device that is bound there. The number of those; 0 also
/// if the device may not.
int multimem_store(CUdeviceptr at, const void* from, std::size_t bytes, int device);

/// A stream of the program on a device, and its end.
CUstream make_stream(int device);
void destroy_stream(CUstream stream);
/// As cuStreamBeginCapture and cuStreamEndCapture. Another stream joins by waiting for an event of
/// the capture; what crosses its border is an error.
void begin_capture(CUstream stream);
void end_capture(CUstream stream);
/// How many kernels were accepted, and how often streams were made to wait for what was recorded.
std::size_t launches();
std::size_t event_waits();
/// How often a copy to or from memory that CUDA does not know came behind a kernel: CUDA waits for
/// that then, and nothing else of the context goes on.
std::size_t locked_waits();
/// How often what cards wrote was waited for.
std::size_t card_flushes();

/// What is in use in this process.
struct usage {
  std::size_t handles = 0;  ///< as often as they must be released
  std::size_t mappings = 0;
  std::size_t reservations = 0;
  std::size_t contexts = 0;
  std::size_t streams = 0;
  std::size_t events = 0;
  std::size_t shared_host_ranges = 0;
  std::size_t pool_blocks = 0;  ///< of cuMemAllocAsync
  std::size_t bytes = 0;        ///< of device memory that was created here
  bool operator==(const usage&) const = default;
};
usage in_use();

}  // namespace heddle::gpu::host_driver
