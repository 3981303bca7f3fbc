// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

/// CUDA's own calls, for the programs that need them.
namespace bench {

inline void check(cudaError_t result, const char* what) {
  if (result != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}

/// n elements of the GPU's memory, all bytes zero.
template <class T>
class gpu_memory {
 public:
  explicit gpu_memory(std::size_t n) {
    void* pointer = nullptr;
    check(cudaMalloc(&pointer, n * sizeof(T)), "cudaMalloc");
    data_.reset(static_cast<T*>(pointer));
    check(cudaMemset(pointer, 0, n * sizeof(T)), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaMemset");
  }
  [[nodiscard]] T* data() const { return data_.get(); }

 private:
  struct deleter {
    void operator()(T* pointer) const { cudaFree(pointer); }
  };
  std::unique_ptr<T, deleter> data_;
};

/// A stream that waits for no other.
class gpu_stream {
 public:
  gpu_stream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~gpu_stream() { cudaStreamDestroy(stream_); }
  gpu_stream(const gpu_stream&) = delete;
  gpu_stream& operator=(const gpu_stream&) = delete;

  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void synchronize() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// What `enqueue()` puts on a stream, as a graph.
class gpu_graph {
 public:
  template <class Enqueue>
  gpu_graph(cudaStream_t stream, cudaStreamCaptureMode mode, Enqueue enqueue) {
    check(cudaStreamBeginCapture(stream, mode), "cudaStreamBeginCapture");
    try {
      enqueue();
    } catch (...) {
      cudaGraph_t unfinished = nullptr;
      cudaStreamEndCapture(stream, &unfinished);
      if (unfinished) cudaGraphDestroy(unfinished);
      throw;
    }
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t made = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check(made, "cudaGraphInstantiate");
    check(cudaGraphUpload(graph_, stream), "cudaGraphUpload");
  }
  ~gpu_graph() { cudaGraphExecDestroy(graph_); }
  gpu_graph(const gpu_graph&) = delete;
  gpu_graph& operator=(const gpu_graph&) = delete;

  void launch(cudaStream_t stream) const {
    check(cudaGraphLaunch(graph_, stream), "cudaGraphLaunch");
  }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

/// How many calls a graph holds that is timed: enough that its own launch is lost in them.
inline constexpr int calls_per_graph = 20;

}  // namespace bench
