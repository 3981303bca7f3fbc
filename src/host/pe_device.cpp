// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/pe_device.hpp"

#include <cstring>
#include <heddle/device/host_groups.hpp>

#include "support/log.hpp"
#include "support/throw_error.hpp"
#if defined(HEDDLE_HAVE_CUDA)
#include "host/cuda_pe_device.hpp"
#endif

namespace heddle {
namespace {

class host_pe_device final : public pe_device {
 public:
  explicit host_pe_device(bool apart) : pe_device(true, {}), apart_(apart) {}
  [[nodiscard]] exec::device& executor() override { return *executor_; }
  [[nodiscard]] heap_memory_maker heap_memory() const override {
    return apart_ ? make_lone_host_heap_memory : make_host_heap_memory;
  }

  void copy(void* to, const void* from, std::size_t bytes) const override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void store(std::uint64_t* word, std::uint64_t value) const override {
    heddle::store(word, value, release);
  }
  void run(const exec::kernel& kernel, const void* arguments, std::size_t) override {
    kernel.on_host(arguments, &one_thread_block);
  }
  void share(void*, std::size_t) override {}
  void unshare(void*) noexcept override {}

 private:
  const bool apart_;
  const std::unique_ptr<exec::device> executor_ = exec::create_host_device();
};

}  // namespace

std::unique_ptr<pe_device> pe_device::choose(const environment& settings,
                                             [[maybe_unused]] bootstrap& bootstrap,
                                             [[maybe_unused]] deadline until) {
  const auto& choice = settings.device;
  if (choice == "host") return std::make_unique<host_pe_device>(settings.p2p_disable);
#if defined(HEDDLE_HAVE_CUDA)
  return choose_cuda_device(settings, choice, bootstrap, until);
#else
  throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
              "HEDDLE_DEVICE={}: this heddle was built without CUDA (no nvcc was found); choose "
              "HEDDLE_DEVICE=host, or build it where CUDA is installed",
              choice);
#endif
}

void free_quietly(exec::device& device, void* memory) noexcept try {
  device.free(memory);
} catch (const std::exception& failure) {
  log::warn(log::subsystem::device, "{}", failure.what());
}

std::vector<device_description> list_devices() {
  const auto host = exec::create_host_device();
  std::vector<device_description> all = {
      {host->name(), fmt::format("threads of this process, at most {} resident; kernels run on "
                                 "the CPU",
                                 host->max_resident_threads())}};
#if defined(HEDDLE_HAVE_CUDA)
  for (auto& each : list_cuda_devices()) all.push_back(std::move(each));
#else
  all.push_back({"cuda", "none: this heddle was built without CUDA"});
#endif
  return all;
}

}  // namespace heddle
