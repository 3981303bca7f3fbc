// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace perf {

/// A CUDA stream of the program's own, whose work may be captured, on the device of that name
/// ("cuda:N"). Throws where heddle-perf was built without CUDA.
class capturable_stream {
 public:
  explicit capturable_stream(const std::string& device);

  /// For runtime::stream_from_cuda.
  [[nodiscard]] void* get() const { return stream_.get(); }

 private:
  struct deleter {
    void operator()(void* stream) const noexcept;
  };
  std::unique_ptr<void, deleter> stream_;
};

/// What `enqueue` puts on the stream, which each launch does anew. All PEs capture and launch the
/// same.
class graph {
 public:
  graph(const capturable_stream& stream, const std::function<void()>& enqueue);

  void launch() const;

 private:
  struct deleter {
    void operator()(void* executable) const noexcept;
  };
  void* stream_;
  std::unique_ptr<void, deleter> executable_;
};

}  // namespace perf
