// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/nvlinks.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "topology/device_state.hpp"
#include "topology/imitated_nvml.hpp"
#include "topology/machines.hpp"
#include "topology/path.hpp"

using namespace heddle;
using namespace heddle::testing;
using topology::end_of_gpu;
using topology::find_path;
using topology::machine;

namespace {

/// `count` links to what is on that bus.
std::vector<imitated_link> links_to(unsigned bus, int count, int type = nvml::remote_gpu) {
  return std::vector<imitated_link>(
      static_cast<std::size_t>(count),
      {.is_up = true, .remote_bus = bus, .remote_type = type, .version = 6});
}

imitated_nvml eight_on_switches() {
  imitated_nvml made;
  for (unsigned i = 0; i < 8; ++i) {
    imitated_gpu gpu{.name = "NVIDIA H100", .bus = 0x10 + i, .links = {}, .megabytes = 26562};
    for (const auto& [bus, count] : {std::pair(0xe1u, 5), {0xe2u, 4}, {0xe3u, 4}, {0xe4u, 5}}) {
      const auto more = links_to(bus, count, nvml::remote_nvswitch);
      gpu.links.insert(gpu.links.end(), more.begin(), more.end());
    }
    made.gpus.push_back(std::move(gpu));
  }
  return made;
}

machine read() {
  machine made;
  topology::add_nvlinks(made);
  CHECK(nvml_in_place::sessions() == 0);
  return made;
}

void check_note(const machine& machine, const std::string& part) {
  REQUIRE(machine.notes.size() == 1);
  CAPTURE(machine.notes[0]);
  CHECK(machine.notes[0].find("NVLink is not known: ") == 0);
  CHECK(machine.notes[0].find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("eight GPUs behind NVSwitches reach each other by all of their links") {
  const nvml_in_place here(eight_on_switches());
  const auto made = read();
  REQUIRE(made.gpus.size() == 8);
  CHECK(made.notes.empty());
  CHECK(made.nvswitches.size() == 4);
  CHECK(made.nvswitches[0].place.address == "0000:e1:00.0");
  CHECK(made.gpus[3].name == "NVIDIA H100");
  CHECK(made.gpus[3].place.address == "0000:13:00.0");
  CHECK(made.gpus[3].links.size() == 4);
  const auto path = find_path(made, end_of_gpu(0), end_of_gpu(7));
  CHECK(path.text() == "NV18");
  CHECK(path.gigabytes == doctest::Approx(18 * 26.562));
}

TEST_CASE("a link that is down is counted, and not used") {
  auto what = eight_on_switches();
  what.gpus[2].links[17].is_up = false;
  const nvml_in_place here(what);
  const auto made = read();
  CHECK(made.gpus[2].links_down == 1);
  CHECK(find_path(made, end_of_gpu(2), end_of_gpu(3)).text() == "NV17");
  CHECK(find_path(made, end_of_gpu(4), end_of_gpu(3)).text() == "NV18");
}

TEST_CASE("four GPUs in pairs are merged with those of the machine by their addresses") {
  auto made = make_machine({.packages = 2, .switches = 1, .gpus = 2});
  imitated_nvml what;
  // NVML's order is not that of the machine.
  for (const int i : {3, 1, 0, 2}) {
    const int peer = (i + 2) % 4;
    const auto bus_of = [&](int gpu) {
      return static_cast<unsigned>(std::stoul(
          made.gpus[static_cast<std::size_t>(gpu)].place.address.substr(5, 2), nullptr, 16));
    };
    what.gpus.push_back({.name = "NVIDIA A100",
                         .bus = bus_of(i),
                         .links = links_to(bus_of(peer), 4),
                         .megabytes = 0});
  }
  const nvml_in_place here(what);
  topology::add_nvlinks(made);
  CHECK(made.gpus.size() == 4);
  CHECK(made.nvswitches.empty());
  CHECK(find_path(made, end_of_gpu(0), end_of_gpu(2)).text() == "NV4");
  CHECK(find_path(made, end_of_gpu(0), end_of_gpu(1)).text() == "PIX");
  CHECK(find_path(made, end_of_gpu(0), end_of_gpu(3)).text() == "SYS");
  // By the version, since the speed is not told.
  CHECK(made.gpus[0].links[0].gigabytes == 25);
}

TEST_CASE("GPUs without NVLink, and links to what is no GPU, are neither an error") {
  imitated_nvml what;
  what.gpus.push_back({.name = "NVIDIA L4", .bus = 1, .links = {}, .megabytes = 0});
  what.gpus.push_back(
      {.name = "NVIDIA V100", .bus = 2, .links = links_to(0x35, 3, 1), .megabytes = 0});
  const nvml_in_place here(what);
  const auto made = read();
  CHECK(made.notes.empty());
  CHECK(made.gpus[0].links.empty());
  REQUIRE(made.gpus[1].links.size() == 1);
  CHECK(made.gpus[1].links[0].peer == topology::nvlinks::kind::other);
  CHECK(made.gpus[1].links[0].count == 3);
  CHECK(find_path(made, end_of_gpu(0), end_of_gpu(1)).text() == "NODE");
}

TEST_CASE("speeds are told by the library, else by the links' version") {
  for (const auto& [version, gigabytes] :
       {std::pair(0u, 0.0), {1u, 20.0}, {2u, 25.0}, {4u, 25.0}, {6u, 25.0}, {7u, 50.0}}) {
    imitated_nvml what;
    what.gpus.push_back({.name = "a", .bus = 1, .links = links_to(2, 1), .megabytes = 0});
    what.gpus[0].links[0].version = version;
    what.gpus.push_back({.name = "b", .bus = 2, .links = {}, .megabytes = 0});
    const nvml_in_place here(what);
    CHECK(read().gpus[0].links[0].gigabytes == gigabytes);
  }
  // A version that is too high is of no account beside the speed.
  imitated_nvml what;
  what.gpus.push_back({.name = "a", .bus = 1, .links = links_to(2, 1), .megabytes = 26562});
  what.gpus[0].links[0].version = 7;
  const nvml_in_place here(what);
  CHECK(read().gpus[0].links[0].gigabytes == doctest::Approx(26.562));
}

TEST_CASE("a management library that fails is named with its reason") {
  auto what = eight_on_switches();
  const auto note_if_fails = [&](const char* function, const char* part) {
    what.failing = function;
    const nvml_in_place here(what);
    check_note(read(), part);
  };
  note_if_fails("nvmlInit_v2", "starting NVIDIA's management library (NVML): Driver Not Loaded");
  note_if_fails("nvmlDeviceGetCount_v2", "counting the GPUs (NVML): Not Supported");
  what.failing = "nvmlDeviceGetHandleByIndex_v2";  // of GPU 1 alone
  {
    const nvml_in_place here(what);
    const auto made = read();
    check_note(made, "GPU 1 (NVML): Not Supported");
    CHECK(made.gpus.size() == 7);
  }
  what.failing.clear();
  {
    const nvml_in_place here(what, "nvmlDeviceGetNvLinkState");
    check_note(read(), "too old to tell of it");
  }
  for (const char* missing : {"nvmlDeviceGetFieldValues", "nvmlDeviceGetNvLinkRemoteDeviceType"}) {
    const nvml_in_place here(what, missing);
    CHECK(read().notes.empty());
  }
}

TEST_CASE("the state of NICs and of PCIe links is what the kernel says") {
  namespace fs = std::filesystem;
  char folder[] = "/tmp/heddle-nics-XXXXXX";
  REQUIRE(::mkdtemp(folder));
  const auto write = [&](const std::string& file, const std::string& text) {
    fs::create_directories(fs::path(folder + ("/" + file)).parent_path());
    std::ofstream(folder + ("/" + file)) << text << "\n";
  };
  write("net/ens1/operstate", "up");
  write("net/ens1/speed", "25000");
  write("net/ens2/operstate", "down");
  write("net/ens2/speed", "-1");
  write("infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  write("infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
  write("infiniband/mlx5_0/ports/2/state", "1: DOWN");
  write("infiniband/mlx5_0/ports/2/rate", "10 Gb/sec (4X SDR)");
  machine made;
  made.nics.resize(2);
  made.nics[0].ports = {{"ens1", "", 0, false}, {"mlx5_0", "", 0, true}};
  made.nics[1].ports = {{"ens2", "", 0, false}, {"gone", "", 0, true}};
  topology::add_nic_states(made, folder);
  REQUIRE(made.nics[0].ports.size() == 3);
  CHECK(made.nics[0].ports[0].state == "up");
  CHECK(made.nics[0].ports[0].gigabits == 25);
  CHECK(made.nics[0].ports[1].state == "ACTIVE");
  CHECK(made.nics[0].ports[1].gigabits == 400);
  CHECK(made.nics[0].ports[2].name == "mlx5_0:2");
  CHECK(made.nics[0].ports[2].is_down());
  CHECK(made.nics[0].gigabits() == 400);
  CHECK_FALSE(made.nics[0].is_down());
  CHECK(made.nics[0].name() == "mlx5_0");
  CHECK(made.nics[1].ports[0].is_down());
  CHECK(made.nics[1].ports[0].gigabits == 0);
  CHECK(made.nics[1].ports[1].state.empty());
  write("0000:01:00.0/current_link_speed", "16.0 GT/s PCIe");
  write("0000:01:00.0/current_link_width", "16");
  write("0000:02:00.0/current_link_speed", "5.0 GT/s PCIe");
  write("0000:02:00.0/current_link_width", "4");
  write("0000:03:00.0/current_link_speed", "Unknown");
  write("0000:03:00.0/current_link_width", "0");
  for (const char* address : {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"})
    made.gpus.emplace_back().place.address = address;
  topology::add_link_speeds(made, folder);
  CHECK(made.gpus[0].place.gigabytes == doctest::Approx(31.5).epsilon(0.01));
  CHECK(made.gpus[1].place.gigabytes == doctest::Approx(2));
  CHECK(made.gpus[2].place.gigabytes == 0);
  CHECK(made.gpus[3].place.gigabytes == 0);
  fs::remove_all(folder);
}
