// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Collectives of one team on several streams and in captures, over the driver of host memory.

#include "host/collective_order.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "cuda_driver/host_driver.hpp"
#include "host/runtime.hpp"

namespace host_driver = heddle::gpu::host_driver;
using heddle::exec::stream;

namespace {

constexpr heddle_kernel_t compiled = {.on_host = nullptr, .on_cuda = [] {
                                        static int function = 0;
                                        return static_cast<void*>(&function);
                                      }};

/// One PE on cuda:0, with two streams of the program.
class job {
 public:
  job() {
    heddle::gpu::use_driver(
        &host_driver::start({.memory = std::size_t{4} << 30, .accepts_kernels = true}));
    ::setenv("HEDDLE_DEVICE", "cuda:0", 1);
    ::setenv("HEDDLE_HEAP_SIZE", "64M", 1);
    ::setenv("HEDDLE_MAX_TEAMS", "4", 1);
    heddle_thread_job_t threads;
    REQUIRE(heddle_thread_job_create(&threads, 1) == HEDDLE_SUCCESS);
    REQUIRE(heddle_init_thread(&runtime_, threads, 0) == HEDDLE_SUCCESS);
    REQUIRE(heddle_thread_job_destroy(threads) == HEDDLE_SUCCESS);
    owned = {host_driver::make_stream(0), host_driver::make_stream(0)};
    first = borrow(0);
    second = borrow(1);
  }
  ~job() {
    CHECK(heddle_finalize(runtime_) == HEDDLE_SUCCESS);
    for (const CUstream own : owned) host_driver::destroy_stream(own);
    CHECK(host_driver::in_use() == host_driver::usage{});
    ::setenv("HEDDLE_DEVICE", "host", 1);
  }
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  heddle_stream_t borrow(std::size_t index) {
    heddle_stream_t handle = nullptr;
    REQUIRE(heddle_stream_from_cuda(runtime_, owned[index], &handle) == HEDDLE_SUCCESS);
    return handle;
  }
  /// How many waits for an event a collective adds.
  std::size_t collective(heddle_stream_t on) {
    const auto before = host_driver::event_waits();
    enqueue(runtime_->world(), on);
    return host_driver::event_waits() - before;
  }
  void enqueue(heddle_team& team, heddle_stream_t on) {
    team.enqueue_collective(runtime_->queue(on), [](stream& queue) {
      queue.launch({1, 32}, compiled, nullptr, 0);
    });
  }
  heddle_runtime_t runtime() { return runtime_; }

  std::array<CUstream, 2> owned{};
  heddle_stream_t first = nullptr;
  heddle_stream_t second = nullptr;

 private:
  heddle_runtime_t runtime_ = nullptr;
};

}  // namespace

TEST_CASE("a collective waits for the one before, if that is on another stream") {
  job one;
  CHECK(one.collective(one.first) == 0);
  CHECK(one.collective(one.first) == 0);
  CHECK(one.collective(one.second) == 1);
  CHECK(one.collective(one.first) == 1);
  // A handle that is made anew is another stream, whatever its address.
  REQUIRE(heddle_stream_destroy(one.first) == HEDDLE_SUCCESS);
  one.first = one.borrow(0);
  CHECK(one.collective(one.first) == 1);
  CHECK(host_driver::launches() == 5);
}

TEST_CASE("captured collectives are ordered within their capture alone") {
  job one;
  CHECK(one.collective(one.first) == 0);
  host_driver::begin_capture(one.owned[0]);
  CHECK(one.collective(one.first) == 0);   // not after the one that was run
  CHECK(one.collective(one.second) == 1);  // run now, after the first
  heddle_event_t fork = nullptr;
  REQUIRE(heddle_event_create(one.runtime(), &fork) == HEDDLE_SUCCESS);
  REQUIRE(heddle_event_record(fork, one.first) == HEDDLE_SUCCESS);
  REQUIRE(heddle_stream_wait_event(one.second, fork) == HEDDLE_SUCCESS);
  CHECK(one.collective(one.second) == 1);  // captured now, after the captured one
  CHECK(one.collective(one.second) == 0);

  CHECK(heddle_stream_synchronize(one.runtime(), one.first) == HEDDLE_ERROR_INVALID_USAGE);
  CHECK(std::string(heddle_last_error()).find("end the capture") != std::string::npos);
  host_driver::end_capture(one.owned[0]);
  CHECK(one.collective(one.second) == 0);  // the last that was run was there
  CHECK(one.collective(one.first) == 1);
  CHECK(heddle_stream_synchronize(one.runtime(), one.first) == HEDDLE_SUCCESS);

  host_driver::begin_capture(one.owned[1]);
  CHECK(one.collective(one.second) == 0);  // another capture
  host_driver::end_capture(one.owned[1]);
  CHECK(heddle_event_destroy(fork) == HEDDLE_SUCCESS);
}

TEST_CASE("a team that is being captured cannot be destroyed") {
  job one;
  heddle_team_t part = nullptr;
  REQUIRE(heddle_team_split_strided(&one.runtime()->world(), 0, 1, 1, &part) == HEDDLE_SUCCESS);
  host_driver::begin_capture(one.owned[0]);
  one.enqueue(*part, one.first);
  CHECK(heddle_team_destroy(part) == HEDDLE_ERROR_INVALID_USAGE);
  CHECK(std::string(heddle_last_error()).find("being captured") != std::string::npos);
  host_driver::end_capture(one.owned[0]);
  CHECK(heddle_team_destroy(part) == HEDDLE_SUCCESS);
}

TEST_CASE("the host device has no CUDA streams") {
  ::setenv("HEDDLE_DEVICE", "host", 1);
  heddle_thread_job_t threads;
  REQUIRE(heddle_thread_job_create(&threads, 1) == HEDDLE_SUCCESS);
  heddle_runtime_t runtime;
  REQUIRE(heddle_init_thread(&runtime, threads, 0) == HEDDLE_SUCCESS);
  heddle_stream_t none = nullptr;
  CHECK(heddle_stream_from_cuda(runtime, nullptr, &none) == HEDDLE_ERROR_NOT_SUPPORTED);
  CHECK(std::string(heddle_last_error()).find("HEDDLE_DEVICE=cuda") != std::string::npos);
  CHECK(heddle_finalize(runtime) == HEDDLE_SUCCESS);
  CHECK(heddle_thread_job_destroy(threads) == HEDDLE_SUCCESS);
}
