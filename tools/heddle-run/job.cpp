// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// One loop serves the whole job: ends of PEs and signals (a signalfd), output to tag (pipes),
// aborts and joins that PMIx tells of (an eventfd), and points in time: --timeout, and the ends of
// the grace after SIGTERM and after the last PE.

#include "job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "core_binding.hpp"
#include "janitor.hpp"
#include "pe_environment.hpp"
#include "pe_process.hpp"
#include "pmix_server.hpp"
#include "shared_memory_files.hpp"
#include "shared_output.hpp"
#include "store_space.hpp"
#include "support/throw_error.hpp"
#include "tagged_stream.hpp"

namespace heddle::run {
namespace {

using clock = std::chrono::steady_clock;

constexpr int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/// That a PE has called PMIx_Abort.
struct abort_notice {
  int rank;
  int status;
  std::string text;
};

class job {
 public:
  explicit job(const options& chosen)
      : chosen_(chosen),
        program_(find_program(chosen.command.front())),
        environment_(pe_environment(chosen.exports)) {
    block_signals();
  }

  int run() {
    janitor_.emplace();
    if (const auto shortage = store_shortage(janitor_->folder(), chosen_.size); !shortage.empty())
      say("{}", shortage);
    told_ = unique_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    server_.emplace(
        janitor_->folder(), chosen_.size,
        [this](int rank, int status, std::string text) {
          {
            std::lock_guard lock(aborts_mutex_);
            aborts_.push_back({rank, status, std::move(text)});
          }
          wake();
        },
        [this] { wake(); });
    const auto cores = choose_cores(chosen_.bind, chosen_.size);
    try {
      for (int pe = 0; pe < chosen_.size; ++pe)
        start(pe,
              cores.empty() ? std::nullopt : std::optional(cores[static_cast<std::size_t>(pe)]));
    } catch (...) {
      signal_all(SIGKILL);  // those that were started, and what they have started
      for (const pid_t process : processes_) ::waitpid(process, nullptr, 0);
      throw;
    }
    if (chosen_.timeout > 0) timeout_at_ = clock::now() + seconds(chosen_.timeout);
    while (running_ > 0 || !streams_.empty()) wait_once();
    if (const int failure = output_.failure() ? output_.failure() : errors_.failure()) {
      say("what the PEs have printed could not be written: {}", ::strerror(failure));
      while (!streams_.empty()) wait_once();
      if (!status_) status_ = 1;
    }
    return status_.value_or(0);
  }

 private:
  static clock::duration seconds(double value) {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(value));
  }

  void block_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (int signal : forwarded) {
      // A signal that is ignored, as under nohup, would be kept for the signalfd if it were
      // blocked.
      struct sigaction action {};
      if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
        ::sigaddset(&set, signal);
    }
    ::sigaddset(&set, SIGCHLD);
    ::signal(SIGCHLD, SIG_DFL);  // where it is ignored, ends are not told
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    signals_ = unique_fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    ::signal(SIGPIPE, SIG_IGN);
  }

  void start(int pe, std::optional<cpu_set_t> processors) {
    pe_start begin;
    begin.program = program_;
    begin.arguments = chosen_.command;
    begin.environment = server_->environment_of(pe, environment_);
    begin.processors = processors;
    // A terminal answers the foreground group alone: a PE, in a group of its own, would be stopped
    // by it.
    if (pe == 0 && !::isatty(STDIN_FILENO)) begin.input = STDIN_FILENO;
    unique_fd out;
    unique_fd err;
    if (chosen_.tag_output) {
      out = tag(pe, output_);
      err = tag(pe, errors());
      begin.output = out.get();
      begin.errors = err.get();
    }
    const pid_t process = start_pe(begin);
    janitor_->watch(process);
    processes_.push_back(process);
    ++running_;
  }

  shared_output& errors() { return one_output_ ? output_ : errors_; }

  /// A message of heddle-run's own: a stream that has been read already.
  template <class... Arguments>
  void say(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
    streams_.emplace_back(message(fmt::format(form, std::forward<Arguments>(arguments)...)),
                          errors());
    streams_.back().move_some();
    forget_done();
  }

  unique_fd tag(int pe, shared_output& to) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw_system_error(errno, "asked for a pipe; raise ulimit -n");
    streams_.emplace_back(unique_fd(ends[0]), to, line_tagger(fmt::format("[{}] ", pe)));
    return unique_fd(ends[1]);
  }

  void wait_once() {
    std::vector<pollfd> entries = {{signals_.get(), POLLIN, 0}, {told_.get(), POLLIN, 0}};
    move_output(entries, milliseconds_to_wait());
    if (entries[0].revents) take_signals();
    if (entries[1].revents) take_news();
    const auto now = clock::now();
    if (timeout_at_ && now >= *timeout_at_) {
      timeout_at_.reset();
      if (!status_) status_ = 124;
      end_all();
      say("the job has run for {} s (--timeout); ending it", chosen_.timeout);
      cut_short();
    }
    if (kill_at_ && now >= *kill_at_) {
      kill_at_.reset();
      signal_all(SIGKILL);
    }
    if (close_at_ && now >= *close_at_) leave_output();
  }

  /// Waits for these and for the streams, and moves a piece of each stream that can be: whether
  /// there was one.
  bool move_output(std::vector<pollfd>& entries, int milliseconds) {
    const auto others = entries.size();
    for (const auto& stream : streams_) entries.push_back(stream.wanted());
    ::poll(entries.data(), entries.size(), milliseconds);
    bool moved = false;
    auto stream = streams_.begin();
    for (auto i = others; i < entries.size(); ++i, ++stream) {
      if (!entries[i].revents) continue;
      stream->move_some();
      moved = true;
    }
    for (auto& each : streams_) each.drop_if_unread();
    forget_done();
    return moved;
  }

  void forget_done() {
    std::erase_if(streams_, [](const auto& each) { return each.is_done(); });
  }

  /// The PEs have ended --grace seconds ago. What they have printed is still written, for as long
  /// as somebody may read it, unless the job was cut short.
  void leave_output() {
    close_at_.reset();
    bool held = false;
    for (auto& stream : streams_) held |= stream.leave_holder();
    if (held)
      say("all PEs have ended, but their output is still held by a process that one of them left "
          "behind; not waiting for it (--grace)");
    forget_done();
    if (!cut_short_) return;
    for (bool moved = true; moved;) {
      std::vector<pollfd> none;
      moved = move_output(none, 0);
    }
    if (streams_.empty()) return;
    drop_output();
    say("what the PEs have printed is not read; the rest of it is lost (--grace)");
    drop_output();
  }

  void drop_output() {
    streams_.clear();
    output_.leave_line();
    errors_.leave_line();
  }

  /// By --timeout or a signal: then nobody who does not read may hold heddle-run up.
  void cut_short() {
    cut_short_ = true;
    if (running_ == 0) close_at_ = clock::now() + seconds(chosen_.grace);
  }

  [[nodiscard]] int milliseconds_to_wait() const {
    auto soonest = clock::time_point::max();
    if (timeout_at_) soonest = std::min(soonest, *timeout_at_);
    if (kill_at_) soonest = std::min(soonest, *kill_at_);
    if (close_at_) soonest = std::min(soonest, *close_at_);
    if (soonest == clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(soonest - clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000));
  }

  void take_signals() {
    signalfd_siginfo info{};
    bool ended = false;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal == SIGCHLD) {
        ended = true;
        continue;
      }
      signal_all(signal);
      if (signal == SIGUSR1 || signal == SIGUSR2) continue;
      if (!cut_short_) cut_short();
      if (kill_at_) continue;
      if (!status_) status_ = 128 + signal;
      kill_at_ = clock::now() + seconds(chosen_.grace);
    }
    if (ended) reap();
  }

  void reap() {
    for (std::size_t pe = 0; pe < processes_.size(); ++pe) {
      if (processes_[pe] < 0) continue;
      int state = W_EXITCODE(1, 0);  // a failure, should somebody else have taken the PE's own
      const pid_t ended = ::waitpid(processes_[pe], &state, WNOHANG);
      if (ended == 0 || (ended < 0 && errno != ECHILD)) continue;
      janitor_->forget(processes_[pe]);
      // What the PE itself has left behind in its group ends with it.
      ::kill(-processes_[pe], SIGKILL);
      if (state != 0) remove_shared_memory_files(processes_[pe]);
      processes_[pe] = -1;
      --running_;
      take_end(static_cast<int>(pe), state);
    }
    tell_of_missing();
    if (running_ == 0) {
      kill_at_.reset();
      if (!close_at_) close_at_ = clock::now() + seconds(chosen_.grace);
    }
  }

  void take_end(int pe, int state) {
    const int status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
    if (status == 0) {
      if (server_->membership_of(pe) != pmix_server::membership::left) missing_.push_back(pe);
      return;
    }
    if (!ending_) {
      say("PE {} {}{}", pe,
          WIFSIGNALED(state) ? fmt::format("was killed by signal {} ({})", WTERMSIG(state),
                                           ::strsignal(WTERMSIG(state)))
                             : fmt::format("ended with status {}", status),
          running_ == 0        ? ""
          : chosen_.keep_going ? "; the others go on (--keep-going)"
                               : "; ending the others");
    }
    if (!status_) status_ = status;
    if (chosen_.keep_going && !ending_)
      server_->announce_loss(pe);
    else
      end_all();
  }

  /// From another thread: there is news of PMIx's.
  void wake() {
    const std::uint64_t one = 1;
    (void)!::write(told_.get(), &one, sizeof one);
  }

  void take_news() {
    std::uint64_t count = 0;
    (void)!::read(told_.get(), &count, sizeof count);
    std::vector<abort_notice> aborts;
    {
      std::lock_guard lock(aborts_mutex_);
      aborts.swap(aborts_);
    }
    if (!aborts.empty()) end_all();
    for (const auto& one : aborts) {
      // An exit status has eight bits, and an abort is no success.
      if (!status_) status_ = one.status & 0xff ? one.status & 0xff : 1;
      say("PE {} aborts the job with status {}: {}", one.rank, one.status, one.text);
    }
    tell_of_missing();
  }

  /// PEs that have joined wait for those that ended well without having left, or ever joined, and
  /// so are told. Where none has joined the program is not of this kind, or not yet there.
  void tell_of_missing() {
    if (ending_ || missing_.empty() || !is_any_joined()) return;
    for (const int pe : std::exchange(missing_, {})) {
      if (server_->membership_of(pe) == pmix_server::membership::none)
        say("PE {} has ended without joining the job", pe);
      server_->announce_loss(pe);
    }
  }

  [[nodiscard]] bool is_any_joined() const {
    for (std::size_t pe = 0; pe < processes_.size(); ++pe)
      if (processes_[pe] > 0 &&
          server_->membership_of(static_cast<int>(pe)) == pmix_server::membership::joined)
        return true;
    return false;
  }

  void end_all() {
    ending_ = true;
    if (running_ == 0 || kill_at_) return;
    signal_all(SIGTERM);
    kill_at_ = clock::now() + seconds(chosen_.grace);
  }

  void signal_all(int signal) {
    for (const pid_t process : processes_)
      if (process > 0) ::kill(-process, signal);
  }

  const options& chosen_;
  const std::string program_;
  const std::vector<std::string> environment_;
  unique_fd signals_;
  unique_fd told_;
  std::optional<janitor> janitor_;
  std::vector<pid_t> processes_;
  shared_output output_{STDOUT_FILENO};
  shared_output errors_{STDERR_FILENO};
  const bool one_output_ = same_file(STDOUT_FILENO, STDERR_FILENO);
  std::list<tagged_stream> streams_;  ///< a list: outputs remember which is in the middle of a line
  std::optional<clock::time_point> timeout_at_;
  std::optional<clock::time_point> kill_at_;
  std::optional<clock::time_point> close_at_;  ///< when output is no longer waited for
  bool cut_short_ = false;
  std::optional<int> status_;
  std::mutex aborts_mutex_;
  std::vector<abort_notice> aborts_;
  std::vector<int> missing_;  ///< PEs that ended well, did not leave, and of which nobody was told
  int running_ = 0;
  bool ending_ = false;
  std::optional<pmix_server> server_;  ///< whose thread uses what is above
};

}  // namespace

int run_job(const options& chosen) { return job(chosen).run(); }

}  // namespace heddle::run
