// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Compiled as CUDA where there is nvcc, and only then with the calls of CUDA's runtime.

#include "graph.hpp"

#include <cstdlib>
#include <stdexcept>

namespace perf {

#if defined(__CUDACC__)

namespace {

void check(cudaError_t result, const char* asked) {
  if (result != cudaSuccess)
    throw std::runtime_error(std::string(asked) + ": " + cudaGetErrorString(result));
}

}  // namespace

void capturable_stream::deleter::operator()(void* stream) const noexcept {
  cudaStreamDestroy(static_cast<cudaStream_t>(stream));
}

capturable_stream::capturable_stream(const std::string& device) {
  const auto colon = device.find(':');
  check(cudaSetDevice(colon == std::string::npos ? 0 : std::atoi(device.c_str() + colon + 1)),
        "cudaSetDevice");
  cudaStream_t made = nullptr;
  check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  stream_.reset(made);
}

void graph::deleter::operator()(void* executable) const noexcept {
  cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(executable));
}

graph::graph(const capturable_stream& stream, const std::function<void()>& enqueue)
    : stream_(stream.get()) {
  auto* const queue = static_cast<cudaStream_t>(stream_);
  cudaGraph_t captured = nullptr;
  // Of this thread alone: other PEs may be threads of this process.
  check(cudaStreamBeginCapture(queue, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    enqueue();
  } catch (...) {
    cudaStreamEndCapture(queue, &captured);
    if (captured) cudaGraphDestroy(captured);
    throw;
  }
  check(cudaStreamEndCapture(queue, &captured), "cudaStreamEndCapture");
  cudaGraphExec_t made = nullptr;
  const cudaError_t result = cudaGraphInstantiate(&made, captured, 0);
  cudaGraphDestroy(captured);
  check(result, "cudaGraphInstantiate");
  executable_.reset(made);
  check(cudaGraphUpload(made, queue), "cudaGraphUpload");
}

void graph::launch() const {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_.get()),
                        static_cast<cudaStream_t>(stream_)),
        "cudaGraphLaunch");
}

#else

namespace {

[[noreturn]] void refuse() {
  throw std::runtime_error(
      "-G: this heddle-perf was built without CUDA, and has no graphs; build it where nvcc is");
}

}  // namespace

void capturable_stream::deleter::operator()(void*) const noexcept {}
capturable_stream::capturable_stream(const std::string&) { refuse(); }
void graph::deleter::operator()(void*) const noexcept {}
graph::graph(const capturable_stream& stream, const std::function<void()>&)
    : stream_(stream.get()) {
  refuse();
}
void graph::launch() const { refuse(); }

#endif

}  // namespace perf
