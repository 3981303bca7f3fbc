// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Sends, receives and groups, on the device that HEDDLE_DEVICE chooses (see kernels_test.cpp).

#include <doctest/doctest.h>

#include <algorithm>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/exchange_ways.hpp"
#include "kernels/on_device.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

int value_of(int call, int from, int to, std::size_t i) {
  return call * 1'000'003 + from * 10'007 + to * 101 + static_cast<int>(i % 89);
}

std::vector<int> values_of(int call, int from, int to, std::size_t n) {
  std::vector<int> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = value_of(call, from, to, i);
  return values;
}

}  // namespace

TEST_CASE("a value goes round all PEs, each of which receives it and sends it on") {
  for (const auto& pes : up_to_eight(pe_counts({1, 2, 4})))
    run_pes(pes.n, [&](runtime& self) {
      const auto world = self.world();
      const int me = self.my_pe();
      const int n_pes = self.n_pes();
      const auto queue = self.create_stream();
      for (const std::size_t n : {1, 7, 1000, 100'003}) {
        symmetric_array<int> heap(self, n);
        device_array<int> own(self, n);
        for (int* memory : {heap.data(), own.data()}) {
          write(queue, memory, values_of(me == 0 ? 5 : 0, 0, 0, n));
          if (n_pes == 1) continue;
          if (me == 0) {
            world.send(memory, n, 1, queue);
            world.recv(memory, n, n_pes - 1, queue);
          } else {
            world.recv(memory, n, me - 1, queue);
            world.send(memory, n, (me + 1) % n_pes, queue);
          }
          check(read(queue, memory, n) == values_of(5, 0, 0, n),
                std::to_string(n) + " elements on PE " + std::to_string(me));
        }
      }
    });
}

namespace {

/// In groups, each in an order of its own: little, and more than slots hold.
void send_to_all(const runtime& self) {
  const auto world = self.world();
  const int me = self.my_pe();
  const int n_pes = self.n_pes();
  const auto queue = self.create_stream();
  const auto pes = static_cast<std::size_t>(n_pes);
  constexpr std::size_t most = 20'011;
  symmetric_array<int> heap(self, 2 * pes * most);
  device_array<int> own(self, 2 * pes * most);
  int call = 0;
  for (int* memory : {heap.data(), own.data()})
    for (const std::size_t n : {std::size_t{1}, std::size_t{500}, most}) {
      ++call;
      for (int pe = 0; pe < n_pes; ++pe)
        write(queue, memory + static_cast<std::size_t>(pe) * n, values_of(call, me, pe, n));
      grouped([&] {
        for (int i = 0; i < n_pes; ++i) {
          const int to = (me + i) % n_pes;
          const int from = (me + 2 * n_pes - 1 - i) % n_pes;
          grouped([&] { world.send(memory + static_cast<std::size_t>(to) * n, n, to, queue); });
          world.recv(memory + (pes + static_cast<std::size_t>(from)) * n, n, from, queue);
        }
      });
      for (int pe = 0; pe < n_pes; ++pe) {
        const auto told = std::to_string(n) + " elements between " + std::to_string(pe) +
                          " and PE " + std::to_string(me);
        check(read(queue, memory + (pes + static_cast<std::size_t>(pe)) * n, n) ==
                  values_of(call, pe, me, n),
              told + ": received");
        check(
            read(queue, memory + static_cast<std::size_t>(pe) * n, n) == values_of(call, me, pe, n),
            told + ": what was sent has changed");
      }
    }
}

}  // namespace

TEST_CASE("groups: every PE sends to all and to itself, in an order of its own") {
  for (const auto& pes : up_to_eight(pe_counts({1, 2, 3, 8}))) run_pes(pes.n, send_to_all);
}

TEST_CASE("groups go by words, by slots and directly, as they are told to") {
  in_ways_of_pieces([](runtime& self, const forced_exchange& way) {
    check_taken(way, self.world(), count_domains(self), HEDDLE_COLLECTIVE_TRANSFER,
                std::size_t{1} << 18);
    send_to_all(self);
  });
}

TEST_CASE("a group of hundreds, and many of a few, of the same messages") {
  run_pes(3, [&](runtime& self) {
    const auto world = self.world();
    const int me = self.my_pe();
    const int next = (me + 1) % 3;
    const int previous = (me + 2) % 3;
    constexpr std::size_t messages = 250;
    constexpr std::size_t n = 33;
    symmetric_array<int> heap(self, 4 * messages * n);
    const auto queue = self.create_stream();
    const auto at = [&](int part, std::size_t message) {
      return heap.data() + (static_cast<std::size_t>(part) * messages + message) * n;
    };
    const std::size_t at_once = me == 1 ? 7 : messages;
    for (std::size_t m = 0; m < messages; ++m)
      for (const int part : {0, 1})
        write(queue, at(part, m), values_of(part, me, static_cast<int>(m), n));
    for (std::size_t first = 0; first < messages; first += at_once)
      grouped([&] {
        for (std::size_t m = first; m < std::min(first + at_once, messages); ++m) {
          world.send(at(0, m), n, next, queue);
          world.recv(at(2, m), n, previous, queue);
          world.send(at(1, m), n, me, queue);
          world.recv(at(3, m), n, me, queue);
        }
      });
    for (std::size_t m = 0; m < messages; ++m) {
      check(read(queue, at(2, m), n) == values_of(0, previous, static_cast<int>(m), n),
            "message " + std::to_string(m) + " from the PE before");
      check(read(queue, at(3, m), n) == values_of(1, me, static_cast<int>(m), n),
            "message " + std::to_string(m) + " to itself");
    }
  });
}

TEST_CASE("several messages of a pair keep their order, beside collectives of the same team") {
  for (const auto& pes : up_to_eight(pe_counts({2, 3})))
    run_pes(pes.n, [&](runtime& self) {
      const auto world = self.world();
      const int me = self.my_pe();
      const int n_pes = self.n_pes();
      const int next = (me + 1) % n_pes;
      const int previous = (me + n_pes - 1) % n_pes;
      const auto queue = self.create_stream();
      constexpr std::size_t room = 64 * 1024;
      symmetric_array<int> heap(self, 2 * room);
      std::mt19937 random(3);
      for (int call = 0; call < (pes.briefly ? 12 : 60); ++call) {
        std::vector<std::size_t> sizes(1 + random() % 12);
        for (auto& n : sizes) n = random() % (random() % 4 == 0 ? 5000 : 40);
        std::size_t at = 0;
        const auto into = [&](std::size_t n) {
          const auto begin = at;
          at += n;
          return begin;
        };
        for (std::size_t i = 0; i < sizes.size(); ++i)
          write(queue, heap.data() + into(sizes[i]),
                values_of(call, me, static_cast<int>(i), sizes[i]));
        at = 0;
        grouped([&] {
          for (const std::size_t n : sizes) {
            const auto begin = into(n);
            world.send(heap.data() + begin, n, next, queue);
            world.recv(heap.data() + room + begin, n, previous, queue);
          }
        });
        at = 0;
        for (std::size_t i = 0; i < sizes.size(); ++i)
          check(read(queue, heap.data() + room + into(sizes[i]), sizes[i]) ==
                    values_of(call, previous, static_cast<int>(i), sizes[i]),
                "message " + std::to_string(i) + " of call " + std::to_string(call));
        if (call % 3 == 0) {
          const std::size_t n = 1 + random() % 3000;
          write(queue, heap.data(), values_of(call, 1, 2, n));
          world.broadcast(heap.data(), heap.data() + room, n, call % n_pes, queue);
          check(read(queue, heap.data() + room, n) == values_of(call, 1, 2, n), "a broadcast");
        }
      }
    });
}

TEST_CASE("much memory of a PE's own goes beside little, by more slots than a queue has room for") {
  run_pes(pe_counts({3}).front(), [](runtime& self) {
    const auto world = self.world();
    const int me = self.my_pe();
    const int n_pes = self.n_pes();
    const int next = (me + 1) % n_pes;
    const int previous = (me + n_pes - 1) % n_pes;
    const auto queue = self.create_stream();
    constexpr std::size_t little = 1000;
    constexpr std::size_t much = 4 << 20;
    device_array<int> own(self, 2 * (little + much));
    int* in = own.data() + little + much;
    write(queue, own.data(), values_of(1, me, next, little));
    write(queue, own.data() + little, values_of(2, me, previous, much));
    grouped([&] {
      world.send(own.data(), little, next, queue);
      world.send(own.data() + little, much, previous, queue);
      world.recv(in, little, previous, queue);
      world.recv(in + little, much, next, queue);
    });
    check(read(queue, in, little) == values_of(1, previous, me, little), "little");
    check(read(queue, in + little, much) == values_of(2, next, me, much), "much");
  });
}

namespace {

/// PE 0 sends much to PE 2, and messages to PE 1, which takes them when PE 2 has all. `apart`: with
/// a stream for each, in two teams.
void send_much_beside_messages(runtime& self, bool apart) {
  const auto world = self.world();
  const auto other = world.split_strided(0, 1, self.n_pes());
  const int me = self.my_pe();
  const auto queue = self.create_stream();
  const auto other_queue = self.create_stream();
  constexpr std::size_t some = 10'000;  // more than half of a mailbox
  constexpr int messages = 3;
  constexpr std::size_t much = 6 << 20;
  const device_array<int> own(self, me > 2 ? 0 : messages * some + much);
  const auto message = [&](int i) { return own.data() + static_cast<std::size_t>(i) * some; };
  int* const large = me > 2 ? nullptr : message(messages);
  if (me == 0) {
    for (int i = 0; i < messages; ++i) write(queue, message(i), values_of(i, 0, 1, some));
    write(queue, large, values_of(9, 0, 2, much));
    const auto send_messages = [&] {
      for (int i = 0; i < messages; ++i) world.send(message(i), some, 1, queue);
    };
    if (apart) {
      grouped(send_messages);
      other.send(large, much, 2, other_queue);
    } else {
      grouped([&] {
        send_messages();
        world.send(large, much, 2, queue);
      });
    }
  } else if (me == 1) {
    world.recv(large, 1, 2, queue);
    queue.synchronize();
    for (int i = 0; i < messages; ++i) world.recv(message(i), some, 0, queue);
    for (int i = 0; i < messages; ++i)
      check(read(queue, message(i), some) == values_of(i, 0, 1, some), "a message");
  } else if (me == 2) {
    (apart ? other : world).recv(large, much, 0, apart ? other_queue : queue);
    check(read(apart ? other_queue : queue, large, much) == values_of(9, 0, 2, much), "much");
    world.send(large, 1, 1, queue);
  }
  queue.synchronize();
  other_queue.synchronize();
  world.barrier();
}

}  // namespace

TEST_CASE("much goes to one PE while another, which has not all of its own yet, waits for that") {
  if (on_gpu()) return;  // one PE's kernels wait for another's, in two steps
  ::setenv("HEDDLE_HEAP_SIZE", "64M", 1);
  ::setenv("HEDDLE_MAX_TEAMS", "3", 1);
  for (const bool apart : {false, true}) {
    const auto run = [&](int n_pes, const std::string& channels) {
      CAPTURE(n_pes);
      CAPTURE(channels);
      CAPTURE(apart);
      ::setenv("HEDDLE_CHANNELS", channels.c_str(), 1);
      run_pes(n_pes, [&](runtime& self) { send_much_beside_messages(self, apart); });
      ::unsetenv("HEDDLE_CHANNELS");
    };
    run(3, "2");
    if (is_cut_short()) continue;
    for (const char* channels : {"0", "7"}) run(3, channels);
    run(66, "0");
  }
  ::unsetenv("HEDDLE_MAX_TEAMS");
  ::unsetenv("HEDDLE_HEAP_SIZE");
}

namespace {

void send_and_receive_in_large_team(runtime& self) {
  const auto world = self.world();
  const int me = self.my_pe();
  const int n_pes = self.n_pes();
  const int next = (me + 1) % n_pes;
  const int previous = (me + n_pes - 1) % n_pes;
  const auto queue = self.create_stream();
  constexpr std::size_t most = 70'001;  // more than a landing
  symmetric_array<int> heap(self, 2 * most);
  device_array<int> own(self, 2 * most);
  const auto received = [&](const int* memory, int call, int from, std::size_t n) {
    check(read(queue, memory, n) == values_of(call, from, me, n),
          std::to_string(n) + " elements from " + std::to_string(from) + " on PE " +
              std::to_string(me) + ", call " + std::to_string(call));
  };
  // To the next, from each kind of memory to each.
  int call = 0;
  for (int* from : {heap.data(), own.data()})
    for (int* target : {heap.data(), own.data()})
      for (const std::size_t n : {std::size_t{1}, std::size_t{300}, most}) {
        ++call;
        int* to = target + most;
        write(queue, from, values_of(call, me, next, n));
        grouped([&] {
          world.send(from, n, next, queue);
          world.recv(to, n, previous, queue);
        });
        received(to, call, previous, n);
      }
  // All at once to one, more than have a landing; each in its own time, and twice.
  constexpr std::size_t few = 500;
  for (int round = 0; round < 2; ++round) {
    ++call;
    if (me != 7) {
      write(queue, own.data(), values_of(call, me, 7, few));
      world.send(own.data(), few, 7, queue);
      queue.synchronize();
      continue;
    }
    grouped([&] {
      for (int pe = n_pes - 1; pe >= 0; --pe)
        if (pe != me) world.recv(own.data() + static_cast<std::size_t>(pe) * few, few, pe, queue);
    });
    for (int pe = 0; pe < n_pes; ++pe)
      if (pe != me) received(own.data() + static_cast<std::size_t>(pe) * few, call, pe, few);
  }
  // Several messages of a pair keep their order, also to itself.
  ++call;
  for (std::size_t i = 0; i < 4; ++i)
    write(queue, own.data() + i * few, values_of(call, me, static_cast<int>(i), few - i));
  grouped([&] {
    for (std::size_t i = 0; i < 4; ++i) {
      world.send(own.data() + i * few, few - i, i == 2 ? me : next, queue);
      world.recv(own.data() + most + i * few, few - i, i == 2 ? me : previous, queue);
    }
  });
  for (std::size_t i = 0; i < 4; ++i)
    check(read(queue, own.data() + most + i * few, few - i) ==
              values_of(call, i == 2 ? me : previous, static_cast<int>(i), few - i),
          "message " + std::to_string(i));
  // To and from all others are more than a kernel goes on with at a time.
  try {
    grouped([&] {
      for (int pe = 0; pe < n_pes; ++pe) {
        if (pe == me) continue;
        world.send(own.data(), 1, pe, queue);
        world.recv(own.data() + most + pe, 1, pe, queue);
      }
    });
    throw std::runtime_error("130 at a time were taken");
  } catch (const error& refused) {
    check(std::string(refused.what()).find("130 in all; a kernel takes at most 128") !=
              std::string::npos,
          refused.what());
  }
}

}  // namespace

TEST_CASE("PEs of teams of more than 64 send and receive, in any memory and any groups") {
  if (on_gpu()) return;  // not of so many PEs
  for (const char* threads_of_block : {"3", "1"}) {
    const environment_variable block_threads("HEDDLE_BLOCK_THREADS", threads_of_block);
    run_many_pes(66, send_and_receive_in_large_team);
    if (is_cut_short()) break;
  }
}

TEST_CASE("one thread may group what several PEs send and receive, on streams that block" *
          doctest::test_suite("threads")) {
  if (on_gpu()) return;  // whose default streams do not
  const runtime* pes[2] = {};
  run_as_threads(2, [&](runtime& self) {
    pes[self.my_pe()] = &self;
    symmetric_array<int> heap(self, 40'000);
    self.world().barrier();
    const auto queue = self.create_stream();
    write(queue, heap.data(), values_of(1, self.my_pe(), 0, 20'000));
    self.world().barrier();
    if (self.my_pe() == 0) {
      // The other PE's memory, by the offset that its array has in the heap of this one.
      const auto other = pes[1]->world();
      int* there = self.world().ref().ptr(heap.data(), 1);
      if (there) {
        grouped([&] {
          for (const team& each : {self.world(), other}) {
            int* memory = each.my_pe() == 0 ? heap.data() : there;
            each.send(memory, 20'000, 1 - each.my_pe());
            each.recv(memory + 20'000, 20'000, 1 - each.my_pe());
          }
        });
      }
      check(there == nullptr ||
                read(queue, heap.data() + 20'000, 20'000) == values_of(1, 1, 0, 20'000),
            "from the other PE");
    }
    self.world().barrier();
  });
}

TEST_CASE("PEs may name the teams of a group in any order, on one stream") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    const auto both = world.split_strided(0, 1, 2);
    const auto stream = self.create_stream();
    const int me = self.my_pe();
    const std::size_t n = 300'000;  // what waits for the other PE's memory
    symmetric_array<int> memory(self, 4 * n);
    for (std::size_t i = 0; i < 2; ++i)
      write(stream, memory.data() + i * n, values_of(me, 1 - me, static_cast<int>(i), n));
    stream.synchronize();
    world.barrier();
    grouped([&] {
      for (const int i : {me, 1 - me}) {
        const team& by = i == 0 ? world : both;
        int* mine = memory.data() + static_cast<std::size_t>(i) * n;
        by.send(mine, n, 1 - me, stream);
        by.recv(mine + 2 * n, n, 1 - me, stream);
      }
    });
    stream.synchronize();
    for (std::size_t i = 0; i < 2; ++i)
      check(read(stream, memory.data() + (2 + i) * n, n) ==
                values_of(1 - me, me, static_cast<int>(i), n),
            "team " + std::to_string(i));
    world.barrier();
  });
}

TEST_CASE("a thread that throws in a group sends nothing of it") {
  run_pes(pe_counts({2}).front(), [](runtime& self) {
    const auto world = self.world();
    symmetric_array<int> heap(self, 4);
    const auto queue = self.create_stream();
    try {
      grouped([&] {
        world.send(heap.data(), 4, 0, queue);
        throw std::runtime_error("no");
      });
    } catch (const std::runtime_error&) {
    }
    write(queue, heap.data(), std::vector<int>{self.my_pe(), 7, 8, 9});
    grouped([&] {
      world.send(heap.data(), 1, self.my_pe(), queue);
      world.recv(heap.data() + 1, 1, self.my_pe(), queue);
    });
    check(read(queue, heap.data(), 2) == std::vector<int>{self.my_pe(), self.my_pe()}, "to itself");
  });
}
