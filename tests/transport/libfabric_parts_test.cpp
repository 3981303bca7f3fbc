// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The parts of the libfabric transport that need no network: which provider is taken and why, and
// where a peer's memory is.
#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <cstring>
#include <deque>
#include <heddle/error.hpp>
#include <memory>

#include "host/transport/libfabric/libfabric_transport.hpp"
#include "host/transport/libfabric/provider_choice.hpp"
#include "host/transport/libfabric/remote_memory.hpp"
#include "imitated_sysfs.hpp"

using namespace heddle;
using namespace heddle::libfabric;
using heddle::conformance::imitated_sysfs;

namespace {

/// What fi_getinfo would give, as far as the choice looks at it.
class offered {
 public:
  offered(std::string provider, std::string domain, const char* address = nullptr)
      : provider_(std::move(provider)), domain_name_(std::move(domain)) {
    info_.caps = FI_MSG | FI_RMA;
    info_.fabric_attr = &fabric_;
    info_.domain_attr = &domain_;
    info_.tx_attr = &sent_;
    info_.rx_attr = &received_;
    info_.ep_attr = &endpoint_;
    fabric_.prov_name = provider_.data();
    domain_.name = domain_name_.data();
    sent_.msg_order = received_.msg_order = FI_ORDER_SAS | FI_ORDER_SAW;
    if (!address) return;
    address_.sin_family = AF_INET;
    ::inet_pton(AF_INET, address, &address_.sin_addr);
    info_.addr_format = FI_SOCKADDR_IN;
    info_.src_addr = &address_;
    info_.src_addrlen = sizeof address_;
  }
  offered(const offered&) = delete;
  offered& operator=(const offered&) = delete;

  [[nodiscard]] fi_info& info() { return info_; }
  void device(std::string name) {
    device_name_ = std::move(name);
    device_.name = device_name_.data();
    nic_.device_attr = &device_;
    info_.nic = &nic_;
  }
  /// Its card is at 0000:BUS:00.0.
  offered& card(std::uint8_t bus, std::size_t gigabits) {
    bus_.bus_type = FI_BUS_PCI;
    bus_.attr.pci.bus_id = bus;
    link_.speed = gigabits * 1'000'000'000;
    nic_.bus_attr = &bus_;
    nic_.link_attr = &link_;
    info_.nic = &nic_;
    return *this;
  }
  offered& order(std::uint64_t bits) {
    sent_.msg_order = received_.msg_order = bits;
    return *this;
  }

 private:
  std::string provider_, domain_name_, device_name_;
  fi_info info_{};
  fi_fabric_attr fabric_{};
  fi_domain_attr domain_{};
  fi_tx_attr sent_{};
  fi_rx_attr received_{};
  fi_ep_attr endpoint_{};
  sockaddr_in address_{};
  fid_nic nic_{};
  fi_device_attr device_{};
  fi_bus_attr bus_{};
  fi_link_attr link_{};
};

socket_address ip(const char* text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, text, &address.sin_addr);
  return {reinterpret_cast<const sockaddr*>(&address), sizeof address};
}

provider_wish wish(std::string provider = "", std::string interfaces = "", bool one_host = false) {
  provider_wish made;
  made.provider = std::move(provider);
  made.interfaces = std::move(interfaces);
  made.one_host = one_host;
  made.there = {{"lo", true, {ip("127.0.0.1")}},
                {"eth0", false, {ip("192.0.2.2")}},
                {"ib0", false, {ip("198.51.100.2")}}};
  made.shares_receives = false;
  return made;
}

std::vector<provider_candidate> rank(std::deque<offered>& offers, const provider_wish& wish) {
  std::vector<const fi_info*> infos;
  for (auto& each : offers) infos.push_back(&each.info());
  return rank_providers(infos, wish);
}

std::string reason_of(const std::vector<provider_candidate>& all, const std::string& provider,
                      const std::string& interface) {
  for (const auto& each : all)
    if (each.provider == provider && each.interface == interface)
      return (each.fits ? "fits: " : "does not: ") + each.reason;
  return "not there";
}

std::deque<offered> ethernet() {
  std::deque<offered> all;
  for (const char* provider : {"udp;ofi_rxd", "sockets", "tcp;ofi_rxm", "net"}) {
    all.emplace_back(provider, "lo", "127.0.0.1");
    all.emplace_back(provider, "ib0", "198.51.100.2");
    all.emplace_back(provider, "eth0", "192.0.2.2");
  }
  return all;
}

}  // namespace

TEST_CASE("over Ethernet net is first, then tcp;ofi_rxm, sockets and udp;ofi_rxd") {
  auto offers = ethernet();
  const auto ranked = rank(offers, wish());
  REQUIRE(ranked.size() == 12);
  const std::vector<std::string> first{ranked[0].provider, ranked[1].provider, ranked[2].provider,
                                       ranked[3].provider};
  CHECK(first == std::vector<std::string>{"net", "tcp;ofi_rxm", "sockets", "udp;ofi_rxd"});
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(ranked[i].fits);
    CHECK(ranked[i].interface == "eth0");
    CHECK(ranked[i].address == "192.0.2.2");
  }
  CHECK(ranked[0].reason.find("chosen") == 0);
  CHECK(ranked[1].reason == "fits, but comes after net");
  CHECK_FALSE(ranked[4].fits);
  CHECK(describe(ranked).find("\n  net on eth0 192.0.2.2: chosen") != std::string::npos);
}

TEST_CASE("a network card is preferred to Ethernet, and is not bound to the interface's name") {
  auto offers = ethernet();
  offers.emplace_back("verbs;ofi_rxm", "mlx5_0", "198.51.100.2");
  auto asked = wish("", "eth0");
  asked.shares_receives = true;
  CHECK(rank(offers, asked).front().provider == "verbs;ofi_rxm");
  offers.emplace_back("efa", "rdmap0");
  offers.emplace_back("cxi", "cxi0");
  const auto ranked = rank(offers, wish());
  CHECK(ranked[0].provider == "cxi");
  CHECK(ranked[1].provider == "efa");
}

TEST_CASE("verbs;ofi_rxm is taken where its connections share their receive buffers alone") {
  std::deque<offered> offers;
  offers.emplace_back("verbs;ofi_rxm", "mlx5_0", "198.51.100.2");
  auto asked = wish("verbs;ofi_rxm");
  const auto refused = rank(offers, asked).front();
  CHECK_FALSE(refused.fits);
  CHECK(refused.reason.find("FI_OFI_RXM_USE_SRX=1") != std::string::npos);
  asked.shares_receives = true;
  CHECK(rank(offers, asked).front().fits);
}

TEST_CASE("HEDDLE_IB_HCA and HEDDLE_IB_DISABLE hold for libfabric's verbs, and for no other") {
  const std::string provider = "verbs;ofi_rxm";
  std::deque<offered> offers;
  offers.emplace_back(provider, "mlx5_0", "192.0.2.2");
  offers.emplace_back(provider, "mlx5_1-xrc", "198.51.100.2").device("mlx5_1");
  offers.emplace_back("efa", "mlx5_2");
  offers.emplace_back("net", "eth0", "192.0.2.2");
  // The second port of its card, as the kernel tells of mlx4_en's.
  const imitated_sysfs sysfs;
  sysfs.write("class/net/ib0/dev_port", "1\n");
  auto asked = wish();
  asked.shares_receives = true;
  asked.sysfs = sysfs.folder();
  const auto reasons = [&](const std::string& hca) {
    asked.ib_hca = hca;
    const auto ranked = rank(offers, asked);
    CHECK(reason_of(ranked, "efa", "mlx5_2").starts_with("fits: "));
    CHECK(reason_of(ranked, "net", "eth0").starts_with("fits: "));
    return std::pair(reason_of(ranked, provider, "eth0"), reason_of(ranked, provider, "ib0"));
  };
  const std::string fits = "fits: fits, but comes after efa";
  CHECK(reasons("").first == fits);
  CHECK(reasons("mlx5").second == fits);
  CHECK(reasons("=mlx5_1").first == "does not: HEDDLE_IB_HCA=\"=mlx5_1\" leaves it out");
  CHECK(reasons("=mlx5_1").second == fits);
  CHECK(reasons("^mlx5_1").first == fits);
  CHECK(reasons("^mlx5_1").second == "does not: HEDDLE_IB_HCA=\"^mlx5_1\" leaves it out");
  CHECK(reasons("mlx5_0:1,mlx5_1:2").first == fits);
  CHECK(reasons("mlx5_0:1,mlx5_1:2").second == fits);
  CHECK(reasons("mlx5:1").second == "does not: HEDDLE_IB_HCA=\"mlx5:1\" leaves it out");
  asked.ib_disable = true;
  CHECK(reasons("").first == "does not: HEDDLE_IB_DISABLE=1 leaves it out");
  CHECK(reasons("").second == "does not: HEDDLE_IB_DISABLE=1 leaves it out");
}

namespace {

/// Four cards: two of them behind the switch of the GPU at 0000:3d:00.0, as on a DGX.
std::unique_ptr<imitated_sysfs> machine_of_four_cards() {
  auto sysfs = std::make_unique<imitated_sysfs>();
  sysfs->add_pci_device("pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:04.0/0000:3d:00.0", 0);
  sysfs->add_pci_device("pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:08.0/0000:3e:00.0", 0);
  sysfs->add_pci_device("pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:0c.0/0000:3f:00.0", 0);
  sysfs->add_pci_device("pci0000:3a/0000:3a:01.0/0000:40:00.0", 0);
  sysfs->add_pci_device("pci0000:80/0000:80:00.0/0000:81:00.0", 1);
  return sysfs;
}

}  // namespace

TEST_CASE("of several cards of a provider the nearest is taken, and PEs of a host spread") {
  const auto sysfs = machine_of_four_cards();
  std::deque<offered> offers;
  offers.emplace_back("efa", "rdmap129s0").card(0x81, 100);
  offers.emplace_back("efa", "rdmap64s0").card(0x40, 100);
  offers.emplace_back("efa", "rdmap62s0").card(0x3e, 100);
  offers.emplace_back("efa", "rdmap63s0").card(0x3f, 100);
  offers.emplace_back("net", "eth0", "192.0.2.2");
  auto asked = wish();
  asked.sysfs = sysfs->folder();
  const auto taken = [&] { return rank(offers, asked).front().interface; };

  asked.near = place_of_pci_device("0000:3d:00.0", asked.sysfs);
  const auto ranked = rank(offers, asked);
  REQUIRE(ranked.size() == 5);
  CHECK(ranked[0].interface == "rdmap62s0");
  CHECK(ranked[0].reason ==
        "chosen: the first in heddle's order of preference, NIC number 1 of 2: behind one PCIe "
        "switch, 100 Gb/s");
  CHECK(ranked[1].interface == "rdmap63s0");
  CHECK(ranked[1].reason == "fits, NIC number 2 of 2: behind one PCIe switch, 100 Gb/s");
  CHECK(reason_of(ranked, "efa", "rdmap129s0") ==
        "fits: fits, but farther: another is behind one PCIe switch");
  CHECK(reason_of(ranked, "net", "eth0") == "fits: fits, but comes after efa");
  asked.local_rank = 1;
  CHECK(taken() == "rdmap63s0");
  asked.local_rank = 2;
  CHECK(taken() == "rdmap62s0");

  // Of a PE without a GPU the NUMA node counts.
  asked.near = {"", 1};
  CHECK(taken() == "rdmap129s0");
  asked.near = {"", 0};
  asked.local_rank = 1;
  CHECK(taken() == "rdmap63s0");
  asked.local_rank = 2;
  CHECK(taken() == "rdmap64s0");

  // A slow one is left alone, however near.
  offers[2].card(0x3e, 10);
  asked.near = place_of_pci_device("0000:3d:00.0", asked.sysfs);
  CHECK(taken() == "rdmap63s0");
  CHECK(reason_of(rank(offers, asked), "efa", "rdmap62s0") ==
        "fits: fits, but slow: another has 100 Gb/s");
}

TEST_CASE("a nearer card of another subnet is not taken: peers may not reach it") {
  const auto sysfs = machine_of_four_cards();
  std::deque<offered> offers;
  offers.emplace_back("verbs;ofi_rxm", "mlx5_0", "192.0.2.2").card(0x81, 100);
  offers.emplace_back("verbs;ofi_rxm", "mlx5_1", "198.51.100.2").card(0x3e, 100);
  offers.emplace_back("verbs;ofi_rxm", "mlx5_2", "192.0.2.130").card(0x40, 100);
  auto asked = wish();
  asked.sysfs = sysfs->folder();
  asked.shares_receives = true;
  asked.near = place_of_pci_device("0000:3d:00.0", asked.sysfs);
  asked.there.push_back({"eth1", false, {ip("192.0.2.130")}});
  const auto taken = [&] { return rank(offers, asked).front().interface; };
  // Subnets are not known.
  CHECK(taken() == "eth0");
  for (auto& each : asked.there) each.prefix_bits = {24};
  CHECK(taken() == "eth1");
  CHECK(reason_of(rank(offers, asked), "verbs;ofi_rxm", "ib0") ==
        "fits: fits, but comes after verbs;ofi_rxm");
  for (auto& each : asked.there) each.prefix_bits = {25};
  CHECK(taken() == "eth0");
  for (auto& each : asked.there) each.prefix_bits = {4};
  CHECK(taken() == "ib0");
}

TEST_CASE("one card is taken whatever its place, and PEs spread over cards of unknown places too") {
  std::deque<offered> offers;
  offers.emplace_back("efa", "rdmap0");
  auto asked = wish();
  asked.near = {"", 0};
  asked.local_rank = 3;
  CHECK(rank(offers, asked).front().reason == "chosen: the first in heddle's order of preference");
  offers.emplace_back("efa", "rdmap1");
  CHECK(rank(offers, asked).front().reason ==
        "chosen: the first in heddle's order of preference, NIC number 1 of 2: at an unknown "
        "distance");
  CHECK(rank(offers, asked).front().interface == "rdmap1");
}

TEST_CASE("the provider that is asked for is the only one that fits") {
  auto offers = ethernet();
  const auto ranked = rank(offers, wish("sockets"));
  CHECK(ranked[0].provider == "sockets");
  CHECK(reason_of(ranked, "net", "eth0") ==
        "does not: HEDDLE_FABRIC_PROVIDER asks for \"sockets\"");
  CHECK(rank(offers, wish("tcp")).front().provider == "tcp;ofi_rxm");
  CHECK(rank(offers, wish("tcp;ofi_rxm")).front().provider == "tcp;ofi_rxm");
  CHECK_FALSE(rank(offers, wish("efa")).front().fits);
  CHECK_FALSE(rank(offers, wish("soc")).front().fits);
}

TEST_CASE("the interface is chosen as for the bootstrap") {
  auto offers = ethernet();
  const auto ranked = rank(offers, wish("", "ib"));
  CHECK(ranked[0].interface == "ib0");
  CHECK(reason_of(ranked, "net", "eth0") == "does not: HEDDLE_SOCKET_IFNAME=\"ib\" chooses ib0");
  const auto none = rank(offers, wish("", "wlan"));
  CHECK_FALSE(none.front().fits);
  CHECK(none.front().reason.find("matches no interface") != std::string::npos);
}

TEST_CASE("loopback does for one host, or if it is named") {
  std::deque<offered> offers;
  offers.emplace_back("net", "lo", "127.0.0.1");
  auto only = wish();
  only.there.resize(1);
  CHECK(reason_of(rank(offers, only), "net", "lo") ==
        "does not: loopback, and the PEs are on several hosts");
  only.one_host = true;
  CHECK(rank(offers, only).front().fits);
  CHECK(rank(offers, wish("", "lo")).front().fits);
  CHECK_FALSE(rank(offers, wish("", "", true)).front().fits);
}

TEST_CASE("shared memory is taken if it is named, on one host") {
  std::deque<offered> offers;
  offers.emplace_back("shm", "shm");
  CHECK(reason_of(rank(offers, wish()), "shm", "shm") ==
        "does not: stays on one host: taken if HEDDLE_FABRIC_PROVIDER names it");
  CHECK(reason_of(rank(offers, wish("shm")), "shm", "shm") ==
        "does not: stays on one host, and the PEs are on several");
  CHECK(rank(offers, wish("shm", "", true)).front().fits);
}

TEST_CASE("what a provider lacks is said") {
  std::deque<offered> offers;
  offers.emplace_back("net", "eth0", "192.0.2.2").info().caps = FI_MSG;
  CHECK(reason_of(rank(offers, wish()), "net", "eth0").find("FI_RMA") != std::string::npos);
  offers.front().info().caps = FI_RMA;
  CHECK(reason_of(rank(offers, wish()), "net", "eth0").find("FI_MSG") != std::string::npos);
  offers.front().info().caps = FI_MSG | FI_RMA;
  offers.front().order(FI_ORDER_SAW);
  CHECK(reason_of(rank(offers, wish()), "net", "eth0").find("FI_ORDER_SAS") != std::string::npos);
  offers.front().order(FI_ORDER_SAS);
  CHECK(rank(offers, wish()).front().fits);
  offers.emplace_back("psm2", "hfi1_0");
  CHECK(reason_of(rank(offers, wish()), "psm2", "hfi1_0").find("not tried") != std::string::npos);
  CHECK(rank(offers, wish("psm2")).front().fits);
}

TEST_CASE("of several offers of one place the first that fits counts") {
  std::deque<offered> offers;
  offers.emplace_back("net", "eth0", "192.0.2.2").info().caps = FI_MSG;
  offers.emplace_back("net", "eth0", "192.0.2.2");
  offers.emplace_back("net", "eth0", "192.0.2.2").order(FI_ORDER_SAS);
  const auto ranked = rank(offers, wish());
  REQUIRE(ranked.size() == 1);
  CHECK(ranked[0].info == &offers[1].info());
}

TEST_CASE("the order of messages follows from what is granted on both sides") {
  offered one("net", "eth0");
  CHECK(ordering_of(one.info()) == ordering::promised);
  one.info().rx_attr->msg_order = FI_ORDER_SAS;
  CHECK(ordering_of(one.info()) == ordering::awaited);
  one.info().caps |= FI_FENCE;
  CHECK(ordering_of(one.info()) == ordering::fenced);
  one.info().domain_attr->cq_data_size = 4;
  CHECK(ordering_of(one.info()) == ordering::counted);
  offered slingshot("cxi", "cxi0");
  slingshot.info().rx_attr->msg_order = FI_ORDER_SAS;
  slingshot.info().domain_attr->cq_data_size = 8;
  CHECK(ordering_of(slingshot.info()) == ordering::awaited);
  slingshot.info().caps |= FI_FENCE;
  CHECK(ordering_of(slingshot.info()) == ordering::fenced);
  one.info().rx_attr->msg_order = FI_ORDER_SAW;
  CHECK_FALSE(ordering_of(one.info()).has_value());
}

TEST_CASE("atomics that crash are none") {
  offered sound("net", "eth0");
  CHECK_FALSE(has_sound_atomics(sound.info()));
  sound.info().caps |= FI_ATOMIC;
  CHECK(has_sound_atomics(sound.info()));
  offered unsound("udp;ofi_rxd", "eth0");
  unsound.info().caps |= FI_ATOMIC;
  CHECK_FALSE(has_sound_atomics(unsound.info()));
}

TEST_CASE(
    "no more is under way to one peer than its socket holds, where the provider leaves that to "
    "us") {
  CHECK(most_to_one_peer(offered("net", "eth0").info()) == SIZE_MAX);
  CHECK(most_to_one_peer(offered("udp;ofi_rxd", "eth0").info()) == 32);
  CHECK(most_to_one_peer(offered("sockets", "eth0").info()) == 8);
}

TEST_CASE("a provider that is not there is an error that lists what is") {
  try {
    libfabric_options options;
    options.provider = "no-such-provider";
    make_libfabric_transport(options);
    FAIL("made");
  } catch (const error& missing) {
    CHECK(missing.status() == HEDDLE_ERROR_NOT_SUPPORTED);
    const std::string text = missing.what();
    CHECK(text.find("no-such-provider") != std::string::npos);
    if (text.find("libfabric.so.1 is not there") == std::string::npos)
      CHECK(text.find("net") != std::string::npos);
  }
}

TEST_CASE("a place is found in the piece that holds it, and nowhere else") {
  remote_memory memory;
  memory.add(0, 4096, 4096, 0x10000, 7);
  memory.add(0, 0, 4096, 0, 5);
  memory.add(1, 0, 100, 0x900, 9);
  CHECK(memory.find({0, 0, 4000}, 96).key == 5);
  CHECK(memory.find({0, 0, 4100}, 8).address == 0x10004);
  CHECK(memory.find({0, 1, 0}, 100).address == 0x900);
  CHECK(memory.find({0, 0, 8192}, 0).key == 7);
  CHECK_THROWS_WITH_AS(static_cast<void>(memory.find({3, 0, 4000}, 97)),
                       doctest::Contains("PE 3 has exposed nothing that holds [4000, 4000 + 97)"),
                       error);
  CHECK_THROWS_AS(static_cast<void>(memory.find({0, 0, 8190}, 8)), error);
  CHECK_THROWS_AS(static_cast<void>(memory.find({0, 1, 100}, 1)), error);
  CHECK_THROWS_AS(static_cast<void>(memory.find({0, 2, 0}, 1)), error);
  CHECK_THROWS_AS(static_cast<void>(memory.find({0, 0, 10}, ~std::size_t{0})), error);
  memory.add(0, 0, 64, 0x40, 6);
  CHECK(memory.find({0, 0, 0}, 64).key == 6);
  CHECK_THROWS_AS(static_cast<void>(memory.find({0, 0, 0}, 65)), error);
}
