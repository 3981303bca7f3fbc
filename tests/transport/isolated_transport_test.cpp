// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A network that refuses, throws or does not return, behind isolated_transport. That all else gets
// through it is tested where it is used: over libfabric's shm.

#include <doctest/doctest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "host/transport/isolated_transport.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// What a test has a network do, and what became of it.
struct network_state {
  std::atomic<bool> hangs{false};
  std::atomic<bool> is_hanging{false};
  std::atomic<bool> throws{false};
  std::atomic<int> refuses{-1};  ///< a PE
  std::atomic<bool> has_ended{false};
  std::mutex guard;
  std::map<int, std::vector<std::uint64_t>> written;  ///< tokens, by PE
  std::set<std::thread::id> callers;
  std::vector<int> dropped;
  std::vector<std::string> sent;
};

class odd_network final : public transport {
 public:
  explicit odd_network(network_state& state) : state_(state) { traits_.name = "odd"; }
  ~odd_network() override {
    note_caller();
    state_.has_ended = true;
  }
  [[nodiscard]] const traits& about() const override { return traits_; }
  [[nodiscard]] bytes address() const override { return {std::byte{7}}; }
  void set_addresses(std::vector<bytes> /*addresses*/) override { note_caller(); }
  [[nodiscard]] std::string describe(int pe) const override { return fmt::format("place {}", pe); }
  bytes expose(int /*region*/, std::uint64_t /*offset*/, void* /*start*/,
               std::size_t size) override {
    enter();
    return bytes(size);
  }
  void conceal(int /*region*/, std::uint64_t /*offset*/) noexcept override { note_caller(); }
  void add_remote(int /*pe*/, int /*region*/, std::uint64_t /*offset*/, std::size_t /*size*/,
                  std::span<const std::byte> /*key*/) override {
    enter();
  }
  void register_local(void* /*start*/, std::size_t /*size*/) override { enter(); }
  void forget_local(void* /*start*/) noexcept override { note_caller(); }
  bool post_write(int /*lane*/, const remote_place& to, const void* /*from*/, std::size_t /*size*/,
                  std::uint64_t token, std::uint32_t /*immediate*/) override {
    enter();
    if (state_.refuses == to.pe) return false;
    const std::lock_guard lock(state_.guard);
    state_.written[to.pe].push_back(token);
    ends_.push_back(token);
    return true;
  }
  bool post_read(int /*lane*/, void* /*to*/, const remote_place& /*from*/, std::size_t /*size*/,
                 std::uint64_t /*token*/) override {
    return false;
  }
  bool post_atomic(int /*lane*/, network_atomic /*op*/, const remote_place& /*word*/,
                   std::uint64_t /*value*/, std::uint64_t /*compare*/,
                   std::uint64_t /*token*/) override {
    return false;
  }
  std::span<std::byte> begin_message(int /*lane*/, int pe) override {
    enter();
    if (state_.refuses == pe) return {};
    message_.resize(traits_.most_message_bytes);
    return message_;
  }
  void post_message(int /*lane*/, int /*pe*/, std::span<std::byte> message,
                    std::size_t size) override {
    const std::lock_guard lock(state_.guard);
    state_.sent.emplace_back(reinterpret_cast<const char*>(message.data()), size);
    echoes_ = true;
  }
  bool progress(listener& listener) override {
    enter();
    while ((state_.is_hanging = state_.hangs.load())) std::this_thread::sleep_for(milliseconds(1));
    const auto ended = std::exchange(ends_, {});
    for (const auto token : ended) listener.on_complete(token, 0);
    if (std::exchange(echoes_, false)) listener.on_message(message_);
    return !ended.empty();
  }
  void drop(int pe) override {
    const std::lock_guard lock(state_.guard);
    state_.dropped.push_back(pe);
  }
  [[nodiscard]] int wait_descriptor() const override { return -1; }
  bool may_wait() override { return false; }

 private:
  void note_caller() {
    const std::lock_guard lock(state_.guard);
    state_.callers.insert(std::this_thread::get_id());
  }
  void enter() {
    note_caller();
    if (state_.throws) throw_error(HEDDLE_ERROR_OUT_OF_MEMORY, "the odd network is full");
  }

  network_state& state_;
  traits traits_;
  std::vector<std::uint64_t> ends_;
  std::vector<std::byte> message_;
  bool echoes_ = false;
};

struct told final : transport::listener {
  void on_message(std::span<const std::byte> message) override { messages.push_back(message[0]); }
  void on_write(std::uint32_t /*immediate*/) override {}
  void on_complete(std::uint64_t token, std::uint64_t /*value*/) override {
    completed.push_back(token);
  }
  void on_failure(int pe, const std::string& reason) override { failures.emplace_back(pe, reason); }
  std::vector<std::byte> messages;
  std::vector<std::uint64_t> completed;
  std::vector<std::pair<int, std::string>> failures;
};

constexpr std::chrono::seconds patience(10);  // of a test

struct user {
  explicit user(std::chrono::duration<double> timeout)
      : network(std::make_unique<odd_network>(state), timeout) {
    network.set_addresses(std::vector<transport::bytes>(3));
  }
  ~user() {
    state.hangs = false;
    leave();
    CHECK(eventually([&] { return state.has_ended.load(); }));
  }
  bool write(int pe, std::uint64_t token) {
    return network.post_write(0, {pe, 0, 0}, nullptr, 8, token, 0);
  }
  void leave() {
    network.leave();
    has_left = true;
  }
  /// Sends the text's first `size` characters.
  void send(int pe, const std::string& text, std::size_t size) {
    const auto place = network.begin_message(0, pe);
    REQUIRE(place.size() == network.about().most_message_bytes);
    std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), place.begin());
    network.post_message(0, pe, place, size);
  }
  /// Whether that comes to hold, while the network moves on.
  bool eventually(const std::function<bool()>& holds) {
    for (const auto start = clock::now(); !holds();) {
      if (clock::now() - start > patience) return false;
      if (!has_left) network.progress(heard);
      std::this_thread::sleep_for(milliseconds(1));
    }
    return true;
  }
  network_state state;
  told heard;
  isolated_transport network;
  bool has_left = false;
};

TEST_CASE("one thread alone calls the network, and what callers ask for is answered") {
  network_state state;
  {
    isolated_transport network(std::make_unique<odd_network>(state), patience);
    network.set_addresses(std::vector<transport::bytes>(2));
    CHECK(network.about().name == "odd");
    CHECK(network.address() == transport::bytes{std::byte{7}});
    CHECK(network.describe(1) == "place 1");
    CHECK(network.expose(0, 0, nullptr, 5).size() == 5);
    network.register_local(nullptr, 8);
    network.forget_local(nullptr);
    network.conceal(0, 0);
    CHECK_FALSE(state.has_ended);
  }
  CHECK(state.has_ended);
  CHECK(state.callers.size() == 1);
  CHECK_FALSE(state.callers.contains(std::this_thread::get_id()));
}

TEST_CASE("a peer's requests go in their order, and hold up no other peer's") {
  user it(patience);
  it.state.refuses = 1;
  std::uint64_t token = 0;
  while (it.write(1, token)) ++token;
  REQUIRE(token > 1);  // it takes no more, for now
  CHECK(it.network.begin_message(0, 1).empty());
  REQUIRE(it.write(2, 1000));
  CHECK(it.eventually([&] { return it.heard.completed == std::vector<std::uint64_t>{1000}; }));
  it.state.refuses = -1;
  CHECK(it.eventually([&] { return it.heard.completed.size() == token + 1; }));
  for (std::uint64_t i = 0; i < token; ++i) CHECK(it.state.written[1].at(i) == i);
  CHECK(it.write(1, token));
}

TEST_CASE("messages are sent again where they are refused, and those of no bytes are not") {
  user it(patience);
  it.state.refuses = 1;
  it.send(1, "first", 5);
  it.send(1, "none", 0);
  it.send(1, "second", 3);
  it.send(2, "other", 5);
  const auto sent = [&] {
    const std::lock_guard lock(it.state.guard);
    return it.state.sent;
  };
  CHECK(it.eventually([&] { return sent() == std::vector<std::string>{"other"}; }));
  it.state.refuses = -1;
  CHECK(it.eventually([&] { return sent() == std::vector<std::string>{"other", "first", "sec"}; }));
  CHECK(it.eventually(
      [&] { return !it.heard.messages.empty() && it.heard.messages.back() == std::byte{'s'}; }));
}

TEST_CASE("who waits for the descriptor is woken by each event") {
  user it(patience);
  pollfd bell{it.network.wait_descriptor(), POLLIN, 0};
  REQUIRE(bell.fd >= 0);
  for (std::uint64_t token = 0; token < 50; ++token) {
    while (!it.network.may_wait()) it.network.progress(it.heard);
    CHECK(it.network.may_wait());  // another one's
    CHECK(::poll(&bell, 1, 0) == 0);
    CHECK_FALSE(it.network.progress(it.heard));  // a look in vain keeps nobody from being woken
    REQUIRE(it.write(1, token));
    REQUIRE(::poll(&bell, 1, 10'000) == 1);
    CHECK_FALSE(it.network.may_wait());
    CHECK(it.network.progress(it.heard));
    CHECK(it.heard.completed.back() == token);
  }
}

TEST_CASE("what waits for a peer is dropped with it") {
  user it(patience);
  it.state.refuses = 1;
  while (it.write(1, 5)) continue;
  it.network.drop(1);
  it.network.drop(1);
  CHECK(it.eventually([&] { return it.write(1, 6); }));
  it.state.refuses = -1;
  CHECK(it.eventually([&] { return !it.heard.completed.empty(); }));
  CHECK(it.heard.completed.front() == 6);
  CHECK(it.state.dropped.front() == 1);
}

TEST_CASE("who asks is told what the network throws, and of what nobody asks for all are") {
  user it(patience);
  it.state.throws = true;
  CHECK_THROWS_WITH_AS(it.network.expose(0, 0, nullptr, 8), "the odd network is full", error);
  it.network.add_remote(1, 0, 0, 8, {});
  CHECK(it.eventually([&] { return !it.heard.failures.empty(); }));
  CHECK(it.heard.failures.front().first == -1);
  CHECK(it.heard.failures.front().second == "the odd network is full");
}

TEST_CASE("what is dropped while the network does not return is not begun afterwards") {
  user it(patience);
  it.state.refuses = 1;
  CHECK(it.write(1, 1));
  CHECK(it.write(2, 2));  // the thread has taken the first by then
  CHECK(it.eventually([&] { return !it.heard.completed.empty(); }));
  it.state.hangs = true;
  CHECK(it.eventually([&] { return it.state.is_hanging.load(); }));
  it.state.refuses = -1;
  it.network.drop(1);
  it.state.hangs = false;
  CHECK(it.write(1, 3));
  CHECK(it.eventually([&] { return it.heard.completed.size() == 2; }));
  CHECK(it.heard.completed.back() == 3);
}

TEST_CASE("a network that does not return is lost in time, and left") {
  user it(milliseconds(1500));
  CHECK(it.write(1, 1));
  CHECK(it.eventually([&] { return !it.heard.completed.empty(); }));
  it.state.hangs = true;
  CHECK(it.write(1, 2));
  const auto start = clock::now();
  CHECK(it.eventually([&] { return !it.heard.failures.empty(); }));
  CHECK(it.heard.failures.front().first == -1);
  CHECK(it.heard.failures.front().second.starts_with("odd has not returned from a call for 1.5 s"));
  CHECK(it.state.is_hanging);
  CHECK_THROWS_WITH_AS(it.network.expose(0, 0, nullptr, 8),
                       doctest::Contains("exposing memory: odd has not returned"), error);
  it.network.conceal(0, 0);
  CHECK(it.write(1, 3));  // nobody waits
  CHECK_FALSE(it.network.begin_message(0, 1).empty());
  it.leave();
  CHECK(clock::now() - start < patience);
  CHECK_FALSE(it.state.has_ended);
  CHECK(it.heard.failures.size() == 1);
  it.state.hangs = false;
  CHECK(it.eventually([&] { return it.state.has_ended.load(); }));  // with its thread
  const auto& written = it.state.written[1];
  CHECK(std::count(written.begin(), written.end(), 3) == 0);  // what had not begun does not
}

}  // namespace
}  // namespace heddle
