// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/transport/transport.hpp"
#include "support/unique_fd.hpp"

namespace heddle::testing {

struct memory_network_options {
  transport::traits traits{};
  /// Completions of writes are told when the data has left, long before it has arrived.
  bool completes_early = false;
  bool gives_events = true;  ///< there is a wait_descriptor
  /// What writes and reads bring to region 0 is not seen there before flush(): as in a GPU's
  /// memory, behind a bus.
  bool flushes = false;
  int refuses = 0;  ///< of 256 calls, so many "not now", by chance
  std::uint64_t seed = 0;
};

class memory_transport;

/// A network between threads of one process, which keeps exactly what its traits promise and no
/// more: what may come late or in another order does. Writes and reads are memcpy's by the thread
/// that drives the sender, so that ThreadSanitizer sees every access.
///
///     sender                                            target
///     post_* --> outgoing, by lane and peer --progress--> memory; arrivals --progress--> listener
///
/// What breaks the rules of transport.hpp (places that are not exposed, local memory that is not
/// registered) is done to no memory, and kept as a complaint.
class memory_network {
 public:
  memory_network(int n_pes, memory_network_options options);

  std::unique_ptr<transport> make(int pe);
  /// The first rule that was broken; "" if none was.
  [[nodiscard]] std::string complaint() const;
  /// Gives bytes to a PE as a message, as a stranger could.
  void deliver(int pe, std::vector<std::byte> message);
  /// What has arrived for region 0 of that PE is seen there.
  void flush(int pe);

 private:
  friend class memory_transport;

  struct exposure {
    std::byte* start;
    std::size_t size;
    std::uint64_t key;
  };
  struct arrival {
    enum class kind { message, write, failure } what;
    std::vector<std::byte> bytes{};
    std::uint32_t immediate = 0;
    int pe = -1;
  };
  /// What others touch of a PE.
  struct endpoint {
    std::shared_mutex memory_guard;  ///< not taken by who reads arrivals: orders nothing for those
    std::map<std::pair<int, std::uint64_t>, exposure> exposed;
    bool is_there = false;
    std::mutex bus_guard;
    std::vector<std::pair<std::byte*, std::vector<std::byte>>> on_the_bus;
    std::mutex guard;
    std::deque<arrival> arrivals;
    std::atomic<std::size_t> waiting{0};
    unique_fd event;
  };

  void complain(const std::string& text);
  /// To memory of region 0, if `to` is there.
  void bring(int pe, void* to, const void* from, std::size_t size);
  void arrive(int pe, arrival what);

  const memory_network_options options_;
  std::vector<std::unique_ptr<endpoint>> endpoints_;
  std::atomic<std::uint64_t> last_key_{0};
  mutable std::mutex complaint_guard_;
  std::string complaint_;
};

class memory_transport final : public transport {
 public:
  memory_transport(memory_network& all, int pe);
  ~memory_transport() override;

  [[nodiscard]] const traits& about() const override { return all_.options_.traits; }
  [[nodiscard]] bytes address() const override { return bytes(8); }
  void set_addresses(std::vector<bytes> /*addresses*/) override {}
  [[nodiscard]] std::string describe(int pe) const override;
  bytes expose(int region, std::uint64_t offset, void* start, std::size_t size) override;
  void conceal(int region, std::uint64_t offset) noexcept override;
  void add_remote(int pe, int region, std::uint64_t offset, std::size_t size,
                  std::span<const std::byte> key) override;
  void register_local(void* start, std::size_t size) override;
  void forget_local(void* start) noexcept override;
  [[nodiscard]] bool post_write(int lane, const remote_place& to, const void* from,
                                std::size_t size, std::uint64_t token,
                                std::uint32_t immediate) override;
  [[nodiscard]] bool post_read(int lane, void* to, const remote_place& from, std::size_t size,
                               std::uint64_t token) override;
  [[nodiscard]] bool post_atomic(int lane, network_atomic op, const remote_place& word,
                                 std::uint64_t value, std::uint64_t compare,
                                 std::uint64_t token) override;
  [[nodiscard]] std::span<std::byte> begin_message(int lane, int pe) override;
  void post_message(int lane, int pe, std::span<std::byte> message, std::size_t size) override;
  bool progress(listener& listener) override;
  [[nodiscard]] int wait_descriptor() const override;
  [[nodiscard]] bool may_wait() override;

 private:
  struct item {
    enum class kind { write, read, atomic, message } what;
    remote_place place{};
    void* local = nullptr;  ///< of a read; of a write from `data`, null
    const void* from = nullptr;
    std::size_t size = 0;
    std::uint64_t token = no_token;
    std::uint32_t immediate = 0;
    network_atomic op{};
    std::uint64_t value = 0;
    std::uint64_t compare = 0;
    std::vector<std::byte> data{};
  };
  /// To one peer on one lane.
  struct outgoing {
    std::deque<item> ordered;
    std::deque<item> loose;
  };
  struct remote_piece {
    std::size_t size;
    std::uint64_t key;
  };
  using place_name = std::pair<int, std::uint64_t>;

  [[nodiscard]] bool refuses();
  [[nodiscard]] std::size_t most(std::size_t n) { return n == 0 ? 0 : random_() % (n + 1); }
  [[nodiscard]] bool takes(int lane, int pe);
  void check_local(const void* start, std::size_t size);
  [[nodiscard]] bool is_exposed(const void* start, std::size_t size) const;
  bool perform(item& what);
  /// The address of a place of a peer whose memory_guard is held; null with a complaint.
  std::byte* address_of(const remote_place& place, std::size_t size);
  void lose(int pe);

  memory_network& all_;
  memory_network::endpoint& self_;
  const int pe_;
  std::mt19937_64 random_;
  std::map<std::pair<int, int>, outgoing> outgoing_;  ///< by lane and peer
  std::size_t n_outgoing_ = 0;
  std::deque<std::pair<std::uint64_t, std::uint64_t>> done_;  ///< token and value, to be told
  std::vector<std::map<place_name, remote_piece>> remote_;
  std::map<const std::byte*, std::size_t> local_;
  std::unordered_map<const std::byte*, std::unique_ptr<std::byte[]>> filling_;
  std::set<int> lost_;
  std::set<int> told_lost_;
};

}  // namespace heddle::testing
