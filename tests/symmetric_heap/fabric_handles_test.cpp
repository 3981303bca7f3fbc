// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "bootstrap/forwarding_bootstrap.hpp"
#include "cuda_driver/host_nvml.hpp"
#include "cuda_driver/program_buffer.hpp"
#include "symmetric_heap/device_heaps.hpp"

using namespace heddle;
using namespace heddle::testing;
using gpu::host_driver::program_buffer;
namespace host_nvml = gpu::host_nvml;

namespace {

/// Another bootstrap, whose ranks are on hosts of two each.
class on_two_hosts final : public forwarding_bootstrap {
 public:
  explicit on_two_hosts(bootstrap& real)
      : forwarding_bootstrap(std::shared_ptr<bootstrap>(std::shared_ptr<void>(), &real)) {}
  [[nodiscard]] std::string_view host_of(int rank) const override {
    return rank < 2 ? "first" : "second";
  }
};

/// Every mapped PE's copy of a block can be written, before and after growth.
void write_to_mapped(bootstrap& self, device_heap& mine) {
  auto& heap = mine.heap;
  const auto size = static_cast<std::size_t>(self.size());
  heap.malloc(40 * mebibyte);
  auto* table = static_cast<int*>(heap.calloc(size, sizeof(int)));
  for (int pe = 0; pe < self.size(); ++pe)
    if (void* theirs = heap.ptr(table, pe))
      mine.write(static_cast<int*>(theirs) + self.rank(), 1000 + self.rank());
  self.barrier(soon());
  for (int pe = 0; pe < self.size(); ++pe)
    expect(mine.read<int>(table + pe) == (heap.ptr(table, pe) ? 1000 + pe : 0), "a peer's store");
  self.barrier(soon());
}

/// `run` on a heap of each of n processes, after `prepare` of each.
int failed_heaps(int n, const gpu::driver& driver, const handle_options& options,
                 const std::function<void(int rank)>& prepare, const device_body& run) {
  return failed_processes(n, [&](bootstrap& self) {
    prepare(self.rank());
    {
      device_heap mine(self, driver, 0, options);
      run(self, mine);
      self.barrier(soon());
    }
    expect(host_driver::in_use() == host_driver::usage{}, "something is left");
  });
}

void nothing(int) {}

/// The same with four processes on two hosts.
int failed_on_two_hosts(const gpu::driver& driver, const handle_options& options,
                        const std::function<host_nvml::answers(int rank)>& nvml,
                        const device_body& run) {
  return failed_processes(4, [&](bootstrap& real) {
    use_nvml(&host_nvml::start(nvml(real.rank())));
    on_two_hosts self(real);
    {
      device_heap mine(self, driver, 0, options);
      run(self, mine);
      self.barrier(soon());
    }
    expect(host_nvml::sessions() == 0, "NVML is shut down");
    expect(host_driver::in_use() == host_driver::usage{}, "something is left");
    use_nvml(nullptr);
  });
}

/// Which PEs this one has not mapped, with the reason for the last.
std::pair<int, std::string> unmapped(const bootstrap& self, const device_heap& mine) {
  std::pair<int, std::string> found;
  for (int pe = 0; pe < self.size(); ++pe)
    if (const auto& why = mine.memory->why_not_mapped(pe); !why.empty()) {
      ++found.first;
      found.second = why;
    }
  return found;
}

constexpr handle_options everywhere{.fabric = true, .across_hosts = true};

}  // namespace

TEST_CASE("memory goes as fabric handles where every PE has them") {
  const auto& driver = host_driver::start({.fabric_handles = true});
  CHECK(failed_heaps(3, driver, {}, nothing, [](bootstrap& self, device_heap& mine) {
          expect(mine.memory->handles().kind == CU_MEM_HANDLE_TYPE_FABRIC,
                 mine.memory->handles().why_not_fabric);
          write_to_mapped(self, mine);
        }) == 0);
}

TEST_CASE("whatever one PE's driver refuses of fabric handles, all use descriptors and say why") {
  const auto& driver = host_driver::start({.fabric_handles = true});
  for (const char* function :
       {"cuMemCreate", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle"}) {
    CAPTURE(function);
    const auto refuse = [&](int rank) {
      if (rank == 1) host_driver::fail(function, CUDA_ERROR_NOT_PERMITTED);
    };
    CHECK(failed_heaps(3, driver, {}, refuse, [](bootstrap& self, device_heap& mine) {
            const auto& chosen = mine.memory->handles();
            expect(chosen.kind == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, "descriptors");
            expect(chosen.why_not_fabric.find("PE 1: the driver ") == 0 &&
                       chosen.why_not_fabric.find("IMEX channel") != std::string::npos,
                   chosen.why_not_fabric);
            write_to_mapped(self, mine);
          }) == 0);
  }
}

TEST_CASE("a fabric handle that fails later fails the growth on all PEs, and nothing is left") {
  const auto& driver = host_driver::start({.fabric_handles = true});
  for (const char* function : {"cuMemExportToShareableHandle", "cuMemImportFromShareableHandle"}) {
    CAPTURE(function);
    CHECK(failed_heaps(3, driver, {}, nothing, [&](bootstrap& self, device_heap& mine) {
            const auto before = host_driver::in_use();
            if (self.rank() == 1) host_driver::fail(function, CUDA_ERROR_NOT_PERMITTED);
            const auto message =
                message_of([&] { mine.heap.malloc(40 * mebibyte); }, HEDDLE_ERROR_SYSTEM);
            expect(message.find("PE 1: ") == 0, message);
            expect(host_driver::in_use() == before, "something is left");
            write_to_mapped(self, mine);
          }) == 0);
  }
}

TEST_CASE("fabric handles that a device has not, or that are turned off, are not used") {
  const auto expects = [](const std::string& reason) {
    return [reason](bootstrap& self, device_heap& mine) {
      const auto& chosen = mine.memory->handles();
      expect(chosen.kind == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, "descriptors");
      expect(chosen.why_not_fabric.find(reason) != std::string::npos, chosen.why_not_fabric);
      write_to_mapped(self, mine);
    };
  };
  CHECK(failed_heaps(2, host_driver::start({}), {}, nothing,
                     expects("PE 0: device cuda:0 (host memory as GPU 0) has none")) == 0);
  const auto& driver = host_driver::start({.fabric_handles = true});
  CHECK(failed_heaps(2, driver, {.fabric = false}, nothing,
                     expects("HEDDLE_FABRIC_HANDLES is off")) == 0);
  CHECK(failed_heaps(1, driver, {}, nothing, expects("threads of one process")) == 0);
}

TEST_CASE("PEs of other hosts are mapped if they are in one NVLink domain") {
  const auto& driver = host_driver::start({.fabric_handles = true});
  const auto one_domain = [](int) { return host_nvml::answers{.cluster = 7, .clique = 3}; };
  CHECK(failed_on_two_hosts(driver, everywhere, one_domain, [](auto& self, auto& mine) {
          expect(unmapped(self, mine).first == 0, "all are mapped");
          write_to_mapped(self, mine);
          // Buffers of the program go there too.
          const program_buffer buffer(mine.device, {2 * mebibyte}, CU_MEM_HANDLE_TYPE_FABRIC);
          auto* alias = static_cast<int*>(mine.heap.register_buffer(buffer.data(), 100));
          const int next = (self.rank() + 1) % 4;
          mine.write(static_cast<int*>(mine.heap.ptr(alias, next)), self.rank());
          self.barrier(soon());
          expect(mine.template read<int>(buffer.data()) == (self.rank() + 3) % 4, "a peer's store");
          self.barrier(soon());
          mine.heap.unregister_buffer(buffer.data());
          const program_buffer here(mine.device, {2 * mebibyte});
          const auto message = message_of([&] { mine.heap.register_buffer(here.data(), 100); },
                                          HEDDLE_ERROR_INVALID_ARGUMENT);
          expect(message.find("CU_MEM_HANDLE_TYPE_FABRIC") != std::string::npos, message);
        }) == 0);
  // The second host's PE 3 is in a clique of its own.
  const auto apart = [](int rank) {
    return host_nvml::answers{.cluster = 7, .clique = rank == 3 ? 4u : 3u};
  };
  CHECK(failed_on_two_hosts(driver, everywhere, apart, [](auto& self, auto& mine) {
          const auto [count, why] = unmapped(self, mine);
          const int expected[] = {1, 1, 0, 2};
          expect(count == expected[self.rank()], std::to_string(count));
          expect(count == 0 || why == "it is on another host, in another NVLink domain", why);
          write_to_mapped(self, mine);
        }) == 0);
}

TEST_CASE("PEs of other hosts are not mapped where that is not asked for or cannot be") {
  const auto one_domain = [](int) { return host_nvml::answers{.cluster = 7, .clique = 3}; };
  const auto expects = [](const std::string& reason) {
    return [reason](bootstrap& self, device_heap& mine) {
      const auto [count, why] = unmapped(self, mine);
      expect(count == 2, "those of the other host");
      expect(why.find("it is on another host") == 0 && why.find(reason) != std::string::npos, why);
      write_to_mapped(self, mine);
    };
  };
  CHECK(failed_on_two_hosts(host_driver::start({}), everywhere, one_domain,
                            expects("there are no fabric handles: PE 0: ")) == 0);
  const auto& driver = host_driver::start({.fabric_handles = true});
  CHECK(failed_on_two_hosts(driver, {}, one_domain, expects("")) == 0);
  for (const auto& each : std::vector<std::pair<host_nvml::answers, std::string>>{
           {{.cluster = 7, .state = 2}, "the fabric manager has not made it part"},
           {{.cluster = 7, .status = 5}, "joining its NVLink domain (NVML): an error"},
           {{.cluster = 0}, "its host's alone"},
           {{.cluster = 7, .failing = "nvmlInit_v2"}, "starting NVIDIA's management library"},
           {{.cluster = 7, .failing = "nvmlDeviceGetHandleByUUID"}, "looking up the device"},
           {{.cluster = 7, .failing = "nvmlDeviceGetGpuFabricInfoV"}, "asking for its NVLink"}}) {
    CAPTURE(each.second);
    CHECK(failed_on_two_hosts(
              driver, everywhere, [&](int) { return each.first; }, expects(each.second)) == 0);
  }
}

TEST_CASE("a buffer without a fabric handle goes as a descriptor between processes of one host") {
  const auto& driver = host_driver::start({.fabric_handles = true});
  CHECK(failed_heaps(3, driver, {}, nothing, [](bootstrap& self, device_heap& mine) {
          const program_buffer buffer(mine.device, {2 * mebibyte},
                                      self.rank() == 1 ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                                                       : static_cast<CUmemAllocationHandleType>(9));
          auto* alias = static_cast<int*>(mine.heap.register_buffer(buffer.data(), 100));
          const int next = (self.rank() + 1) % 3;
          mine.write(static_cast<int*>(mine.heap.ptr(alias, next)), self.rank());
          self.barrier(soon());
          expect(mine.read<int>(buffer.data()) == (self.rank() + 2) % 3, "a peer's store");
          self.barrier(soon());
          mine.heap.unregister_buffer(buffer.data());
        }) == 0);
}

TEST_CASE("buffers that have no type of handle in common are refused on all PEs") {
  const auto& driver = host_driver::start({.fabric_handles = true});
  CHECK(failed_heaps(2, driver, {}, nothing, [](bootstrap& self, device_heap& mine) {
          const program_buffer buffer(mine.device, {2 * mebibyte},
                                      self.rank() == 1 ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                                                       : CU_MEM_HANDLE_TYPE_FABRIC);
          const auto message = message_of([&] { mine.heap.register_buffer(buffer.data(), 100); },
                                          HEDDLE_ERROR_INVALID_ARGUMENT);
          expect(message.find("by one type of handle") != std::string::npos, message);
          write_to_mapped(self, mine);
        }) == 0);
}

TEST_CASE("without NVIDIA's management library it is told that there is none") {
  std::string why_not;
  if (!gpu::find_nvlink_domain({}, why_not)) CHECK(why_not.find("NV") != std::string::npos);
}
