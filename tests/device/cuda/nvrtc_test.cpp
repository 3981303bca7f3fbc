// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A kernel that includes the device API is compiled at run time, from a string, as JIT compilers
// do: without relocatable device code and without a device library to link. With HEDDLE_DEVICE=cuda
// it is run too.

#include <cuda.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <nvrtc.h>

#include <cstdlib>
#include <heddle/heddle.hpp>
#include <heddle/run_as_threads.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// Every PE puts its numbers to the next one, signals, and adds those that it gets to its own.
constexpr const char* source = R"(
#include <heddle/device/coll/all_reduce_one_shot.hpp>
#include <heddle/device/coll/all_reduce_two_shot.hpp>
#include <heddle/device/collectives.hpp>
#include <heddle/device/team.hpp>

struct arguments {
  heddle::team_ref team;
  const float* mine;
  float* from_left;
  float* sum;
  size_t n;
  heddle::signal* arrived;
};

extern "C" __global__ void pass_right(const __grid_constant__ arguments given) {
  const heddle::cuda_block block;
  const auto& team = given.team;
  const int right = (team.my_pe() + 1) % team.n_pes();
  team.put_signal(block, given.from_left, given.mine, given.n, given.arrived, 1,
                  heddle::signal_op::add, right);
  team.wait_until(block, given.arrived, heddle::cmp::ge, heddle::signal{1});
  for (size_t i = block.rank(); i < given.n; i += block.size())
    given.sum[i] = given.mine[i] + given.from_left[i];
}
)";

struct arguments {
  heddle::team_ref team;
  const float* mine;
  float* from_left;
  float* sum;
  std::size_t n;
  heddle::signal* arrived;
};

std::string compile(const std::string& architecture, const char* text = source) {
  nvrtcProgram program = nullptr;
  if (nvrtcCreateProgram(&program, text, "user.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
    throw std::runtime_error("no program");
  const std::string chosen = "--gpu-architecture=" + architecture;
  const std::vector<const char*> options = {chosen.c_str(), "--std=c++20", "-I" HEDDLE_INCLUDE,
                                            "-I" CUDA_INCLUDE, "-I" CUDA_INCLUDE "/cccl"};
  const auto compiled =
      nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  std::size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  std::string log(size, '\0');
  nvrtcGetProgramLog(program, log.data());
  std::string ptx;
  if (compiled == NVRTC_SUCCESS && nvrtcGetPTXSize(program, &size) == NVRTC_SUCCESS) {
    ptx.resize(size);
    nvrtcGetPTX(program, ptx.data());
  }
  nvrtcDestroyProgram(&program);
  if (compiled != NVRTC_SUCCESS) throw std::runtime_error(log);
  return ptx;
}

template <class Function>
Function driver_function(const char* name) {
  static void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  auto* found = driver ? ::dlsym(driver, name) : nullptr;
  if (!found) throw std::runtime_error(std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(found);
}

CUkernel load(const std::string& ptx) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  const auto loaded = driver_function<decltype(&::cuLibraryLoadData)>("cuLibraryLoadData")(
      &library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (loaded != CUDA_SUCCESS) throw std::runtime_error("the PTX was not loaded");
  if (driver_function<decltype(&::cuLibraryGetKernel)>("cuLibraryGetKernel")(
          &kernel, library, "pass_right") != CUDA_SUCCESS)
    throw std::runtime_error("the kernel was not found");
  return kernel;
}

/// What heddle_launch asks for the kernel.
CUkernel pass_right = nullptr;

void run(heddle::runtime& self) {
  constexpr std::size_t n = 1000;
  const auto world = self.world();
  const heddle::symmetric_array<float> mine(self, n);
  const heddle::symmetric_array<float> from_left(self, n);
  const heddle::symmetric_array<float> sum(self, n);
  const heddle::symmetric_array<heddle::signal> arrived(self, 1);
  const std::vector<float> numbers(n, static_cast<float>(1 + self.my_pe()));
  const auto stream = self.create_stream();
  stream.copy(mine.data(), numbers.data(), n);
  const arguments given{world.ref(), mine.data(), from_left.data(), sum.data(), n, arrived.data()};
  const heddle_kernel_t kernel = {.on_host = nullptr,
                                  .on_cuda = [] { return static_cast<void*>(pass_right); }};
  stream.synchronize();
  world.barrier();
  heddle::detail::check(
      heddle_launch(self.handle(), stream.handle(), 1, 128, &kernel, &given, sizeof given));
  std::vector<float> result(n);
  stream.copy(result.data(), sum.data(), n);
  stream.synchronize();
  const int left = (self.my_pe() + self.n_pes() - 1) % self.n_pes();
  for (const float value : result)
    if (value != static_cast<float>(2 + self.my_pe() + left)) throw std::runtime_error("the sum");
}

}  // namespace

TEST_CASE("a kernel with the device API is compiled from a string") {
  std::vector<const char*> architectures = {"compute_80", "compute_90"};
  if (CUDA_VERSION >= 12080) architectures.push_back("compute_100");
  for (const char* architecture : architectures) {
    CAPTURE(architecture);
    std::string ptx;
    REQUIRE_NOTHROW(ptx = compile(architecture));
    CHECK(ptx.find(".entry pass_right") != std::string::npos);
    // Whole: it calls nothing that would have to be linked.
    CHECK(ptx.find(".extern .func") == std::string::npos);
  }
  CHECK_THROWS_WITH((void)compile("compute_90", "#include <heddle/none.hpp>"),
                    doctest::Contains("heddle/none.hpp"));
}

TEST_CASE("it runs where there is a GPU") {
  const char* device = std::getenv("HEDDLE_DEVICE");
  if (!device || !std::string_view(device).starts_with("cuda")) {
    MESSAGE("HEDDLE_DEVICE is not cuda: compiled, not run");
    return;
  }
  REQUIRE_NOTHROW(pass_right = load(compile("compute_80")));
  for (int n : {1, 2, 4}) CHECK_NOTHROW(heddle::run_as_threads(n, run));
}
