// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Peers that are gone, were never there, or send what nobody asked for.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "job.hpp"
#include "networks.hpp"
#include "support/deadline.hpp"
#include "unruly_transport.hpp"

using namespace heddle;
using namespace heddle::conformance;

namespace {

/// How long a peer may take nothing in these cases. A network that cannot tell who of many it is
/// that takes nothing would lose the others too.
double patience() { return chosen_network().loss == loss::not_told ? 60 : 3; }

/// Posts to `pe` until it is told to be lost. Where the network cannot tell, it is only looked at
/// that nothing hangs or crashes.
void post_until_lost(test_pe& self, int pe) {
  const auto source = self.local(64 << 10);
  const bool told = chosen_network().loss != loss::not_told;
  const auto until = deadline::after(std::chrono::seconds(told ? 20 : 2));
  const auto is_told = [&] {
    return self.told.failures.contains(pe) || self.told.left.contains(pe);
  };
  pacing pace;
  for (int posted = 0; !is_told() && !until.passed(); ++posted) {
    pace.after(self.network().progress(self.told));
    if (!told && posted > 20) continue;
    const auto place = self.network().begin_message(0, pe);
    if (!place.empty()) self.network().post_message(0, pe, place, 100);
    static_cast<void>(self.network().post_write(0, {pe, 0, 0}, source.data(), source.size(),
                                                self.next_token(), self.next_immediate(pe)));
  }
  if (!told || self.told.left.contains(pe)) return;
  expect(self.told.failures.contains(pe), fmt::format("nothing was told of PE {}", pe));
  const auto& reason = self.told.failures.at(pe);
  expect(reason.find(fmt::format("PE {}", pe)) != std::string::npos, reason);
}

/// Posts to a lost peer are taken, and nothing more is told.
void expect_silence(test_pe& self, int pe) {
  if (!self.told.failures.contains(pe) && !self.told.left.contains(pe)) return;
  const auto source = self.local(100);
  for (int i = 0; i < 1000; ++i) {
    const auto place = self.network().begin_message(0, pe);
    if (!place.empty()) self.network().post_message(0, pe, place, 100);
    expect(self.network().post_write(0, {pe, 0, 0}, source.data(), source.size(), self.next_token(),
                                     self.next_immediate(pe)),
           "a write to a lost PE was refused, as if it could be made later");
    self.network().progress(self.told);
  }
}

/// PEs 0 and 1, who both stay until the other has heard all.
void talk(test_pe& self, int peer, std::atomic<int>& finished) {
  const int rounds = chosen_network().loss == loss::told_alone ? 0 : 100;
  for (int i = 0; i < rounds; ++i) {
    self.send(peer, std::vector<std::byte>(i % 2 == 0 ? 10 : 1000));
    self.receive();
  }
  ++finished;
  self.wait("the other PE that is left", [&] { return finished == 2; });
}

}  // namespace

TEST_CASE("a PE that is gone is told of, and the others go on") {
  std::atomic<int> finished{0};
  run_job({.n_pes = 3, .timeout = patience(), .deadline = 60, .meets_at_end = false},
          [&](test_pe& self) {
            self.expose(0, self.heap().size());
            // PE 2 is connected to PE 0 when it goes.
            if (self.pe() == 2) {
              self.send(0, std::vector<std::byte>(8));
              self.receive();
              self.leave();
              return;
            }
            if (self.pe() == 0) {
              self.receive();
              self.send(2, std::vector<std::byte>(8));
              post_until_lost(self, 2);
              expect_silence(self, 2);
            }
            talk(self, 1 - self.pe(), finished);
          });
}

TEST_CASE("a PE that was never reached is told of after a while") {
  std::atomic<bool> gone{false};
  std::atomic<int> finished{0};
  run_job({.n_pes = 3, .timeout = patience(), .deadline = 60, .meets_at_end = false},
          [&](test_pe& self) {
            self.expose(0, self.heap().size());
            if (self.pe() == 2) {
              self.leave();
              gone = true;
              return;
            }
            self.wait("PE 2 to leave", [&] { return gone.load(); });
            if (self.pe() == 0) {
              post_until_lost(self, 2);
              expect_silence(self, 2);
            }
            talk(self, 1 - self.pe(), finished);
          });
}

TEST_CASE("a PE that leaves in order is heard to the end, and is no failure") {
  if (!chosen_network().tells_of_ends) return;
  constexpr std::size_t n_messages = 20;
  run_job({.n_pes = 3, .meets_at_end = false}, [&](test_pe& self) {
    self.expose(0, self.heap().size());
    // All are connected to PE 2, on two lanes.
    for (const int lane : {0, 3}) {
      if (self.pe() != 2) self.send(2, std::vector<std::byte>(8), lane);
      for (int i = 0; self.pe() == 2 && i < 2; ++i) self.receive();
    }
    if (self.pe() == 2) {
      for (std::size_t i = 0; i < n_messages; ++i)
        for (const int to : {0, 1})
          self.send(to, std::vector<std::byte>(100 + i), i % 2 == 0 ? 0 : 3);
      self.network().leave();
      self.leave();
      return;
    }
    self.wait("PE 2 to leave", [&] { return self.told.left.contains(2); });
    expect(self.told.messages.size() == n_messages,
           fmt::format("{} messages came before it left", self.told.messages.size()));
    expect_silence(self, 2);
    expect(self.told.failures.empty(), "a PE that left, or one that stays, is called lost");
    self.network().leave();
  });
}

TEST_CASE("a PE that ends is told of to one that only waits for it") {
  if (!chosen_network().tells_of_ends) return;
  run_job({.n_pes = 2, .meets_at_end = false}, [](test_pe& self) {
    self.expose(0, self.heap().size());
    // What PE 1 has sent is there when it ends.
    if (self.pe() == 0) self.receive();
    self.send(1 - self.pe(), std::vector<std::byte>(8));
    if (self.pe() == 1) {
      self.receive();
      return self.leave();
    }
    // TCP's transports say goodbye even then; a process that is killed does not.
    self.wait("PE 1's end",
              [&] { return self.told.failures.contains(1) || self.told.left.contains(1); });
  });
}

TEST_CASE("a PE that the test loses is lost as others are") {
  run_job({.n_pes = 3}, [](test_pe& self) {
    auto* unruly = dynamic_cast<unruly_transport*>(&self.network());
    if (!unruly) return;
    self.expose(0, self.heap().size());
    if (self.pe() == 0) {
      const auto source = self.local(100);
      const auto token = self.next_token();
      self.wait("room for a write", [&] {
        return self.network().post_write(0, {2, 0, 0}, source.data(), source.size(), token,
                                         self.next_immediate(2));
      });
      unruly->lose(2);
      post_until_lost(self, 2);
      expect_silence(self, 2);
      expect(!self.told.completed.contains(token), "a write to a lost PE completed");
    }
    if (self.pe() == 2) return;
    for (int i = 0; i < 20; ++i) {
      self.send(1 - self.pe(), std::vector<std::byte>(10));
      self.receive();
    }
  });
}

TEST_CASE("an address that is none is an error of that PE alone") {
  run_job({.n_pes = 2, .timeout = patience()}, [](test_pe& self) {
    auto other = make_transport(self.seed(), std::chrono::duration<double>(patience()));
    other->set_addresses({{}, {}});
    record told;
    const auto until = deadline::after(std::chrono::seconds(10));
    pacing pace;
    while (!told.failures.contains(1) && !until.passed()) {
      const auto place = other->begin_message(0, 1);
      if (!place.empty()) other->post_message(0, 1, place, 100);
      pace.after(other->progress(told));
    }
    expect(told.failures.contains(1), "nothing was told of a PE without an address");
    expect(!told.failures.contains(0) && !told.failures.contains(-1), "another PE failed too");
  });
}

TEST_CASE("a stranger's messages and writes leave a PE as it was") {
  run_job({}, [](test_pe& self) {
    self.expose(0, self.heap().size());
    const int peer = 1 - self.pe();
    self.send(peer, std::vector<std::byte>(8));
    self.receive();
    self.meet();
    {
      // It knows the address, and no key.
      auto stranger = make_transport(self.seed() + 7, std::chrono::duration<double>(patience()));
      std::vector<transport::bytes> addresses{self.network().address(), {}};
      stranger->set_addresses(addresses);
      const auto poison = self.local(64);
      std::fill(poison.begin(), poison.end(), std::byte{0xff});
      const auto own = stranger->expose(0, 0, poison.data(), poison.size());
      stranger->add_remote(0, 0, 0, self.heap().size(), own);
      record told;
      const auto until = deadline::after(std::chrono::seconds(5));
      bool greeted = false;
      bool wrote = false;
      const auto token = std::uint64_t{1};
      pacing pace;
      while (!until.passed() && told.failures.empty() && !told.completed.contains(token)) {
        const auto place = greeted ? std::span<std::byte>() : stranger->begin_message(0, 0);
        if (!place.empty()) {
          stranger->post_message(0, 0, place, 64);
          greeted = true;
        }
        if (!wrote) wrote = stranger->post_write(0, {0, 0, 0}, poison.data(), 8, token, 1);
        const bool moved = stranger->progress(told);
        pace.after(self.network().progress(self.told) || moved);
      }
      expect(greeted || wrote || !told.failures.empty(),
             "the stranger could send nothing, and was not told why");
    }
    expect(std::all_of(self.heap().begin(), self.heap().begin() + 8,
                       [](auto each) { return each == std::byte{0}; }),
           "a write without the key came through");
    self.meet();
    self.told.messages.clear();
    self.meet();
    for (int i = 0; i < 100; ++i) {
      self.send(peer, std::vector<std::byte>(500));
      while (self.receive().size() != 500) {
      }
    }
    const auto bytes = self.local(8);
    self.read(bytes, {peer, 0, 0});
  });
}
