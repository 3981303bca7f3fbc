// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <heddle/heddle.hpp>
#include <string>
#include <vector>

#include "doctest/run_pes.hpp"

// Teams and their collectives on streams, on whichever device HEDDLE_DEVICE names.

using namespace heddle;
using heddle::testing::run_pes;

namespace {

/// Values in memory of the device.
template <class T>
class values_there {
 public:
  values_there(const runtime& self, std::size_t n, T value) : self_(self), values_(self, n) {
    const std::vector<T> content(n, value);
    self_.default_stream().copy(values_.data(), content.data(), n);
    self_.default_stream().synchronize();
  }
  [[nodiscard]] T* data() const { return values_.data(); }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> content(size());
    self_.default_stream().copy(content.data(), data(), size());
    self_.default_stream().synchronize();
    return content;
  }

 private:
  const runtime& self_;
  const device_array<T> values_;
};

}  // namespace

TEST_CASE("teams split by stride and by colour, translate, and are used at the same time") {
  run_pes(6, [](runtime& self) {
    const auto world = self.world();
    const auto sum_over = [&](const team& over) {
      const values_there<int> value(self, 1, 1 << self.my_pe());
      over.all_reduce(value.data(), value.data(), 1, op::sum);
      return value.read()[0];
    };
    {
      const auto odd_even = world.split_color(self.my_pe() % 2, -self.my_pe());
      CHECK(odd_even.n_pes() == 3);
      CHECK(odd_even.my_pe() == 2 - self.my_pe() / 2);  // ordered by key
      CHECK(odd_even.translate(0, world) == 4 + self.my_pe() % 2);
      const auto reversed = world.split_strided(5, -1, 6);
      CHECK(reversed.my_pe() == 5 - self.my_pe());
      CHECK(sum_over(odd_even) == (self.my_pe() % 2 ? 0b101010 : 0b010101));
      CHECK(sum_over(reversed) == 63);
    }
    const auto upper = world.split_strided(3, 1, 3);
    CHECK(static_cast<bool>(upper) == (self.my_pe() >= 3));
    if (upper) {
      CHECK(sum_over(upper) == 0b111000);
      const auto pair = upper.split_strided(0, 2, 2);
      CHECK(static_cast<bool>(pair) == (upper.my_pe() != 1));
      if (pair) CHECK(sum_over(pair) == 0b101000);
    }
    world.barrier();
  });
}

TEST_CASE("the split of an aborted team is its error on every PE") {
  run_pes(4, [](runtime& self) {
    const auto world = self.world();
    for (int round = 0; round < 50; ++round) {
      const auto parent = world.split_color(0, 0);
      if (self.my_pe() == 0) parent.abort("by the user");
      world.barrier();
      const auto has_child = [&](bool by_color) {
        try {
          return bool{by_color ? parent.split_color(0, 0) : parent.split_strided(0, 1, 4)};
        } catch (const heddle::error& failure) {
          CHECK(failure.status() == HEDDLE_ERROR_ABORTED);
          CHECK(std::string(failure.what()).find("by the user") != std::string::npos);
          return false;
        }
      };
      CHECK_FALSE(has_child(false));
      CHECK_FALSE(has_child(true));
    }
  });
}

TEST_CASE("a team may be destroyed with work of its own on streams: it ends first") {
  run_pes(3, [](runtime& self) {
    const auto queue = self.create_stream();
    const auto world = self.world();
    for (int round = 0; round < 50; ++round) {
      const values_there<float> values(self, 20'000, 1.0f);
      {
        const auto pair = world.split_strided(round % 2, 1, 2);
        if (!pair) continue;
        for (int i = 0; i < 3; ++i)
          pair.all_reduce(values.data(), values.data(), values.size(), op::sum, queue);
        pair.barrier(queue);
      }
      CHECK(values.read().back() == 8.0f);
    }
    queue.synchronize();
    world.barrier();
  });
}

TEST_CASE("barriers and collectives of one team on several streams and from the host keep apart") {
  constexpr int rounds = 60;  // 2^rounds must be exact
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    const auto one = self.create_stream();
    const auto other = self.create_stream();
    const values_there<std::int64_t> sum(self, 3, 1 + self.my_pe());
    auto* at = sum.data();
    for (int round = 0; round < rounds; ++round) {
      world.barrier(one);
      world.all_reduce(at, at, 1, op::sum, one);
      world.barrier(other);
      world.all_reduce(at + 1, at + 1, 1, op::sum, other);
      self.free(self.malloc<int>(10));
      world.barrier();
      world.all_reduce(at + 2, at + 2, 1, op::sum);
    }
    one.synchronize();
    other.synchronize();
    CHECK(sum.read() == std::vector<std::int64_t>(3, std::int64_t{3} << (rounds - 1)));
    CHECK(heddle_team_status(world.handle()) == HEDDLE_SUCCESS);
  });
}
