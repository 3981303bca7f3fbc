// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <heddle/heddle.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <mutex>
#include <system_error>
#include <vector>

#include "bootstrap/environment_variable.hpp"
#include "doctest/run_pes.hpp"

// Counts and offsets that 32 bits do not hold. Of a buffer's memory there are only the pages that
// are looked at; of the heaps one is written to whole, and takes 4 GiB.

using namespace heddle;
using heddle::testing::run_pes;

namespace {

using byte = std::uint8_t;

constexpr std::size_t page = 4096;
constexpr std::size_t gib = std::size_t{1} << 30;
// Elements, of one byte.
constexpr std::size_t half = 2 * gib + 3 * page + 5;
constexpr std::size_t beyond = 2 * half;

/// What a narrow number would make another index of, and the ends.
std::vector<std::size_t> landmarks(std::size_t n) {
  std::vector<std::size_t> all{0, 5};
  for (const std::size_t at : {2 * gib - 1, 2 * gib, 4 * gib - 1, 4 * gib, n - 1})
    if (at < n) all.push_back(at);
  return all;
}

/// Not 0, and another at each landmark, on each PE and for each other that it is for.
byte mark(std::size_t landmark, int from, int to = 0) {
  return static_cast<byte>(1 + 3 * landmark + 29 * static_cast<std::size_t>(from) +
                           61 * static_cast<std::size_t>(to));
}

/// One part of `beyond` bytes, or two of `half`. The pages of landmarks are memory of their own,
/// all others the same.
class vast_buffer {
 public:
  vast_buffer() {
    const int file = ::memfd_create("heddle-vast", MFD_CLOEXEC);
    require(file >= 0 && ::ftruncate(file, chunk) == 0);
    void* start =
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(start != MAP_FAILED);
    data_ = static_cast<byte*>(start);
    for (std::size_t at = 0; at < bytes; at += chunk) map(at, chunk, MAP_SHARED, file);
    ::close(file);
    for (const std::size_t n : {half, beyond})
      for (std::size_t part = 0; part < beyond; part += n)
        for (const std::size_t at : landmarks(n)) own(part + at);
    own(beyond);
  }
  ~vast_buffer() { ::munmap(data_, bytes); }
  vast_buffer(const vast_buffer&) = delete;
  vast_buffer& operator=(const vast_buffer&) = delete;

  void clear() const {
    for (const std::size_t at : own_) std::memset(data_ + at, 0, page);
  }
  /// With every landmark of a part of n bytes marked as what `from` sends to `to`.
  void write(std::size_t n, int part, int from, int to = 0) const {
    const auto at = landmarks(n);
    for (std::size_t i = 0; i < at.size(); ++i) part_of(n, part)[at[i]] = mark(i, from, to);
  }
  /// expected(i) at the i-th landmark of the part, and nothing behind the end.
  template <class Expected>
  void expect(std::size_t n, int part, const Expected& expected) const {
    std::lock_guard lock(checking);
    const auto at = landmarks(n);
    for (std::size_t i = 0; i < at.size(); ++i) {
      INFO("part ", part, " at ", at[i]);
      CHECK(int{part_of(n, part)[at[i]]} == int{static_cast<byte>(expected(i))});
    }
    INFO("behind the end");
    CHECK(int{data_[beyond]} == 0);
  }

  [[nodiscard]] byte* data() const { return data_; }

 private:
  static constexpr std::size_t chunk = std::size_t{4} << 20;
  static constexpr std::size_t bytes = (beyond + chunk) / chunk * chunk;

  // doctest counts on one thread at a time.
  inline static std::mutex checking;

  [[nodiscard]] byte* part_of(std::size_t n, int part) const {
    return data_ + static_cast<std::size_t>(part) * n;
  }
  void own(std::size_t at) {
    own_.push_back(at / page * page);
    map(own_.back(), page, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  }
  void map(std::size_t at, std::size_t n, int flags, int file) {
    require(::mmap(data_ + at, n, PROT_READ | PROT_WRITE, flags | MAP_FIXED | MAP_POPULATE, file,
                   0) != MAP_FAILED);
  }
  static void require(bool condition) {
    if (!condition) throw std::system_error(errno, std::system_category(), "a vast buffer");
  }

  byte* data_ = nullptr;
  std::vector<std::size_t> own_;
};

void reduce_beyond(const team& world, const vast_buffer& input, const vast_buffer& output) {
  input.write(beyond, 0, world.my_pe());
  world.all_reduce(input.data(), output.data(), beyond, op::sum);
  output.expect(beyond, 0, [](std::size_t i) { return mark(i, 0) + mark(i, 1); });
}

}  // namespace

TEST_CASE("collectives of more than 2^32 elements") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    const int me = world.my_pe();
    const vast_buffer input, output;
    const auto clear = [&] {
      input.clear();
      output.clear();
    };

    reduce_beyond(world, input, output);

    clear();
    input.write(beyond, 0, me);
    world.broadcast(input.data(), output.data(), beyond, 1);
    output.expect(beyond, 0, [](std::size_t i) { return mark(i, 1); });

    clear();
    input.write(half, 0, me);
    world.all_gather(input.data(), output.data(), half);
    for (const int pe : {0, 1}) output.expect(half, pe, [&](std::size_t i) { return mark(i, pe); });

    clear();
    for (const int pe : {0, 1}) input.write(half, pe, me, pe);
    world.all_to_all(input.data(), output.data(), half);
    for (const int pe : {0, 1})
      output.expect(half, pe, [&](std::size_t i) { return mark(i, pe, me); });

    output.clear();
    world.reduce_scatter(input.data(), output.data(), half, op::sum);
    output.expect(half, 0, [&](std::size_t i) { return mark(i, 0, me) + mark(i, 1, me); });

    clear();
    input.write(beyond, 0, me);
    world.reduce(input.data(), me == 0 ? output.data() : nullptr, beyond, op::sum, 0);
    if (me == 0) output.expect(beyond, 0, [](std::size_t i) { return mark(i, 0) + mark(i, 1); });

    clear();
    input.write(half, 0, me);
    world.gather(input.data(), me == 1 ? output.data() : nullptr, half, 1);
    for (const int pe : {0, 1})
      if (me == 1) output.expect(half, pe, [&](std::size_t i) { return mark(i, pe); });

    clear();
    for (const int pe : {0, 1}) input.write(half, pe, me, pe);
    world.scatter(me == 1 ? input.data() : nullptr, output.data(), half, 1);
    output.expect(half, 0, [&](std::size_t i) { return mark(i, 1, me); });

    clear();
    input.write(beyond, 0, me);
    if (me == 0)
      world.send(input.data(), beyond, 1);
    else
      world.recv(output.data(), beyond, 0);
    if (me == 1) output.expect(beyond, 0, [](std::size_t i) { return mark(i, 0); });
  });
}

namespace {

/// More than 2^32 bytes to the end of a heap that is as large, and back; words there.
void go_beyond(runtime& self) {
  const auto world = self.world();
  const int me = world.my_pe();
  symmetric_array<byte> there(self, beyond + 64);
  auto* last = reinterpret_cast<std::uint64_t*>(there.data() + (beyond + 63) / 8 * 8 - 8);
  if (me == 0) {
    const vast_buffer input, output;
    input.write(beyond, 0, me);
    world.put(there.data(), input.data(), beyond, 1);
    world.quiet();
    world.get(output.data(), there.data(), beyond, 1);
    output.expect(beyond, 0, [](std::size_t i) { return mark(i, 0); });
  }
  world.barrier();
  if (me == 0) {
    world.atomic_set(last, 41, 1);
    CHECK(world.atomic_fetch_add(last, 1, 1) == 41);
    world.put_signal(there.data() + beyond - 9, there.data(), 1, last, 1, signal_op::add, 1);
  } else {
    world.wait_until(last, cmp::eq, 43);
  }
  world.barrier();
}

}  // namespace

TEST_CASE("one-sided operations of more than 2^32 bytes, and beyond them") {
  run_pes(2, go_beyond);
}

TEST_CASE("the same over the network, and an AllReduce of more than 2^32 elements") {
  const environment_variable apart("HEDDLE_P2P_DISABLE", "1");
  run_pes(2, go_beyond);
  run_pes(2, [](runtime& self) { reduce_beyond(self.world(), vast_buffer(), vast_buffer()); });
}
