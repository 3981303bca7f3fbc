// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What goes wrong with RDMA devices, and what is said of it. Needs the machine of tests/rdma_vm.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <heddle/error.hpp>
#include <map>
#include <set>

#include "host/transport/verbs/verbs_transport.hpp"
#include "support/deadline.hpp"
#include "support/unique_fd.hpp"

using namespace heddle;

namespace {

class failures final : public transport::listener {
 public:
  void on_message(std::span<const std::byte>) override {}
  void on_write(std::uint32_t) override {}
  void on_complete(std::uint64_t, std::uint64_t) override { ++completed; }
  void on_failure(int pe, const std::string& reason) override { told[pe] = reason; }
  int completed = 0;
  std::map<int, std::string> told;
};

/// This process's descriptors of completions and events of RDMA devices.
std::set<int> event_descriptors() {
  namespace fs = std::filesystem;
  std::set<int> found;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry, gone).string().find("[infinibandevent]") != std::string::npos)
      found.insert(std::stoi(entry.path().filename()));
  }
  return found;
}

/// Says in the kernel's place what befalls a device, to whoever has opened it as `descriptor`:
/// soft devices do not fail.
class imitated_events {
 public:
  explicit imitated_events(int descriptor) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
    REQUIRE(::dup2(ends[0], descriptor) == descriptor);
    ::close(ends[0]);
    says_ = unique_fd(ends[1]);
  }
  void send(ibv_event_type event) const {
    const ib_uverbs_async_event_desc told{0, static_cast<std::uint32_t>(event), 0};
    REQUIRE(::write(says_.get(), &told, sizeof told) == sizeof told);
  }

 private:
  unique_fd says_;
};

/// Two PEs, on rxe0 and on rxe1, driven by one thread.
class pair_of_pes {
 public:
  /// A card tries again for 4.096 us * 2^timeout, seven times in all.
  explicit pair_of_pes(int timeout = 14) {
    for (int pe = 0; pe < 2; ++pe) {
      verbs_options options;
      options.hca = pe == 0 ? "=rxe0" : "=rxe1";
      options.timeout = timeout;
      options.retry_count = 6;  // rdma_rxe takes 7 for retries without end
      const auto before = event_descriptors();
      networks[pe] = make_verbs_transport(options);
      // The device's own comes first: those of completions are made of it.
      for (const int each : event_descriptors())
        if (!before.contains(each) && events_of[pe] < 0) events_of[pe] = each;
    }
    const std::vector<transport::bytes> addresses{networks[0]->address(), networks[1]->address()};
    for (int pe = 0; pe < 2; ++pe) {
      networks[pe]->set_addresses(addresses);
      keys[pe] = networks[pe]->expose(0, 0, memory[pe].data(), memory[pe].size());
    }
  }

  void until(const std::function<bool()>& done) {
    const auto end = deadline::after(std::chrono::seconds(30));
    while (!done()) {
      for (int pe = 0; pe < 2; ++pe) networks[pe]->progress(heard[pe]);
      if (end.passed()) FAIL("waited in vain");
    }
  }
  void write() {
    bool posted = false;
    until([&] {
      return posted || (posted = networks[0]->post_write(0, {1, 0, 0}, memory[0].data(), 8, 1, 0));
    });
  }

  std::array<std::vector<std::byte>, 2> memory{std::vector<std::byte>(4096),
                                               std::vector<std::byte>(4096)};
  std::array<std::unique_ptr<transport>, 2> networks;
  std::array<transport::bytes, 2> keys;
  std::array<failures, 2> heard;
  std::array<int, 2> events_of{-1, -1};  ///< the descriptor of the device's events
};

}  // namespace

TEST_CASE("a write by a wrong key is refused, and both PEs tell of it") {
  pair_of_pes pes;
  auto wrong = pes.keys[1];
  wrong.back() ^= std::byte{0x55};
  pes.networks[0]->add_remote(1, 0, 0, 4096, wrong);
  pes.write();
  pes.until([&] { return pes.heard[0].told.contains(1); });
  CHECK(pes.heard[0].told[1].find("no longer exposed") != std::string::npos);
  CHECK(pes.heard[0].told[1].find("rxe1:1, 10.77.0.2") != std::string::npos);
  CHECK(pes.heard[0].completed == 0);
}

TEST_CASE("a port that stays down is told of, with its name") {
  pair_of_pes pes;
  pes.networks[0]->add_remote(1, 0, 0, 4096, pes.keys[1]);
  pes.write();
  pes.until([&] { return pes.heard[0].completed == 1; });
  REQUIRE(std::system("ip link set va down") == 0);
  pes.until([&] { return pes.heard[0].told.contains(-1); });
  CHECK(pes.heard[0].told[-1].starts_with("rxe0:1 has been down for"));
  // Nothing is left to be done about it at once.
  pes.until([&] { return pes.networks[0]->may_wait(); });
  pollfd news{pes.networks[0]->wait_descriptor(), POLLIN, 0};
  CHECK(::poll(&news, 1, 200) == 0);
  REQUIRE(std::system("ip link set va up") == 0);
}

TEST_CASE("who cannot be reached since a port is down is told of with the port") {
  pair_of_pes pes(17);  // the failure, and not the patience with the port, comes first
  pes.networks[0]->add_remote(1, 0, 0, 4096, pes.keys[1]);
  pes.write();
  pes.until([&] { return pes.heard[0].completed == 1; });
  REQUIRE(std::system("ip link set va down") == 0);
  pes.write();
  pes.until([&] { return pes.heard[0].told.contains(1); });
  CHECK(pes.heard[0].told[1].find("rxe1:1, 10.77.0.2 ended with") != std::string::npos);
  CHECK(pes.heard[0].told[1].find("rxe0:1, of this PE, is down: look at") != std::string::npos);
  REQUIRE(std::system("ip link set va up") == 0);
}

TEST_CASE("a device that fails is told of, with its name, on both sides") {
  pair_of_pes pes;
  pes.networks[0]->add_remote(1, 0, 0, 4096, pes.keys[1]);
  pes.write();
  pes.until([&] { return pes.heard[0].completed == 1; });
  const imitated_events events(pes.events_of[0]);
  events.send(IBV_EVENT_DEVICE_FATAL);
  pes.until([&] { return pes.heard[0].told.contains(-1) && pes.heard[1].told.contains(0); });
  CHECK(pes.heard[0].told[-1].starts_with("the RDMA device of rxe0:1 failed (local catastrophic"));
  CHECK(pes.heard[1].told[0].find("rxe0:1, 10.77.0.1") != std::string::npos);
}

TEST_CASE("where no port can be used, each says why") {
  verbs_options options;
  options.hca = "mlx5";
  CHECK_THROWS_WITH_AS((void)make_verbs_transport(options),
                       doctest::Contains("rxe1:1: HEDDLE_IB_HCA=\"mlx5\" leaves it out"), error);
  options.hca = "";
  options.gid_index = 200;
  CHECK_THROWS_WITH_AS((void)make_verbs_transport(options),
                       doctest::Contains("HEDDLE_IB_GID_INDEX=200"), error);
}

TEST_CASE("a card that takes no GPU memory is not said to reach it") {
  class no_memory final : public gpu_memory {
    [[nodiscard]] int ordinal() const override { return 0; }
    [[nodiscard]] bool has_dmabufs() const override { return true; }
    [[nodiscard]] unique_fd share_with_cards(void*, std::size_t) const override { return {}; }
  };
  const no_memory gpu;
  verbs_options options;
  CHECK_FALSE(make_verbs_transport(options)->about().reaches_gpu);
  options.gpu = &gpu;
  CHECK_FALSE(make_verbs_transport(options)->about().reaches_gpu);
}
