// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "proxy_job.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <heddle/device/impl/team_ref_builder.hpp>
#include <numeric>

#if defined(__has_feature)
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

namespace heddle::testing {

namespace {

std::uint64_t chosen_seed() {
  const char* set = std::getenv("HEDDLE_DEV_TEST_SEED");
  return set ? std::strtoull(set, nullptr, 0) : std::random_device()();
}

}  // namespace

int rounds(int n) {
  static const double scale = [] {
    const char* set = std::getenv("HEDDLE_DEV_TEST_SCALE");
    if (set) return std::strtod(set, nullptr);
#if IS_SANITIZED
    return 0.1;
#else
    return 1.0;
#endif
  }();
  return std::max(1, static_cast<int>(n * scale));
}

std::byte pattern(std::size_t index, std::uint64_t salt) {
  return static_cast<std::byte>((index * 2654435761U + salt * 40503U) >> 9);
}

void fill(std::span<std::byte> out, std::uint64_t salt) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = pattern(i, salt);
}

void expect_filled(std::span<const std::byte> bytes, std::uint64_t salt, const std::string& what) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != pattern(i, salt))
      throw std::runtime_error(fmt::format("{}: byte {} of {} is {} instead of {}", what, i,
                                           bytes.size(), static_cast<int>(bytes[i]),
                                           static_cast<int>(pattern(i, salt))));
}

test_pe::test_pe(proxy_job& all, int pe)
    : pe(pe),
      n_pes(all.n_pes()),
      team(all.ref(pe)),
      random(all.seed() + static_cast<std::uint64_t>(pe)),
      all_(all) {}

/// Memory that a processor reaches after all, so that the job's threads may be its kernels.
class proxy_job::imitated_gpu final : public device_memory {
 public:
  imitated_gpu(memory_network& network, int pe) : network_(network), pe_(pe) {}
  void copy(void* to, const void* from, std::size_t bytes) const override {
    // Whole words, as a GPU copies them.
    bytes == 4 || bytes == 8 ? host_.write(0, to, from, bytes)
                             : static_cast<void>(std::memcpy(to, from, bytes));
  }
  void store(std::uint64_t* word, std::uint64_t value) const override {
    host_.store_word(0, word, value);
  }
  std::uint64_t atomic(void* word, std::size_t bytes, atomic_op op, std::uint64_t value,
                       std::uint64_t compare) const override {
    return host_.atomic(0, word, bytes, op, value, compare);
  }
  void flush() const override { network_.flush(pe_); }

 private:
  memory_network& network_;
  const int pe_;
  const exposed_memory host_{nullptr};
};

void proxy_job::unmap::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

proxy_job::proxy_job(const options& options)
    : options_(options),
      seed_(chosen_seed()),
      network_(chosen_network().make(options.n_pes, options.network_timeout, seed_)),
      world_(static_cast<std::size_t>(options.n_pes)) {
  static_assert(sizeof(team_memory) <= control_offset);
  static_assert(sizeof(team_control) <= user_offset - control_offset);
  std::iota(world_.begin(), world_.end(), 0);
  const std::size_t bytes = user_offset + options.user_bytes;
  for (int pe = 0; pe < options.n_pes; ++pe) {
    auto& made = *pes_.emplace_back(std::make_unique<pe_state>());
    void* heap = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (heap == MAP_FAILED) throw std::bad_alloc();
    made.heap = {static_cast<std::byte*>(heap), unmap{bytes}};
    made.slots.assign(world_.size(), -1);
    made.slots[static_cast<std::size_t>(pe)] = 0;
    if (chosen_network().has_gpu) made.gpu = std::make_unique<imitated_gpu>(*network_.memory, pe);
    made.driver = std::make_unique<proxy>(
        std::move(network_.transports[static_cast<std::size_t>(pe)]),
        proxy::options{.engine = {.my_pe = pe,
                                  .n_pes = options.n_pes,
                                  .lanes = options.contexts,
                                  .job = job_number,
                                  .first_number = 0xffffffc0,  // they wrap soon
                                  .device = made.gpu.get()},
                       .contexts = options.contexts,
                       .looks_by_itself = false,
                       .make_shared_memory = {},
                       .make_device_memory = {},
                       .regions = {{reinterpret_cast<const byte*>(heap), bytes}, {nullptr, 0}},
                       .on_failure = [this, pe](int lost, const std::string& reason) {
                         if (ends_) return;
                         {
                           const std::scoped_lock lock(at(pe).guard);
                           at(pe).failures.push_back({lost, reason});
                         }
                         abort(pe, {abort_reason::peer_lost, lost, pe});
                       }});
    made.driver->add_memory(0, 0, made.heap.get(), user_offset);
    made.driver->expose(0, 0, made.heap.get(), user_offset);
    expose(pe, 0, std::min(options.exposed_bytes, options.user_bytes));
  }
}

proxy_job::~proxy_job() {
  ends_ = true;
  for (auto& each : pes_) each->driver.reset();
}

team_control* proxy_job::control(int pe) const {
  return reinterpret_cast<team_control*>(at(pe).heap.get() + control_offset);
}

team_ref proxy_job::ref(int pe) const {
  auto& self = at(pe);
  auto* heap = reinterpret_cast<byte*>(self.heap.get());
  return team_ref_builder::build(
      {.my_pe = pe,
       .n_pes = options_.n_pes,
       .my_slot = 0,
       .slot_step = 0,
       .slot_stride = static_cast<std::int64_t>(user_offset + options_.user_bytes),
       .slots = self.slots.data(),
       .world = world_.data(),
       .proxy = &self.driver->host_ref(),
       .heap = heap,
       .heap_bytes = user_offset + options_.user_bytes,
       .memory = reinterpret_cast<team_memory*>(heap),
       .scratch = nullptr,
       .control = control(pe),
       .control_stride = 0,
       .timeout_ns = static_cast<std::uint64_t>(options_.timeout * 1e9),
       .spin = 4,
       .flag_period = 0xffffffffu});
}

void proxy_job::abort(int pe, abort_code code) const {
  std::uint64_t none = 0;
  atomic_ref<std::uint64_t>(control(pe)->abort_word)
      .compare_exchange_strong(none, code.to_word(), release, relaxed);
}

void proxy_job::expose(int pe, std::size_t from, std::size_t to) const {
  if (to <= from) return;
  at(pe).driver->add_memory(0, user_offset + from, user(pe) + from, to - from);
  at(pe).driver->expose(0, user_offset + from, user(pe) + from, to - from);
}

void proxy_job::conceal(int pe, std::size_t from) const {
  at(pe).driver->conceal(0, user_offset + from);
}

void proxy_job::kill(int pe) { at(pe).driver.reset(); }

void proxy_job::lose(int pe) const {
  for (int other = 0; other < n_pes(); ++other)
    if (other != pe) network_.lose(other, pe);
}

std::vector<proxy_job::failure> proxy_job::failures(int pe) const {
  const std::scoped_lock lock(at(pe).guard);
  return at(pe).failures;
}

void proxy_job::run(const std::function<void(test_pe&)>& body) {
  std::mutex guard;
  std::string first;
  {
    std::vector<std::jthread> threads;
    for (int pe = 0; pe < n_pes(); ++pe)
      threads.emplace_back([&, pe] {
        try {
          test_pe self(*this, pe);
          body(self);
          if (options_.meets_at_end) self.barrier();
        } catch (const std::exception& failed) {
          const std::scoped_lock lock(guard);
          if (first.empty()) first = fmt::format("PE {}: {}", pe, failed.what());
          for (int other = 0; other < n_pes(); ++other) abort(other, {abort_reason::user, pe, pe});
        }
      });
  }
  if (first.empty() && memory()) first = memory()->complaint();
  if (first.empty()) return;
  for (int pe = 0; pe < n_pes(); ++pe) {
    const auto& late = control(pe)->failure;
    if (load(&late.state, acquire) == 2)
      first += fmt::format("; PE {} waited {:.1f} s in operation {} for PE {}, for {} and found {}",
                           pe, static_cast<double>(late.waited_ns) * 1e-9, late.operation,
                           late.peer, late.expected, late.seen);
    for (const auto& each : failures(pe))
      first += fmt::format("; PE {} was told that PE {} failed: {}", pe, each.pe, each.reason);
  }
  throw std::runtime_error(fmt::format("{} ({}, seed {})", first, chosen_network().name, seed_));
}

}  // namespace heddle::testing
