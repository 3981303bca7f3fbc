// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// heddle's put and put_signal, from kernels on the host device, between two PEs.
#include <cstring>
#include <heddle/device/launch.hpp>

#include "../put_sweep.hpp"

namespace {

/// n puts to the peer, each complete before the next.
struct put_kernel {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, float* dst, float* src,
                            std::size_t count, std::uint64_t n) const {
    const int peer = 1 - team.my_pe();
    for (std::uint64_t i = 0; i < n; ++i) {
      src[0] = static_cast<float>(i & 1023);
      team.put(block, dst, src, count, peer);
      team.quiet();
    }
  }
};

struct mail {
  std::uint64_t payload;
  std::uint64_t padding[15];
  heddle::signal signal;
  std::uint64_t beside_signal;
  std::uint64_t sent;  ///< what the last put carried
};

/// n round trips of an 8-byte payload and its signal. With Reads the payload that arrived,
/// increased by one, is what goes back.
template <bool Reads>
struct ping_pong_kernel {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, std::uint64_t* payload, mail* mine,
                            std::uint64_t epoch, std::uint64_t n) const {
    const int peer = 1 - team.my_pe();
    for (std::uint64_t i = 1; i <= n; ++i) {
      const auto send = [&] {
        team.put_signal(block, payload, &mine->sent, 1, &mine->signal, epoch + i,
                        heddle::signal_op::set, peer);
      };
      if (!Reads) ++mine->sent;
      if (team.my_pe() == 0) send();
      team.wait_until(block, &mine->signal, heddle::cmp::ge, epoch + i);
      if (Reads) mine->sent = *payload + 1;
      if (team.my_pe() == 1) send();
    }
  }
};

class heddle_putter {
 public:
  explicit heddle_putter(std::size_t bytes)
      : world_(runtime_.world()),
        stream_(runtime_.default_stream()),
        source_(runtime_.calloc<float>(bytes / sizeof(float))),
        target_(runtime_.calloc<float>(bytes / sizeof(float))),
        times_(runtime_.calloc<double>(2)),
        mail_(static_cast<mail*>(static_cast<void*>(runtime_.malloc<cache_lines>(1)))) {
    if (world_.n_pes() != 2)
      throw std::runtime_error("put_signal is for two PEs, and there are " +
                               std::to_string(world_.n_pes()));
    std::memset(mail_, 0, sizeof *mail_);
    world_.barrier();
  }

  [[nodiscard]] int my_pe() const { return world_.my_pe(); }

  double agree(double x) {
    times_[0] = x;
    world_.all_reduce(times_, times_ + 1, 1, heddle::op::max);
    return times_[1];
  }

  void puts(std::size_t bytes, std::uint64_t n) {
    heddle::launch(stream_, 1, 1, put_kernel{}, world_.ref(), target_, source_,
                   bytes / sizeof(float), n);
  }

  void verify(std::size_t bytes) {
    const std::size_t count = bytes / sizeof(float);
    for (std::size_t i = 0; i < count; ++i)
      source_[i] = static_cast<float>((i + static_cast<std::size_t>(my_pe())) & 1023);
    agree(0);
    puts(bytes, 1);
    world_.barrier();
    for (std::size_t i = 1; i < count; i += 1 + count / 509)
      if (target_[i] != static_cast<float>((i + static_cast<std::size_t>(1 - my_pe())) & 1023))
        throw std::runtime_error("put delivered wrong data");
    agree(0);
  }

  template <bool Reads>
  void round_trips(std::uint64_t n, bool one_line) {
    std::uint64_t* payload = one_line ? &mail_->beside_signal : &mail_->payload;
    mail_->sent = 0;
    heddle::launch(stream_, 1, 1, ping_pong_kernel<Reads>{}, world_.ref(), payload, mail_, epoch_,
                   n);
    epoch_ += n;
    // The payload goes up by one at each end; without reading, each end counts for itself. The last
    // message of PE 1 has arrived at PE 0, and the one that PE 1 has is that of round n.
    const std::uint64_t expected = !Reads ? n : my_pe() == 0 ? 2 * n - 1 : 2 * n - 2;
    if (*payload != expected)
      throw std::runtime_error("put_signal delivered the payload " + std::to_string(*payload) +
                               ", not " + std::to_string(expected));
  }

 private:
  struct alignas(128) cache_lines {
    unsigned char bytes[(sizeof(mail) + 127) / 128 * 128];
  };

  heddle::runtime runtime_;  // releases the memory when it ends
  heddle::team world_;
  heddle::stream stream_;
  float* source_;
  float* target_;
  double* times_;
  mail* mail_;
  std::uint64_t epoch_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::options::parse(argc, argv, "heddle's put and put_signal");
  return bench::run_program("put_signal", [&] {
    heddle_putter putter(options.max_bytes);
    bench::report_binding(putter.my_pe());
    bench::time_ping_pong(putter, "put_signal", "heddle", 8, options,
                          [&](std::uint64_t n) { putter.round_trips<false>(n, false); });
    bench::time_ping_pong(putter, "put_signal_one_line", "heddle", 8, options,
                          [&](std::uint64_t n) { putter.round_trips<true>(n, true); });
    bench::time_ping_pong(putter, "put_signal_two_lines", "heddle", 8, options,
                          [&](std::uint64_t n) { putter.round_trips<true>(n, false); });
    bench::sweep_puts(putter, "heddle", options);
  });
}
