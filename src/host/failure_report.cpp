// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/failure_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "host/runtime.hpp"
#include "host/team.hpp"

namespace heddle {

namespace {

std::string_view name_of(operation op) {
  switch (op) {
    case operation::none:
      return "a wait";
    case operation::wait_until:
      return "wait_until";
    case operation::barrier:
      return "barrier";
    case operation::all_reduce:
      return "all_reduce";
    case operation::link_send:
      return "a link's credit";
    case operation::link_receive:
      return "a link's data";
    case operation::put:
      return "put, until the network has taken its source";
    case operation::get:
      return "get";
    case operation::atomic:
      return "an atomic";
    case operation::quiet:
      return "quiet";
    case operation::command_queue:
      return "a put, for room in the proxy's queue";
    case operation::broadcast:
      return "broadcast";
    case operation::all_gather:
      return "all_gather";
    case operation::all_to_all:
      return "all_to_all";
    case operation::gather:
      return "gather";
    case operation::scatter:
      return "scatter";
    case operation::send:
      return "send";
    case operation::receive:
      return "receive";
    case operation::reduce_scatter:
      return "reduce_scatter";
    case operation::reduce:
      return "reduce";
  }
  return "a wait";
}

std::string_view symbol_of(cmp how) {
  switch (how) {
    case cmp::eq:
      return "==";
    case cmp::ne:
      return "!=";
    case cmp::gt:
      return ">";
    case cmp::ge:
      return ">=";
    case cmp::lt:
      return "<";
    case cmp::le:
      return "<=";
  }
  return "?";
}

/// A record that is complete; `peer` may be writing the next one, so every word is read for itself.
bool read_record(const wait_record& from, wait_record& to) {
  if (load(&from.state, acquire) != 2) return false;
  to = {.state = 2,
        .operation = load(&from.operation, relaxed),
        .peer = load(&from.peer, relaxed),
        .comparison = load(&from.comparison, relaxed),
        .address = load(&from.address, relaxed),
        .expected = load(&from.expected, relaxed),
        .seen = load(&from.seen, relaxed),
        .waited_ns = load(&from.waited_ns, relaxed)};
  return true;
}

int world_pe_of(const heddle_team& team, int pe) {
  return team.world_pes()[static_cast<std::size_t>(pe)];
}

/// What a PE's control says, which may have to be asked over the network.
struct told_record {
  bool is_known = false;  ///< the PE answers
  bool is_there = false;
  wait_record record{};
};

told_record record_of(const heddle_team& team, int pe, wait_record team_control::*which) {
  told_record told;
  const auto& ref = team.host_ref();
  if (team.is_mapped(pe)) {
    told.is_known = true;
    told.is_there = read_record(ref.control(pe)->*which, told.record);
  } else if (auto* network = ref.is_remote(pe) ? team.runtime().network() : nullptr) {
    const auto found = network->peek(world_pe_of(team, pe), ref.control(team.my_pe())->*which);
    told.is_known = found.has_value();
    told.is_there = found && read_record(*found, told.record);
  }
  return told;
}

/// Waits for this PE's proxy: on words that say nothing to anybody else.
bool is_for_proxy(operation op) {
  return op == operation::put || op == operation::get || op == operation::atomic ||
         op == operation::quiet || op == operation::command_queue;
}

std::string describe(const heddle_team& team, int waiter, const wait_record& wait) {
  const auto op = static_cast<operation>(wait.operation);
  // What is in no slot of the heaps is in the host's.
  auto where = wait.address < team.runtime().heap().stride()
                   ? fmt::format("heap offset {:#x}", wait.address)
                   : std::string("an address of the host heap");
  // What the program gave, where this PE is the one that waited.
  if (op == operation::wait_until && waiter == team.my_pe() && team.runtime().place().is_host())
    where += fmt::format(" ({})", fmt::ptr(team.host_ref().heap() + wait.address));
  const auto whom = wait.peer >= 0 ? fmt::format(" for PE {}", wait.peer) : std::string();
  auto text = fmt::format("PE {} of team {} waited {:.2f} s{} in {}", waiter, team.name(),
                          static_cast<double>(wait.waited_ns) * 1e-9, whom, name_of(op));
  if (is_for_proxy(op)) return text;
  return text + fmt::format(": the word at {} was {}, expected {} {}", where, wait.seen,
                            symbol_of(static_cast<cmp>(wait.comparison)), wait.expected);
}

/// "PE 1 of the world, on host n2, reached by ..."
std::string place_of(const heddle_team& team, int world_pe) {
  auto& runtime = team.runtime();
  if (auto* network = runtime.network())
    return fmt::format("PE {} of the world, on host {}, {}", world_pe, network->host_name(world_pe),
                       network->describe(world_pe));
  return fmt::format("PE {} of the world, on host {}", world_pe,
                     runtime.bootstrap().host_of(world_pe));
}

/// Those whose acknowledgement this PE's quiet lacks: a few are enough to look at.
std::string whom_quiet_awaits(const heddle_team& team, const wait_record& wait) {
  constexpr std::size_t most = 4;
  auto* network = team.runtime().network();
  if (static_cast<operation>(wait.operation) != operation::quiet || !network) return "";
  const auto awaited = network->awaited();
  std::string text;
  for (std::size_t i = 0; i < std::min(awaited.size(), most); ++i)
    text += fmt::format("; not acknowledged by {}", place_of(team, awaited[i]));
  if (awaited.size() > most) text += fmt::format("; nor by {} more", awaited.size() - most);
  return text;
}

constexpr std::string_view circle = "; they wait in a circle";
constexpr std::string_view departure = " has left the job (heddle_finalize)";

/// Follows who waits for whom, from `pe` on, to the PE that waits for nobody.
std::string follow_waits(const heddle_team& team, int pe) {
  std::string chain;
  std::set<int> seen;
  while (pe >= 0) {
    if (!seen.insert(pe).second) return chain.append(circle);
    if (team.runtime().bootstrap().has_left(world_pe_of(team, pe)))
      return chain + fmt::format("; PE {}{}", pe, departure);
    const auto where = team.is_mapped(pe)
                           ? std::string()
                           : fmt::format(" ({})", place_of(team, world_pe_of(team, pe)));
    const auto [is_known, is_waiting, wait] = record_of(team, pe, &team_control::waiting);
    if (!is_known)
      return chain +
             fmt::format("; PE {}{} does not answer: it is stopped, has ended, or is not reached",
                         pe, where);
    if (!is_waiting)
      return chain + fmt::format(
                         "; PE {} is not waiting in this team: it has not made the call, is busy "
                         "or is stopped{}",
                         pe, where);
    chain += wait.peer >= 0 ? fmt::format("; PE {} waits for PE {} in {}", pe, wait.peer,
                                          name_of(static_cast<operation>(wait.operation)))
                            : fmt::format("; PE {} waits in {}", pe,
                                          name_of(static_cast<operation>(wait.operation)));
    pe = wait.peer;
  }
  return chain;
}

/// `who` was waited for, as far as that is known.
std::string advice(const std::string& who) {
  if (who.ends_with(departure)) return ". See why it has made fewer calls than this PE";
  return std::string(". Raise HEDDLE_TIMEOUT if this is expected; else look at ") +
         (who.empty()             ? "who was to write the word"
          : who.ends_with(circle) ? "whether they have made the same calls in the same order"
                                  : "that PE");
}

error timed_out(const heddle_team& team, abort_code code) {
  wait_record wait;
  if (read_record(team.host_ref().control(team.my_pe())->failure, wait)) {
    const auto whom = whom_quiet_awaits(team, wait) + follow_waits(team, wait.peer);
    return {HEDDLE_ERROR_TIMEOUT, describe(team, team.my_pe(), wait) + whom + advice(whom)};
  }
  auto text = fmt::format("team {} was aborted: a wait of PE {} passed the deadline", team.name(),
                          code.reporter);
  // Of a remote PE it has come with the abort, unless a GPU's kernel has aborted.
  if (read_record(team.host_ref().control(team.my_pe())->told, wait))
    text += ": " + describe(team, code.reporter, wait);
  else if (code.reporter >= 0)
    if (const auto told = record_of(team, code.reporter, &team_control::failure); told.is_there)
      text += ": " + describe(team, code.reporter, told.record);
  const auto whom = follow_waits(team, code.culprit);
  return {HEDDLE_ERROR_ABORTED, text + whom + advice(whom)};
}

/// Of a send and its receive.
error mismatched(const heddle_team& team, abort_code code) {
  wait_record found;
  int pe = team.my_pe();
  // Its own record may be of another wait, if it was not the first to abort.
  bool is_told = code.reporter == pe && read_record(team.host_ref().control(pe)->failure, found);
  if (!is_told) {
    pe = code.reporter;
    is_told = read_record(team.host_ref().control(team.my_pe())->told, found);
  }
  if (!is_told && pe >= 0) {
    const auto told = record_of(team, pe, &team_control::failure);
    is_told = told.is_there;
    found = told.record;
  }
  if (!is_told)
    return {HEDDLE_ERROR_MISMATCH,
            fmt::format("team {}: PEs {} and {} send and receive different sizes", team.name(),
                        code.reporter, code.culprit)};
  const bool sends = static_cast<operation>(found.operation) == operation::send;
  return {HEDDLE_ERROR_MISMATCH,
          fmt::format("team {}: PE {} {} {} bytes {} PE {}, which {} {}", team.name(), pe,
                      sends ? "sends" : "receives", found.expected, sends ? "to" : "from",
                      found.peer, sends ? "receives" : "sends", found.seen)};
}

}  // namespace

error failure_of(const heddle_team& team) {
  const auto code =
      abort_code::from_word(load(&team.host_ref().control(team.my_pe())->abort_word, acquire));
  switch (code.reason) {
    case abort_reason::timeout:
      return timed_out(team, code);
    case abort_reason::peer_lost: {
      const int world_pe =
          code.culprit >= 0 ? team.world_pes()[static_cast<std::size_t>(code.culprit)] : -1;
      auto reason = team.runtime().loss_of(world_pe);
      if (reason.empty()) reason = team.abort_text(code.reporter);
      return {HEDDLE_ERROR_PEER_LOST,
              fmt::format("PE {} of team {} (PE {} of the world) is lost: {}", code.culprit,
                          team.name(), world_pe, reason)};
    }
    case abort_reason::user:
      return {HEDDLE_ERROR_ABORTED, fmt::format("PE {} aborted team {}: {}", code.reporter,
                                                team.name(), team.abort_text(code.reporter))};
    case abort_reason::mismatch:
      return mismatched(team, code);
    case abort_reason::none:
      break;
  }
  return {HEDDLE_ERROR_ABORTED, fmt::format("team {} was aborted", team.name())};
}

}  // namespace heddle
