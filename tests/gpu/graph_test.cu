// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What is captured into a CUDA graph is replayed, between calls that are not captured: each PE
// captures a kernel of its own, an AllReduce, a put with a signal and a barrier.

#include <doctest/doctest.h>

#include <cstdlib>
#include <heddle/device/launch.hpp>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/run_as_threads.hpp>
#include <heddle/symmetric_array.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using namespace heddle;

namespace {

void check(cudaError_t result, const char* asked) {
  if (result != cudaSuccess)
    throw std::runtime_error(std::string(asked) + ": " + cudaGetErrorString(result));
}
void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

struct add_one {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, float* values, size_t n) const {
    for (auto i = static_cast<size_t>(block.rank()); i < n; i += static_cast<size_t>(block.size()))
      values[i] += 1;
  }
};

/// A stream of the program.
class own_stream {
 public:
  own_stream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  }
  ~own_stream() { cudaStreamDestroy(stream_); }
  own_stream(const own_stream&) = delete;
  own_stream& operator=(const own_stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// What a function puts on the stream, as a graph.
class graph {
 public:
  template <class Work>
  graph(cudaStream_t stream, Work work) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
    work();
    cudaGraph_t captured = nullptr;
    check(cudaStreamEndCapture(stream, &captured), "ending the capture");
    const cudaError_t made = cudaGraphInstantiate(&executable_, captured, 0);
    cudaGraphDestroy(captured);
    check(made, "instantiating the graph");
  }
  ~graph() { cudaGraphExecDestroy(executable_); }
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  void launch(cudaStream_t stream) const {
    check(cudaGraphLaunch(executable_, stream), "launching the graph");
  }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

void replay(const runtime& self, std::size_t count, bool symmetric) {
  const auto world = self.world();
  const int me = self.my_pe();
  const int n = self.n_pes();
  const int right = (me + 1) % n;
  const own_stream own;
  const auto stream = self.stream_from_cuda(own.get());
  const symmetric_array<float> shared_input(self, count);
  const symmetric_array<float> shared_output(self, count);
  const device_array<float> private_input(self, count);
  const device_array<float> private_output(self, count);
  const symmetric_array<float> from_left(self, count);
  const symmetric_array<heddle::signal> arrived(self, 1);
  float* input = symmetric ? shared_input.data() : private_input.data();
  float* output = symmetric ? shared_output.data() : private_output.data();

  std::vector<float> values(count, static_cast<float>(me + 1));
  stream.copy(input, values.data(), count);
  stream.synchronize();
  world.barrier();

  const auto step = [&] {
    launch(stream, 1, 128, add_one{}, input, count);
    world.all_reduce(input, output, (count + 1) / 2, op::sum, stream);  // another protocol, or size
    world.all_reduce(input, output, count, op::sum, stream);
    world.put_signal(from_left.data(), output, count, arrived.data(), 1, signal_op::add, right,
                     stream);
    world.barrier(stream);
  };
  const graph captured(own.get(), step);
  int calls = 0;
  for (int round = 0; round < 20; ++round) {
    if (round % 3 == 2) {
      step();
    } else {
      captured.launch(own.get());
    }
    ++calls;
    stream.copy(values.data(), from_left.data(), count);
    stream.synchronize();
    const auto expected = static_cast<float>(n * (n + 1) / 2 + n * calls);
    for (const float value : values)
      expect(value == expected, "round " + std::to_string(round) + ": " + std::to_string(value) +
                                    " and not " + std::to_string(expected));
    expect(world.test(arrived.data(), cmp::eq, static_cast<std::uint64_t>(calls)), "the signal");
    world.barrier();
  }
}

}  // namespace

TEST_CASE("captured calls are replayed, between calls that are not captured") {
  const std::string device = std::getenv("HEDDLE_DEVICE") ? std::getenv("HEDDLE_DEVICE") : "";
  REQUIRE_MESSAGE(device.rfind("cuda:", 0) == 0, "set HEDDLE_DEVICE=cuda:N");
  const int ordinal = std::atoi(device.c_str() + 5);
  for (const int n : {1, 2, 4})
    for (const std::size_t count : {1, 1000, 16'000, 300'000})  // every protocol
      for (const bool symmetric : {true, false}) {
        CAPTURE(n);
        CAPTURE(count);
        CHECK_NOTHROW(run_as_threads(n, [&](runtime& self) {
          check(cudaSetDevice(ordinal), "choosing the device");
          replay(self, count, symmetric);
        }));
      }
}

TEST_CASE("what cannot be captured is refused, and the capture goes on") {
  const runtime self;
  const own_stream own;
  const auto stream = self.stream_from_cuda(own.get());
  const symmetric_array<float> values(self, 100);
  const graph captured(own.get(), [&] {
    CHECK_THROWS_WITH(stream.synchronize(), doctest::Contains("end the capture"));
    self.world().all_reduce(values.data(), values.data(), 100, op::sum, stream);
  });
  captured.launch(own.get());
  CHECK_NOTHROW(stream.synchronize());
}
