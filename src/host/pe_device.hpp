// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "device/device.hpp"
#include "host/transport/gpu_memory.hpp"
#include "support/environment.hpp"
#include "symmetric_heap/symmetric_heap.hpp"

namespace heddle {

/// One PE's device, with all of the runtime that depends on its kind: where heaps are, and how the
/// host gets at them.
class pe_device {
 public:
  /// The device that HEDDLE_DEVICE chooses. Collective: the PEs of a host tell each other which
  /// GPUs they have. Throws HEDDLE_ERROR_NOT_SUPPORTED, saying why, if there is no such device.
  static std::unique_ptr<pe_device> choose(const environment& settings, bootstrap& bootstrap,
                                           deadline until);

  virtual ~pe_device() = default;
  pe_device(const pe_device&) = delete;
  pe_device& operator=(const pe_device&) = delete;

  [[nodiscard]] virtual exec::device& executor() = 0;
  [[nodiscard]] virtual heap_memory_maker heap_memory() const = 0;
  /// Whether host threads load and store heaps and device memory.
  [[nodiscard]] bool is_host() const { return is_host_; }
  /// What holds for the devices of all PEs, on which plans depend: the same on all.
  struct common_traits {
    int blocks = 1;           ///< resident at one time for certain
    bool one_gpu = false;     ///< that all share
    bool whole_lines = true;  ///< those of LL128 arrive so (see plan_question)
    bool reach_hosts = true;  ///< each reaches the memory of its host's others, as far as is known
  };
  [[nodiscard]] const common_traits& common() const { return common_; }

  /// Copies between heaps and any memory of this process; complete on return, whatever runs on
  /// streams.
  virtual void copy(void* to, const void* from, std::size_t bytes) const = 0;
  /// Writes a word of the heap as a whole, after what was copied there before; complete on return,
  /// whatever runs on streams.
  virtual void store(std::uint64_t* word, std::uint64_t value) const = 0;
  /// What network cards are let at; null if they do not read and write the heap themselves.
  [[nodiscard]] virtual const gpu_memory* memory_for_cards() const { return nullptr; }
  /// What cards have written, and told this processor of, is seen by kernels from now on.
  virtual void flush_card_writes() const {}
  /// As in /sys/bus/pci/devices; empty: the processor.
  [[nodiscard]] virtual std::string pci_address() const { return ""; }
  /// Runs a kernel of one thread, apart from all streams, and waits for it.
  virtual void run(const exec::kernel& kernel, const void* arguments, std::size_t bytes) = 0;

  /// Lets kernels load and store host memory, at its own address, for as long as this lives.
  virtual void share(void* start, std::size_t bytes) = 0;
  /// What has been shared, before that.
  virtual void unshare(void* start) noexcept = 0;

 protected:
  pe_device(bool is_host, const common_traits& common) : is_host_(is_host), common_(common) {}

 private:
  const bool is_host_;
  const common_traits common_;
};

/// For destructors: what fails is logged.
void free_quietly(exec::device& device, void* memory) noexcept;

/// A device of this machine, or why there is none of that kind.
struct device_description {
  std::string name;
  std::string description;
  std::string sharing = {};  ///< what several PEs on it do to each other; of GPUs alone
};
std::vector<device_description> list_devices();

}  // namespace heddle
