// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The whole port that a unique id names, over real connections: strangers come before, between and
// with the ranks, say anything in any pieces, end in the middle or stay silent. None of them gets
// in; a job of two ranks starts after every input, soon, and keeps no descriptor.
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <heddle/error.hpp>
#include <thread>
#include <vector>

#include "bootstrap/handshake.hpp"
#include "bootstrap/unique_id_bootstrap.hpp"
#include "bootstrap/unique_id_parts.hpp"
#include "fuzz_input.hpp"
#include "support/log.hpp"

using namespace heddle;
using namespace heddle::fuzz;
using namespace std::chrono_literals;

namespace {

constexpr int job_size = 2;

struct open_port {
  heddle_unique_id_t id;
  bootstrap::secret secret;
  socket_address address;
};

open_port make_port() {
  const auto id = make_unique_id("=lo");
  return {id, secret_in(id), address_in(id)};
}

class stranger {
 public:
  /// Does what the input decides.
  void act(fuzz_input& in, const open_port& port) {
    if (!socket_) {
      socket_ = connect_to(port.address);  // nobody listens there when the ranks have met
      return;
    }
    switch (in.up_to(7)) {
      case 0:
        return send(in.block());
      case 1:
        return send(std::vector<std::byte>(in.number<std::uint16_t>(),
                                           in.block().empty() ? std::byte{0xa5} : std::byte{0x01}));
      case 2:
        return send_start_of_hello(in, port);
      case 3:
        return call_wrongly(in, port);
      case 4:
        ::shutdown(socket_.get(), SHUT_WR);
        return;
      case 5:
        return socket_.reset();
      case 6:
        return reset();
      default:
        return;  // and stays silent
    }
  }
  /// Without the wait of TCP for late packets, of which thousands would use up the ports.
  void reset() {
    const linger at_once{1, 0};
    if (socket_) ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket_.reset();
  }

 private:
  void send(std::span<const std::byte> bytes) const {
    (void)!::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  caller_hello wrong_hello(fuzz_input& in) {
    caller_hello hello{link_purpose::rendezvous, 1, 0, job_size};
    switch (in.up_to(3)) {
      case 0:
        hello.purpose = link_purpose::tree;
        break;
      case 1:
        hello.caller = in.number<std::int32_t>();
        if (hello.caller == 1) hello.caller = job_size;
        break;
      case 2:
        hello.listener = 1 + in.number<std::uint8_t>();
        break;
      default:
        hello.size = job_size + 1 + in.number<std::uint8_t>();
    }
    return hello;
  }
  void send_start_of_hello(fuzz_input& in, const open_port& port) {
    caller_handshake call(port.secret, wrong_hello(in));
    auto bytes = call.take();
    bytes.resize(in.number<std::uint8_t>() % (bytes.size() + 1));
    send(bytes);
  }
  /// A whole call with another secret, or with the right one and a hello that is refused.
  void call_wrongly(fuzz_input& in, const open_port& port) {
    const bool knows_secret = in.up_to(1) == 1;
    auto secret = port.secret;
    if (!knows_secret) secret[0] ^= std::byte{1};
    caller_handshake call(secret, knows_secret
                                      ? wrong_hello(in)
                                      : caller_hello{link_purpose::rendezvous, 1, 0, job_size});
    const timeval limit{0, 20'000};  // earlier bytes of this stranger may have ended it
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    for (;;) {
      send(call.take());
      if (call.current() != handshake_side::state::going_on) break;
      std::array<std::byte, 1024> buffer;
      const auto got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      (void)call.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
    }
    require(call.current() != handshake_side::state::accepted, "no stranger is accepted");
    send(in.block());
  }

  unique_fd socket_;
};

void join(const open_port& port, int rank) {
  const auto self = join_unique_id(port.id, rank, job_size, "=lo", deadline::after(20s));
  const auto mine = std::byte(rank);
  const auto all = self->all_gather(std::span(&mine, 1), deadline::after(20s));
  require(all == std::vector<bootstrap::bytes>{{std::byte{0}}, {std::byte{1}}},
          "every rank has its own part");
  self->leave();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  log::configure("NONE", "ALL");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto before = open_descriptors();
  {
    fuzz_input in(data, size);
    const auto port = make_port();
    std::array<stranger, 16> strangers;
    constexpr std::size_t most_actions = 64;
    const auto act = [&](std::size_t most) {
      for (std::size_t i = 0; i < most && !in.has_ended(); ++i)
        strangers[in.up_to(strangers.size() - 1)].act(in, port);
    };
    const auto start = std::chrono::steady_clock::now();
    act(in.up_to(8));  // before rank 0 listens to anybody
    std::thread first([&] { join(port, 0); });
    act(most_actions);
    join(port, 1);
    first.join();
    require(std::chrono::steady_clock::now() - start < 10s, "strangers hold up nobody");
    for (auto& one : strangers) one.reset();
  }
  require(open_descriptors() == before, "no descriptor is left over");
  return 0;
}
