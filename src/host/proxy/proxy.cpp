// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/proxy/proxy.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <heddle/device/backoff.hpp>
#include <mutex>

#include "support/log.hpp"
#include "support/quiet_thread.hpp"
#include "support/throw_error.hpp"

namespace heddle {

namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using clock = std::chrono::steady_clock;

constexpr int commands_at_a_time = 64;
/// Who has posted drives this often for others that post meanwhile.
constexpr int rounds_for_others = 4;
/// How long the proxy's thread looks on after something has happened.
constexpr microseconds watchful{20};
/// While others drive, it looks whether they still do: less often, the longer it has always found
/// them at it, so that it takes over after at most about as long as they have been.
constexpr microseconds shortest_tick{200};
constexpr microseconds longest_tick{10000};
/// Where a timer comes late (0.3 ms where timers are emulated, 40 us elsewhere) a look takes about
/// as long from whoever drives: a tick is so many times longer, within this limit.
constexpr int ticks_per_lateness = 128;
constexpr microseconds longest_tick_if_late{50000};
/// Between looks at what gives no event: this part of how long nothing has happened.
constexpr int nap_part = 64;
constexpr microseconds shortest_nap{50};
constexpr microseconds longest_nap{8000};
constexpr microseconds longest_nap_beside_gpu{1000};

/// Waits for one answer.
class asker final : public command_engine::producer {
 public:
  void reply(std::uint64_t /*index*/, std::uint64_t /*value*/, int /*lost*/) override {
    is_answered = true;
  }
  [[nodiscard]] bool gave_up(std::uint64_t /*index*/) const override { return is_done; }
  bool is_answered = false;
  bool is_done = false;
};

timespec time_of(nanoseconds span) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(span);
  return {whole.count(), (span - whole).count()};
}

}  // namespace

proxy::proxy(std::unique_ptr<transport> network, const options& options)
    : network_(std::move(network)),
      looks_by_itself_(options.looks_by_itself),
      engine_(options.engine, *network_,
              [this](int pe, const std::string& reason) {
                failures_.push_back({pe, reason});
              }),
      on_failure_(options.on_failure),
      doorbell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!doorbell_) throw_system_error(errno, "making the proxy's doorbell (eventfd)");
  if (looks_by_itself_) add_queues(options, false, kernel_ref_);
  add_queues(options, true, host_ref_);
  if (!looks_by_itself_) kernel_ref_ = host_ref_;
  thread_ = start_quietly("serve the proxy", [this] { run(); });
}

proxy::~proxy() {
  ends_.store(true);
  ring();
  thread_.join();
  network_->leave();
}

void proxy::add_queues(const options& options, bool for_host, proxy_ref& ref) {
  const auto host_memory = [](std::size_t bytes) {
    return std::shared_ptr<void>(
        [&] {
          void* memory = std::aligned_alloc(4096, round_up(bytes, 4096));
          if (!memory)
            throw_error(HEDDLE_ERROR_OUT_OF_MEMORY, "{} bytes for a proxy's queue", bytes);
          std::memset(memory, 0, bytes);
          return memory;
        }(),
        std::free);
  };
  ref.contexts = options.contexts;
  ref.help = [](void* self) { static_cast<proxy*>(self)->help(); };
  ref.serve = [](void* self) { static_cast<proxy*>(self)->serve(); };
  ref.notice = [](void* self) { static_cast<proxy*>(self)->notice(); };
  ref.serve_row = [](void* self, std::size_t bytes) {
    static_cast<proxy*>(self)->serve_row(bytes);
  };
  ref.held = row_.held();
  ref.in_long_row = row_.is_long();
  ref.most_in_row = network_->about().most_message_bytes > command_queue_ref::most_payload
                        ? command_queue_ref::most_payload
                        : command_queue_ref::usual_payload;
  ref.proxy = this;
  ref.drivers = &drivers_;
  ref.nap = [](void* self, std::uint64_t ns) { static_cast<proxy*>(self)->nap(nanoseconds(ns)); };
  ref.settle = [](void* self) { static_cast<proxy*>(self)->settle(); };
  std::copy(std::begin(options.regions), std::end(options.regions), ref.regions);
  for (int i = 0; i < options.contexts; ++i) {
    const bool has_kernels = for_host && looks_by_itself_;  // whose queues are there already
    const auto* kernels = has_kernels ? queues_[static_cast<std::size_t>(i)].queue.get() : nullptr;
    queue_memory& made = queues_.emplace_back();
    constexpr std::size_t shared_bytes = sizeof(command_queue::shared_words);
    constexpr std::size_t head_bytes = sizeof(command_queue_ref::head_words);
    made.shared = for_host ? host_memory(shared_bytes) : options.make_shared_memory(shared_bytes);
    made.head = for_host ? host_memory(head_bytes) : options.make_device_memory(head_bytes);
    auto& words = *static_cast<command_queue::shared_words*>(made.shared.get());
    made.queue = std::make_unique<command_queue>(words, i, kernels);
    ref.queues[i] = {static_cast<command_queue_ref::head_words*>(made.head.get()), &words.consumed,
                     words.ring, words.replies};
  }
}

/// For as long as it lives, this thread has locked driving_.
class proxy::turn {
 public:
  explicit turn(proxy& of) : of_(of) { of_.driving_.lock(); }
  turn(proxy& of, std::adopt_lock_t /*is_locked*/) : of_(of) {}
  /// Who has asked meanwhile is heard, whoever's turn it was.
  ~turn() {
    if (!is_over_ && end()) of_.ring();
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;

  /// Whether somebody has asked to look again meanwhile.
  [[nodiscard]] bool end() {
    is_over_ = true;
    return of_.driving_.unlock();
  }

 private:
  proxy& of_;
  bool is_over_ = false;
};

bool proxy::drive() {
  bool moved = false;
  try {
    engine_.forget_refusals();
    for (auto& memory : queues_)
      if (memory.queue->has_work()) moved |= memory.queue->consume(engine_, commands_at_a_time);
    if (!is_broken_) moved |= engine_.progress();
    // Again for those not told yet: no harm.
    for (const auto& lost : failures_) engine_.drop_peer(lost.pe);
  } catch (const std::exception& broken) {
    break_down(broken);
    moved = true;
  }
  return moved;
}

/// Of what the network is like now nothing is known: it is left alone.
void proxy::break_down(const std::exception& broken) {
  if (std::exchange(is_broken_, true)) return;
  failures_.push_back({-1, broken.what()});
  engine_.drop_peer(-1);
}

bool proxy::end_and_tell(turn& mine) {
  if (failures_.empty()) return mine.end();
  // Who is told may help, and come here again: that is told after it.
  static thread_local bool is_telling = false;
  const auto failures = is_telling ? std::vector<failure>() : std::exchange(failures_, {});
  const bool asked = mine.end();
  if (failures.empty()) return asked;
  if (asked) ring();  // who is told may take long
  is_telling = true;
  for (const auto& lost : failures) on_failure_(lost.pe, lost.reason);
  is_telling = false;
  return false;
}

/// With driving_ locked, by a thread that is not the proxy's own.
bool proxy::drive_instead() {
  turn mine(*this, std::adopt_lock);
  // What notice() adds at this moment may be lost, and the proxy's thread then think that nobody
  // drives: before it sleeps it looks for commands, in a turn.
  helped_.store(helped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  drive();
  row_.sent();
  return end_and_tell(mine);
}

/// The proxy's thread is awake, and looks again within a tick; or it is woken. Threads that nap do
/// not look at all, and the tick is long beside them.
void proxy::notice() {
  helped_.fetch_add(1);
  if (is_asleep_.load() || nappers_.load() > 0) ring();
}

void proxy::serve_row(std::size_t bytes) {
  switch (row_.add(clock::now(), bytes)) {
    case message_row::verdict::leaves:
      serve();
      break;
    case message_row::verdict::leaves_as_last:
      serve();
      ring();
      break;
    case message_row::verdict::is_held:
      notice();
      break;
  }
  row_.added(clock::now());
}

void proxy::help() {
  row_.over();
  if (!driving_.try_lock()) return pause_processor();
  if (drive_instead()) return serve();
  wake_for_taken_events();
}

void proxy::serve() {
  for (int round = 0; round < rounds_for_others; ++round) {
    if (!driving_.try_lock_or_ask()) return;  // whoever drives looks again after this
    if (!drive_instead()) return wake_for_taken_events();
  }
  ring();
}

/// The proxy's thread may have gone to sleep before others drove, for events that they have taken.
void proxy::wake_for_taken_events() {
  if (is_asleep_.load()) ring();
}

void proxy::add_memory(int region, std::uint64_t offset, std::byte* start, std::size_t size) {
  const turn mine(*this);
  engine_.add_memory(region, offset, start, size);
}

void proxy::remove_memory(int region, std::uint64_t offset, std::size_t size) {
  const turn mine(*this);
  engine_.remove_memory(region, offset, size);
}

void proxy::expose(int region, std::uint64_t offset, std::byte* start, std::size_t size) {
  const turn mine(*this);
  engine_.expose(region, offset, start, size);
}

void proxy::conceal(int region, std::uint64_t offset) {
  const turn mine(*this);
  engine_.conceal(region, offset);
}

void proxy::drop_peer(int pe) {
  const turn mine(*this);
  engine_.drop_peer(pe);
}

std::vector<int> proxy::awaited() {
  const turn mine(*this);
  return engine_.awaited();
}

bool proxy::reaches_gpu() {
  const turn mine(*this);
  return engine_.reaches_gpu();
}

std::string proxy::describe(int pe) {
  const turn mine(*this);
  return engine_.describe(pe);
}

bool proxy::peek(int pe, symmetric_place from, std::span<std::uint64_t> to, deadline until) {
  // What is never read: a peer that is lost is answered for.
  constexpr std::uint64_t unread = ~std::uint64_t{0};
  std::vector<std::uint64_t> words(to.size(), unread);
  asker waiting;
  command_engine::active_command get;
  get.what.kind = command_kind::iget;
  get.what.flags = command::wants_reply | command::unheeded;
  get.what.pe = pe;
  get.what.unit = sizeof(std::uint64_t);
  get.what.remote = from;
  get.what.local = reinterpret_cast<std::uint64_t>(words.data());
  get.what.bytes = words.size() * sizeof(std::uint64_t);
  get.what.value = get.what.compare = 1;
  get.from = &waiting;
  bool is_posted = false;
  for (;;) {
    turn mine(*this);
    waiting.is_done = !waiting.is_answered && (until.passed() || is_broken_);
    if (!is_broken_ && (!is_posted || waiting.is_done)) is_posted = engine_.carry_out(get);
    if (!waiting.is_done && !waiting.is_answered) drive();
    const bool has_ended = waiting.is_answered || waiting.is_done;  // others drive after the turn
    if (end_and_tell(mine)) serve();
    if (has_ended) break;
    std::this_thread::sleep_for(shortest_nap);
  }
  wake_for_taken_events();
  std::copy(words.begin(), words.end(), to.begin());
  return waiting.is_answered && words.front() != unread;
}

void proxy::run() {
  ::pthread_setname_np(::pthread_self(), "heddle-proxy");
  ::prctl(PR_SET_TIMERSLACK, 1000ul, 0, 0, 0);
  moved_at_ = clock::now();
  while (!ends_.load()) {
    bool moved = false;
    // What this thread was asked for it hands on to whoever drives at this moment.
    if (std::exchange(owes_a_look_, false) ? driving_.try_lock_or_ask() : driving_.try_lock()) {
      turn mine(*this, std::adopt_lock);
      const auto began = clock::now();
      moved = drive();
      row_.sent_by_proxy(began);
      owes_a_look_ = end_and_tell(mine);
    }
    const auto now = clock::now();
    const bool others_drive = helped_.load(std::memory_order_relaxed) != helped_before_;
    if (moved || others_drive) moved_at_ = now;
    if (owes_a_look_) continue;
    if (!others_drive && now - moved_at_ < watchful) {
      pause_processor();
    } else {
      sleep();
    }
  }
  const turn last(*this);
  drive();  // what a row has left
}

void proxy::sleep() {
  const auto helped = helped_.load(std::memory_order_relaxed);
  const bool at_this_moment = load(&drivers_, relaxed) > 0 || driving_.is_locked();
  if (helped != std::exchange(helped_before_, helped) || at_this_moment) {
    return wait_a_tick(at_this_moment && !row_.may_hold());
  }
  tick_ = shortest_tick;
  is_asleep_.store(true);
  if (!driving_.try_lock()) {
    // Somebody drives at this moment, who may need this very processor.
    is_asleep_.store(false);
    return wait(false, tick_);
  }
  turn mine(*this, std::adopt_lock);
  const auto events = events_will_tell();
  owes_a_look_ = mine.end();
  if (owes_a_look_ || !events) return is_asleep_.store(false);
  const nanoseconds nap =
      std::clamp<nanoseconds>((clock::now() - moved_at_) / nap_part, shortest_nap,
                              looks_by_itself_ ? longest_nap_beside_gpu : longest_nap);
  wait(true, *events ? std::chrono::seconds(1) : nap);
  is_asleep_.store(false);
}

void proxy::wait_a_tick(bool may_be_long) {
  const auto longest =
      std::clamp<nanoseconds>(ticks_per_lateness * lateness_, longest_tick, longest_tick_if_late);
  tick_ = may_be_long ? std::clamp<nanoseconds>(2 * tick_, shortest_tick, longest) : shortest_tick;
  const auto due = clock::now() + tick_;
  wait(false, tick_);
  const nanoseconds late = clock::now() - due;
  if (late > nanoseconds(0)) lateness_ += (late - lateness_) / 8;
}

std::optional<bool> proxy::events_will_tell() {
  if (std::any_of(queues_.begin(), queues_.end(),
                  [](auto& each) { return each.queue->has_new_command(); }))
    return {};
  if (network_->wait_descriptor() < 0 || looks_by_itself_ || is_broken_) return false;
  try {
    if (!network_->may_wait()) return {};
  } catch (const std::exception& broken) {
    break_down(broken);
    return {};
  }
  return !engine_.was_refused() && !network_->tries_again();
}

void proxy::nap(nanoseconds most) {
  nappers_.fetch_add(1);
  if (!wait_for_events(most))
    std::this_thread::sleep_for(std::min<nanoseconds>(most, shortest_nap));
  nappers_.fetch_sub(1);
}

/// Whoever gave up has said so before: a turn that began since then sees it.
void proxy::settle() {
  const turn mine(*this);
  engine_.settle();
}

/// False where there was nothing to do, and no event to wait for; or somebody drives.
bool proxy::wait_for_events(nanoseconds most) {
  if (!driving_.try_lock()) return false;
  turn mine(*this, std::adopt_lock);
  const auto events = events_will_tell();
  if (!events) {
    // What may_wait has taken notice of has to be looked at before anybody sleeps.
    const bool moved = drive();
    if (end_and_tell(mine)) serve();
    return moved;
  }
  if (mine.end()) {
    serve();
    return true;
  }
  if (!*events) return false;
  pollfd network{network_->wait_descriptor(), POLLIN, 0};
  const timespec time = time_of(most);
  (void)::ppoll(&network, 1, &time, nullptr);
  return true;
}

void proxy::wait(bool also_network, nanoseconds most) {
  std::array<pollfd, 2> watched = {pollfd{doorbell_.get(), POLLIN, 0},
                                   pollfd{network_->wait_descriptor(), POLLIN, 0}};
  const timespec time = time_of(most);
  const bool network = also_network && watched[1].fd >= 0;
  if (::ppoll(watched.data(), network ? 2 : 1, &time, nullptr) > 0 && watched[0].revents) {
    std::uint64_t rings = 0;
    (void)!::read(doorbell_.get(), &rings, sizeof rings);
    owes_a_look_ = true;
  }
}

void proxy::ring() {
  is_asleep_.store(false);
  const std::uint64_t one = 1;
  (void)!::write(doorbell_.get(), &one, sizeof one);
}

}  // namespace heddle
