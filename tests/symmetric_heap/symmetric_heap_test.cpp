// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/symmetric_heap.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <heddle/error.hpp>
#include <stdexcept>
#include <thread>

#include "symmetric_heap/child_process.hpp"
#include "symmetric_heap/jobs.hpp"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

constexpr heap_options small{
    .heap_bytes = 64 << 20, .internal_bytes = 3 << 20, .timeout = 20s, .init_timeout = 20s};

void expect(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

using body = std::function<void(bootstrap&, symmetric_heap&)>;

/// body on a heap of each PE.
std::function<void(bootstrap&)> with_heap(const body& run, const heap_options& options) {
  return [run, options](bootstrap& self) {
    symmetric_heap heap(self, options);
    run(self, heap);
    self.barrier(testing::soon());
  };
}

std::string on_threads(int n, const body& run, const heap_options& options = small) {
  return testing::on_threads(n, with_heap(run, options));
}

int failed_processes(int n, const body& run, const heap_options& options = small) {
  return testing::failed_processes(n, with_heap(run, options));
}

/// Every PE writes to every other's copy of a block, and finds what they wrote, before and after
/// growth.
void write_to_all(bootstrap& self, symmetric_heap& heap) {
  auto* table = static_cast<int*>(heap.calloc(static_cast<std::size_t>(self.size()), sizeof(int)));
  for (std::size_t bytes : {std::size_t{100}, std::size_t{5} << 20, std::size_t{40} << 20}) {
    auto* block = static_cast<char*>(heap.malloc(bytes));
    expect(heap.contains(block, bytes), "a block is in the heap");
    expect(!heap.contains(block, heap.stride()), "what leaves the heap is not in it");
    for (int pe = 0; pe < self.size(); ++pe) {
      static_cast<int*>(heap.ptr(table, pe))[self.rank()] = 1000 + self.rank();
      if (pe == (self.rank() + 1) % self.size())
        static_cast<char*>(heap.ptr(block, pe))[bytes - 1] = 'x';
    }
    self.barrier(deadline::after(20s));
    for (int pe = 0; pe < self.size(); ++pe)
      expect(table[pe] == 1000 + pe, "a peer's store is here");
    expect(block[bytes - 1] == 'x', "a peer's store at the end of a grown heap is here");
    heap.free(block);
  }
  auto* first = static_cast<int*>(heap.malloc(64));
  first[0] = 42 + self.rank();
  auto* grown = static_cast<int*>(heap.realloc(first, 1 << 20));
  expect(grown[0] == 42 + self.rank(), "realloc keeps the content");
  heap.free(grown);
  // Memory that was used comes back zeroed from calloc.
  auto* used = static_cast<char*>(heap.malloc(10'000));
  std::memset(used, 7, 10'000);
  heap.free(used);
  auto* zeroed = static_cast<char*>(heap.calloc(100, 100));
  expect(std::all_of(zeroed, zeroed + 10'000, [](char c) { return c == 0; }), "calloc gives zeros");
}

alignas(4096) char static_data[8192];

void register_and_write(bootstrap& self, symmetric_heap& heap) {
  constexpr std::size_t bytes = 3 * 4096;
  auto* buffer = static_cast<char*>(std::aligned_alloc(4096, bytes));
  std::memset(buffer, 'a' + self.rank(), bytes);
  auto* alias = static_cast<char*>(heap.register_buffer(buffer, bytes));
  expect(heap.contains(alias, bytes), "the alias is in the heap");
  expect(alias[bytes - 1] == 'a' + self.rank(), "the content is there");
  expect(heap.translate(buffer + 5, 10) == alias + 5, "an address in the buffer is translated");
  expect(heap.translate(buffer + 5, bytes) == buffer + 5, "what leaves the buffer is not");
  const int next = (self.rank() + 1) % self.size();
  static_cast<char*>(heap.ptr(alias, next))[100] = static_cast<char>('A' + self.rank());
  self.barrier(deadline::after(20s));
  const int previous = (self.rank() + self.size() - 1) % self.size();
  expect(buffer[100] == 'A' + previous, "a peer's store through the alias is in the buffer");
  try {
    heap.register_buffer(buffer + 4096, 4096);
    expect(false, "a second registration is refused");
  } catch (const error& problem) {
    expect(std::strstr(problem.what(), "overlaps"), problem.what());
  }
  self.barrier(deadline::after(20s));
  heap.unregister_buffer(buffer);
  expect(buffer[100] == 'A' + previous && buffer[0] == 'a' + self.rank(), "the content stays");
  expect(heap.translate(buffer, 1) == buffer, "it is a buffer like any other again");
  std::free(buffer);
}

}  // namespace

TEST_CASE("PEs that are threads share their heaps, at one address for all") {
  for (int n : {1, 2, 3, 8}) {
    CAPTURE(n);
    CHECK(on_threads(n, write_to_all) == "");
  }
  std::byte* seen[3] = {};
  CHECK(on_threads(3, [&](bootstrap& self, symmetric_heap& heap) {
          auto* mine = static_cast<std::byte*>(heap.malloc(8));
          seen[self.rank()] = mine;
          self.barrier(deadline::after(20s));
          for (int pe = 0; pe < 3; ++pe)
            expect(heap.ptr(mine, pe) == seen[pe], "one address for a byte");
        }) == "");
}

TEST_CASE("PEs that are processes map each other's heaps") {
  for (int n : {2, 4}) CHECK(failed_processes(n, write_to_all) == 0);
}

TEST_CASE("user's buffers become symmetric in place, and are given back with their content") {
  for (int n : {1, 3}) CHECK(on_threads(n, register_and_write) == "");
  CHECK(failed_processes(3, register_and_write) == 0);
  CHECK(failed_processes(2, [](bootstrap& self, symmetric_heap& heap) {
          static_data[0] = static_cast<char>('0' + self.rank());
          auto* alias = static_cast<char*>(heap.register_buffer(static_data, sizeof static_data));
          expect(static_cast<char*>(heap.ptr(alias, 1 - self.rank()))[0] == '1' - self.rank(),
                 "static data of a peer can be read");
          self.barrier(deadline::after(20s));
          heap.unregister_buffer(static_data);
          expect(static_data[0] == '0' + self.rank(), "and stays");
        }) == 0);
}

TEST_CASE("what cannot be registered is told") {
  CHECK(on_threads(1, [](bootstrap&, symmetric_heap& heap) {
          auto* pages = static_cast<char*>(::mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
          const auto refused = [&](void* buffer, std::size_t bytes, const char* part) {
            try {
              heap.register_buffer(buffer, bytes);
              expect(false, part);
            } catch (const error& problem) {
              expect(std::strstr(problem.what(), part), problem.what());
            }
          };
          refused(pages + 1, 4096, "page size");
          refused(pages, 100, "page size");
          refused(pages, 0, "page size");
          refused(nullptr, 4096, "page size");
          ::mprotect(pages + 4096, 4096, PROT_READ);
          refused(pages, 3 * 4096, "readable and writable");
          ::munmap(pages + 4096, 4096);
          refused(pages, 3 * 4096, "readable and writable");
        }) == "");
}

TEST_CASE("memory is not touched before it is used") {
  CHECK(failed_processes(2, [](bootstrap&, symmetric_heap& heap) {
          heap.malloc(48 << 20);
          expect(heap.bytes_backed() >= std::size_t{48} << 20, "the file has grown");
          unsigned char resident[(48 << 20) / 4096];
          expect(::mincore(heap.base(), sizeof resident * 4096, resident) == 0, "mincore");
          expect(std::count_if(std::begin(resident), std::end(resident),
                               [](auto r) { return r & 1; }) == 0,
                 "no page is resident");
        }) == 0);
}

TEST_CASE("calls are compared across PEs, and the PE that differs is named") {
  auto checked = small;
  checked.check = true;
  CHECK(on_threads(
            3,
            [](bootstrap& self, symmetric_heap& heap) {
              auto* before = heap.malloc(64);
              try {
                if (self.rank() == 1)
                  heap.calloc(3, 5);
                else
                  heap.malloc(15);
                expect(false, "the difference is told");
              } catch (const error& problem) {
                expect(problem.status() == HEDDLE_ERROR_MISMATCH, "status");
                expect(std::strstr(problem.what(), "PE 1 made heddle_calloc(3, 5)"),
                       problem.what());
                expect(std::strstr(problem.what(), "PE 0 made heddle_malloc(15)"), problem.what());
              }
              expect(heap.malloc(64) == static_cast<std::byte*>(before) + 64, "nothing was taken");
            },
            checked) == "");
}

TEST_CASE("a PE that does not come to the exchange is named in time") {
  const auto id = make_unique_id("=lo");
  const testing::child_process silent([&] {
    auto self = join_unique_id(id, 1, 2, "=lo", deadline::after(20s));
    ::sleep(60);  // an end, if this process is killed
    return 0;
  });
  auto self = join_unique_id(id, 0, 2, "=lo", deadline::after(20s));
  auto hasty = small;
  hasty.init_timeout = 500ms;
  try {
    symmetric_heap heap(*self, hasty);
    FAIL("no error");
  } catch (const error& problem) {
    CAPTURE(std::string(problem.what()));
    CHECK(problem.status() == HEDDLE_ERROR_TIMEOUT);
    CHECK(std::strstr(problem.what(), "1"));
  }
}

TEST_CASE("a heap that cannot be reserved says which variable to lower") {
  thread_rendezvous job(1);
  auto self = job.join(0);
  try {
    symmetric_heap heap(*self, {.heap_bytes = std::size_t{1} << 50, .internal_bytes = 0});
    FAIL("no error");
  } catch (const error& problem) {
    CHECK(problem.status() == HEDDLE_ERROR_OUT_OF_MEMORY);
    CHECK(std::strstr(problem.what(), "HEDDLE_HEAP_SIZE"));
  }
  self->leave();
}
