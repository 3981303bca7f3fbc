// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <span>
#include <string>

#include "host/call_group.hpp"
#include "host/guarded_call.hpp"
#include "host/runtime.hpp"
#include "host/team.hpp"

using heddle::guarded;
using heddle::required;
using heddle::throw_error;

heddle_status_t heddle_stream_create(heddle_runtime_t runtime, heddle_stream_t* stream) {
  return guarded([&] {
    auto& out = required(stream, "heddle_stream_create", "stream");
    auto& checked = required(runtime, "heddle_stream_create", "runtime");
    out = checked.add_stream(checked.device().create_stream());
  });
}

heddle_status_t heddle_stream_from_cuda(heddle_runtime_t runtime, void* cuda_stream,
                                        heddle_stream_t* stream) {
  return guarded([&] {
    auto& out = required(stream, "heddle_stream_from_cuda", "stream");
    auto& checked = required(runtime, "heddle_stream_from_cuda", "runtime");
    out = checked.add_stream(checked.device().borrow_stream(cuda_stream));
  });
}

heddle_status_t heddle_stream_destroy(heddle_stream_t stream) {
  return guarded([&] {
    auto& gone = required(stream, "heddle_stream_destroy", "stream");
    gone.runtime.destroy_stream(&gone);
  });
}

heddle_status_t heddle_stream_synchronize(heddle_runtime_t runtime, heddle_stream_t stream) {
  return guarded([&] {
    auto& checked = required(runtime, "heddle_stream_synchronize", "runtime");
    auto& queue = checked.queue(stream);
    if (queue.runs_caller())
      throw_error(
          HEDDLE_ERROR_INVALID_USAGE,
          "heddle_stream_synchronize: called by work on this stream, which it would wait for");
    heddle::call_group::of_this_thread().require_nothing_of(checked, "heddle_stream_synchronize");
    checked.synchronize(queue);
  });
}

heddle_status_t heddle_event_create(heddle_runtime_t runtime, heddle_event_t* event) {
  return guarded([&] {
    auto& out = required(event, "heddle_event_create", "event");
    auto& checked = required(runtime, "heddle_event_create", "runtime");
    out = new heddle_event(&checked, checked.device().create_event(true));
  });
}

heddle_status_t heddle_event_destroy(heddle_event_t event) {
  return guarded([&] { delete &required(event, "heddle_event_destroy", "event"); });
}

heddle_status_t heddle_event_record(heddle_event_t event, heddle_stream_t stream) {
  return guarded([&] {
    auto& checked = required(event, "heddle_event_record", "event");
    required(checked.runtime, "heddle_event_record", "the runtime of event")
        .queue(stream)
        .record(checked.point);
  });
}

heddle_status_t heddle_stream_wait_event(heddle_stream_t stream, heddle_event_t event) {
  return guarded([&] {
    auto& checked = required(event, "heddle_stream_wait_event", "event");
    // A stream may wait for the work of another PE of this process.
    auto& queue =
        stream ? *required(stream, "heddle_stream_wait_event", "stream").queue
               : required(checked.runtime, "heddle_stream_wait_event", "the runtime of event")
                     .queue(nullptr);
    queue.wait(checked.point);
  });
}

heddle_status_t heddle_event_synchronize(heddle_event_t event) {
  return guarded(
      [&] { required(event, "heddle_event_synchronize", "event").point->synchronize(); });
}

heddle_status_t heddle_event_elapsed(heddle_event_t start, heddle_event_t stop,
                                     double* milliseconds) {
  return guarded([&] {
    const auto& from = required(start, "heddle_event_elapsed", "start");
    const auto& to = required(stop, "heddle_event_elapsed", "stop");
    required(milliseconds, "heddle_event_elapsed", "milliseconds") =
        to.point->milliseconds_since(*from.point);
  });
}

heddle_status_t heddle_device_malloc(heddle_runtime_t runtime, size_t bytes, void** ptr) {
  return guarded([&] {
    auto& out = required(ptr, "heddle_device_malloc", "ptr");
    auto& checked = required(runtime, "heddle_device_malloc", "runtime");
    out = bytes == 0 ? nullptr : checked.device().allocate(bytes);
  });
}

heddle_status_t heddle_device_free(heddle_runtime_t runtime, void* ptr) {
  return guarded([&] {
    auto& checked = required(runtime, "heddle_device_free", "runtime");
    if (ptr) checked.device().free(ptr);
  });
}

heddle_status_t heddle_copy_on_stream(heddle_runtime_t runtime, void* dst, const void* src,
                                      size_t bytes, heddle_stream_t stream) {
  return guarded([&] {
    auto& checked = required(runtime, "heddle_copy_on_stream", "runtime");
    if (bytes == 0) return;
    if (!dst || !src)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                  "heddle_copy_on_stream: {} is NULL, with a size of {} bytes", dst ? "src" : "dst",
                  bytes);
    checked.queue(stream).copy(dst, src, bytes);
  });
}

namespace {

void require_kernel(const char* function, const heddle_kernel_t* kernel, const void* arguments,
                    std::size_t bytes) {
  if (!kernel || (!arguments && bytes > 0))
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is NULL", function,
                kernel ? "arguments" : "kernel");
  constexpr std::size_t most_bytes = 32764;  // as CUDA takes
  if (bytes > most_bytes)
    throw_error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        "{}: a kernel and its arguments of {} bytes; they may have {}, put more into memory and "
        "pass its address",
        function, bytes, most_bytes);
}

}  // namespace

heddle_status_t heddle_launch(heddle_runtime_t runtime, heddle_stream_t stream, int grid, int block,
                              const heddle_kernel_t* kernel, const void* arguments, size_t bytes) {
  return guarded([&] {
    auto& checked = required(runtime, "heddle_launch", "runtime");
    require_kernel("heddle_launch", kernel, arguments, bytes);
    auto& queue = checked.queue(stream);
    queue.launch({grid, block}, *kernel, arguments, bytes);
    queue.set_has_own_kernels();
  });
}

heddle_status_t heddle_launch_collective(heddle_team_t team, heddle_stream_t stream, int grid,
                                         int block, const heddle_kernel_t* kernel,
                                         const void* arguments, size_t bytes) {
  return guarded([&] {
    auto& checked = required(team, "heddle_launch_collective", "team");
    require_kernel("heddle_launch_collective", kernel, arguments, bytes);
    checked.check();
    checked.require_reachable("heddle_launch_collective");
    if (checked.compares_calls())
      checked.require_same_call("heddle_launch_collective",
                                {0, static_cast<std::uint64_t>(grid), bytes},
                                [](const heddle_team::words& words) {
                                  return fmt::format("{} blocks, {} bytes of kernel and arguments",
                                                     static_cast<int>(words[1]), words[2]);
                                });
    checked.launch_collective({grid, block}, *kernel, arguments, bytes, stream);
  });
}

heddle_status_t heddle_launch_shape(heddle_team_t team, size_t bytes, int* grid, int* block) {
  return guarded([&] {
    auto& checked = required(team, "heddle_launch_shape", "team");
    auto& blocks = required(grid, "heddle_launch_shape", "grid");
    auto& threads = required(block, "heddle_launch_shape", "block");
    // A block of these is resident with as many registers as a thread can have.
    constexpr int most_threads = 256;
    const auto asked = checked.question(heddle::collective::all_reduce, bytes);
    const auto shape = heddle::shape_for(asked, heddle::channel_scratch::max_slot_channels,
                                         std::size_t{16} << 10, 16);
    blocks = shape.channels;
    threads = std::min(shape.threads, most_threads);
  });
}

heddle_status_t heddle_require_same(heddle_team_t team, const char* function,
                                    const heddle_named_value_t* values, int n) {
  return guarded([&] {
    constexpr auto self = "heddle_require_same";
    const auto& checked = required(team, self, "team");
    const auto* name = &required(function, self, "function");
    heddle_team::words words{};
    const auto most = static_cast<int>(words.size()) - 2;  // beside the function's and theirs
    if (n < 0 || n > most)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: n is {}; 0 to {} values are compared", self,
                  n, most);
    if (n > 0) required(values, self, "values");
    const std::span named(values, static_cast<std::size_t>(n));
    for (const auto& each : named) required(each.name, self, "a value's name");
    if (!checked.compares_calls()) return;
    words[1] = named.size();
    std::transform(named.begin(), named.end(), words.begin() + 2,
                   [](const auto& each) { return each.value; });
    checked.require_same_call(name, words, [&](const heddle_team::words& given) {
      if (given[1] != named.size()) return fmt::format("n = {}", given[1]);
      std::string text;
      for (std::size_t i = 0; i < named.size(); ++i)
        text += fmt::format("{}{} {}", i == 0 ? "" : ", ", named[i].name, given[2 + i]);
      return text;
    });
  });
}
