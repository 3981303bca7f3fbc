// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "bootstrap/unique_id_bootstrap.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "bootstrap/byte_stream.hpp"
#include "bootstrap/keyed_hash.hpp"
#include "bootstrap/network_interface.hpp"
#include "bootstrap/random_bytes.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/tree_bootstrap.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

constexpr std::uint16_t id_version = 1;
constexpr int most_ranks = 1 << 20;

struct open_id {
  bootstrap::secret secret{};
  std::vector<socket_address> addresses;
};

/// The listeners of ids that this process has made and rank 0 has not joined with yet.
class id_listeners {
 public:
  static id_listeners& of_process() {
    static id_listeners instance;
    return instance;
  }
  void keep(const bootstrap::secret& secret, std::vector<shielded_fd> listeners) {
    std::lock_guard lock(mutex_);
    kept_[secret] = std::move(listeners);
  }
  std::vector<shielded_fd> take(const bootstrap::secret& secret) {
    std::lock_guard lock(mutex_);
    auto found = kept_.extract(secret);
    return found ? std::move(found.mapped()) : std::vector<shielded_fd>();
  }

 private:
  std::mutex mutex_;
  std::map<bootstrap::secret, std::vector<shielded_fd>> kept_;
};

open_id read_id(const heddle_unique_id_t& id) {
  try {
    byte_reader in(std::as_bytes(std::span(id.bytes)));
    if (in.number<std::uint16_t>() != id_version) throw malformed_message("another version");
    open_id read;
    const auto secret = in.raw(read.secret.size());
    std::copy(secret.begin(), secret.end(), read.secret.begin());
    const int count = in.number<std::uint8_t>();
    if (count == 0) throw malformed_message("no address");
    for (int i = 0; i < count; ++i) read.addresses.push_back(socket_address::read(in));
    return read;
  } catch (const malformed_message& problem) {
    throw_error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        "the unique id is none that this version of heddle made ({}); pass its 128 bytes unchanged",
        problem.what());
  }
}

std::unique_ptr<bootstrap> join(std::string name, const rendezvous_request& request,
                                const std::string& socket_ifname, deadline until) {
  local_endpoint local(listening_addresses(socket_ifname));
  tree_bootstrap::job job;
  job.rank = request.rank;
  job.size = request.size;
  auto met = meet_all(request, local.described, until);
  job.place = std::move(met.place);
  job.table = std::move(met.table);
  job.job_secret = derive_secret(request.secret, "heddle tree");
  const auto mark = derive_secret(request.secret, "heddle job id");
  job.job_id = "uid-" + to_hex(std::span(mark).first(8));
  job.name = std::move(name);
  log::info(log::subsystem::bootstrap, "rank {} of {} met the others by {}", request.rank,
            request.size, job.name);
  return std::make_unique<tree_bootstrap>(std::move(job), std::move(local), until);
}

void check_rank(int rank, int size) {
  if (size < 1 || size > most_ranks || rank < 0 || rank >= size)
    throw_error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        "PE {} of {} PEs: a PE is from 0 to one less than their number, which is at most {}", rank,
        size, most_ranks);
}

std::string variable_or_empty(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// A number of the environment. Throws for what is none.
int read_number(const char* variable, int lowest, int highest) {
  const auto text = variable_or_empty(variable);
  int number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || number < lowest ||
      number > highest)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}={}: must be a number from {} to {}, as torchrun sets it", variable, text,
                lowest, highest);
  return number;
}

bool is_loopback(const socket_address& address) {
  if (address.family() == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address.data())->sin6_addr);
  const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(address.data());
  return ntohl(ipv4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/// Whether all ranks of torchrun's job are on this machine, as far as the variables tell.
bool is_on_one_machine(const std::string& master, int size) {
  if (std::getenv("LOCAL_WORLD_SIZE")) return read_number("LOCAL_WORLD_SIZE", 1, size) == size;
  return master == "localhost" || master == "::1" || master.starts_with("127.");
}

/// Rank 0's sockets at `addresses`, what MASTER_ADDR is here. Other machines may know it by another
/// address: Debian has a machine's own name at 127.0.1.1, and a service's or a translated address
/// is no machine's own. Where that is so, at those of an interface too.
std::vector<unique_fd> listen_as_master(std::vector<socket_address> addresses,
                                        const std::string& socket_ifname) {
  if (!std::all_of(addresses.begin(), addresses.end(), is_loopback)) {
    try {
      return listen_on_any(addresses);
    } catch (const error& failure) {
      log::info(log::subsystem::bootstrap, "{}", failure.what());
    }
  }
  const auto first = addresses.front();
  for (const auto& own : listening_addresses(socket_ifname)) {
    addresses.push_back(own.with_port(first.port()));
    log::info(log::subsystem::bootstrap,
              "rank 0 listens at {} too: other machines do not reach it at {}, what MASTER_ADDR is "
              "here",
              addresses.back().text(), first.text());
  }
  return listen_on_any(addresses);
}

}  // namespace

heddle_unique_id_t make_unique_id(const std::string& socket_ifname) {
  bootstrap::secret secret;
  fill_random(secret);
  std::vector<shielded_fd> listeners;
  byte_writer addresses;
  std::uint8_t count = 0;
  constexpr std::size_t room = sizeof(heddle_unique_id_t) - sizeof id_version - sizeof secret - 1;
  for (auto& listener : listen_on_any(listening_addresses(socket_ifname))) {
    byte_writer one;
    local_address(listener.get()).write(one);
    if (addresses.bytes().size() + one.bytes().size() > room) break;
    addresses.raw(one.bytes());
    listeners.emplace_back(std::move(listener));
    ++count;
  }
  byte_writer out;
  out.number(id_version).raw(secret).number(count).raw(addresses.bytes());
  heddle_unique_id_t id{};
  std::memcpy(id.bytes, out.bytes().data(), out.bytes().size());
  id_listeners::of_process().keep(secret, std::move(listeners));
  return id;
}

std::unique_ptr<bootstrap> join_unique_id(const heddle_unique_id_t& id, int rank, int size,
                                          const std::string& socket_ifname, deadline until) {
  check_rank(rank, size);
  const auto read = read_id(id);
  rendezvous_request request{rank, size, read.secret, {}, read.addresses};
  std::vector<shielded_fd> listeners;
  if (rank == 0) {
    listeners = id_listeners::of_process().take(read.secret);
    if (listeners.empty())
      throw_error(HEDDLE_ERROR_INVALID_USAGE,
                  "PE 0 must join from the process that made the unique id (heddle_get_unique_id), "
                  "and once");
    for (const auto& listener : listeners) request.listeners.push_back(listener.get());
  }
  return join("unique id", request, socket_ifname, until);
}

bool torchrun_is_launcher() {
  return std::getenv("RANK") && std::getenv("WORLD_SIZE") && std::getenv("MASTER_ADDR") &&
         std::getenv("MASTER_PORT");
}

std::unique_ptr<bootstrap> join_torchrun_job(const torchrun_options& options, deadline until) {
  const int size = read_number("WORLD_SIZE", 1, most_ranks);
  const int rank = read_number("RANK", 0, size - 1);
  const int master_port = read_number("MASTER_PORT", 1, 65535);
  const int port = options.rendezvous_port ? options.rendezvous_port : master_port % 65535 + 1;
  const auto host = variable_or_empty("MASTER_ADDR");

  rendezvous_request request;
  request.rank = rank;
  request.size = size;
  request.at = socket_address::resolve(host, static_cast<std::uint16_t>(port), until);
  const auto name = host + ":" + std::to_string(master_port) + " " +
                    variable_or_empty("TORCHELASTIC_RUN_ID") + " " +
                    variable_or_empty("TORCHELASTIC_RESTART_COUNT");
  request.secret =
      keyed_hash(std::as_bytes(std::span(options.job_secret)), std::as_bytes(std::span(name)));
  std::vector<unique_fd> listeners;
  try {
    if (rank == 0)
      listeners = is_on_one_machine(host, size)
                      ? listen_on_any(request.at)
                      : listen_as_master(request.at, options.socket_ifname);
  } catch (const error& failure) {
    throw_error(
        failure.status(),
        "{}; this is where rank 0 is met: HEDDLE_RENDEZVOUS_PORT chooses the port, on every "
        "PE the same, else it is MASTER_PORT + 1 ({})",
        failure.what(), master_port % 65535 + 1);
  }
  for (const auto& listener : listeners) request.listeners.push_back(listener.get());
  return join("torchrun", request, options.socket_ifname, until);
}

}  // namespace heddle
