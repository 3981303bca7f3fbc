// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "cuda_driver/host_driver.hpp"

#include "cuda_driver/state.hpp"

namespace heddle::gpu::host_driver {

const driver& start(const machine& machine) {
  std::lock_guard lock(mutex);
  now = std::make_unique<state>();
  now->layout = machine;
  now->initialised = true;
  for (int i = 0; i < machine.devices; ++i) {
    now->devices.push_back(std::make_unique<device_state>());
    now->devices.back()->ordinal = i;
  }
  static const driver table = [] {
    driver filled;
    add_device_functions(filled);
    add_handle_functions(filled);
    add_memory_functions(filled);
    add_multicast_functions(filled);
    add_stream_functions(filled);
    return filled;
  }();
  return table;
}

void fail(const std::string& function, CUresult result, int skip) {
  std::lock_guard lock(mutex);
  now->failures[function] = {skip, result};
}

CUstream make_stream(int device) {
  std::lock_guard lock(mutex);
  return add_stream(*now->devices.at(static_cast<std::size_t>(device)));
}

void destroy_stream(CUstream stream) {
  std::lock_guard lock(mutex);
  now->streams.erase(stream);
}

void begin_capture(CUstream stream) {
  std::lock_guard lock(mutex);
  now->streams.at(stream)->capture = ++now->last_capture;
}

void end_capture(CUstream stream) {
  std::lock_guard lock(mutex);
  const auto ended = now->streams.at(stream)->capture;
  for (auto& [handle, each] : now->streams)
    if (each->capture == ended) each->capture = 0;
}

std::size_t locked_waits() {
  const std::lock_guard lock(mutex);
  return now->locked_waits;
}
std::size_t launches() {
  std::lock_guard lock(mutex);
  return now->launches;
}

std::size_t card_flushes() {
  std::lock_guard lock(mutex);
  return now->card_flushes;
}

std::size_t event_waits() {
  std::lock_guard lock(mutex);
  return now->event_waits;
}

usage in_use() {
  std::lock_guard lock(mutex);
  usage used;
  for (const auto& [handle, held] : now->handles) used.handles += held.references;
  used.mappings = now->mappings.size();
  used.reservations = now->reservations.size();
  used.streams = now->streams.size();
  used.events = now->events.size();
  used.pool_blocks = now->pool.size();
  used.shared_host_ranges = now->host_memory.size();
  for (const auto& device : now->devices) {
    used.contexts += device->contexts;
    used.bytes += device->taken;
  }
  return used;
}

}  // namespace heddle::gpu::host_driver
