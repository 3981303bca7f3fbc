// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "symmetric_heap/symmetric_heap.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "bootstrap/byte_stream.hpp"
#include "bootstrap/random_bytes.hpp"
#include "support/environment.hpp"
#include "support/log.hpp"
#include "support/round_up.hpp"
#include "support/throw_error.hpp"
#include "symmetric_heap/agreed_step.hpp"
#include "symmetric_heap/arena.hpp"
#include "symmetric_heap/host_heap_memory.hpp"

namespace heddle {

namespace {

constexpr std::size_t page = 4096;

/// A number that no other process has: neither one elsewhere nor the child of a fork.
std::uint64_t this_process() {
  static const std::uint64_t of_forks = [] {
    std::uint64_t drawn;
    fill_random(std::as_writable_bytes(std::span(&drawn, 1)));
    return drawn;
  }();
  return of_forks ^ static_cast<std::uint64_t>(::getpid());
}

/// What a PE tells of a buffer that it wants to register.
struct buffer_offer {
  std::uint64_t bytes;
  std::uint64_t process;
  std::uint64_t address;

  [[nodiscard]] bootstrap::bytes encode() const {
    return byte_writer().number(bytes).number(process).number(address).take();
  }
  static buffer_offer decode(const bootstrap::bytes& encoded) {
    byte_reader reader(encoded);
    const auto bytes = reader.number<std::uint64_t>();
    const auto process = reader.number<std::uint64_t>();
    return {bytes, process, reader.number<std::uint64_t>()};
  }
};

/// Throws on every PE alike: no PE's buffer has another size than PE 0's, or memory of another's.
void require_alike_and_apart(const std::vector<bootstrap::bytes>& encoded) {
  std::vector<std::pair<buffer_offer, std::size_t>> offers;
  for (std::size_t pe = 0; pe < encoded.size(); ++pe)
    offers.emplace_back(buffer_offer::decode(encoded[pe]), pe);
  const std::uint64_t bytes = offers[0].first.bytes;
  for (const auto& [offer, pe] : offers)
    if (offer.bytes != bytes)
      throw_error(HEDDLE_ERROR_MISMATCH,
                  "heddle_register: PE {} gives a buffer of {} bytes, PE 0 one of {}; give the "
                  "same size on every PE",
                  pe, offer.bytes, bytes);
  std::ranges::sort(offers, {}, [](const auto& each) {
    return std::tuple(each.first.process, each.first.address, each.second);
  });
  for (std::size_t i = 1; i < offers.size(); ++i) {
    const auto& [lower, pe] = offers[i - 1];
    const auto& [upper, other] = offers[i];
    if (lower.process == upper.process && upper.address - lower.address < bytes)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "heddle_register: the buffers of PE {}, {:#x}, and PE {}, {:#x}, of {} bytes "
                  "each, have memory in common; PEs of one process register buffers of their own",
                  pe, lower.address, other, upper.address, bytes);
  }
}

}  // namespace

std::unique_ptr<heap_memory> make_host_heap_memory(bootstrap& bootstrap, std::size_t bytes,
                                                   std::size_t stride, deadline until) {
  return std::make_unique<host_heap_memory>(bootstrap, bytes, stride, until);
}

std::unique_ptr<heap_memory> make_lone_host_heap_memory(bootstrap& bootstrap, std::size_t bytes,
                                                        std::size_t stride, deadline until) {
  return std::make_unique<host_heap_memory>(bootstrap, bytes, stride, until, true);
}

symmetric_heap::symmetric_heap(bootstrap& bootstrap, const heap_options& options,
                               const heap_memory_maker& make_memory)
    : bootstrap_(bootstrap),
      options_(options),
      first_(round_up(options.internal_bytes, huge_page)),
      memory_(make_memory(bootstrap, first_,
                          round_up(first_ + round_up(options.heap_bytes, page), huge_page),
                          deadline::after(options.init_timeout))),
      base_(memory_->base()),
      backed_(memory_->size()),
      told_(backed_),
      blocks_(first_, first_ + round_up(options.heap_bytes, page)),
      aliases_(memory_->registration_range().first, memory_->registration_range().second),
      registered_(*memory_),
      checker_(bootstrap, options.check, options.timeout),
      barrier_([this] { bootstrap_.barrier(deadline::after(options_.timeout)); }) {}

symmetric_heap::~symmetric_heap() {
  try {
    registered_.remove_all();
  } catch (const std::exception& failure) {
    log::warn(log::subsystem::heap, "{}", failure.what());
  }
}

std::size_t symmetric_heap::allocate(const char* function, std::size_t bytes,
                                     std::size_t alignment) {
  // Large blocks begin on a page, or a huge page, for whole-page mappings and the widest copies.
  if (bytes >= 4 * huge_page) {
    alignment = std::max(alignment, huge_page);
  } else if (bytes >= 4 * page) {
    alignment = std::max(alignment, page);
  }
  const auto offset = blocks_.allocate(bytes, alignment);
  if (!offset)
    throw_error(HEDDLE_ERROR_OUT_OF_MEMORY,
                "{}: asked for {} bytes; the heap of {} has {} free, the largest block {}; raise "
                "HEDDLE_HEAP_SIZE on every PE, or free some",
                function, bytes, format_bytes(options_.heap_bytes),
                format_bytes(blocks_.free_bytes()), format_bytes(blocks_.largest_free()));
  try {
    back(blocks_.high_water());
  } catch (...) {
    blocks_.free(*offset);
    throw;
  }
  return *offset;
}

void symmetric_heap::back(std::size_t bytes) {
  if (bytes <= backed_) return;
  // Where another PE fails, this one's memory stays as it has become, and nobody's.
  const auto all = agreed_gather(bootstrap_, deadline::after(options_.timeout), [&] {
    memory_->grow_to(bytes);
    if (watcher_.added && memory_->size() > told_) watcher_.added(told_, memory_->size());
    told_ = memory_->size();
    return byte_writer().number(std::uint64_t{told_}).take();
  });
  std::uint64_t least = told_;
  for (const auto& theirs : all)
    least = std::min(least, byte_reader(theirs).number<std::uint64_t>());
  backed_ = least;
}

void* symmetric_heap::malloc(std::size_t bytes) {
  checker_.compare(heap_call::malloc, bytes);
  if (bytes == 0) return nullptr;
  const std::size_t offset = allocate("heddle_malloc", bytes, block_allocator::granule);
  barrier_();
  return base_ + offset;
}

void* symmetric_heap::calloc(std::size_t count, std::size_t size) {
  checker_.compare(heap_call::calloc, count, size);
  if (count == 0 || size == 0) return nullptr;
  if (count > std::numeric_limits<std::size_t>::max() / size)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_calloc: {} times {} bytes are more than an address can reach", count, size);
  const std::size_t known = memory_->size();
  const std::size_t offset = allocate("heddle_calloc", count * size, block_allocator::granule);
  memory_->zero(base_ + offset, count * size, known);
  barrier_();
  return base_ + offset;
}

void* symmetric_heap::align(std::size_t alignment, std::size_t bytes) {
  checker_.compare(heap_call::align, alignment, bytes);
  if (!std::has_single_bit(alignment) || alignment > huge_page)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_align: an alignment of {}; it must be a power of two, at most {}",
                alignment, huge_page);
  if (bytes == 0) return nullptr;
  const std::size_t offset = allocate("heddle_align", bytes, alignment);
  barrier_();
  return base_ + offset;
}

std::size_t symmetric_heap::offset_of_block(const char* function, const void* block) const {
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(block) - base_);
  if (offset < first_ || offset >= stride())
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: {} is not in this PE's heap; it must come from heddle_malloc of this runtime",
                function, block);
  if (const void* buffer = registered_.buffer_of(block))
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: {} is the heap address of the registered buffer {}; end that with "
                "heddle_unregister",
                function, block, buffer);
  if (blocks_.size_at(offset)) return offset;
  if (const auto around = blocks_.block_of(offset))
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: {} is {} bytes inside the block of {} bytes at {}; pass the block's start",
                function, block, offset - around->first, around->second,
                static_cast<const void*>(base_ + around->first));
  throw_error(HEDDLE_ERROR_INVALID_USAGE, "{}: no block starts at {}: it was freed before",
              function, block);
}

bool symmetric_heap::in_one_block(std::size_t offset, std::size_t bytes) const {
  const auto block = blocks_.block_of(offset);
  return block && bytes <= block->first + block->second - offset;
}

void* symmetric_heap::realloc(void* block, std::size_t bytes) {
  if (!block) return malloc(bytes);
  const std::size_t old_offset = offset_of_block("heddle_realloc", block);
  if (bytes == 0) {
    free(block);
    return nullptr;
  }
  checker_.compare(heap_call::realloc, old_offset, bytes);
  const std::size_t old_bytes = *blocks_.size_at(old_offset);
  if (bytes <= old_bytes) {
    leave_memory();
    blocks_.shrink(old_offset, bytes);
    return block;
  }
  const std::size_t offset = allocate("heddle_realloc", bytes, block_allocator::granule);
  leave_memory();
  memory_->copy(base_ + offset, static_cast<const std::byte*>(block), old_bytes);
  blocks_.free(old_offset);
  barrier_();
  return base_ + offset;
}

void symmetric_heap::free(void* block) {
  if (!block) {
    checker_.compare(heap_call::free, 0);
    return;
  }
  const std::size_t offset = offset_of_block("heddle_free", block);
  checker_.compare(heap_call::free, offset);
  leave_memory();
  blocks_.free(offset);
}

std::size_t symmetric_heap::allocate_alias(std::size_t bytes) {
  if (!aliases_add_memory())
    return allocate("heddle_register", bytes, memory_->registration_unit());
  const auto [first, end] = memory_->registration_range();
  const auto unit = memory_->registration_unit();
  const auto offset =
      bytes > end - first ? std::nullopt : aliases_.allocate(round_up(bytes, unit), unit);
  if (!offset)
    throw_error(HEDDLE_ERROR_OUT_OF_MEMORY,
                "heddle_register: asked for {} bytes; the addresses for registered buffers, {}, "
                "have {} free, the largest range {}; raise HEDDLE_HEAP_SIZE on every PE, or "
                "unregister some",
                bytes, format_bytes(end - first), format_bytes(aliases_.free_bytes()),
                format_bytes(aliases_.largest_free()));
  return *offset;
}

void symmetric_heap::free_alias(std::size_t offset) {
  if (!aliases_.free(offset)) blocks_.free(offset);
}

void* symmetric_heap::register_buffer(void* buffer, std::size_t bytes) {
  checker_.compare(heap_call::register_buffer, bytes);
  const auto all = agreed_gather(bootstrap_, deadline::after(options_.timeout), [&] {
    if (memory_->meets(buffer, bytes))
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "heddle_register: buffer {} of {} bytes is in the symmetric heap already", buffer,
                  bytes);
    registered_.require_registrable(buffer, bytes);
    return buffer_offer{bytes, this_process(), reinterpret_cast<std::uintptr_t>(buffer)}.encode();
  });
  require_alike_and_apart(all);
  const std::size_t offset = allocate_alias(bytes);
  try {
    agreed_step(bootstrap_, deadline::after(options_.timeout), [&] {
      registered_.add(buffer, bytes, base_ + offset);
      if (aliases_add_memory() && watcher_.added) watcher_.added(offset, offset + bytes);
    });
  } catch (...) {
    if (registered_.has(buffer)) {
      conceal(registered_.find(buffer));
      registered_.remove(buffer);
      memory_->vacate(base_ + offset);
    }
    free_alias(offset);
    throw;
  }
  return base_ + offset;
}

void symmetric_heap::conceal(const registration::entry& gone) {
  const auto offset = static_cast<std::size_t>(gone.alias - base_);
  if (aliases_add_memory() && watcher_.removed) watcher_.removed(offset, offset + gone.bytes);
}

void symmetric_heap::unregister_buffer(void* buffer) {
  const auto gone = registered_.find(buffer);
  const auto offset = static_cast<std::size_t>(gone.alias - base_);
  checker_.compare(heap_call::unregister, offset);
  leave_memory();
  conceal(gone);
  try {
    agreed_step(bootstrap_, deadline::after(options_.timeout), [&] { registered_.remove(buffer); });
  } catch (const agreed_error&) {
    // Of memory of the host alone.
    agreed_step(bootstrap_, deadline::after(options_.timeout), [&] {
      if (!registered_.has(buffer)) registered_.add(buffer, gone.bytes, gone.alias);
    });
    throw;
  }
  memory_->vacate(gone.alias);
  free_alias(offset);
}

}  // namespace heddle
