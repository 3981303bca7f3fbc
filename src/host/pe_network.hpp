// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "host/host_rings.hpp"
#include "host/mapped_pes.hpp"
#include "host/pe_device.hpp"
#include "host/proxy/proxy.hpp"
#include "support/environment.hpp"
#include "symmetric_heap/symmetric_heap.hpp"

namespace heddle {

/// How this PE reaches those whose memory it does not map: its proxy, and the heaps as the network
/// sees them.
class pe_network {
 public:
  struct parts {
    const environment& settings;
    heddle::bootstrap& bootstrap;
    pe_device& device;
    symmetric_heap& heap;
    symmetric_heap* host_heap;  ///< beside a heap in GPU memory; else null
    /// At the front of each heap: of these, the first and what expose_place() is called for are
    /// used.
    std::size_t internal_bytes;
    std::size_t control_bytes;
  };
  /// A PE that the network has lost, or -1 for the network itself; this PE's number for what its
  /// own kernels have asked for and nobody can do. Called on any thread that waits.
  using failure_callback = std::function<void(int pe, const std::string& reason)>;

  /// Collective. Null if memory reaches all PEs of the job from each, or, with `reason`, if there
  /// is no network: throws HEDDLE_ERROR_NOT_SUPPORTED, on all PEs, if one of them asked for it.
  static std::unique_ptr<pe_network> join(const parts& parts, failure_callback on_failure,
                                          deadline until, std::string& reason);

  ~pe_network();

  /// For host threads; and in memory of the device, for its kernels.
  [[nodiscard]] const proxy_ref* host_ref() const { return &proxy_->host_ref(); }
  [[nodiscard]] const proxy_ref* kernel_ref() const {
    return device_ref_ ? static_cast<const proxy_ref*>(device_ref_.get()) : &proxy_->kernel_ref();
  }

  /// A team's place in the front of the heaps, for as long as it has the place.
  void expose_place(std::byte* start, std::size_t bytes);
  void conceal_place(std::byte* start);

  /// `pe` is lost: what waits for it ends.
  void drop(int pe) { proxy_->drop_peer(pe); }
  /// "reached by libfabric net (eth0) at 10.0.0.2:5012"
  [[nodiscard]] std::string describe(int pe) { return proxy_->describe(pe); }
  /// As `pe`'s host calls itself.
  [[nodiscard]] const std::string& host_name(int pe) const {
    return host_names_[static_cast<std::size_t>(pe)];
  }
  /// Reads an object in `pe`'s host heap, given by this PE's address, whatever has become of teams:
  /// for reports. Nothing if it does not answer: within what a PE that runs needs by far.
  template <class T>
  [[nodiscard]] std::optional<T> peek(int pe, const T& here) {
    static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
    std::array<std::uint64_t, sizeof(T) / sizeof(std::uint64_t)> words;
    if (!proxy_->peek(pe, proxy_->host_ref().place_of(&here), words,
                      deadline::after(std::chrono::milliseconds(500))))
      return {};
    return std::bit_cast<T>(words);
  }
  /// The PEs whose acknowledgement a quiet lacks.
  [[nodiscard]] std::vector<int> awaited() { return proxy_->awaited(); }
  [[nodiscard]] const transport::traits& about() const { return proxy_->about(); }
  /// Whether cards read and write this PE's GPU memory themselves.
  [[nodiscard]] bool reaches_gpu() { return proxy_->reaches_gpu(); }
  /// Those that the proxy's thread runs on, nearest to its card: "0-15"; empty: any.
  [[nodiscard]] const std::string& processors() const { return processors_; }
  /// Why none of those that are taken before this network; "" for the first.
  [[nodiscard]] const std::string& why_no_other() const { return why_no_other_; }
  /// Which PEs each PE of the job maps, as all of them know.
  [[nodiscard]] const mapped_pes& mapped() const { return mapped_; }
  /// The order of each host's PEs along rings, as all of them know.
  [[nodiscard]] const host_rings& rings() const { return rings_; }

 private:
  class device_port;
  pe_network(const parts& parts, std::unique_ptr<transport> network, failure_callback on_failure);
  void expose_heap(int region, symmetric_heap& heap, const parts& parts);

  std::unique_ptr<device_port> device_port_;
  std::vector<symmetric_heap*> heaps_;
  std::unique_ptr<proxy> proxy_;
  std::string processors_;
  std::string why_no_other_;
  std::vector<std::string> host_names_;
  mapped_pes mapped_;
  host_rings rings_;
  std::shared_ptr<void> device_ref_;  ///< where kernels cannot read the host's memory quickly
};

}  // namespace heddle
