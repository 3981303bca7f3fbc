// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Both sides of the handshake against arbitrary bytes, and against each other over a connection
// that changes one byte.
#include <string>
#include <vector>

#include "bootstrap/handshake.hpp"
#include "fuzz_input.hpp"

using namespace heddle;
using namespace heddle::fuzz;

namespace {

using state = handshake_side::state;

constexpr std::size_t most_to_send = 1024;

/// Nothing that is said without the secret is accepted.
void check_arbitrary_bytes(fuzz_input& in, handshake_side& side) {
  (void)side.take();
  while (!in.has_ended() && side.current() == state::going_on) {
    (void)side.feed(in.block());
    require(side.take().size() <= most_to_send, "an answer is short");
  }
  require(side.current() != state::accepted, "nobody is accepted without the secret");
  require((side.current() == state::failed) == !side.problem().empty(), "a failure says why");
}

struct change {
  std::size_t message, at;
  std::byte mask;
};

/// Moves what `from` has to say to `to`, in pieces; counts messages.
void carry(handshake_side& from, handshake_side& to, std::size_t piece, const change& change,
           std::size_t& message, bool& changed) {
  auto bytes = from.take();
  if (bytes.empty()) return;
  if (message++ == change.message && change.mask != std::byte{}) {
    bytes[change.at % bytes.size()] ^= change.mask;
    changed = true;
  }
  for (std::size_t done = 0; done < bytes.size(); done += piece)
    require(to.feed(std::span(bytes).subspan(done, std::min(piece, bytes.size() - done))).empty() ||
                changed,
            "nothing follows the handshake");
}

/// Whatever byte of hello, challenge or proof is changed, the listener does not accept.
void check_pair(fuzz_input& in) {
  constexpr std::size_t verdict = 3;
  bootstrap::secret secret{}, other{};
  const bool same_secret = in.up_to(7) != 0;
  if (!same_secret) other[0] = std::byte{1};
  const change change{in.up_to(verdict), in.number<std::uint16_t>(),
                      std::byte{in.number<std::uint8_t>()}};
  const std::size_t piece = 1 + in.number<std::uint8_t>();
  const auto told = in.block();
  const std::string objection(reinterpret_cast<const char*>(told.data()), told.size());
  const caller_hello said{static_cast<link_purpose>(in.number<std::uint16_t>()),
                          in.number<std::int32_t>(), in.number<std::int32_t>(),
                          in.number<std::int32_t>()};
  bool judged = false;
  caller_handshake caller(secret, said);
  listener_handshake listener(other, [&](const caller_hello& hello) {
    judged = true;
    require(hello.purpose == said.purpose && hello.caller == said.caller &&
                hello.listener == said.listener && hello.size == said.size,
            "what is judged is what was said");
    return objection;
  });
  std::size_t message = 0;
  bool changed = false;
  for (int turn = 0; turn < 4; ++turn) {
    carry(caller, listener, piece, change, message, changed);
    carry(listener, caller, piece, change, message, changed);
  }
  const bool proved = same_secret && (!changed || change.message == verdict);
  require(judged == proved && listener.proved() == proved, "who proves the secret is judged");
  require((listener.current() == state::accepted) == (proved && objection.empty()),
          "the listener accepts whom it does not object to");
  require(proved || caller.current() != state::accepted, "the caller accepts no impostor");
  if (proved && !changed) {
    require((caller.current() == state::accepted) == objection.empty(), "the caller learns it");
    require(caller.refused() == !objection.empty() && caller.problem() == objection,
            "the caller learns why not");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_input in(data, size);
  const bootstrap::secret secret{std::byte{7}};
  switch (in.up_to(2)) {
    case 0: {
      listener_handshake side(secret, [](const caller_hello&) { return std::string(); });
      check_arbitrary_bytes(in, side);
      break;
    }
    case 1: {
      caller_handshake side(secret, {link_purpose::tree, 1, 0, 2});
      check_arbitrary_bytes(in, side);
      break;
    }
    default:
      check_pair(in);
  }
  return 0;
}
