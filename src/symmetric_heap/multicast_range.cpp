// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/multicast_range.hpp"

#include <algorithm>
#include <utility>

#include "bootstrap/byte_stream.hpp"
#include "support/environment.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"
#include "symmetric_heap/agreed_step.hpp"

namespace heddle {

multicast_range::multicast_range(bootstrap& bootstrap, const gpu::gpu& device,
                                 const device_peers& peers, bool wanted, std::size_t most,
                                 deadline until)
    : bootstrap_(bootstrap), device_(device), peers_(peers) {
  if (!wanted) {
    why_not_ = "HEDDLE_MULTICAST is 0";
    return;
  }
  auto why_not = why_not_here();
  std::size_t granularity = 0;
  if (why_not.empty()) {
    const auto& driver = device.functions();
    const auto object = kind(peers.unit);
    CUresult asked = driver.multicast_get_granularity(&granularity, &object,
                                                      CU_MULTICAST_GRANULARITY_RECOMMENDED);
    if (asked == CUDA_SUCCESS && granularity > most)
      asked =
          driver.multicast_get_granularity(&granularity, &object, CU_MULTICAST_GRANULARITY_MINIMUM);
    if (asked != CUDA_SUCCESS)
      why_not = fmt::format("asking for its granularity on device cuda:{}: {}", device.ordinal(),
                            gpu::describe(driver, asked));
  }
  byte_writer out;
  out.text(why_not).number(std::uint64_t{granularity});
  const auto all = bootstrap.all_gather(out.bytes(), until);
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    byte_reader in(all[pe]);
    const auto reason = in.text();
    if (!reason.empty() && why_not_.empty()) why_not_ = fmt::format("PE {}: {}", pe, reason);
    unit_ = std::max(unit_, static_cast<std::size_t>(in.number<std::uint64_t>()));
  }
  if (why_not_.empty()) return;
  unit_ = 0;
  log::info(log::subsystem::heap, "no multicast: {}", why_not_);
}

std::string multicast_range::why_not_here() const {
  const auto n = static_cast<int>(peers_.peers.size());
  if (n == 1) return "it is the only one";
  for (int pe = 0; pe < n; ++pe)
    if (!peers_[pe].why_not_mapped.empty())
      return fmt::format("PE {} is not mapped: {}", pe, peers_[pe].why_not_mapped);
  for (int pe = 0; pe < n; ++pe)
    if (pe != bootstrap_.rank() && peers_[pe].uuid == device_.uuid())
      return fmt::format("it shares device cuda:{} with PE {}", device_.ordinal(), pe);
  if (!device_.attribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED))
    return fmt::format("device cuda:{} ({}) has none", device_.ordinal(), device_.name());
  return "";
}

CUmulticastObjectProp multicast_range::kind(std::size_t bytes) const {
  CUmulticastObjectProp kind{};
  kind.numDevices = static_cast<unsigned>(peers_.peers.size());
  kind.size = bytes;
  kind.handleTypes = peers_.handles.kind;
  return kind;
}

void multicast_range::try_add(handle_exchange& exchange, device_arena& arena, std::size_t bytes,
                              const gpu::physical_memory& mine, bool& mapped, deadline until) {
  const auto& driver = device_.functions();
  constexpr int maker = 0;
  const int me = bootstrap_.rank();
  // Held by its maker until all have mapped it, and used by the threads of the maker's process.
  gpu::physical_memory held;
  handle_exchange::shareable shared;
  const auto made = agreed_gather(bootstrap_, until, [&] {
    CUmemGenericAllocationHandle handle = 0;
    if (me == maker) {
      const auto object = kind(bytes);
      gpu::check(driver, driver.multicast_create(&handle, &object),
                 "making a multicast object of {} for {} devices", format_bytes(bytes),
                 object.numDevices);
      held = {driver, handle};
    }
    // All pass something, of which the maker's is taken.
    if (peers_.processes)
      shared = exchange.share(me == maker ? held : mine, peers_.handles.kind, device_.ordinal());
    return byte_writer().number(std::uint64_t{handle}).take();
  });
  CUmemGenericAllocationHandle object = byte_reader(made[maker]).number<std::uint64_t>();
  agreed_step(bootstrap_, until, [&] {
    if (peers_.processes) {
      const auto passed = exchange.pass(shared, until);
      if (const auto theirs = passed.find(maker); theirs != passed.end()) {
        held = exchange.take(theirs->second, fmt::format("PE {} (a multicast object)", maker));
        object = held.handle();
      }
    }
    gpu::check(driver, driver.multicast_add_device(object, device_.handle()),
               "adding device cuda:{} to a multicast object", device_.ordinal());
  });
  agreed_step(bootstrap_, until, [&] {
    gpu::check(driver, driver.multicast_bind_mem(object, 0, mine.handle(), 0, bytes, 0),
               "binding {} of device cuda:{} to a multicast object", format_bytes(bytes),
               device_.ordinal());
    arena.map(peers_.num_slots, size_, bytes, object, peers_[me].access);
    mapped = true;
  });
}

void multicast_range::add(handle_exchange& exchange, device_arena& arena, std::size_t bytes,
                          const gpu::physical_memory& mine, deadline until) {
  bool mapped = false;
  try {
    try_add(exchange, arena, bytes, mine, mapped, until);
    size_ += bytes;
  } catch (const agreed_error& failure) {
    if (mapped) arena.unmap(peers_.num_slots, size_);
    if (size_ > 0)
      throw agreed_error(
          failure.status(),
          fmt::format("{}; a heap of {} with multicast cannot grow; start with HEDDLE_MULTICAST=0",
                      failure.what(), format_bytes(size_)));
    why_not_ = failure.what();
    log::info(log::subsystem::heap, "no multicast: {}", why_not_);
  } catch (...) {
    if (mapped) arena.unmap(peers_.num_slots, size_);
    throw;
  }
}

}  // namespace heddle
