// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What is asked of a provider that has fences instead of an order of messages after writes. There
// is none here: of an endpoint of another the calls are taken down, and go no further. (sockets has
// both, and runs the suites with fences.)

#include <doctest/doctest.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "changed_provider.hpp"

using namespace heddle;
using namespace heddle::libfabric;
using namespace heddle::testing;

namespace {

std::vector<std::string> calls;
int refusals = 0;  ///< of messages that are still to come

ssize_t take_down_write(fid_ep* /*endpoint*/, const fi_msg_rma* /*what*/, std::uint64_t flags) {
  calls.emplace_back((flags & FI_DELIVERY_COMPLETE) != 0 ? "write until delivery" : "write");
  return 0;
}
ssize_t take_down_small_write(fid_ep* /*endpoint*/, const void* /*from*/, std::size_t /*size*/,
                              fi_addr_t /*to*/, std::uint64_t /*address*/, std::uint64_t /*key*/) {
  calls.emplace_back("injected write");
  return 0;
}
ssize_t take_down_message(fid_ep* /*endpoint*/, const fi_msg* /*what*/, std::uint64_t flags) {
  if (refusals-- > 0) return -FI_EAGAIN;
  calls.emplace_back((flags & FI_FENCE) != 0 ? "fenced message" : "message");
  return 0;
}
ssize_t take_down_small_message(fid_ep* /*endpoint*/, const void* /*from*/, std::size_t /*size*/,
                                fi_addr_t /*to*/) {
  calls.emplace_back("injected message");
  return 0;
}

decltype(fi_ops_domain::endpoint) real_endpoint;

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** opened, void* context) {
  const int code = real_endpoint(domain, info, opened, context);
  if (code != 0) return code;
  replace_in((*opened)->msg, [](fi_ops_msg& table) {
    table.sendmsg = take_down_message;
    table.inject = take_down_small_message;
  });
  replace_in((*opened)->rma, [](fi_ops_rma& table) {
    table.writemsg = take_down_write;
    table.inject = take_down_small_write;
  });
  return code;
}
void take_down_calls(fid_domain& domain) {
  replace_in(domain.ops, [](fi_ops_domain& table) {
    real_endpoint = std::exchange(table.endpoint, open_endpoint);
  });
}

/// A PE that reaches itself.
class lone_pe {
 public:
  explicit lone_pe(const changed_provider& by)
      : network_(by.functions(), by.info(), "lo", by.by(), std::chrono::seconds(5), nullptr) {
    network_.set_addresses({network_.address()});
    const auto key = network_.expose(0, 0, memory_.data(), memory_.size());
    network_.add_remote(0, 0, 0, memory_.size(), key);
  }
  ~lone_pe() { network_.conceal(0, 0); }
  lone_pe(const lone_pe&) = delete;
  lone_pe& operator=(const lone_pe&) = delete;

  void write(std::size_t size) {
    CHECK(network_.post_write(0, {0, 0, 0}, memory_.data(), size, transport::no_token, 0));
  }
  void send(std::size_t size) {
    const auto place = network_.begin_message(0, 0);
    REQUIRE(!place.empty());
    network_.post_message(0, 0, place, size);
  }
  void progress() {
    transport::nobody nobody;
    network_.progress(nobody);
  }

 private:
  alignas(64) std::array<std::byte, 4096> memory_{};
  fabric_transport network_;
};

using list = std::vector<std::string>;

list calls_of(ordering by, void (*body)(lone_pe&)) {
  const changed_provider provider("tcp;ofi_rxm", by, take_down_calls);
  calls.clear();
  lone_pe pe(provider);
  body(pe);
  return calls;
}

}  // namespace

TEST_CASE("the first message after writes is fenced, which complete on delivery") {
  CHECK(calls_of(ordering::fenced,
                 [](lone_pe& pe) {
                   pe.send(8);
                   pe.write(8);
                   pe.write(4096);
                   pe.send(8);
                   pe.send(8);
                   pe.send(4096);
                   pe.write(1);
                   pe.send(4096);
                 }) == list{"injected message", "write until delivery", "write until delivery",
                            "fenced message", "injected message", "message", "write until delivery",
                            "fenced message"});
}

TEST_CASE("a message that was not taken is fenced when it is") {
  CHECK(calls_of(ordering::fenced, [](lone_pe& pe) {
          pe.write(8);
          refusals = 2;
          pe.send(8);
          pe.progress();
          pe.progress();
          pe.send(8);
        }) == list{"write until delivery", "fenced message", "injected message"});
}

TEST_CASE("where the order is promised, nothing is fenced") {
  CHECK(calls_of(ordering::promised, [](lone_pe& pe) {
          pe.write(8);
          pe.write(4096);
          pe.send(8);
          pe.send(4096);
        }) == list{"injected write", "write", "injected message", "message"});
}

TEST_CASE("where the sender waits, writes complete on delivery") {
  CHECK(calls_of(ordering::awaited, [](lone_pe& pe) {
          pe.write(4096);
          pe.send(4096);
        }) == list{"write until delivery", "message"});
}
