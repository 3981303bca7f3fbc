// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The runtime with HEDDLE_DEVICE=cuda over the driver of host memory: all but the kernels.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <heddle/device/launch.hpp>
#include <heddle/heddle.hpp>
#include <heddle/run_as_threads.hpp>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cuda_driver/host_driver.hpp"
#include "cuda_driver/program_buffer.hpp"
#include "host/alarm_of.hpp"
#include "host/team.hpp"

using namespace heddle;
namespace host_driver = gpu::host_driver;

namespace {

void use_machine(const host_driver::machine& machine, const char* device) {
  gpu::use_driver(&host_driver::start(machine));
  ::setenv("HEDDLE_DEVICE", device, 1);
  ::setenv("HEDDLE_TIMEOUT", "20", 1);
  ::setenv("HEDDLE_HEAP_SIZE", "256M", 1);
  ::setenv("HEDDLE_MAX_TEAMS", "4", 1);  // their places are memory of the device from the start
}

std::string failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const error& failure) {
    return std::string(heddle_status_name(failure.status())) + ": " + failure.what();
  }
  return "no error";
}

void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

/// Puts, gets and barriers from the host, between heaps that the host cannot touch.
void exchange_rows(const runtime& self) {
  const auto world = self.world();
  const int me = self.my_pe();
  const int n = self.n_pes();
  const std::size_t count = 10'000;
  symmetric_array<int> row(self, count);
  symmetric_array<std::uint64_t> signals(self, static_cast<std::size_t>(n));
  std::vector<int> mine(count);
  std::iota(mine.begin(), mine.end(), 1000 * me);
  const int right = (me + 1) % n;
  world.put(row.data(), mine.data(), count, right);
  world.barrier();
  std::vector<int> got(count);
  world.get(got.data(), row.data(), count, me);
  const int left = (me + n - 1) % n;
  expect(got.front() == 1000 * left && got.back() == 1000 * left + 9'999, "the left PE's row");
  world.barrier();
  // A word, read back from another PE.
  world.put(signals.data() + me, std::vector<std::uint64_t>{7u + static_cast<unsigned>(me)}.data(),
            1, right);
  world.barrier();
  std::uint64_t word = 0;
  world.get(&word, signals.data() + me, 1, right);
  expect(word == 7u + static_cast<unsigned>(me), "the word");
  expect(world.test(signals.data() + left, cmp::eq, 7u + static_cast<unsigned>(left)),
         "a signal is looked at");
  world.barrier();

  // Symmetric memory of the host, which host threads load and store.
  auto* shared = self.malloc_host<std::uint64_t>(1000);
  auto* arrived = self.malloc_host<std::uint64_t>(2);
  std::fill_n(shared, 1000, 100u + static_cast<unsigned>(me));
  arrived[0] = arrived[1] = 0;
  world.barrier();
  expect(self.ptr(shared, left)[999] == 100u + static_cast<unsigned>(left), "a peer's copy");
  world.update_signal(&arrived[0], 1, signal_op::add, right);
  world.wait_until(&arrived[0], cmp::eq, 1);
  expect(world.atomic_fetch_add(&arrived[1], 5, me) == 0 && arrived[1] == 5, "an atomic");
  world.barrier();
  world.put_signal(reinterpret_cast<int*>(shared), mine.data(), 1, &arrived[0], 7, signal_op::set,
                   right);
  world.wait_until(&arrived[0], cmp::eq, 7);
  expect(*reinterpret_cast<int*>(shared) == 1000 * left, "put with its signal");
  world.barrier();
  // Kernels find the others' copies as they find those of the heap.
  const auto ref = world.ref();
  for (int pe = 0; pe < n; ++pe) expect(ref.ptr(shared, pe) == self.ptr(shared, pe), "in kernels");
  auto* large = self.malloc_host<char>(5 << 20);
  std::vector<char> whole(5 << 20, static_cast<char>(1 + me));
  world.barrier();
  world.put(large, whole.data(), whole.size(), right);  // over what was pinned together
  world.barrier();
  expect(std::all_of(large, large + whole.size(), [&](char c) { return c == 1 + left; }), "large");
  auto* later = self.malloc_host<char>(1 << 20);
  world.put(later, whole.data(), 1 << 20, right);
  world.get(whole.data(), later, 1 << 20, me);
  self.free(later);
  self.free(large);
  self.free(shared);
  self.free(arrived);

  // On streams, by the copies alone.
  const auto stream = self.create_stream();
  world.put(row.data(), mine.data(), count, left, stream);
  stream.synchronize();
  world.barrier();
  world.get(got.data(), row.data(), count, me, stream);
  stream.synchronize();
  expect(got.back() == 1000 * right + 9'999, "the right PE's row");
  world.barrier();
}

}  // namespace

TEST_CASE("host calls reach heaps in GPU memory, with PEs as threads and as processes") {
  for (int n : {1, 2, 4}) {
    CAPTURE(n);
    use_machine({.devices = 2, .memory = std::size_t{4} << 30}, "cuda");
    run_as_threads(n, [](runtime& self) {
      expect(self.device() == "cuda:" + std::to_string(self.my_pe() % 2), self.device());
      exchange_rows(self);
    });
    CHECK(host_driver::in_use() == host_driver::usage{});
  }
  use_machine({.memory = std::size_t{4} << 30}, "cuda:0");
  heddle_unique_id_t id;
  REQUIRE(heddle_get_unique_id(&id) == HEDDLE_SUCCESS);
  const auto run_pe = [&](int pe) {
    try {
      const runtime self(id, pe, 3);
      exchange_rows(self);
      return 0;
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "PE %d: %s\n", pe, problem.what());
      return 1;
    }
  };
  std::vector<pid_t> children;
  for (int pe = 1; pe < 3; ++pe) {
    children.push_back(::fork());
    REQUIRE(children.back() >= 0);
    if (children.back() == 0) ::_exit(run_pe(pe));
  }
  CHECK(run_pe(0) == 0);
  for (const pid_t child : children) {
    int state = 0;
    REQUIRE(::waitpid(child, &state, 0) == child);
    CHECK(state == 0);
  }
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("the host waits for words in GPU memory, until it is told of a loss or its time is up") {
  use_machine({.devices = 2, .memory = std::size_t{4} << 30}, "cuda");
  std::barrier all_threads(2);
  run_as_threads(2, [&](runtime& self) {
    const auto world = self.world();
    symmetric_array<std::uint64_t> words(self, 4);
    const std::uint64_t seven = 7;
    if (self.my_pe() == 0) {
      world.wait_until(words.data() + 2, cmp::ge, 7);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      world.put(words.data() + 2, &seven, 1, 0);
    }
    world.barrier();
    all_threads.arrive_and_wait();  // nobody is in the barrier
    if (self.my_pe() == 0) {
      const auto text = failure_of([&] { world.wait_until(words.data() + 3, cmp::eq, 1); });
      expect(text.find("HEDDLE_ERROR_PEER_LOST: PE 1") == 0, text);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      self.abort("a test");
    }
  });
  ::setenv("HEDDLE_TIMEOUT", "0.2", 1);
  run_as_threads(1, [](runtime& self) {
    symmetric_array<std::uint64_t> words(self, 4);
    const auto text = failure_of([&] { self.world().wait_until(words.data() + 3, cmp::eq, 9); });
    const auto offset = reinterpret_cast<std::uintptr_t>(words.data() + 3) -
                        reinterpret_cast<std::uintptr_t>(self.world().ref().heap());
    expect(text.find("HEDDLE_ERROR_TIMEOUT") == 0 &&
               text.find(fmt::format("heap offset {:#x} was 0", offset)) != std::string::npos,
           text);
  });
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("host memory that a device cannot share is an error on all PEs, and can be tried again") {
  use_machine({.memory = std::size_t{4} << 30}, "cuda:0");
  std::barrier all_threads(2);
  run_as_threads(2, [&](runtime& self) {
    auto* first = self.malloc_host<char>(100);
    all_threads.arrive_and_wait();
    if (self.my_pe() == 1) host_driver::fail("cuMemHostRegister", CUDA_ERROR_OUT_OF_MEMORY);
    all_threads.arrive_and_wait();
    const auto text = failure_of([&] { (void)self.malloc_host<char>(3 << 20); });
    expect(text.find("HEDDLE_ERROR_OUT_OF_MEMORY") == 0 &&
               text.find("raise ulimit -l") != std::string::npos,
           text);
    auto* again = self.malloc_host<char>(3 << 20);
    again[(3 << 20) - 1] = first[99] = 1;
    self.world().barrier();
    self.free(again);
    self.free(first);
  });
  CHECK(host_driver::in_use() == host_driver::usage{});
  ::setenv("HEDDLE_DEVICE", "host", 1);
  run_as_threads(2, [](runtime& self) {
    auto* words = self.malloc_host<std::uint64_t>(3);
    words[2] = 9;
    self.world().barrier();
    expect(self.world().g(words + 2, 1 - self.my_pe()) == 9, "on the host device as any other");
    self.world().barrier();
    self.free(words);
  });
}

TEST_CASE("a program's kernels are loaded at init, those that cannot be later") {
  use_machine({.memory = std::size_t{4} << 30}, "cuda:0");
  static int function = 0;
  static std::atomic<int> loads = 0;
  const heddle_kernel_t kernel{.on_host = nullptr, .on_cuda = [] {
                                 ++loads;
                                 return static_cast<void*>(&function);
                               }};
  heddle_preload_kernel(&kernel);
  const auto loads_of_init = [] {
    loads = 0;
    run_as_threads(2, [](runtime& self) { self.world().barrier(); });
    return loads.load();
  };
  CHECK(loads_of_init() == 2);
  host_driver::fail("cuFuncLoad", CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(loads_of_init() == 2);
  heddle_forget_kernel(&kernel);
  CHECK(loads_of_init() == 0);
}

TEST_CASE("teams are split and destroyed beside heaps in GPU memory") {
  use_machine({.devices = 2, .memory = std::size_t{4} << 30}, "cuda");
  std::barrier all_threads(4);
  run_as_threads(4, [&](runtime& self) {
    const auto world = self.world();
    // Members 0, 1 and 3 are at no equal distance: kernels get a table of the device.
    const int color = self.my_pe() == 2 ? 1 : 0;
    for (int round = 0; round < 3; ++round) {
      auto part = world.split_color(color, self.my_pe());
      expect(part && part.n_pes() == (color ? 1 : 3), "the size of a part");
      part.barrier();
      const auto ref = part.ref();
      expect(ref.n_pes() == part.n_pes(), "the kernels' view");
    }
    world.barrier();
    int place = -1;
    // Its table is memory of the device, which the host cannot read to tell of an abort.
    {
      const auto part = world.split_color(color, self.my_pe());
      place = part.handle()->place();
      all_threads.arrive_and_wait();  // nobody is in a call of the team
      if (self.my_pe() == 1) part.abort("enough");
      if (color == 0) {
        const auto text = failure_of([&] { part.barrier(); });
        expect(text.find("enough") != std::string::npos, text);
      }
      all_threads.arrive_and_wait();
      expect(testing::alarm_of(self, part) == (color == 0 ? 1 : 0), "kernels are told of an abort");
    }
    world.barrier();
    const auto next = world.split_color(color, self.my_pe());
    expect(next.handle()->place() == place, "the place of the team before");
    expect(testing::alarm_of(self, next) == 0, "and not told of that of the team before");
    next.barrier();
  });
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("host calls take either address of a registered GPU buffer") {
  use_machine({.devices = 2}, "cuda");
  run_as_threads(2, [](runtime& self) {
    const auto world = self.world();
    const int other = 1 - self.my_pe();
    constexpr std::size_t count = 100'000;
    std::string why_not;
    const gpu::gpu device(*gpu::find_driver(why_not), self.my_pe());
    const host_driver::program_buffer memory(device, {std::size_t{2} << 20});
    auto* buffer = reinterpret_cast<int*>(memory.data());
    {
      const registration<int> registered(self, buffer, count);
      const std::vector<int> row(count, 10 + self.my_pe());
      world.put(buffer, row.data(), count / 2, other);
      world.put(registered.data() + count / 2, row.data(), count / 2, other);
      world.barrier();
      std::vector<int> got(count);
      world.get(got.data(), buffer, count, self.my_pe());
      expect(got == std::vector<int>(count, 10 + other), "the other's row");
      world.barrier();
    }
    int last = 0;
    device.copy(&last, buffer + count - 1, sizeof last);
    expect(last == 10 + other, "it stays in the program's memory");
    const auto text =
        failure_of([&] { const registration<int> inside(self, buffer + 1, count - 1); });
    expect(text.find("HEDDLE_ERROR_INVALID_ARGUMENT: PE 0: heddle_register") == 0, text);
  });
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("multicast is there if it is asked for, and the description of the job says so") {
  use_machine({.devices = 2, .multicast = {0, 1}}, "cuda");
  const auto describe = [](runtime& self) {
    char* text = nullptr;
    expect(heddle_info_json(self.handle(), &text) == HEDDLE_SUCCESS, "a description");
    const std::string json(text);
    heddle_string_free(text);
    return json;
  };
  run_as_threads(2, [&](runtime& self) {
    const auto json = describe(self);
    expect(json.find("\"multicast_bytes\": 0") != std::string::npos &&
               json.find("HEDDLE_MULTICAST is 0") != std::string::npos,
           json);
  });
  ::setenv("HEDDLE_MULTICAST", "1", 1);
  run_as_threads(2, [&](runtime& self) {
    const auto json = describe(self);
    expect(json.find("\"multicast_bytes\": 0") == std::string::npos &&
               json.find("\"why_no_multicast\": \"\"") != std::string::npos,
           json);
  });
  ::unsetenv("HEDDLE_MULTICAST");
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("a PE that ends alone leaves the others what they have mapped, and is named") {
  use_machine({.memory = std::size_t{4} << 30}, "cuda");
  std::barrier all_threads(3);
  run_as_threads(3, [&](runtime& self) {
    const auto world = self.world();
    symmetric_array<int> word(self, 1);
    all_threads.arrive_and_wait();  // nobody is in the allocation
    if (self.my_pe() == 1) {
      self.abort("a test");
      return;
    }
    const auto text = failure_of([&] {
      for (;;) world.barrier();
    });
    expect(text.find("HEDDLE_ERROR_PEER_LOST: PE 1") == 0, text);
    // Its heap and its words are still there for kernels that run.
    void* there = nullptr;
    expect(heddle_ptr(self.handle(), word.data(), 1, &there) == HEDDLE_SUCCESS && there, "mapped");
  });
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("what fails while a runtime ends is logged, and ends nothing else") {
  use_machine({.memory = std::size_t{4} << 30}, "cuda:0");
  {
    const runtime self;
    const device_array<int> kept(self, 10);
    host_driver::fail("cuMemFreeAsync", CUDA_ERROR_ILLEGAL_ADDRESS);
    host_driver::fail("cuStreamSynchronize", CUDA_ERROR_ILLEGAL_ADDRESS);
    host_driver::fail("cuMemHostUnregister", CUDA_ERROR_UNKNOWN);
  }
  CHECK(host_driver::in_use().contexts == 0);
}

TEST_CASE("what only a kernel can do is left to the driver, whose error is told") {
  use_machine({.memory = std::size_t{4} << 30}, "cuda:0");
  run_as_threads(1, [](runtime& self) {
    const auto world = self.world();
    symmetric_array<float> values(self, 100);
    symmetric_array<std::uint64_t> word(self, 1);
    const auto stream = self.create_stream();
    const auto told = [&](const std::function<void()>& call) {
      const auto text = failure_of(call);
      // Without nvcc in the build the kernel is not there; with it, this driver runs none.
      expect(text.find("HEDDLE_ERROR_NOT_SUPPORTED: the kernel was not compiled for this PE's "
                       "device, cuda:0") == 0 ||
                 text.find("HEDDLE_ERROR_SYSTEM: launching 1 blocks") == 0,
             text);
    };
    told([&] { world.all_reduce(values.data(), values.data(), 100, op::sum, stream); });
    told([&] { world.barrier(stream); });
    told([&] { world.atomic_set(word.data(), 1, 0); });
    told([&] { world.update_signal(word.data(), 1, signal_op::set, 0); });
    told([&] { launch(stream, 1, 32, [](const auto&) {}); });
  });
}

TEST_CASE("heddle-info tells what several PEs on one GPU do to each other") {
  use_machine({.devices = 2}, "cuda");
  const auto told = [] {
    char* json = nullptr;
    REQUIRE(heddle_info_json(nullptr, &json) == HEDDLE_SUCCESS);
    const std::unique_ptr<char, decltype(&heddle_string_free)> owner(json, heddle_string_free);
    return std::string(json);
  };
  char pipes[] = "/tmp/heddle-mps-XXXXXX";
  REQUIRE(::mkdtemp(pipes));
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", pipes, 1);
  CHECK(told().find("several processes take turns") != std::string::npos);
  CHECK(told().find(std::string("no control pipe in ") + pipes) != std::string::npos);
  const auto control = std::string(pipes) + "/control";
  REQUIRE(::mkfifo(control.c_str(), 0600) == 0);
  CHECK(told().find(std::string("several processes by MPS (") + pipes) != std::string::npos);
  ::unlink(control.c_str());
  ::rmdir(pipes);
  ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
}

TEST_CASE("LL128 is for GPUs that NVLink joins, as far as this process can see") {
  const auto plan_of = [](const host_driver::machine& machine, const char* device) {
    use_machine(machine, device);
    std::string plan;
    run_as_threads(2, [&](runtime& self) {
      symmetric_array<float> values(self, 16'384);
      char text[512];
      const auto status = heddle_plan(self.world().handle(), HEDDLE_COLLECTIVE_ALL_REDUCE, 16'384,
                                      HEDDLE_FLOAT32, text, sizeof text);
      if (self.my_pe() == 0) plan = status == HEDDLE_SUCCESS ? text : heddle_last_error();
    });
    return plan;
  };
  const std::size_t memory = std::size_t{4} << 30;
  CHECK(plan_of({.devices = 2, .memory = memory}, "cuda").find("one_shot ll128") !=
        std::string::npos);
  CHECK(
      plan_of({.devices = 2, .memory = memory, .nvlink = false}, "cuda:1").find("one_shot ll128") !=
      std::string::npos);
  CHECK(
      plan_of({.devices = 2, .memory = memory, .nvlink = false}, "cuda").find("one_shot simple") !=
      std::string::npos);
  ::setenv("HEDDLE_PROTO", "ll128", 1);
  CHECK(
      plan_of({.devices = 2, .memory = memory, .nvlink = false}, "cuda").find("joined by NVLink") !=
      std::string::npos);
  ::unsetenv("HEDDLE_PROTO");
}

TEST_CASE(
    "GPUs' teams have memory for rings where some PEs do not reach others, or who asks for it") {
  std::string plan;
  const auto memory_of = [&](const std::set<std::pair<int, int>>& apart) {
    use_machine({.devices = 2, .memory = std::size_t{4} << 30, .apart = apart}, "cuda");
    std::size_t bytes = 0;
    run_as_threads(2, [&](runtime& self) {
      const auto world = self.world();
      const auto choose = [](void*, heddle_collective_t, std::size_t, int,
                             heddle_choice_t* choice) {
        choice->algorithm = HEDDLE_ALGORITHM_RING;
      };
      expect(heddle_team_set_chooser(world.handle(), choose, nullptr) == HEDDLE_SUCCESS,
             heddle_last_error());
      world.barrier();
      if (self.my_pe() == 0) {
        bytes = host_driver::in_use().bytes;
        plan = world.plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 1 << 20, HEDDLE_FLOAT32);
      }
      world.barrier();
    });
    return bytes;
  };
  const std::size_t without = memory_of({});
  CHECK_MESSAGE(plan.find("two_shot simple") == 0, plan);
  CHECK_MESSAGE(plan.find("but that is not here") != std::string::npos, plan);
  const std::size_t with = memory_of({{1, 0}});
  CHECK_MESSAGE(plan.find("ring simple") == 0, plan);
  CHECK(with > without);
  ::setenv("HEDDLE_ALGO", "ring", 1);
  CHECK(memory_of({}) > without);
  CHECK_MESSAGE(plan.find("ring simple") == 0, plan);
  ::unsetenv("HEDDLE_ALGO");
}

TEST_CASE("two PEs of which one alone reaches the other's GPU take the same way: the network") {
  // 1 does not reach 0.
  use_machine({.devices = 2, .memory = std::size_t{4} << 30, .apart = {{1, 0}}}, "cuda");
  std::array<std::string, 2> told;
  run_as_threads(2, [&](runtime& self) {
    const int me = self.my_pe();
    const auto& ref = self.world().handle()->host_ref();
    expect(ref.is_remote(1 - me) && !ref.is_remote(me), "who is remote");
    char* json = nullptr;
    expect(heddle_info_json(self.handle(), &json) == HEDDLE_SUCCESS, heddle_last_error());
    const std::unique_ptr<char, decltype(&heddle_string_free)> owner(json, heddle_string_free);
    told[static_cast<std::size_t>(me)] = json;
  });
  CHECK_MESSAGE(told[0].find("it does not map this PE's memory") != std::string::npos, told[0]);
  CHECK_MESSAGE(told[1].find("has no peer access to cuda:0") != std::string::npos, told[1]);
}

TEST_CASE("teams of all PEs combine by multicast where the user asks for it") {
  ::setenv("HEDDLE_MULTICAST", "1", 1);
  use_machine({.devices = 4, .memory = std::size_t{4} << 30, .multicast = {0, 1, 2, 3}}, "cuda");
  const auto plan_of = [](const team& team) {
    return team.plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 16 << 20, HEDDLE_FLOAT32);
  };
  run_as_threads(4, [&](runtime& self) {
    const auto world = self.world();
    const symmetric_array<float> values(self, 100);
    const auto ref = world.ref();
    expect(ref.multicast_bytes() > 0, "the world has multicast");
    const auto offset = reinterpret_cast<byte*>(values.data()) - ref.heap();
    expect(reinterpret_cast<std::uintptr_t>(ref.multicast(values.data())) ==
               reinterpret_cast<std::uintptr_t>(ref.multicast(ref.heap())) +
                   static_cast<std::uintptr_t>(offset),
           "an object's address in it");
    expect(plan_of(world).find("multicast simple") == 0, plan_of(world));
    const auto part = world.split_color(self.my_pe() / 2, 0);
    expect(part.ref().multicast_bytes() == 0, "a part has none");
    expect(plan_of(part).find("two_shot simple") == 0, plan_of(part));
  });
  ::unsetenv("HEDDLE_MULTICAST");
  run_as_threads(4, [&](runtime& self) {
    expect(plan_of(self.world()).find("two_shot simple") == 0, plan_of(self.world()));
  });
  CHECK(host_driver::in_use() == host_driver::usage{});
}

TEST_CASE("a device that is not there is told, with what to do") {
  use_machine({.devices = 2}, "cuda:5");
  CHECK(failure_of([] { runtime self; }).find("CUDA shows 2 devices") != std::string::npos);
  use_machine({.devices = 0}, "cuda");
  CHECK(failure_of([] { runtime self; }).find("choose HEDDLE_DEVICE=host") != std::string::npos);
  use_machine({.memory = 1 << 20}, "cuda:0");
  CHECK(failure_of([] { runtime self; }).find("HEDDLE_ERROR_OUT_OF_MEMORY") == 0);
  use_machine({}, "cuda:x");
  CHECK(failure_of([] {
          runtime self;
        }).find("HEDDLE_DEVICE=cuda:x: must be host, cuda or cuda:N") != std::string::npos);
  CHECK(host_driver::in_use() == host_driver::usage{});
  // This machine's own driver, if it has none.
  gpu::use_driver(nullptr);
  ::setenv("HEDDLE_DEVICE", "cuda:0", 1);
  std::string why_not;
  if (!gpu::find_driver(why_not))
    CHECK(failure_of([] {
            runtime self;
          }).find("HEDDLE_ERROR_NOT_SUPPORTED: HEDDLE_DEVICE=cuda:0") == 0);
}
