// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/pmix_session.hpp"

#include <pmix.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "bootstrap/bounded_call.hpp"
#include "bootstrap/rank_list.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

constexpr std::chrono::seconds finalize_time(5);
/// How long a question for an endpoint may take before it is asked again: at first, at most.
constexpr std::chrono::milliseconds first_patience(50), longest_patience(2000);
/// How long news of an ended process may go unseen in a fence.
constexpr std::chrono::milliseconds fence_news_time(100);

/// What the library's callbacks find of the one session of the process.
struct session_record {
  std::mutex mutex;
  // Sessions that have published: every rank's number is the same, so it can name their keys. A
  // rank whose session did so and never joined may have a number that no other has.
  int published = 0;
  bool is_behind = false;
  pmix_session::process_ended news;
  std::string job;
  // Told before there was anybody to tell, in that order: ranks and why.
  std::vector<std::pair<int, std::string>> ended;
};

session_record& record() {
  static auto* only = new session_record;  // never destroyed: PMIx may call back during exit
  return *only;
}

std::string error_text(pmix_status_t status) {
  const char* text = ::PMIx_Error_string(status);
  return fmt::format("{} ({})", text ? text : "unknown", status);
}

pmix_proc_t process_of(const std::string& job, pmix_rank_t rank) {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, job.c_str(), rank);
  return process;
}

int seconds_left(deadline until) { return std::max(1, (until.poll_milliseconds() + 999) / 1000); }

deadline sooner(deadline a, deadline b) { return a.at() < b.at() ? a : b; }

/// Arguments of one PMIx call, alive until the library has answered.
class info_list {
 public:
  void add(const char* key, bool value) { add(key, &value, PMIX_BOOL); }
  void add(const char* key, int value) { add(key, &value, PMIX_INT); }
  ~info_list() {
    for (auto& one : infos_) PMIX_INFO_DESTRUCT(&one);
  }
  [[nodiscard]] const pmix_info_t* data() const { return infos_.data(); }
  [[nodiscard]] std::size_t size() const { return infos_.size(); }

 private:
  void add(const char* key, const void* value, pmix_data_type_t type) {
    // Before the macro, which evaluates its arguments more than once in PMIx 3 to 4.1.
    auto& info = infos_.emplace_back();
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);
  }
  std::vector<pmix_info_t> infos_;
};

/// A request to the library that may be answered after the asker has given up.
template <class Answer>
struct request {
  promised<Answer> answer;
  info_list infos;
};

template <class Answer>
void* hand_over(const std::shared_ptr<request<Answer>>& shared) {
  return new std::shared_ptr<request<Answer>>(shared);
}

template <class Answer>
std::shared_ptr<request<Answer>> take_back(void* handed) {
  auto* pointer = static_cast<std::shared_ptr<request<Answer>>*>(handed);
  auto shared = *pointer;
  delete pointer;
  return shared;
}

struct value_answer {
  pmix_status_t status = PMIX_ERROR;
  std::vector<std::byte> block;
  std::optional<std::uint64_t> number;
};

value_answer read_value(pmix_status_t status, const pmix_value_t* value) {
  value_answer answer;
  answer.status = status;
  if (status != PMIX_SUCCESS || !value) return answer;
  // Launchers give the same attribute in different types.
  switch (value->type) {
    case PMIX_BYTE_OBJECT: {
      auto* data = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
      if (data) answer.block.assign(data, data + value->data.bo.size);
      break;
    }
    case PMIX_UINT32:
      answer.number = value->data.uint32;
      break;
    case PMIX_INT:
      answer.number = static_cast<std::uint64_t>(value->data.integer);
      break;
    case PMIX_INT32:
      answer.number = static_cast<std::uint64_t>(value->data.int32);
      break;
    case PMIX_UINT:
      answer.number = value->data.uint;
      break;
    case PMIX_SIZE:
      answer.number = value->data.size;
      break;
    case PMIX_UINT16:
      answer.number = value->data.uint16;
      break;
    case PMIX_UINT64:
      answer.number = value->data.uint64;
      break;
    case PMIX_PROC_RANK:
      answer.number = value->data.rank;
      break;
    default:
      break;
  }
  return answer;
}

std::shared_ptr<request<value_answer>> ask(const pmix_proc_t& process, const char* key,
                                           deadline until) {
  auto asked = std::make_shared<request<value_answer>>();
  asked->infos.add(PMIX_TIMEOUT, seconds_left(until));
  void* handed = hand_over(asked);
  auto status = ::PMIx_Get_nb(
      &process, key, asked->infos.data(), asked->infos.size(),
      [](pmix_status_t status, pmix_value_t* value, void* handed) {
        take_back<value_answer>(handed)->answer.give(read_value(status, value));
      },
      handed);
  if (status != PMIX_SUCCESS)
    take_back<value_answer>(handed)->answer.give(read_value(status, nullptr));
  return asked;
}

void receive_news(size_t, pmix_status_t status, const pmix_proc_t* source, pmix_info_t* infos,
                  size_t count, pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done,
                  void* done_data) {
  const pmix_proc_t* affected = source;
  for (size_t i = 0; i < count; ++i)
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_AFFECTED_PROC) && infos[i].value.type == PMIX_PROC)
      affected = infos[i].value.data.proc;
  {
    auto& only = record();
    std::lock_guard lock(only.mutex);
    if (affected && only.job == affected->nspace && affected->rank <= PMIX_RANK_VALID) {
      const int rank = static_cast<int>(affected->rank);
      const auto why = fmt::format("the launcher says that it ended: {}", error_text(status));
      if (only.news)
        only.news(rank, why);
      else
        only.ended.emplace_back(rank, why);
    }
  }
  if (done) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_data);
}

// By code: handlers for all events are not called for these by every launcher. Never
// PMIX_EVENT_NODE_DOWN: Slurm refuses the whole list that has it.
void register_for_news() {
  pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_ABORTED_BY_SIG,
                           PMIX_ERR_PROC_TERM_WO_SYNC, PMIX_ERR_EXIT_NONZERO_TERM};
  ::PMIx_Register_event_handler(
      codes, std::size(codes), nullptr, 0, receive_news,
      [](pmix_status_t status, size_t, void*) {
        if (status != PMIX_SUCCESS)
          log::trace(log::subsystem::bootstrap, "the launcher takes no event handlers: {}",
                     error_text(status));
      },
      nullptr);
}

}  // namespace

struct pmix_session::connection {
  connection() {
    auto& only = record();
    std::lock_guard lock(only.mutex);
    if (only.is_behind)
      throw_error(
          HEDDLE_ERROR_INVALID_USAGE,
          "an earlier init of process {} failed after it had told the other PEs where to "
          "reach it; over PMIx a process cannot join any more then: see to the cause of that "
          "failure, and start the job anew",
          process);
    only.ended.clear();
  }
  ~connection() {
    // A forked child has a copy of the object, but not the library's threads.
    if (process != ::getpid()) return;
    {
      auto& only = record();
      std::lock_guard lock(only.mutex);
      only.news = nullptr;
      only.is_behind = generation != 0 && !joined;
    }
    if (made) finalize();
  }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  const pid_t process = ::getpid();
  int generation = 0;  // 0 until it has published
  bool made = false;
  bool joined = false;

 private:
  static void finalize() try {
    const auto status = call_until(deadline::after(finalize_time), "call PMIx_Finalize",
                                   [] { return ::PMIx_Finalize(nullptr, 0); });
    if (!status)
      log::warn(log::subsystem::bootstrap,
                "PMIx_Finalize did not return in {} s; the launcher may call this exit improper",
                finalize_time.count());
    else if (*status != PMIX_SUCCESS)
      log::info(log::subsystem::bootstrap, "PMIx_Finalize: {}", error_text(*status));
  } catch (const std::exception& failure) {
    log::warn(log::subsystem::bootstrap,
              "{}; this process ends without PMIx_Finalize, and the launcher may call its exit "
              "improper",
              failure.what());
  }
};

pmix_session::pmix_session(deadline until) : connection_(std::make_unique<connection>()) {
  struct joined {
    pmix_status_t status;
    pmix_proc_t me;
  };
  auto result = call_until(until, "call PMIx_Init", [] {
    joined joined{};
    joined.status = ::PMIx_Init(&joined.me, nullptr, 0);
    return joined;
  });
  if (!result)
    throw_error(
        HEDDLE_ERROR_TIMEOUT,
        "asked the launcher's PMIx server for this process's rank, it did not answer before the "
        "deadline; see whether the launcher is stopped, or raise HEDDLE_INIT_TIMEOUT");
  if (result->status == PMIX_ERR_UNREACH)
    throw_error(
        HEDDLE_ERROR_INVALID_USAGE,
        "PMIX_NAMESPACE and PMIX_RANK are set, but no PMIx server answers (PMIx_Init: {}); start "
        "the program by srun --mpi=pmix, mpirun or heddle-run, or unset these variables",
        error_text(result->status));
  if (result->status != PMIX_SUCCESS)
    throw_error(HEDDLE_ERROR_SYSTEM, "asked the launcher's PMIx server for a rank: PMIx_Init: {}",
                error_text(result->status));
  connection_->made = true;
  job_ = result->me.nspace;
  rank_ = static_cast<int>(result->me.rank);
  auto size = ask(process_of(job_, PMIX_RANK_WILDCARD), PMIX_JOB_SIZE, until)->answer.wait(until);
  if (!size || !size->number || *size->number < 1 || *size->number > PMIX_RANK_VALID)
    throw_error(HEDDLE_ERROR_SYSTEM,
                "asked the launcher for the size of job {} (PMIX_JOB_SIZE) as rank {}: {}", job_,
                rank_, size ? error_text(size->status) : "no answer before the deadline");
  size_ = static_cast<int>(*size->number);
  {
    auto& only = record();
    std::lock_guard lock(only.mutex);
    only.job = job_;
  }
  register_for_news();
}

pmix_session::~pmix_session() = default;

std::optional<bootstrap::loss> pmix_session::first_ended() {
  auto& only = record();
  std::lock_guard lock(only.mutex);
  if (only.ended.empty()) return std::nullopt;
  return bootstrap::loss{only.ended.front().first, only.ended.front().second};
}

void pmix_session::throw_if_ended() const {
  if (const auto ended = first_ended())
    throw_error(HEDDLE_ERROR_PEER_LOST, "rank {} of {} ended before all had joined: {}",
                ended->rank, size_, ended->reason);
}

void pmix_session::fence(deadline until) {
  auto asked = std::make_shared<request<pmix_status_t>>();
  asked->infos.add(PMIX_COLLECT_DATA, true);
  asked->infos.add(PMIX_TIMEOUT, seconds_left(until));
  void* handed = hand_over(asked);
  auto started = ::PMIx_Fence_nb(
      nullptr, 0, asked->infos.data(), asked->infos.size(),
      [](pmix_status_t status, void* handed) {
        take_back<pmix_status_t>(handed)->answer.give(status);
      },
      handed);
  if (started != PMIX_SUCCESS) take_back<pmix_status_t>(handed)->answer.give(started);
  std::optional<pmix_status_t> fenced;
  do {
    // The fence does not end without a rank that has ended, or not at once.
    throw_if_ended();
    fenced = asked->answer.wait(sooner(until, deadline::after(fence_news_time)));
  } while (!fenced && !until.passed());
  if (!fenced || *fenced == PMIX_ERR_TIMEOUT)
    throw_error(
        HEDDLE_ERROR_TIMEOUT,
        "rank {} of {} waited for the other ranks at the PMIx fence until the deadline; see "
        "whether all have called init, or allow more time (HEDDLE_INIT_TIMEOUT)",
        rank_, size_);
  if (*fenced != PMIX_SUCCESS)
    throw_error(HEDDLE_ERROR_SYSTEM, "rank {} of {}: PMIx_Fence: {}", rank_, size_,
                error_text(*fenced));
}

std::vector<pmix_session::bytes> pmix_session::exchange(std::span<const std::byte> mine,
                                                        deadline until) {
  {
    auto& only = record();
    std::lock_guard lock(only.mutex);
    connection_->generation = ++only.published;
  }
  const auto key = fmt::format("heddle.endpoint.{}", connection_->generation);
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(mine.data()));
  value.data.bo.size = mine.size();
  if (auto status = ::PMIx_Put(PMIX_GLOBAL, key.c_str(), &value); status != PMIX_SUCCESS)
    throw_error(HEDDLE_ERROR_SYSTEM, "rank {}: asked PMIx to publish {} bytes (PMIx_Put): {}",
                rank_, mine.size(), error_text(status));
  if (auto status = ::PMIx_Commit(); status != PMIX_SUCCESS)
    throw_error(HEDDLE_ERROR_SYSTEM, "rank {}: asked PMIx to publish {} bytes (PMIx_Commit): {}",
                rank_, mine.size(), error_text(status));

  // Only when all join first: a fence counts those that have left and not joined again as ended,
  // and then returns at once for some ranks and never for others (Open MPI 4). The rounds need
  // none.
  if (connection_->generation == 1) fence(until);

  std::vector<bytes> blocks(static_cast<std::size_t>(size_));
  std::vector<int> absent;
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_) absent.push_back(rank);
  blocks[static_cast<std::size_t>(rank_)].assign(mine.begin(), mine.end());
  std::string last_problem;
  // A fence may return before every rank was there, and there may have been none, hence the rounds.
  // They are short, since a server may forget a question that comes while its answer is published.
  auto patience = first_patience;
  for (auto pause = std::chrono::milliseconds(1); !absent.empty();
       pause = std::min(pause * 2, std::chrono::milliseconds(100))) {
    const auto round = sooner(until, deadline::after(patience));
    patience = std::min(patience * 2, longest_patience);
    std::vector<std::shared_ptr<request<value_answer>>> asked;
    for (int rank : absent)
      asked.push_back(ask(process_of(job_, static_cast<pmix_rank_t>(rank)), key.c_str(), round));
    std::vector<int> still_absent;
    for (std::size_t i = 0; i < absent.size(); ++i) {
      auto answer = asked[i]->answer.wait(round);
      if (answer && answer->status == PMIX_SUCCESS && !answer->block.empty()) {
        blocks[static_cast<std::size_t>(absent[i])] = std::move(answer->block);
      } else {
        last_problem = answer ? error_text(answer->status) : "no answer";
        still_absent.push_back(absent[i]);
      }
    }
    absent = std::move(still_absent);
    if (absent.empty()) break;
    throw_if_ended();
    if (until.passed())
      throw_error(
          HEDDLE_ERROR_TIMEOUT,
          "rank {} of {}: the endpoint of {} was not there before the deadline (PMIx_Get: {}); see "
          "whether all have called init, or allow more time (HEDDLE_INIT_TIMEOUT)",
          rank_, size_, name_ranks(absent), last_problem);
    std::this_thread::sleep_for(pause);
  }
  return blocks;
}

void pmix_session::on_process_ended(process_ended callback) {
  if (!connection_) return;  // closed: the record may be another session's
  auto& only = record();
  std::lock_guard lock(only.mutex);
  only.news = std::move(callback);
  if (!only.news) return;
  for (const auto& [rank, why] : std::exchange(only.ended, {})) only.news(rank, why);
}

void pmix_session::note_joined() { connection_->joined = true; }

void pmix_session::close() { connection_.reset(); }

}  // namespace heddle
