// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A rank that has proved the secret and then says anything: at the rendezvous to rank 0 and from
// rank 0, as the table that comes down the tree, and to the thread that serves the tree. The rank
// that is told so ends with a result or an error of its own, in time, and keeps no descriptor.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <heddle/error.hpp>
#include <optional>
#include <thread>

#include "bootstrap/keyed_hash.hpp"
#include "bootstrap/meeting.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/tree_bootstrap.hpp"
#include "fuzz_input.hpp"
#include "support/log.hpp"

using namespace heddle;
using namespace heddle::fuzz;
using namespace std::chrono_literals;

namespace {

const bootstrap::secret secret{std::byte{7}};

socket_address loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return {reinterpret_cast<sockaddr*>(&address), sizeof address};
}

/// Where every rank 0 here is met.
const unique_fd& listener() {
  static const unique_fd socket = listen_on(loopback());
  return socket;
}

/// What heddle throws is an error of its own; all else ends the fuzzer.
template <class Body>
std::thread start_rank(Body body) {
  return std::thread([body] {
    try {
      body();
    } catch (const error& failure) {
      require(failure.status() > HEDDLE_SUCCESS && failure.status() <= HEDDLE_ERROR_INTERNAL,
              "an error has a status");
    }
  });
}

/// Sends frames and bytes that are none, as the input decides, then its end.
void send_anything(int socket, fuzz_input& in, std::initializer_list<std::uint16_t> types) {
  while (!in.has_ended()) {
    const auto kind = in.number<std::uint8_t>() % (types.size() + 2);
    std::vector<std::byte> bytes;
    if (kind < types.size()) {
      const frame news(types.begin()[kind], in.block());
      bytes.assign(news.bytes().begin(), news.bytes().end());
    } else if (kind == types.size()) {
      const auto raw = in.block();
      bytes.assign(raw.begin(), raw.end());
    } else {
      const auto type = in.number<std::uint16_t>();
      const frame news(type, std::vector<std::byte>(in.number<std::uint16_t>(), std::byte{1}));
      bytes.assign(news.bytes().begin(), news.bytes().end());
    }
    if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) break;
  }
  ::shutdown(socket, SHUT_WR);
}

/// The connection to the rank that is tested, made as a member makes it.
std::unique_ptr<frame_link> meet(meeting::request request, int rank) {
  meeting met(std::move(request));
  met.run(deadline::after(10s));
  return std::move(met.links().at(rank));
}

void wait_for_end_of(int socket) {
  const auto until = deadline::after(10s);
  for (;;) {
    pollfd entry{socket, POLLIN, 0};
    const int ready = ::poll(&entry, 1, until.poll_milliseconds());
    if (ready < 0 && errno == EINTR) continue;  // the fuzzer's own alarm
    require(ready > 0, "the rank ends the connection in time");
    char buffer[4096];
    if (::recv(socket, buffer, sizeof buffer, 0) <= 0) return;
  }
}

meeting::request request_of(link_purpose purpose, int rank, const bootstrap::secret& known) {
  meeting::request request;
  request.purpose = purpose;
  request.rank = rank;
  request.size = 2;
  request.secret = known;
  if (rank == 0)
    request.expected = {1};
  else
    request.callee = 0;
  return request;
}

endpoint some_endpoint() {
  endpoint made;
  made.host = "host";
  made.local = socket_address::abstract("name");
  made.tcp = {loopback()};
  return made;
}

void tell_rank_zero(fuzz_input& in) {
  auto rank = start_rank([] {
    (void)meet_all({0, 2, secret, {listener().get()}, {}}, some_endpoint(), deadline::after(10s));
  });
  auto request = request_of(link_purpose::rendezvous, 1, secret);
  request.at = {local_address(listener().get())};
  const auto link = meet(std::move(request), 0);
  send_anything(link->fd(), in, {1});
  wait_for_end_of(link->fd());
  rank.join();
}

void tell_rank_one(fuzz_input& in) {
  auto rank = start_rank([] {
    (void)meet_all({1, 2, secret, {}, {local_address(listener().get())}}, some_endpoint(),
                   deadline::after(10s));
  });
  auto request = request_of(link_purpose::rendezvous, 0, secret);
  request.listeners = {listener().get()};
  const auto link = meet(std::move(request), 1);
  send_anything(link->fd(), in, {2, 0xffff});
  wait_for_end_of(link->fd());
  rank.join();
}

/// The table, and then whatever its parent in the tree may say, to a whole bootstrap.
void tell_table(fuzz_input& in) {
  const local_endpoint parent({loopback()});
  auto rank = start_rank([&] {
    local_endpoint local({loopback()});
    tree_bootstrap::job job;
    job.name = "fuzz";
    job.job_id = "fuzz";
    job.job_secret = secret;
    job.rank = 1;
    job.size = 2;
    job.place = tree_place{0, parent.described, {}};
    tree_bootstrap self(std::move(job), std::move(local), deadline::after(10s));
    const auto all = self.all_gather({}, deadline::after(10s));
    require(all.size() == 2, "an all_gather has a part of each rank");
    self.barrier(deadline::after(10s));
    self.leave();
  });
  auto request = request_of(link_purpose::tree, 0, derive_secret(secret, "heddle tree"));
  for (const auto& one : parent.listeners) request.listeners.push_back(one.get());
  const auto link = meet(std::move(request), 1);
  if (in.up_to(1) == 1) {  // a good table
    byte_writer table;
    parent.described.write(table);
    auto other = parent.described;
    other.page_fd = in.number<std::uint8_t>();
    other.write(table);
    link->send(frame(0xfffe, table.bytes()));
    link->flush();
  }
  send_anything(link->fd(), in, {0xfffe, 2, 4, 5, 6, 0xffff});
  wait_for_end_of(link->fd());
  rank.join();
}

class events final : public tree_events {
 public:
  void decided(std::uint64_t /*number*/, collective_rounds::outcome /*outcome*/) override {}
  void absent(std::uint64_t /*number*/, std::vector<int> /*ranks*/) override {}
  void lost(int rank, std::string_view reason) override {
    require(rank >= 0 && rank < 4, "a rank of the job is lost");
    require(reason.find("can serve its connections no more") == reason.npos,
            "the thread goes on, whatever is sent");
  }
  void departed(int rank) override { require(rank >= 0 && rank < 4, "a rank of the job has left"); }
  void cut_off(int rank) override { require(rank >= 0 && rank < 4, "a rank of the job has left"); }
};

/// The root of 4 ranks, or a rank in the middle, told anything by two neighbours.
void tell_tree_node(fuzz_input& in) {
  const std::vector<std::string> hosts(4, "host");
  const int rank = static_cast<int>(in.up_to(1));
  const int neighbours[] = {rank == 0 ? 1 : 0, rank == 0 ? 2 : 3};
  events told;
  unique_fd ends[2];
  tree_node::links links;
  for (int i = 0; i < 2; ++i) {
    int pair[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "a pair of sockets");
    ends[i] = unique_fd(pair[0]);
    links[neighbours[i]] =
        std::make_unique<frame_link>(shielded_fd(unique_fd(pair[1])), std::vector<std::byte>());
  }
  {
    tree_node node(rank, tree_shape(hosts, 2), 4, std::move(links), {}, told);
    node.add_part(0, collective_call::all_gather, {});
    // Its half of the input each: the second neighbour's is what the first one's block leaves.
    const auto first = in.block();
    fuzz_input early(reinterpret_cast<const std::uint8_t*>(first.data()), first.size());
    send_anything(ends[0].get(), early, {1, 2, 3, 4, 5, 6, 0xffff});
    node.ask_who_is_absent(0);
    send_anything(ends[1].get(), in, {1, 2, 3, 4, 5, 6, 0xffff});
    for (auto& end : ends) wait_for_end_of(end.get());
    node.leave(deadline::after(1s));
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  log::configure("NONE", "ALL");
  (void)listener();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto before = open_descriptors();
  fuzz_input in(data, size);
  switch (in.up_to(5)) {
    case 0:
      tell_rank_zero(in);
      break;
    case 1:
      tell_rank_one(in);
      break;
    case 2:
      tell_table(in);
      break;
    default:
      tell_tree_node(in);
  }
  require(open_descriptors() == before, "no descriptor is left over");
  return 0;
}
