// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tree_node.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <future>

#include "bootstrap/byte_stream.hpp"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

/// The first loss that a node tells of.
class first_loss final : public tree_events {
 public:
  void decided(std::uint64_t /*number*/, collective_rounds::outcome /*outcome*/) override {}
  void absent(std::uint64_t /*number*/, std::vector<int> /*ranks*/) override {}
  void lost(int rank, std::string_view reason) override {
    if (!told_) told_here_.set_value({rank, std::string(reason)});
    told_ = true;
  }
  void departed(int /*rank*/) override {}
  void cut_off(int /*rank*/) override {}

  std::pair<int, std::string> wait() {
    auto told = told_here_.get_future();
    REQUIRE(told.wait_for(20s) == std::future_status::ready);
    return told.get();
  }

 private:
  bool told_ = false;
  std::promise<std::pair<int, std::string>> told_here_;
};

enum : std::uint16_t { part = 1, result, who, absent, lost, left, failed = 0xffff };

/// Checks that rank 1 of 4, in the middle of a tree, loses a neighbour that sends `bytes`, for
/// `reason`.
void check_lost(int neighbour, std::uint16_t type, const byte_writer& bytes, const char* reason) {
  CAPTURE(type);
  CAPTURE(reason);
  first_loss told;
  tree_node::links links;
  std::map<int, unique_fd> ends;
  for (const int rank : {0, 3}) {
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    ends[rank] = unique_fd(pair[0]);
    links[rank] =
        std::make_unique<frame_link>(shielded_fd(unique_fd(pair[1])), std::vector<std::byte>());
  }
  const std::vector<std::string> hosts(4, "host");
  tree_node node(1, tree_shape(hosts, 2), 4, std::move(links), {}, told);
  const frame news(type, bytes.bytes());
  REQUIRE(::send(ends[neighbour].get(), news.bytes().data(), news.bytes().size(), 0) ==
          static_cast<ssize_t>(news.bytes().size()));
  const auto [rank, why] = told.wait();
  CHECK(rank == neighbour);
  CHECK(why == std::string("it sent what this rank does not understand: ") + reason);
}

}  // namespace

TEST_CASE("a neighbour that sends what is no message is lost, and named with the reason") {
  const auto numbers = [](auto... each) {
    byte_writer out;
    (out.number(each), ...);
    return out;
  };
  const std::int32_t no_rank = 4, negative = -1, far = 1 << 30;
  const std::uint64_t round = 0;
  for (const auto rank : {no_rank, negative, far}) {
    const auto reason = "rank " + std::to_string(rank);
    check_lost(0, absent, numbers(rank, round, 0u), reason.c_str());
    check_lost(0, absent, numbers(1, round, 1u, rank), reason.c_str());
    check_lost(0, lost, numbers(rank), reason.c_str());
    check_lost(3, left, numbers(rank), reason.c_str());
    check_lost(3, who, numbers(round, rank), reason.c_str());
  }
  check_lost(0, absent, numbers(1, round, 0xffffffffu), "message ends 4 bytes early");
  check_lost(0, result, numbers(round, 0, 0xffffffffu), "message ends 4 bytes early");
  check_lost(0, result, numbers(round, 0, 1u, 0xffffffffu), "message ends 4294967295 bytes early");
  check_lost(0, result, numbers(round, 77), "status 77");
  check_lost(0, failed, numbers(-2), "status -2");
  check_lost(3, 99, numbers(), "message type 99");
}
