// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
//
// What one PE's heap cannot do, none does, and all say whose it was.

#include <doctest/doctest.h>

#include <cstring>
#include <heddle/error.hpp>
#include <memory>
#include <string>

#include "support/throw_error.hpp"
#include "symmetric_heap/host_heap_memory.hpp"
#include "symmetric_heap/jobs.hpp"
#include "symmetric_heap/symmetric_heap.hpp"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

constexpr int n = 3;
constexpr int struck = 1;
constexpr std::size_t bytes = 4 * 4096;

enum class call { none, grow, adopt, give_back };

/// A heap's memory whose one call fails, on the PE that says so.
class failing_memory final : public host_heap_memory {
 public:
  failing_memory(bootstrap& bootstrap, std::size_t size, std::size_t stride, deadline until,
                 const call& fails)
      : host_heap_memory(bootstrap, size, stride, until), fails_(fails) {}

  void grow_to(std::size_t size) override {
    fail_at(call::grow);
    host_heap_memory::grow_to(size);
  }
  void adopt(void* buffer, std::size_t size, std::byte* alias) override {
    fail_at(call::adopt);
    host_heap_memory::adopt(buffer, size, alias);
  }
  void give_back(void* buffer, std::size_t size, const std::byte* alias) override {
    fail_at(call::give_back);
    host_heap_memory::give_back(buffer, size, alias);
  }

 private:
  void fail_at(call now) const {
    if (fails_ == now) throw_error(HEDDLE_ERROR_OUT_OF_MEMORY, "no more of it");
  }

  const call& fails_;
};

struct pe {
  bootstrap& self;
  call fails = call::none;
  symmetric_heap heap{
      self,
      {.heap_bytes = 64 << 20, .internal_bytes = 2 << 20, .timeout = 20s, .init_timeout = 20s},
      [this](bootstrap& bootstrap, std::size_t size, std::size_t stride, deadline until) {
        return std::make_unique<failing_memory>(bootstrap, size, stride, until, fails);
      }};

  /// What `run` throws, where `which` fails on the one PE.
  template <class Run>
  std::string refused(call which, const Run& run) {
    if (self.rank() == struck) fails = which;
    std::string said = "nothing was thrown";
    try {
      run();
    } catch (const error& problem) {
      said = problem.status() == HEDDLE_ERROR_OUT_OF_MEMORY ? problem.what() : "another status";
    }
    fails = call::none;
    return said;
  }
};

std::string on_pes(const std::function<void(pe&)>& body) {
  return testing::on_threads(n, [&](bootstrap& self) {
    pe mine{self};
    body(mine);
    self.barrier(testing::soon());
  });
}

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

const std::string its_message = "PE 1: no more of it";

/// Memory that is at one offset on all PEs: what each writes to the next is there.
void require_symmetric(pe& mine, void* at) {
  auto* word = static_cast<int*>(at);
  const int rank = mine.self.rank();
  mine.self.barrier(testing::soon());
  *static_cast<int*>(mine.heap.ptr(word, (rank + 1) % n)) = 100 + rank;
  mine.self.barrier(testing::soon());
  require(*word == 100 + (rank + n - 1) % n, "the heaps are symmetric");
}

std::unique_ptr<void, decltype(&std::free)> pages() {
  return {std::aligned_alloc(4096, bytes), &std::free};
}

}  // namespace

TEST_CASE("a heap that cannot grow on one PE grows on none") {
  CHECK(on_pes([](pe& mine) {
          void* before = mine.heap.malloc(64);
          const auto size = mine.heap.bytes_backed();
          for (int round = 0; round < 2; ++round) {
            const auto said = mine.refused(call::grow, [&] { mine.heap.malloc(40 << 20); });
            require(said == its_message, said);
            require(mine.heap.bytes_backed() == size, "no PE has more");
          }
          auto* block = static_cast<std::byte*>(mine.heap.malloc(8 << 20));
          require(!mine.heap.contains(block, 40 << 20), "what one PE alone has is nobody's");
          require_symmetric(mine, block);
          require_symmetric(mine, before);
          require_symmetric(mine, static_cast<std::byte*>(mine.heap.malloc(40 << 20)));
        }) == "");
}

TEST_CASE("what only some PEs could be told of, they are told of once") {
  CHECK(on_pes([](pe& mine) {
          std::size_t known = mine.heap.bytes_backed();
          bool fails = mine.self.rank() == struck;
          mine.heap.set_watcher({.added =
                                     [&](std::size_t from, std::size_t to) {
                                       if (fails)
                                         throw_error(HEDDLE_ERROR_OUT_OF_MEMORY, "no more of it");
                                       require(from == known && to > from,
                                               "growth goes on where it ended");
                                       known = to;
                                     },
                                 .removed = {}});
          const auto said = mine.refused(call::none, [&] { mine.heap.malloc(10 << 20); });
          require(said == its_message, said);
          fails = false;
          void* block = mine.heap.malloc(20 << 20);
          require(known == mine.heap.bytes_backed(), "all is known");
          require_symmetric(mine, block);
        }) == "");
}

TEST_CASE("a buffer that cannot be registered on one PE is on none") {
  CHECK(on_pes([](pe& mine) {
          const auto buffer = pages();
          std::memset(buffer.get(), 'a' + mine.self.rank(), bytes);
          const auto said =
              mine.refused(call::adopt, [&] { mine.heap.register_buffer(buffer.get(), bytes); });
          require(said == its_message, said);
          require(mine.heap.translate(buffer.get(), 1) == buffer.get(), "it is the user's alone");
          const auto* content = static_cast<const char*>(buffer.get());
          require(content[bytes - 1] == 'a' + mine.self.rank(), "with its content");
          require_symmetric(mine, mine.heap.register_buffer(buffer.get(), bytes));
          mine.heap.unregister_buffer(buffer.get());
          require_symmetric(mine, mine.heap.malloc(64));
        }) == "");
}

TEST_CASE("PEs of one process do not register the same memory") {
  const auto shared = pages();
  CHECK(on_pes([&](pe& mine) {
          const auto own = pages();
          void* buffer = mine.self.rank() == 1 ? own.get() : shared.get();
          std::string said;
          try {
            mine.heap.register_buffer(buffer, bytes);
          } catch (const error& failure) {
            said = failure.what();
            require(failure.status() == HEDDLE_ERROR_INVALID_ARGUMENT, "the argument is wrong");
          }
          require(said.find("the buffers of PE 0, ") != std::string::npos &&
                      said.find(" and PE 2, ") != std::string::npos &&
                      said.find("have memory in common") != std::string::npos,
                  said);
          require_symmetric(mine, mine.heap.register_buffer(own.get(), bytes));
          mine.heap.unregister_buffer(own.get());
        }) == "");
}

TEST_CASE("a buffer that cannot be given back on one PE stays registered on all") {
  CHECK(on_pes([](pe& mine) {
          const auto buffer = pages();
          std::memset(buffer.get(), 'a' + mine.self.rank(), bytes);
          auto* alias = static_cast<char*>(mine.heap.register_buffer(buffer.get(), bytes));
          const auto said =
              mine.refused(call::give_back, [&] { mine.heap.unregister_buffer(buffer.get()); });
          require(said == its_message, said);
          require(mine.heap.translate(buffer.get(), 1) == alias, "it is registered");
          require(alias[bytes - 1] == 'a' + mine.self.rank(), "with its content");
          require_symmetric(mine, alias);
          mine.heap.unregister_buffer(buffer.get());
          const int previous = (mine.self.rank() + n - 1) % n;
          int word = 0;
          std::memcpy(&word, buffer.get(), sizeof word);
          require(word == 100 + previous, "a peer's store stays");
          require_symmetric(mine, mine.heap.malloc(64));
        }) == "");
}
