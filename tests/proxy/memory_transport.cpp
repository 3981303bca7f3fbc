// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "memory_transport.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace heddle::testing {

namespace {

using message_order = transport::message_order;

constexpr std::size_t most_outgoing = 64;   ///< writes and reads of a lane to a peer
constexpr std::size_t most_messages = 128;  ///< that wait at their target

bool is_inside(const void* start, std::size_t size, const std::byte* first, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(start);
  return at >= first && at - first <= static_cast<std::ptrdiff_t>(bytes) &&
         size <= bytes - static_cast<std::size_t>(at - first);
}

}  // namespace

memory_network::memory_network(int n_pes, memory_network_options options)
    : options_(std::move(options)) {
  for (int pe = 0; pe < n_pes; ++pe) {
    auto& made = *endpoints_.emplace_back(std::make_unique<endpoint>());
    if (options_.gives_events) made.event = unique_fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  }
}

std::unique_ptr<transport> memory_network::make(int pe) {
  return std::make_unique<memory_transport>(*this, pe);
}

std::string memory_network::complaint() const {
  const std::scoped_lock lock(complaint_guard_);
  return complaint_;
}

void memory_network::complain(const std::string& text) {
  const std::scoped_lock lock(complaint_guard_);
  if (complaint_.empty()) complaint_ = text;
}

void memory_network::arrive(int pe, arrival what) {
  auto& to = *endpoints_[static_cast<std::size_t>(pe)];
  {
    const std::scoped_lock lock(to.guard);
    to.arrivals.push_back(std::move(what));
    to.waiting.store(to.arrivals.size());
  }
  const std::uint64_t one = 1;
  if (to.event) (void)!::write(to.event.get(), &one, sizeof one);
}

void memory_network::deliver(int pe, std::vector<std::byte> message) {
  arrive(pe, {.what = arrival::kind::message, .bytes = std::move(message)});
}

void memory_network::bring(int pe, void* to, const void* from, std::size_t size) {
  if (!options_.flushes) {
    std::memcpy(to, from, size);
    return;
  }
  auto& there = *endpoints_[static_cast<std::size_t>(pe)];
  const auto* bytes = static_cast<const std::byte*>(from);
  const std::scoped_lock lock(there.bus_guard);
  there.on_the_bus.emplace_back(static_cast<std::byte*>(to),
                                std::vector<std::byte>(bytes, bytes + size));
}

void memory_network::flush(int pe) {
  auto& there = *endpoints_[static_cast<std::size_t>(pe)];
  const std::scoped_lock lock(there.bus_guard);
  for (const auto& [to, bytes] : there.on_the_bus) std::memcpy(to, bytes.data(), bytes.size());
  there.on_the_bus.clear();
}

memory_transport::memory_transport(memory_network& all, int pe)
    : all_(all),
      self_(*all.endpoints_[static_cast<std::size_t>(pe)]),
      pe_(pe),
      random_(all.options_.seed + static_cast<std::uint64_t>(pe)),
      remote_(all.endpoints_.size()) {
  const std::unique_lock lock(self_.memory_guard);
  self_.is_there = true;
}

memory_transport::~memory_transport() {
  {
    const std::unique_lock lock(self_.memory_guard);
    self_.is_there = false;
    self_.exposed.clear();
  }
  for (int pe = 0; pe < static_cast<int>(all_.endpoints_.size()); ++pe)
    if (pe != pe_) all_.arrive(pe, {.what = memory_network::arrival::kind::failure, .pe = pe_});
}

std::string memory_transport::describe(int pe) const { return fmt::format("thread {}", pe); }

transport::bytes memory_transport::expose(int region, std::uint64_t offset, void* start,
                                          std::size_t size) {
  const std::uint64_t key = ++all_.last_key_;
  const std::unique_lock lock(self_.memory_guard);
  self_.exposed[{region, offset}] = {static_cast<std::byte*>(start), size, key};
  bytes out(sizeof key);
  std::memcpy(out.data(), &key, sizeof key);
  return out;
}

void memory_transport::conceal(int region, std::uint64_t offset) noexcept {
  const std::unique_lock lock(self_.memory_guard);
  if (self_.exposed.erase({region, offset}) == 0) all_.complain("conceal of what was not exposed");
}

void memory_transport::add_remote(int pe, int region, std::uint64_t offset, std::size_t size,
                                  std::span<const std::byte> key) {
  remote_piece piece{size, 0};
  if (key.size() != sizeof piece.key) return all_.complain("a key of another size");
  std::memcpy(&piece.key, key.data(), sizeof piece.key);
  remote_[static_cast<std::size_t>(pe)][{region, offset}] = piece;
}

void memory_transport::register_local(void* start, std::size_t size) {
  local_[static_cast<std::byte*>(start)] = size;
}

void memory_transport::forget_local(void* start) noexcept {
  if (local_.erase(static_cast<std::byte*>(start)) == 0)
    all_.complain("forget_local of what was not registered");
}

bool memory_transport::refuses() {
  return static_cast<int>(random_() % 256) < all_.options_.refuses;
}

bool memory_transport::is_exposed(const void* start, std::size_t size) const {
  const std::shared_lock lock(self_.memory_guard);
  return std::any_of(self_.exposed.begin(), self_.exposed.end(), [&](const auto& each) {
    return is_inside(start, size, each.second.start, each.second.size);
  });
}

void memory_transport::check_local(const void* start, std::size_t size) {
  if (!about().needs_registered_local) return;
  for (const auto& [first, bytes] : local_)
    if (is_inside(start, size, first, bytes)) return;
  if (is_exposed(start, size)) return;
  all_.complain(fmt::format("{} bytes of local memory that is not registered", size));
}

bool memory_transport::takes(int lane, int pe) {
  const auto& out = outgoing_[{lane, pe}];
  return !refuses() && out.ordered.size() + out.loose.size() < most_outgoing;
}

bool memory_transport::post_write(int lane, const remote_place& to, const void* from,
                                  std::size_t size, std::uint64_t token, std::uint32_t immediate) {
  if (lost_.contains(to.pe)) return true;
  if (!takes(lane, to.pe)) return false;
  if (size > about().most_transfer_bytes) all_.complain("a write of more than may be");
  check_local(from, size);
  item what{.what = item::kind::write,
            .place = to,
            .from = from,
            .size = size,
            .token = token,
            .immediate = immediate};
  if (all_.options_.completes_early) {
    const auto* bytes = static_cast<const std::byte*>(from);
    what.data.assign(bytes, bytes + size);
    what.from = nullptr;
    if (token != no_token) done_.emplace_back(token, 0);
    what.token = no_token;
  }
  auto& out = outgoing_[{lane, to.pe}];
  const bool in_order = about().order == message_order::after_writes;
  (in_order ? out.ordered : out.loose).push_back(std::move(what));
  ++n_outgoing_;
  return true;
}

bool memory_transport::post_read(int lane, void* to, const remote_place& from, std::size_t size,
                                 std::uint64_t token) {
  if (lost_.contains(from.pe)) return true;
  if (!takes(lane, from.pe)) return false;
  if (size > about().most_transfer_bytes) all_.complain("a read of more than may be");
  check_local(to, size);
  outgoing_[{lane, from.pe}].loose.push_back(
      {.what = item::kind::read, .place = from, .local = to, .size = size, .token = token});
  ++n_outgoing_;
  return true;
}

bool memory_transport::post_atomic(int lane, network_atomic op, const remote_place& word,
                                   std::uint64_t value, std::uint64_t compare,
                                   std::uint64_t token) {
  if (lost_.contains(word.pe)) return true;
  if (!about().has_atomics) all_.complain("an atomic, of which there is none");
  if (!takes(lane, word.pe)) return false;
  outgoing_[{lane, word.pe}].loose.push_back({.what = item::kind::atomic,
                                              .place = word,
                                              .size = sizeof(std::uint64_t),
                                              .token = token,
                                              .op = op,
                                              .value = value,
                                              .compare = compare});
  ++n_outgoing_;
  return true;
}

std::span<std::byte> memory_transport::begin_message(int /*lane*/, int pe) {
  if (refuses() || all_.endpoints_[static_cast<std::size_t>(pe)]->waiting.load() > most_messages)
    return {};
  auto place = std::make_unique_for_overwrite<std::byte[]>(about().most_message_bytes);
  auto* start = place.get();
  filling_[start] = std::move(place);
  return {start, about().most_message_bytes};
}

void memory_transport::post_message(int lane, int pe, std::span<std::byte> message,
                                    std::size_t size) {
  const auto found = filling_.extract(message.data());
  if (found.empty()) return all_.complain("a message that was not begun");
  if (size > about().most_message_bytes) return all_.complain("too long a message");
  if (size == 0 || lost_.contains(pe)) return;
  item what{.what = item::kind::message, .place = {pe, 0, 0}};
  what.data.assign(message.data(), message.data() + size);
  outgoing_[{lane, pe}].ordered.push_back(std::move(what));
  ++n_outgoing_;
}

std::byte* memory_transport::address_of(const remote_place& place, std::size_t size) {
  const auto text = [&] {
    return fmt::format("{} bytes at {:#x} of region {} of PE {}", size, place.offset, place.region,
                       place.pe);
  };
  const auto& known = remote_[static_cast<std::size_t>(place.pe)];
  auto piece = known.upper_bound({place.region, place.offset});
  if (piece == known.begin()) return all_.complain(text() + ": unknown"), nullptr;
  --piece;
  const auto inside = place.offset - piece->first.second;
  if (piece->first.first != place.region || inside > piece->second.size ||
      size > piece->second.size - inside)
    return all_.complain(text() + ": not in one piece"), nullptr;
  const auto& exposed = all_.endpoints_[static_cast<std::size_t>(place.pe)]->exposed;
  const auto there = exposed.find(piece->first);
  if (there == exposed.end() || there->second.key != piece->second.key)
    return all_.complain(text() + ": concealed, or another key"), nullptr;
  return there->second.start + inside;
}

void memory_transport::lose(int pe) {
  lost_.insert(pe);
  for (auto& [name, out] : outgoing_) {
    if (name.second != pe) continue;
    n_outgoing_ -= out.ordered.size() + out.loose.size();
    out = {};
  }
}

/// False if the peer is gone.
bool memory_transport::perform(item& what) {
  using kind = memory_network::arrival::kind;
  auto& peer = *all_.endpoints_[static_cast<std::size_t>(what.place.pe)];
  std::uint64_t value = 0;
  const bool on_gpu =
      all_.options_.flushes && what.what == item::kind::read && is_exposed(what.local, what.size);
  {
    const std::shared_lock lock(peer.memory_guard);
    if (!peer.is_there) return false;
    std::byte* at = what.what == item::kind::message ? nullptr : address_of(what.place, what.size);
    if (at && what.what == item::kind::write) {
      all_.bring(what.place.pe, at, what.from ? what.from : what.data.data(), what.size);
    } else if (at && what.what == item::kind::read) {
      all_.flush(what.place.pe);  // a read overtakes no write on the bus
      on_gpu ? all_.bring(pe_, what.local, at, what.size)
             : static_cast<void>(std::memcpy(what.local, at, what.size));
    } else if (at && what.what == item::kind::atomic) {
      std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(at));
      if (what.op == network_atomic::fetch_add) {
        value = word.fetch_add(what.value);
      } else {
        value = what.compare;
        word.compare_exchange_strong(value, what.value);
      }
    }
  }
  if (what.what == item::kind::message)
    all_.arrive(what.place.pe, {.what = kind::message, .bytes = std::move(what.data)});
  else if (what.what == item::kind::write && about().order == message_order::counted)
    all_.arrive(what.place.pe, {.what = kind::write, .immediate = what.immediate});
  if (what.token != no_token) done_.emplace_back(what.token, value);
  return true;
}

bool memory_transport::progress(listener& listener) {
  bool moved = false;
  std::deque<memory_network::arrival> arrivals;
  {
    const std::scoped_lock lock(self_.guard);
    if (self_.event && !self_.arrivals.empty()) {
      std::uint64_t count = 0;
      (void)!::read(self_.event.get(), &count, sizeof count);
    }
    arrivals.swap(self_.arrivals);
    self_.waiting.store(0);
  }
  for (const auto& each : arrivals) {
    moved = true;
    using kind = memory_network::arrival::kind;
    if (each.what == kind::message) listener.on_message(each.bytes);
    if (each.what == kind::write) listener.on_write(each.immediate);
    if (each.what == kind::failure) lose(each.pe);
  }
  for (auto n = done_.size(); n > 0; --n) {
    const auto [token, value] = done_.front();
    done_.pop_front();
    listener.on_complete(token, value);
    moved = true;
  }
  std::vector<outgoing*> busy;
  for (auto& [name, out] : outgoing_)
    if (!out.ordered.empty() || !out.loose.empty()) busy.push_back(&out);
  std::shuffle(busy.begin(), busy.end(), random_);
  for (auto* out : busy) {
    int gone = -1;
    for (auto n = most(out->ordered.size()); n > 0 && gone < 0; --n) {
      if (!perform(out->ordered.front())) {
        gone = out->ordered.front().place.pe;
        break;
      }
      out->ordered.pop_front();
      --n_outgoing_;
    }
    for (auto n = most(out->loose.size()); n > 0 && gone < 0; --n) {
      const auto which =
          out->loose.begin() + static_cast<std::ptrdiff_t>(random_() % out->loose.size());
      if (!perform(*which)) {
        gone = which->place.pe;
        break;
      }
      out->loose.erase(which);
      --n_outgoing_;
    }
    if (gone >= 0) lose(gone);
    moved = true;
  }
  for (const int pe : lost_)
    if (told_lost_.insert(pe).second) {
      listener.on_failure(pe, fmt::format("PE {} (thread {}) has gone", pe, pe));
      moved = true;
    }
  return moved;
}

int memory_transport::wait_descriptor() const { return self_.event ? self_.event.get() : -1; }

bool memory_transport::may_wait() {
  // What was rung after its message had been taken tells of nothing.
  std::uint64_t count = 0;
  if (self_.event) (void)!::read(self_.event.get(), &count, sizeof count);
  return n_outgoing_ == 0 && done_.empty() && self_.waiting.load() == 0 &&
         lost_.size() == told_lost_.size();
}

}  // namespace heddle::testing
