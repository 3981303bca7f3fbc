// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/pe_network.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "bootstrap/byte_stream.hpp"
#include "bootstrap/keyed_hash.hpp"
#include "host/network_choice.hpp"
#include "host/word_kernels.hpp"
#include "support/log.hpp"
#include "support/near_device.hpp"
#include "support/round_up.hpp"
#include "support/throw_error.hpp"

namespace heddle {

namespace {

/// What frames carry and strangers do not know.
std::uint64_t job_number(const bootstrap& bootstrap) {
  const auto secret = derive_secret(bootstrap.job_secret(), "frames of the network");
  std::uint64_t number = 0;
  std::memcpy(&number, secret.data(), sizeof number);
  return number;
}

std::string own_host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

/// A GPU's memory, as far as the proxy touches it.
class pe_network::device_port final : public device_memory {
 public:
  explicit device_port(pe_device& device) : device_(device) {}

  void copy(void* to, const void* from, std::size_t bytes) const override {
    device_.copy(to, from, bytes);
  }
  void store(std::uint64_t* word, std::uint64_t value) const override {
    device_.store(word, value);
  }
  std::uint64_t atomic(void* word, std::size_t bytes, atomic_op op, std::uint64_t value,
                       std::uint64_t compare) const override {
    return bytes == 8 ? run<std::uint64_t>(word, op, value, compare)
                      : run<std::uint32_t>(word, op, value, compare);
  }
  void flush() const override { device_.flush_card_writes(); }

 private:
  template <class Word>
  Word run(void* word, atomic_op op, std::uint64_t value, std::uint64_t compare) const {
    const std::unique_ptr<void, std::function<void(void*)>> result(
        device_.executor().allocate(sizeof(Word)),
        [this](void* memory) { free_quietly(device_.executor(), memory); });
    const local_atomic_call<Word> call{static_cast<Word*>(word), op, static_cast<Word>(value),
                                       static_cast<Word>(compare),
                                       static_cast<Word*>(result.get())};
    device_.run(kernel_of<local_atomic_call<Word>>(), &call, sizeof call);
    Word old = 0;
    device_.copy(&old, result.get(), sizeof old);
    return old;
  }

  pe_device& device_;
};

std::unique_ptr<pe_network> pe_network::join(const parts& parts, failure_callback on_failure,
                                             deadline until, std::string& reason) {
  auto& bootstrap = parts.bootstrap;
  const auto mine = mapped_pes::find(bootstrap.size(), [&](int pe) {
    return parts.heap.slot_of(pe) >= 0 && (!parts.host_heap || parts.host_heap->slot_of(pe) >= 0);
  });
  mapped_pes mapped(bootstrap.all_gather(std::as_bytes(std::span(mine)), until));
  if (mapped.is_all()) return nullptr;
  auto choice = choose_network(parts.settings, bootstrap, parts.device, until);
  if (!choice.network && !choice.wish.empty())
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "{}, and there is no network that all PEs of the job have: {}", choice.wish,
                choice.reason);
  if (!choice.network) {
    reason = choice.reason;
    return nullptr;
  }
  byte_writer told;
  told.text(own_host_name()).block(choice.network->address());
  pe_place::find(parts.device).write(told);
  std::vector<std::string> host_names;
  std::vector<pe_place> places;
  std::vector<transport::bytes> addresses;
  for (const auto& each : bootstrap.all_gather(told.bytes(), until)) {
    byte_reader reader(each);
    host_names.push_back(reader.text());
    const auto address = reader.block();
    addresses.emplace_back(address.begin(), address.end());
    places.push_back(pe_place::read(reader));
  }
  choice.network->set_addresses(std::move(addresses));
  log::info(log::subsystem::transport, "PEs whose memory is not mapped are reached by {}{}{}",
            choice.network->about().name, choice.reason.empty() ? "" : "; ", choice.reason);
  std::unique_ptr<pe_network> joined(
      new pe_network(parts, std::move(choice.network), std::move(on_failure)));
  joined->host_names_ = std::move(host_names);
  joined->why_no_other_ = std::move(choice.reason);
  joined->mapped_ = std::move(mapped);
  joined->rings_ = host_rings::agree(bootstrap, places, until);
  bootstrap.barrier(until);  // nobody is sent anything before its memory is known here
  return joined;
}

pe_network::pe_network(const parts& parts, std::unique_ptr<transport> network,
                       failure_callback on_failure) {
  auto& device = parts.device;
  const bool on_host = device.is_host();
  if (!on_host) device_port_ = std::make_unique<device_port>(device);
  const auto region = [](const symmetric_heap& heap) {
    return proxy_ref::region{reinterpret_cast<const byte*>(heap.base()), heap.stride()};
  };
  const auto host_memory = [&device](std::size_t bytes) {
    bytes = round_up(bytes, 4096);
    std::shared_ptr<void> memory(std::aligned_alloc(4096, bytes), [&device](void* start) {
      device.unshare(start);
      std::free(start);
    });
    if (!memory) throw_error(HEDDLE_ERROR_OUT_OF_MEMORY, "{} bytes for a proxy's queue", bytes);
    std::memset(memory.get(), 0, bytes);
    device.share(memory.get(), bytes);
    return memory;
  };
  const auto device_memory = [&device](std::size_t bytes) {
    std::shared_ptr<void> memory(device.executor().allocate(bytes), [&device](void* start) {
      free_quietly(device.executor(), start);
    });
    const std::vector<std::byte> zero(bytes);
    device.copy(memory.get(), zero.data(), bytes);
    return memory;
  };
  proxy::options options{
      .engine = {.my_pe = parts.bootstrap.rank(),
                 .n_pes = parts.bootstrap.size(),
                 .lanes = parts.settings.contexts,
                 .job = job_number(parts.bootstrap),
                 .device = device_port_.get()},
      .contexts = parts.settings.contexts,
      .looks_by_itself = !on_host,
      .make_shared_memory = host_memory,
      .make_device_memory = device_memory,
      .regions = {region(parts.heap),
                  parts.host_heap ? region(*parts.host_heap) : proxy_ref::region{nullptr, 0}},
      .on_failure = std::move(on_failure)};
  // Its thread and its memory are where its card is.
  const near_device card(network->about().card);
  processors_ = card.processors();
  proxy_ = std::make_unique<proxy>(std::move(network), options);
  expose_heap(0, parts.heap, parts);
  if (parts.host_heap) expose_heap(1, *parts.host_heap, parts);
  if (!on_host) {
    device_ref_ = device_memory(sizeof(proxy_ref));
    device.copy(device_ref_.get(), &proxy_->kernel_ref(), sizeof(proxy_ref));
  }
}

pe_network::~pe_network() {
  for (auto* heap : heaps_) heap->set_watcher({});
}

/// Of a network that takes memory for what it reaches, ranges end where a team's place does: one
/// that is given back is concealed by itself. Others reach all of the heap at once.
void pe_network::expose_heap(int region, symmetric_heap& heap, const parts& parts) {
  const bool pins = proxy_->about().pins_memory;
  heaps_.push_back(&heap);
  const std::size_t size = heap.memory().size();
  const auto show = [this, &heap, region](std::size_t from, std::size_t to) {
    if (to > from) proxy_->expose(region, from, heap.base() + from, to - from);
  };
  proxy_->add_memory(region, 0, heap.base(), size);
  if (pins) {
    show(0, parts.control_bytes);
    show(parts.internal_bytes, size);
  } else {
    show(0, heap.stride());
  }
  heap.set_watcher({.added =
                        [this, &heap, region, pins, show](std::size_t from, std::size_t to) {
                          if (pins) show(from, to);
                          proxy_->add_memory(region, from, heap.base() + from, to - from);
                        },
                    .removed =
                        [this, region, pins](std::size_t from, std::size_t to) {
                          proxy_->remove_memory(region, from, to - from);
                          if (pins) proxy_->conceal(region, from);
                        }});
}

void pe_network::expose_place(std::byte* start, std::size_t bytes) {
  if (!proxy_->about().pins_memory) return;
  for (std::size_t i = 0; i < heaps_.size(); ++i) {
    const auto offset = static_cast<std::size_t>(start - heaps_[i]->base());
    if (offset < heaps_[i]->stride()) proxy_->expose(static_cast<int>(i), offset, start, bytes);
  }
}

void pe_network::conceal_place(std::byte* start) {
  if (!proxy_->about().pins_memory) return;
  for (std::size_t i = 0; i < heaps_.size(); ++i) {
    const auto offset = static_cast<std::size_t>(start - heaps_[i]->base());
    if (offset < heaps_[i]->stride()) proxy_->conceal(static_cast<int>(i), offset);
  }
}

}  // namespace heddle
