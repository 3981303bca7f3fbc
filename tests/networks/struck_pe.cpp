// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A PE of a job over the network that something befalls while its PEs deal with each other and
// wait for each other; the victim does as the others do until then. Each that lives on prints RIGHT
// or WRONG, what it was told and how long that and finalize took, and ends with 0 if all was as it
// should be.
//
//     struck_pe WAIT kill VICTIM       the PE kills itself: the others are told that it is lost
//     struck_pe WAIT stop VICTIM FILE PLACE
//                                      it stops: by HEDDLE_TIMEOUT they are told for whom they
//                                      wait, or that it takes nothing of what it is sent; it is
//                                      killed when each has noted its end in FILE
//     struck_pe WAIT link VICTIM FILE PLACE
//                                      when FILE is there, somebody pulls the cable of its host,
//                                      and makes FILE.done
//     struck_pe WAIT link_first VICTIM FILE PLACE
//                                      the same, before they have sent each other anything
//     struck_pe WAIT port VICTIM FILE PLACE
//                                      as link, where cards tell that their ports are down
//     struck_pe stray none VICTIM      its kernel puts to what is not symmetric
//
// PLACE: what they are to be told of where the PE is that they wait for (a regular expression),
// after "PE N of the world, ". WAIT: all_reduce, barrier, put, get, atomic, wait_until,
// kernel_wait, kernel_quiet, kernel_barrier, or finalize, which nobody waits before.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <heddle/device/launch.hpp>
#include <heddle/heddle.hpp>
#include <map>
#include <regex>
#include <string>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point start) {
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

struct wait_in_kernel {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, heddle::signal* never) const {
    team.wait_until(block, never, heddle::cmp::ge, heddle::signal{1});
  }
};

struct put_in_kernel {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, float* data, std::size_t n,
                            int victim) const {
    while (!team.aborted()) {
      team.put_nbi(block, data, data, n, victim);
      team.quiet();
    }
  }
};

struct meet_in_kernel {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team) const {
    while (team.barrier(block) == heddle::wait_status::ok) {
    }
  }
};

struct stray_in_kernel {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, float* not_symmetric,
                            int pe) const {
    team.put(block, not_symmetric, not_symmetric, 2, pe);
    team.barrier(block);
  }
};

struct told {
  heddle_status_t status = HEDDLE_SUCCESS;
  std::string text;
  double seconds = 0;  ///< from just before the blow on, or just after link_first's
};

class struck_pe {
 public:
  struck_pe(std::string wait, std::string fault, int victim, std::string file, std::string place)
      : strikes_first_(fault == "link_first"),
        tells_of_port_(fault == "port"),
        wait_(std::move(wait)),
        fault_(strikes_first_ || tells_of_port_ ? "link" : std::move(fault)),
        victim_(victim),
        file_(std::move(file)),
        place_(std::move(place)) {}

  /// Until the PE is told of something wrong; the runtime is left by the caller.
  told run(const heddle::runtime& runtime) {
    const auto world = runtime.world();
    me_ = world.my_pe();
    const heddle::symmetric_array<float> data(runtime, 100'000);
    const heddle::symmetric_array<heddle::signal> never(runtime, 1);
    const auto stream = runtime.default_stream();
    const auto in_kernel = [&](auto kernel, auto... arguments) {
      heddle::launch(stream, 1, 1, kernel, world.ref(), arguments...);
      stream.synchronize();
    };
    // The victim, too, reaches for another: it is struck in the middle of that, or cut off.
    const int whom = me_ == victim_ ? (victim_ + 1) % world.n_pes() : victim_;
    std::map<std::string, std::function<void()>> waits = {
        {"all_reduce",
         [&] { world.all_reduce(data.data(), data.data(), data.size(), heddle::op::max); }},
        {"barrier", [&] { world.barrier(); }},
        {"put",
         [&] {
           world.put_nbi(data.data(), data.data(), data.size(), whom);
           world.quiet();
         }},
        {"get",
         [&] {
           std::vector<float> got(data.size());
           world.get(got.data(), data.data(), got.size(), whom);
           if (got.front() != 42 || got.back() != 42)
             throw heddle::error(HEDDLE_ERROR_INTERNAL, "a get that failed says that it has not");
         }},
        {"atomic", [&] { (void)world.atomic_fetch_add(never.data(), 0, whom); }},
        {"wait_until", [&] { world.wait_until(never.data(), heddle::cmp::ge, 1); }},
        {"kernel_wait", [&] { in_kernel(wait_in_kernel{}, never.data()); }},
        {"kernel_quiet", [&] { in_kernel(put_in_kernel{}, data.data(), data.size(), whom); }},
        {"kernel_barrier", [&] { in_kernel(meet_in_kernel{}); }},
        {"stray", [&] {
           std::array<float, 2> own{};
           if (me_ == victim_) in_kernel(stray_in_kernel{}, own.data(), (me_ + 1) % world.n_pes());
           world.barrier();
         }}};
    const std::vector<float> content(data.size(), 42);
    world.put(data.data(), content.data(), content.size(), me_);
    is_near_ = me_ != victim_ && runtime.ptr(data.data(), victim_) != nullptr;
    if (!strikes_first_) {
      world.all_reduce(data.data(), data.data(), 1000, heddle::op::max);
      world.barrier();  // who leaves the next has heard from all: none are still to be connected
    }
    auto start = clock_type::now();
    try {
      if (!strikes_first_) world.barrier();  // which the victim may be the first to leave
      be_struck();
      if (strikes_first_) start = clock_type::now();
      if (wait_ == "finalize") return {};
      const auto& wait = waits.at(wait_);
      for (;;) wait();
    } catch (const heddle::error& failure) {
      return {failure.status(), failure.what(), seconds_since(start)};
    }
  }

  [[nodiscard]] bool is_right(const told& what, double finalize_seconds) const {
    const char* set = std::getenv("HEDDLE_TIMEOUT");
    const double timeout = set ? std::atof(set) : 300;
    constexpr double slack = 5;  // of a loaded machine
    if (finalize_seconds > timeout + slack) return false;
    if (wait_ == "finalize") return true;
    const auto has = [&](const std::string& part) {
      return what.text.find(part) != std::string::npos;
    };
    const auto victim = "PE " + std::to_string(victim_);
    if (fault_ == "kill")
      return what.status == HEDDLE_ERROR_PEER_LOST && has(victim) && what.seconds < slack;
    if (fault_ == "none")
      return what.status == HEDDLE_ERROR_ABORTED && has("a kernel of " + victim) &&
             has("not symmetric");
    // What was on its way when it stopped fills the connection: TCP's deadline for that is as long
    // as the wait's, and may be the first to pass.
    if (fault_ == "stop" && what.status == HEDDLE_ERROR_PEER_LOST)
      return has(victim) && has("has taken nothing for") && what.seconds < timeout + slack;
    // Where the others are cut off, the victim waits for one of them.
    const auto culprit = me_ == victim_ ? std::string("PE [0-9]+") : victim;
    if (strikes_first_)
      return what.status == HEDDLE_ERROR_PEER_LOST && what.seconds < timeout + slack &&
             std::regex_search(what.text, std::regex(culprit + " at [^ ]+ cannot be reached"));
    // What fails in the moment in which the port goes down does not name it: its card does not yet.
    if (tells_of_port_)
      return what.status == HEDDLE_ERROR_PEER_LOST && what.seconds < timeout + slack &&
             std::regex_search(
                 what.text, std::regex("PE [0-9] .* is lost: .*( cannot be reached: an operation "
                                       "to .* ended with| has been down for [0-9.]+ s: look at)"));
    // Nobody knows who was to write the word.
    const bool names_nobody = wait_ == "wait_until" || wait_ == "kernel_wait";
    const bool says_where =
        is_near_ ? has(victim)
                 : std::regex_search(what.text, std::regex(culprit + " of the world, " + place_));
    return (what.status == HEDDLE_ERROR_TIMEOUT || what.status == HEDDLE_ERROR_ABORTED) &&
           (names_nobody || says_where) && (has("waited") || has("a wait of")) &&
           what.seconds < timeout + slack;
  }

 private:
  /// The victim goes on, and the blow falls in the middle of what it does then. Nobody is in the
  /// middle of finalize for long: there it falls at once.
  void be_struck() const {
    if (fault_ == "link" && me_ == 0) std::ofstream(file_) << "now\n";
    if (fault_ == "link" && (wait_ == "finalize" || strikes_first_)) await_cut();
    if (me_ != victim_ || (fault_ != "kill" && fault_ != "stop")) return;
    const int blow = fault_ == "kill" ? SIGKILL : SIGSTOP;
    if (wait_ == "finalize") {
      std::raise(blow);
      return;
    }
    std::thread([blow] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::raise(blow);
    }).detach();
  }

  void await_cut() const {
    const auto start = clock_type::now();
    while (!std::filesystem::exists(file_ + ".done") && seconds_since(start) < 20)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  const bool strikes_first_;
  const bool tells_of_port_;
  const std::string wait_;
  const std::string fault_;
  const int victim_;
  const std::string file_;
  const std::string place_;
  int me_ = -1;
  bool is_near_ = false;  ///< on the victim's host
};

/// Ends this process when the others of the job have ended: what is stopped cannot itself.
void end_last(const std::string& file) {
  const char* size = std::getenv("WORLD_SIZE");
  const long others = size ? std::atol(size) - 1 : 0;
  const pid_t parent = ::getpid();
  if (::fork() != 0) return;
  struct stat noted {};
  while (::getppid() == parent && (::stat(file.c_str(), &noted) != 0 || noted.st_size < others))
    ::usleep(50'000);
  if (::getppid() == parent) ::kill(parent, SIGKILL);
  ::_exit(0);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string fault = argc > 2 ? argv[2] : "";
  const bool stops = fault == "stop";
  const bool has_file = stops || fault == "link" || fault == "link_first" || fault == "port";
  if (argc != (has_file ? 6 : 4))
    throw std::runtime_error(
        "struck_pe WAIT kill|none VICTIM, or WAIT stop|link|link_first|port VICTIM FILE "
        "PLACE");
  const std::string file = has_file ? argv[4] : "";
  struck_pe pe(argv[1], fault, std::atoi(argv[3]), file, has_file ? argv[5] : "");
  if (stops && std::getenv("RANK") == std::string(argv[3])) end_last(file);
  told what;
  clock_type::time_point leaving;
  {
    const heddle::runtime runtime;
    what = pe.run(runtime);
    leaving = clock_type::now();
  }
  const double finalize = seconds_since(leaving);
  const bool right = pe.is_right(what, finalize);
  if (stops) std::ofstream(file, std::ios::app) << '.';
  fmt::print("{} after {:.2f} s, finalized in {:.2f} s: {}\n", right ? "RIGHT" : "WRONG",
             what.seconds, finalize, what.text);
  return right ? 0 : 1;
} catch (const std::exception& failure) {
  fmt::print("WRONG: {}\n", failure.what());
  return 1;
}
