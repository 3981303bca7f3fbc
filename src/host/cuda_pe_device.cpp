// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/cuda_pe_device.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "bootstrap/byte_stream.hpp"
#include "device/cuda/card_access.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/shared_host_memory.hpp"
#include "device/cuda/sharing.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"
#include "symmetric_heap/device_heap_memory.hpp"

namespace heddle {
namespace {

class cuda_pe_device final : public pe_device, gpu_memory {
 public:
  struct sharing {
    int pes;  ///< of the job, on this GPU
    common_traits common;
  };
  cuda_pe_device(std::shared_ptr<const gpu::gpu> gpu, const sharing& sharing,
                 const environment& settings)
      : pe_device(false, sharing.common),
        gpu_(std::move(gpu)),
        timeout_(settings.timeout),
        // Teams also meet in host memory, which other hosts do not reach.
        handles_{.fabric = settings.fabric_handles == "auto", .across_hosts = false},
        multicast_(settings.multicast && !settings.p2p_disable),
        apart_(settings.p2p_disable),
        cards_(gpu_),
        why_no_cards_(settings.gpudirect_disable ? "HEDDLE_GPUDIRECT_DISABLE=1" : cards_.why_not()),
        executor_(exec::create_cuda_device(gpu_, sharing.pes)),
        own_stream_(executor_->borrow_stream(gpu_->own_stream())) {}
  ~cuda_pe_device() override {
    for (void* start : shared_) gpu::unshare_host_memory(start);
  }

  [[nodiscard]] exec::device& executor() override { return *executor_; }
  [[nodiscard]] heap_memory_maker heap_memory() const override {
    return [this](bootstrap& bootstrap, std::size_t bytes, std::size_t stride, deadline until) {
      return std::make_unique<device_heap_memory>(
          bootstrap, *gpu_,
          device_heap_memory::options{.bytes = bytes,
                                      .stride = stride,
                                      .until = until,
                                      .timeout = std::chrono::duration<double>(timeout_),
                                      .handles = handles_,
                                      .multicast = multicast_,
                                      .apart = apart_});
    };
  }

  void copy(void* to, const void* from, std::size_t bytes) const override {
    if (bytes > 0) gpu_->copy(to, from, bytes);
  }
  void store(std::uint64_t* word, std::uint64_t value) const override { gpu_->store(word, value); }
  [[nodiscard]] const gpu_memory* memory_for_cards() const override {
    if (why_no_cards_.empty()) return this;
    log::info(log::subsystem::transport, "network cards do not reach device cuda:{}: {}",
              gpu_->ordinal(), why_no_cards_);
    return nullptr;
  }
  void flush_card_writes() const override { cards_.flush(); }
  [[nodiscard]] std::string pci_address() const override { return gpu_->pci_address(); }
  void run(const exec::kernel& kernel, const void* arguments, std::size_t bytes) override {
    own_stream_->launch({1, 1}, kernel, arguments, bytes);
    own_stream_->synchronize();
  }
  void share(void* start, std::size_t bytes) override {
    if (!gpu_->attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM))
      throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                  "device cuda:{} ({}) does not see host memory at the host's addresses, which "
                  "teams need",
                  gpu_->ordinal(), gpu_->name());
    shared_.reserve(shared_.size() + 1);
    gpu::share_host_memory(gpu_, start, bytes);
    shared_.push_back(start);
  }
  void unshare(void* start) noexcept override {
    std::erase(shared_, start);
    gpu::unshare_host_memory(start);
  }

 private:
  [[nodiscard]] int ordinal() const override { return gpu_->ordinal(); }
  [[nodiscard]] bool has_dmabufs() const override { return cards_.has_dmabufs(); }
  [[nodiscard]] unique_fd share_with_cards(void* start, std::size_t size) const override {
    return cards_.share(start, size);
  }

  const std::shared_ptr<const gpu::gpu> gpu_;
  const double timeout_;
  const handle_options handles_;
  const bool multicast_;
  const bool apart_;
  const gpu::card_access cards_;
  const std::string why_no_cards_;
  const std::unique_ptr<exec::device> executor_;
  const std::unique_ptr<exec::stream> own_stream_;
  std::vector<void*> shared_;
};

/// The PEs of the job tell each other their GPUs, and how many multiprocessors these have: a block
/// for each is resident whatever the kernel.
cuda_pe_device::sharing meet_sharers(const gpu::gpu& gpu, bootstrap& bootstrap, deadline until) {
  byte_writer out;
  out.raw(std::as_bytes(std::span(gpu.uuid())))
      .number(std::int32_t{gpu.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)});
  const auto all = bootstrap.all_gather(out.bytes(), until);
  const auto me = static_cast<std::size_t>(bootstrap.rank());
  using place = std::pair<std::string_view, gpu::device_uuid>;  // the host, and its GPU
  std::vector<std::pair<place, int>> multiprocessors;           // by PE
  std::map<place, int> pes;
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    byte_reader in(all[pe]);
    const auto raw = in.raw(gpu.uuid().size());
    gpu::device_uuid uuid;
    std::memcpy(uuid.data(), raw.data(), uuid.size());
    const place where(bootstrap.host_of(static_cast<int>(pe)), uuid);
    multiprocessors.emplace_back(where, in.number<std::int32_t>());
    ++pes[where];
  }
  cuda_pe_device::sharing shared{
      .pes = pes[multiprocessors[me].first],
      .common = {.blocks = multiprocessors[me].second, .one_gpu = pes.size() == 1}};
  auto& common = shared.common;
  for (const auto& [where, count] : multiprocessors)
    common.blocks = std::min(common.blocks, std::max(1, count / pes[where]));
  for (const auto& [where, count] : pes) {
    if (where.first != bootstrap.host_of(bootstrap.rank())) continue;
    const int peer = gpu.find(where.second);
    common.whole_lines &= peer >= 0 && gpu::has_nvlink(gpu.functions(), gpu.ordinal(), peer);
    common.reach_hosts &= peer < 0 || gpu::can_access(gpu.functions(), gpu.ordinal(), peer);
  }
  // What does not hold for one does for none: all choose the same plans.
  const std::array mine{std::byte{common.whole_lines}, std::byte{common.reach_hosts}};
  for (const auto& theirs : bootstrap.all_gather(mine, until)) {
    common.whole_lines &= theirs[0] != std::byte{0};
    common.reach_hosts &= theirs[1] != std::byte{0};
  }
  return shared;
}

const gpu::driver& required_driver(const std::string& choice) {
  std::string why_not;
  const auto* driver = gpu::find_driver(why_not);
  if (!driver)
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED, "HEDDLE_DEVICE={}: {}; choose HEDDLE_DEVICE=host",
                choice, why_not);
  return *driver;
}

}  // namespace

std::unique_ptr<pe_device> choose_cuda_device(const environment& settings,
                                              const std::string& choice, bootstrap& bootstrap,
                                              deadline until) {
  const auto& driver = required_driver(choice);
  const int count = gpu::count_devices(driver);
  if (count == 0)
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "HEDDLE_DEVICE={}: CUDA shows no device here (CUDA_VISIBLE_DEVICES may hide them); "
                "choose HEDDLE_DEVICE=host",
                choice);
  int ordinal = 0;
  if (choice == "cuda") {
    ordinal = local_rank(bootstrap) % count;
  } else {
    const auto number = std::string_view(choice).substr(std::strlen("cuda:"));
    std::from_chars(number.data(), number.data() + number.size(), ordinal);  // checked already
  }
  const auto gpu = std::make_shared<const gpu::gpu>(driver, ordinal);

  const auto shared = meet_sharers(*gpu, bootstrap, until);
  log::info(log::subsystem::device,
            "PE {} runs on cuda:{} ({}), which {} PE{} share{}; collectives have at most {} blocks",
            bootstrap.rank(), ordinal, gpu->name(), shared.pes, shared.pes == 1 ? "" : "s",
            shared.pes == 1 ? std::string() : ": " + gpu::describe_sharing(), shared.common.blocks);
  return std::make_unique<cuda_pe_device>(gpu, shared, settings);
}

std::vector<device_description> list_cuda_devices() {
  std::string why_not;
  const auto* driver = gpu::find_driver(why_not);
  int count = 0;
  if (driver && driver->device_get_count(&count) != CUDA_SUCCESS) why_not = "it shows no devices";
  if (driver && count == 0 && why_not.empty()) why_not = "the CUDA driver shows no device";
  if (count == 0) return {{"cuda", "none: " + why_not}};
  std::vector<device_description> found;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const auto name = fmt::format("cuda:{}", ordinal);
    try {
      const gpu::gpu gpu(*driver, ordinal);
      const auto [free, total] = gpu.memory();
      found.push_back({name,
                       fmt::format("{}, {} of {} free, {} multiprocessors", gpu.name(),
                                   format_bytes(free), format_bytes(total),
                                   gpu.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)),
                       gpu::describe_sharing()});
    } catch (const error& problem) {
      found.push_back({name, std::string("cannot be used: ") + problem.what()});
    }
  }
  return found;
}

}  // namespace heddle
