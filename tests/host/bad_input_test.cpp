// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <heddle/device/launch.hpp>
#include <heddle/heddle.hpp>
#include <latch>
#include <limits>
#include <string>

#include "doctest/cut_short.hpp"
#include "doctest/run_pes.hpp"
#include "host/outcomes.hpp"

// Every mistake is an error that says what was asked, what was found and what to do, and changes
// nothing.

namespace {

using heddle::runtime;
using heddle::testing::check_error;
using heddle::testing::environment_variable;
using heddle::testing::of;
using heddle::testing::outcome;
using heddle::testing::patient;
using heddle::testing::run_pes;

constexpr auto invalid = HEDDLE_ERROR_INVALID_ARGUMENT;

// Elements that cannot go from PE to PE as bytes, or need more alignment than memory has.
struct alignas(256) far_apart {
  char byte;
};
template <class T>
concept is_stored = requires(const runtime& self) {
  typename heddle::symmetric_array<T>;
  typename heddle::device_array<T>;
  self.template malloc_host<T>(1);
  self.template calloc<T>(1);
};
static_assert(is_stored<double> && !is_stored<std::string> && !is_stored<far_apart>);

}  // namespace

TEST_CASE("one PE alone, without a launcher, is a job of one" * doctest::test_suite("threads")) {
  const runtime self;
  CHECK(self.n_pes() == 1);
  float value = 3;
  self.world().all_reduce(&value, &value, 1, heddle::op::sum);
  CHECK(value == 3);
}

TEST_CASE("NULL handles and results are errors") {
  check_error(of(heddle_init(nullptr)), invalid, {"heddle_init", "runtime is NULL"});
  check_error(of(heddle_finalize(nullptr)), invalid, {"heddle_finalize", "NULL"});
  check_error(of(heddle_my_pe(nullptr, nullptr)), invalid, {"NULL"});
  check_error(of(heddle_device_name(nullptr, nullptr, 0)), invalid, {"heddle_device_name", "NULL"});
  check_error(of(heddle_barrier(nullptr)), invalid, {"heddle_barrier", "team is NULL"});
  check_error(
      of(heddle_all_reduce(nullptr, nullptr, nullptr, 0, HEDDLE_FLOAT32, HEDDLE_SUM, nullptr)),
      invalid, {"heddle_all_reduce", "team is NULL"});
  check_error(of(heddle_stream_destroy(nullptr)), invalid, {"stream is NULL"});
  check_error(of(heddle_event_synchronize(nullptr)), invalid, {"event is NULL"});
  heddle_runtime_t gone = nullptr;
  REQUIRE(heddle_init(&gone) == HEDDLE_SUCCESS);
  REQUIRE(heddle_finalize(gone) == HEDDLE_SUCCESS);
  char* text = nullptr;
  check_error(of(heddle_info_json(gone, &text)), HEDDLE_ERROR_INVALID_USAGE,
              {"heddle_info_json", "no handle (any more)"});
  check_error(of(heddle_thread_job_create(nullptr, 2)), invalid, {"job is NULL"});
  CHECK(heddle_get_version(nullptr, nullptr, nullptr) == invalid);
}

TEST_CASE("one-sided calls check their arguments before anything is sent") {
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    auto* symmetric = self.calloc<std::uint64_t>(16);
    std::uint64_t own[16] = {};
    check_error(of(heddle_put(team, own, own, 8, 1)), invalid,
                {"heddle_put", "dst", "not symmetric", "heddle_malloc"});
    check_error(of(heddle_get(team, own, own, 8, 1)), invalid,
                {"heddle_get", "src", "not symmetric"});
    check_error(of(heddle_put(team, symmetric, own, 8, 2)), invalid, {"PE 2", "2 PEs", "world"});
    check_error(of(heddle_put(team, symmetric, own, 8, -1)), invalid, {"PE -1"});
    check_error(of(heddle_put(team, symmetric, nullptr, 8, 1)), invalid,
                {"src is NULL", "8 bytes"});
    CHECK(heddle_put(team, nullptr, nullptr, 0, 1) == HEDDLE_SUCCESS);
    check_error(of(heddle_put(team, symmetric, own, std::size_t{1} << 60, 1)), invalid,
                {"not symmetric"});
    check_error(of(heddle_put_signal(team, symmetric, own, 8, own, 1, HEDDLE_SIGNAL_SET, 1)),
                invalid, {"signal", "not symmetric"});
    auto* odd = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(symmetric) + 4);
    check_error(of(heddle_signal(team, odd, 1, HEDDLE_SIGNAL_SET, 1)), invalid, {"aligned to 8"});
    check_error(of(heddle_signal(team, symmetric, 1, static_cast<heddle_signal_op_t>(9), 1)),
                invalid, {"9 is not a heddle_signal_op_t"});
    check_error(of(heddle_signal_wait(team, symmetric, static_cast<heddle_cmp_t>(77), 0)), invalid,
                {"77 is not a heddle_cmp_t"});
    check_error(of(heddle_signal_test(team, symmetric, HEDDLE_CMP_EQ, 0, nullptr)), invalid,
                {"satisfied is NULL"});
    check_error(of(heddle_atomic(team, symmetric, 2, HEDDLE_ATOMIC_ADD, 1, 0, nullptr, 1)), invalid,
                {"2 bytes", "4 or 8"});
    check_error(of(heddle_atomic(team, symmetric, 8, static_cast<heddle_atomic_op_t>(50), 1, 0,
                                 nullptr, 1)),
                invalid, {"50 is not"});
    void* pointer = nullptr;
    check_error(of(heddle_ptr(self.handle(), own, 0, &pointer)), invalid, {"not symmetric"});
    check_error(of(heddle_ptr(self.handle(), symmetric, 5, &pointer)), invalid, {"PE 5", "2 PEs"});
    self.world().barrier();
  });
}

TEST_CASE("AllReduce checks its arguments") {
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    float data[16] = {};
    const auto reduce = [&](const void* in, void* out, std::size_t count, int type, int op) {
      return of(heddle_all_reduce(team, in, out, count, static_cast<heddle_type_t>(type),
                                  static_cast<heddle_op_t>(op), nullptr));
    };
    check_error(reduce(data, data, 4, 99, HEDDLE_SUM), invalid, {"99 is not a heddle_type_t"});
    check_error(reduce(data, data, 4, HEDDLE_FLOAT32, -3), invalid, {"-3 is not a heddle_op_t"});
    check_error(reduce(nullptr, data, 4, HEDDLE_FLOAT32, HEDDLE_SUM), invalid,
                {"input is NULL", "4"});
    check_error(reduce(data, nullptr, 4, HEDDLE_FLOAT32, HEDDLE_SUM), invalid, {"output is NULL"});
    check_error(reduce(data, data + 2, 4, HEDDLE_FLOAT32, HEDDLE_SUM), invalid,
                {"overlap", "in place"});
    check_error(
        reduce(data, data, std::numeric_limits<std::size_t>::max() / 2, HEDDLE_FLOAT32, HEDDLE_SUM),
        invalid, {"more than an address"});
    check_error(reduce(reinterpret_cast<char*>(data) + 1, data + 8, 2, HEDDLE_FLOAT32, HEDDLE_SUM),
                invalid, {"aligned"});
    CHECK(reduce(nullptr, nullptr, 0, HEDDLE_FLOAT32, HEDDLE_SUM).status == HEDDLE_SUCCESS);
    char text[8];
    CHECK(heddle_plan(team, HEDDLE_COLLECTIVE_ALL_REDUCE, 4, HEDDLE_FLOAT32, text, sizeof text) ==
          HEDDLE_SUCCESS);
    CHECK(std::string(text) == "one_sho");
  });
}

TEST_CASE("a registered buffer's two addresses are the same memory for AllReduce too") {
  run_pes(2, [](runtime& self) {
    auto* buffer = static_cast<float*>(std::aligned_alloc(4096, 8192));
    void* symmetric = nullptr;
    REQUIRE(heddle_register(self.handle(), buffer, 8192, &symmetric) == HEDDLE_SUCCESS);
    auto* alias = static_cast<float*>(symmetric);
    check_error(of(heddle_all_reduce(self.world().handle(), buffer, alias + 16, 100, HEDDLE_FLOAT32,
                                     HEDDLE_SUM, nullptr)),
                invalid, {"overlap"});
    void* again = nullptr;
    check_error(of(heddle_register(self.handle(), alias, 4096, &again)), invalid,
                {"in the symmetric heap already"});
    buffer[0] = 1;
    CHECK(heddle_all_reduce(self.world().handle(), buffer, alias, 1, HEDDLE_FLOAT32, HEDDLE_SUM,
                            nullptr) == HEDDLE_SUCCESS);
    CHECK(buffer[0] == 2);
    CHECK(heddle_unregister(self.handle(), buffer) == HEDDLE_SUCCESS);
    std::free(buffer);
  });
}

TEST_CASE("teams check their arguments, and a PE outside has none") {
  run_pes(3, [](runtime& self) {
    const auto world = self.world();
    heddle_team_t made = nullptr;
    for (auto [start, stride, size] :
         {std::array{0, 1, 4}, {-1, 1, 1}, {0, 0, 2}, {2, 1, 2}, {0, -1, 2}, {0, 1, 0}})
      check_error(of(heddle_team_split_strided(world.handle(), start, stride, size, &made)),
                  invalid, {"start", "3 PEs of team world"});
    check_error(of(heddle_team_split_color(world.handle(), -2, 0, &made)), invalid, {"colour -2"});
    check_error(of(heddle_team_destroy(world.handle())), HEDDLE_ERROR_INVALID_USAGE,
                {"world", "belongs to the runtime"});
    int translated = 0;
    check_error(of(heddle_team_translate(world.handle(), 3, world.handle(), &translated)), invalid,
                {"PE 3"});
    const auto pair = world.split_strided(0, 2, 2);
    CHECK(static_cast<bool>(pair) == (self.my_pe() != 1));
    if (!pair) check_error(of(heddle_barrier(pair.handle())), invalid, {"team is NULL"});
    heddle::team_ref ref;
    check_error(of(heddle_team_get_ref(world.handle(), &ref, sizeof ref, 999)),
                HEDDLE_ERROR_INVALID_USAGE, {"layout 999", "same heddle"});
  });
}

TEST_CASE("mismatched arguments of a split are told on every PE") {
  run_pes(2, [](runtime& self) {
    heddle_team_t made = nullptr;
    check_error(of(heddle_team_split_strided(self.world().handle(), self.my_pe(), 1, 1, &made)),
                HEDDLE_ERROR_MISMATCH, {"PE 1", "start 1", "PE 0 gave start 0"});
    self.world().barrier();
  });
}

TEST_CASE("the heap's mistakes are told, and it stays usable") {
  environment_variable size("HEDDLE_HEAP_SIZE", "8M");
  run_pes(2, [](runtime& self) {
    void* pointer = nullptr;
    check_error(of(heddle_malloc(self.handle(), 64 << 20, &pointer)), HEDDLE_ERROR_OUT_OF_MEMORY,
                {"67108864", "8 MiB free", "largest block 8 MiB", "HEDDLE_HEAP_SIZE"});
    check_error(of(heddle_align(self.handle(), 48, 64, &pointer)), invalid, {"48", "power of two"});
    check_error(of(heddle_align(self.handle(), 4 << 20, 64, &pointer)), invalid, {"4194304"});
    check_error(of(heddle_calloc(self.handle(), SIZE_MAX / 2, 16, &pointer)), invalid,
                {"more than an address"});
    CHECK(heddle_malloc(self.handle(), 0, &pointer) == HEDDLE_SUCCESS);
    CHECK(pointer == nullptr);
    CHECK(heddle_free(self.handle(), nullptr) == HEDDLE_SUCCESS);
    auto* block = self.malloc<char>(100);
    check_error(of(heddle_free(self.handle(), block + 8)), invalid,
                {"8 bytes inside the block of 100 bytes"});
    int own = 0;
    check_error(of(heddle_free(self.handle(), &own)), invalid, {"not in this PE's heap"});
    // Past what any PE has memory for, and in the runtime's own part.
    const auto world = self.world();
    std::vector<char> much(4 << 20);
    check_error(of(heddle_put(world.handle(), block, much.data(), much.size(), 1)), invalid,
                {"dst", "not symmetric", "given out"});
    void* start = nullptr;
    CHECK(heddle_ptr(self.handle(), block, self.my_pe(), &start) == HEDDLE_SUCCESS);
    check_error(of(heddle_put(world.handle(), block - 4096, much.data(), 8, 1)), invalid,
                {"not symmetric"});
    self.free(block);
    check_error(of(heddle_free(self.handle(), block)), HEDDLE_ERROR_INVALID_USAGE,
                {"freed before"});
    auto* big = self.malloc<char>(7 << 20);
    big[100] = 5;
    auto* small = self.realloc(big, 200);  // what is left over is free again
    CHECK(small[100] == 5);
    self.free(self.malloc<char>(6 << 20));
    self.free(small);
    check_error(of(heddle_register(self.handle(), &own, 4, &pointer)), invalid, {"page size"});
    check_error(of(heddle_unregister(self.handle(), &own)), invalid,
                {"not the start of a registered"});
    self.world().barrier();
  });
}

TEST_CASE("a mapping that others share is not registered, and stays theirs") {
  run_pes(1, [](runtime& self) {
    constexpr std::size_t bytes = 8192;
    const int file = ::memfd_create("shared", MFD_CLOEXEC);
    REQUIRE(::ftruncate(file, bytes) == 0);
    void* shared = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE(shared != MAP_FAILED);
    void* symmetric = nullptr;
    check_error(of(heddle_register(self.handle(), shared, bytes, &symmetric)),
                HEDDLE_ERROR_INVALID_ARGUMENT, {"MAP_SHARED", "private memory"});
    static_cast<char*>(shared)[0] = 'x';
    char seen = 0;
    CHECK(::pread(file, &seen, 1, 0) == 1);
    CHECK(seen == 'x');
    ::munmap(shared, bytes);
    ::close(file);
  });
}

TEST_CASE("the heap address of a registered buffer is not a block to free") {
  run_pes(2, [](runtime& self) {
    auto* buffer = static_cast<char*>(std::aligned_alloc(4096, 4096));
    void* symmetric = nullptr;
    REQUIRE(heddle_register(self.handle(), buffer, 4096, &symmetric) == HEDDLE_SUCCESS);
    check_error(of(heddle_free(self.handle(), symmetric)), invalid, {"heddle_unregister"});
    check_error(of(heddle_realloc(self.handle(), symmetric, 8192, &symmetric)), invalid,
                {"heddle_unregister"});
    CHECK(heddle_unregister(self.handle(), buffer) == HEDDLE_SUCCESS);
    check_error(of(heddle_free(self.handle(), symmetric)), HEDDLE_ERROR_INVALID_USAGE,
                {"freed before"});
    std::free(buffer);
  });
}

TEST_CASE("mistakes with device memory are told") {
  const runtime self;
  void* memory = nullptr;
  check_error(of(heddle_device_malloc(self.handle(), std::size_t{1} << 60, &memory)),
              HEDDLE_ERROR_OUT_OF_MEMORY, {"1152921504606846976"});
  CHECK(heddle_device_malloc(self.handle(), 0, &memory) == HEDDLE_SUCCESS);
  CHECK(memory == nullptr);
  CHECK(heddle_device_free(self.handle(), nullptr) == HEDDLE_SUCCESS);
  CHECK(heddle_device_malloc(self.handle(), 10, &memory) == HEDDLE_SUCCESS);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
  check_error(of(heddle_device_free(self.handle(), static_cast<char*>(memory) + 1)), invalid,
              {"not device memory"});
  check_error(of(heddle_copy_on_stream(self.handle(), memory, nullptr, 3, nullptr)), invalid,
              {"src is NULL", "3 bytes"});
  CHECK(heddle_device_free(self.handle(), memory) == HEDDLE_SUCCESS);
  check_error(of(heddle_device_free(self.handle(), memory)), invalid, {"freed before"});
}

TEST_CASE("HEDDLE_CHECK=1 refuses a put that leaves its block") {
  environment_variable check("HEDDLE_CHECK", "1");
  run_pes(2, [](runtime& self) {
    auto* first = self.malloc<char>(64);
    auto* second = self.malloc<char>(64);
    const std::array<char, 128> bytes{};
    check_error(of(heddle_put(self.world().handle(), first, bytes.data(), 65, 1)), invalid,
                {"one block"});
    CHECK(heddle_put(self.world().handle(), first, bytes.data(), 64, self.my_pe()) ==
          HEDDLE_SUCCESS);
    self.free(second);
    self.free(first);
  });
}

TEST_CASE("HEDDLE_CHECK=1 names the PE that calls differently, and nothing is corrupted") {
  environment_variable check("HEDDLE_CHECK", "1");
  run_pes(3, [](runtime& self) {
    void* pointer = nullptr;
    const std::size_t bytes = self.my_pe() == 2 ? 200 : 100;
    check_error(of(heddle_malloc(self.handle(), bytes, &pointer)), HEDDLE_ERROR_MISMATCH,
                {"PE 2 made heddle_malloc(200)", "PE 0 made heddle_malloc(100)"});
    auto* good = self.malloc<float>(50);
    check_error(of(heddle_all_reduce(self.world().handle(), good, good, self.my_pe() == 1 ? 40 : 50,
                                     HEDDLE_FLOAT32, HEDDLE_SUM, nullptr)),
                HEDDLE_ERROR_MISMATCH, {"PE 1 gave count 40", "PE 0 gave count 50"});
    self.world().all_reduce(good, good, 50, heddle::op::max);
    self.free(good);
  });
}

TEST_CASE("unknown variables and bad values are errors at init, with the nearest valid name") {
  heddle_runtime_t never = nullptr;
  {
    environment_variable wrong("HEDDLE_CHANELS", "2");
    check_error(of(heddle_init(&never)), invalid, {"HEDDLE_CHANELS", "nearest is HEDDLE_CHANNELS"});
  }
  for (auto [name, value, says] :
       {std::array{"HEDDLE_ALGO", "rings",
                   "one_shot, two_shot, multicast, hierarchical, ring, tree"},
        {"HEDDLE_TIMEOUT", "-1", "seconds"},
        {"HEDDLE_HEAP_SIZE", "lots", "512M"},
        {"HEDDLE_EPOCH_BITS", "4", "8 to 32"},
        {"HEDDLE_CHECK", "yes", "0 or 1"},
        {"HEDDLE_DEBUG_SUBSYS", "coil", "coll"}}) {
    environment_variable wrong(name, value);
    check_error(of(heddle_init(&never)), invalid, {name, value, says});
  }
  environment_variable algo("HEDDLE_ALGO", "two_shot");
  for (const char* proto : {"ll", "ll128"}) {
    environment_variable forced("HEDDLE_PROTO", proto);
    run_pes(2, [&](runtime& self) {
      float x = 1;
      check_error(of(heddle_all_reduce(self.world().handle(), &x, &x, 1, HEDDLE_FLOAT32, HEDDLE_SUM,
                                       nullptr)),
                  invalid, {"two_shot", proto, "simple"});
    });
  }
}

TEST_CASE("launches that cannot run are refused, with the limit") {
  const runtime self;
  const auto kernel = [](auto&) {};
  CHECK_THROWS_WITH_AS(heddle::launch(self.default_stream(), 0, 1, kernel),
                       doctest::Contains("at least 1"), heddle::error);
  CHECK_THROWS_WITH_AS(heddle::launch(self.default_stream(), 1000, 1000, kernel),
                       doctest::Contains("at most 1024"), heddle::error);
  check_error(of(heddle_launch(self.handle(), nullptr, 1, 1, nullptr, nullptr, 0)), invalid,
              {"kernel is NULL"});
  const heddle_kernel_t for_cuda_alone{.on_host = nullptr, .on_cuda = nullptr};
  check_error(of(heddle_launch(self.handle(), nullptr, 1, 1, &for_cuda_alone, nullptr, 0)),
              HEDDLE_ERROR_NOT_SUPPORTED, {"compiled for CUDA alone"});
  CHECK_THROWS_WITH_AS(heddle::launch(self.default_stream(), 1 << 20, 1 << 20, kernel),
                       doctest::Contains("at most 1024"), heddle::error);
  const auto queue = self.create_stream();
  CHECK_THROWS_WITH_AS(heddle::launch(queue, 1000, 1000, kernel), doctest::Contains("at most 1024"),
                       heddle::error);
  queue.synchronize();
}

TEST_CASE("what a kernel throws is the kernel's, and it cannot wait for its own stream") {
  const runtime self;
  const auto queue = self.create_stream();
  heddle_event_t event = nullptr;
  REQUIRE(heddle_event_create(self.handle(), &event) == HEDDLE_SUCCESS);
  CHECK_THROWS_WITH_AS(
      heddle::launch(
          self.default_stream(), 1, 1, [](auto&, auto) {}, std::array<char, 40000>{}),
      doctest::Contains("may have 32764"), heddle::error);
  const auto throws = [](auto&) { throw std::runtime_error("no ink"); };
  const std::string thrown = "a kernel threw an exception: no ink";
  for (int threads : {1, 2, 3}) {
    CHECK_THROWS_WITH_AS(heddle::launch(self.default_stream(), 1, threads, throws),
                         doctest::Contains(thrown.c_str()), heddle::error);
    const auto team = self.world().split_color(self.my_pe(), 0);  // which it ends
    for (const auto& told : {thrown, ": a collective failed: " + thrown})
      CHECK_THROWS_WITH_AS(heddle::launch_collective(team, {}, 1, threads, throws),
                           doctest::Contains(told.c_str()), heddle::error);
    CHECK_THROWS_WITH_AS(heddle::launch(self.default_stream(), 1, threads, [](auto&) { throw 42; }),
                         doctest::Contains("a kernel threw what is no std::exception"),
                         heddle::error);
  }
  heddle::launch(
      queue, 1, 1,
      [](auto&, heddle_runtime_t runtime, heddle_stream_t own, heddle_event_t event) {
        CHECK(heddle_event_record(event, own) == HEDDLE_SUCCESS);
        check_error(of(heddle_event_synchronize(event)), HEDDLE_ERROR_INVALID_USAGE,
                    {"an event", "work on the stream"});
        check_error(of(heddle_stream_synchronize(runtime, own)), HEDDLE_ERROR_INVALID_USAGE,
                    {"work on this stream"});
        check_error(of(heddle_stream_destroy(own)), HEDDLE_ERROR_INVALID_USAGE,
                    {"work on this stream"});
        check_error(of(heddle_finalize(runtime)), HEDDLE_ERROR_INVALID_USAGE,
                    {"heddle_finalize", "work on a stream of this runtime"});
        check_error(of(heddle_abort(runtime, "no ink")), HEDDLE_ERROR_INVALID_USAGE,
                    {"heddle_abort", "work on a stream of this runtime", "heddle_team_abort"});
      },
      self.handle(), queue.handle(), event);
  queue.synchronize();
  CHECK(heddle_event_destroy(event) == HEDDLE_SUCCESS);
}

TEST_CASE("a wait past its deadline names the PE, the operation, the word and the culprit" *
          doctest::test_suite("threads")) {
  environment_variable timeout("HEDDLE_TIMEOUT", std::to_string(patient(0.3)));
  std::latch both_told(2);
  std::array<outcome, 3> got;
  heddle::run_as_threads(3, [&](runtime& self) {
    const auto world = self.world();
    float x = 1;
    // PE 2 does not come; the others wait for it, and each says so.
    if (self.my_pe() < 2) {
      got[static_cast<std::size_t>(self.my_pe())] =
          of(heddle_all_reduce(world.handle(), &x, &x, 1, HEDDLE_FLOAT32, HEDDLE_SUM, nullptr));
      both_told.count_down();
    } else {
      both_told.wait();
    }
    const auto after = of(heddle_barrier(world.handle()));
    CHECK((after.status == HEDDLE_ERROR_TIMEOUT || after.status == HEDDLE_ERROR_ABORTED));
  });
  bool timed_out = false;
  for (int pe = 0; pe < 2; ++pe) {
    const auto& of_pe = got[static_cast<std::size_t>(pe)];
    CAPTURE(of_pe.text);
    CHECK((of_pe.status == HEDDLE_ERROR_TIMEOUT || of_pe.status == HEDDLE_ERROR_ABORTED));
    CHECK(of_pe.text.find("for PE 2 in all_reduce") != std::string::npos);
    CHECK(of_pe.text.find("PE 2 is not waiting in this team") != std::string::npos);
    CHECK(of_pe.text.find("HEDDLE_TIMEOUT") != std::string::npos);
    timed_out |= of_pe.status == HEDDLE_ERROR_TIMEOUT;
  }
  CHECK(timed_out);
}

TEST_CASE("a runtime is left although its last work on a stream threw what is no exception") {
  runtime self;
  const auto queue = self.create_stream();
  heddle::launch(queue, 1, 1, [](auto&) { throw 42; });
  self.finalize();
}

TEST_CASE("streams of one runtime are none of another's") {
  const runtime one;
  heddle_thread_job_t job = nullptr;
  heddle_runtime_t other = nullptr;
  heddle_stream_t queue = nullptr;
  REQUIRE(heddle_thread_job_create(&job, 1) == HEDDLE_SUCCESS);
  REQUIRE(heddle_init_thread(&other, job, 0) == HEDDLE_SUCCESS);
  REQUIRE(heddle_stream_create(other, &queue) == HEDDLE_SUCCESS);
  auto* word = one.calloc<int>(1);
  check_error(
      of(heddle_all_reduce(one.world().handle(), word, word, 1, HEDDLE_INT32, HEDDLE_SUM, queue)),
      invalid, {"a stream of PE 0's runtime"});
  check_error(of(heddle_stream_synchronize(one.handle(), queue)), invalid,
              {"a stream of PE 0's runtime"});
  CHECK(heddle_stream_synchronize(other, queue) == HEDDLE_SUCCESS);
  CHECK(heddle_finalize(other) == HEDDLE_SUCCESS);
  CHECK(heddle_thread_job_destroy(job) == HEDDLE_SUCCESS);
}

TEST_CASE("a wait past its deadline names the program's own address") {
  const environment_variable soon("HEDDLE_TIMEOUT", std::to_string(patient(0.5)));
  run_pes(2, [](runtime& self) {
    const auto both = self.world().split_strided(0, 1, 2);
    auto* flag = self.calloc<heddle::signal>(1);
    const auto got = of(heddle_signal_wait(both.handle(), flag, HEDDLE_CMP_EQ, 1));
    CHECK(got.text.find("look at who was to write the word") != std::string::npos);
    char address[32];
    std::snprintf(address, sizeof address, "(%p)", static_cast<void*>(flag));
    if (got.status == HEDDLE_ERROR_TIMEOUT)  // of this PE's own wait, and not the other's
      CHECK(got.text.find(address) != std::string::npos);
  });
}

TEST_CASE("PEs of one host that neither memory nor a network joins are told why" *
          doctest::test_suite("threads")) {
  const environment_variable none("HEDDLE_TRANSPORT", "none");
  const environment_variable apart("HEDDLE_P2P_DISABLE", "1");
  run_pes(2, [](runtime& self) {
    check_error(of(heddle_barrier(self.world().handle())), HEDDLE_ERROR_NOT_SUPPORTED,
                {"is not mapped", "no network", "HEDDLE_TRANSPORT=none"});
  });
}
