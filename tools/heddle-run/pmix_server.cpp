// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "pmix_server.hpp"

#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>

#include "bootstrap/bounded_call.hpp"
#include "pmix_completion.hpp"
#include "support/quiet_thread.hpp"
#include "support/throw_error.hpp"

namespace heddle::run {
namespace {

constexpr std::chrono::seconds patience{10};
/// What the server may take to end, when all PEs have ended.
constexpr std::chrono::seconds finalize_time{2};

pmix_server::abort_callback abort_handler;
pmix_server::join_callback join_handler;

/// What the ranks have called, as the library's threads are told.
struct member_record {
  std::mutex mutex;
  std::vector<pmix_server::membership> ranks;

  void set(pmix_rank_t rank, pmix_server::membership now) {
    std::lock_guard lock(mutex);
    if (rank < ranks.size()) ranks[rank] = now;
  }
};
member_record members;

[[noreturn]] void fail(const char* step, pmix_status_t status) {
  throw_error(HEDDLE_ERROR_SYSTEM, "starting the PMIx server of the job: {}: {}", step,
              PMIx_Error_string(status));
}

/// Throws unless the call succeeds in time.
template <class Call>
void require(const char* step, Call call) {
  const auto status = complete(deadline::after(patience), std::move(call));
  if (status != PMIX_SUCCESS) fail(step, status);
}

/// A list of what PMIx calls info, freed with it.
class info_list {
 public:
  explicit info_list(std::size_t size) : size_(size) { PMIX_INFO_CREATE(infos_, size_); }
  ~info_list() { PMIX_INFO_FREE(infos_, size_); }
  info_list(const info_list&) = delete;
  info_list& operator=(const info_list&) = delete;

  void add(const char* key, const void* value, pmix_data_type_t type) {
    PMIX_INFO_LOAD(&infos_[used_], key, value, type);
    ++used_;
  }
  void add(const char* key, const std::string& text) { add(key, text.c_str(), PMIX_STRING); }
  void add(const char* key, std::uint32_t number) { add(key, &number, PMIX_UINT32); }
  pmix_info_t* data() { return infos_; }
  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  pmix_info_t* infos_ = nullptr;
  std::size_t size_;
  std::size_t used_ = 0;
};

pmix_proc_t process_of(const std::string& job, pmix_rank_t rank) {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, job.c_str(), rank);
  return process;
}

// ---- what the library asks of its host ----

pmix_status_t client_connected(const pmix_proc_t* process, void*, pmix_info_t*, size_t,
                               pmix_op_cbfunc_t done, void* data) {
  members.set(process->rank, pmix_server::membership::joined);
  if (join_handler) join_handler();
  if (done) done(PMIX_SUCCESS, data);
  return PMIX_SUCCESS;
}

pmix_status_t client_finalized(const pmix_proc_t* process, void*, pmix_op_cbfunc_t done,
                               void* data) {
  members.set(process->rank, pmix_server::membership::left);
  if (done) done(PMIX_SUCCESS, data);
  return PMIX_SUCCESS;
}

pmix_status_t client_aborts(const pmix_proc_t* process, void*, int status, const char* message,
                            pmix_proc_t*, size_t, pmix_op_cbfunc_t done, void* data) {
  if (abort_handler) abort_handler(static_cast<int>(process->rank), status, message ? message : "");
  if (done) done(PMIX_SUCCESS, data);
  return PMIX_SUCCESS;
}

/// Called when every rank of the job has arrived, all of them being here: their data goes back to
/// all.
pmix_status_t fence(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, char* collected,
                    size_t bytes, pmix_modex_cbfunc_t done, void* data) {
  if (done) done(PMIX_SUCCESS, collected, bytes, data, nullptr, nullptr);
  return PMIX_SUCCESS;
}

/// There are no ranks elsewhere whose data could be asked for.
pmix_status_t direct_modex(const pmix_proc_t*, const pmix_info_t*, size_t, pmix_modex_cbfunc_t,
                           void*) {
  return PMIX_ERR_NOT_FOUND;
}

pmix_status_t register_events(pmix_status_t*, size_t, const pmix_info_t*, size_t,
                              pmix_op_cbfunc_t done, void* data) {
  if (done) done(PMIX_SUCCESS, data);
  return PMIX_SUCCESS;
}

pmix_status_t deregister_events(pmix_status_t*, size_t, pmix_op_cbfunc_t done, void* data) {
  if (done) done(PMIX_SUCCESS, data);
  return PMIX_SUCCESS;
}

pmix_server_module_t& host_functions() {
  static pmix_server_module_t functions = [] {
    pmix_server_module_t made;
    std::memset(&made, 0, sizeof made);
    made.client_connected2 = client_connected;
    made.client_finalized = client_finalized;
    made.abort = client_aborts;
    made.fence_nb = fence;
    made.direct_modex = direct_modex;
    made.register_events = register_events;
    made.deregister_events = deregister_events;
    return made;
  }();
  return functions;
}

/// What PMIx calls this machine: its host name, or another where that is longer than what libpmix
/// 4.2's PMIx_generate_regex has room for, which it does not look at.
std::string node_name() {
  constexpr std::size_t longest = 49;
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return std::strlen(name) > longest ? "localhost" : name;
}

/// The library says of a thread that it cannot have no more than that an error occurred.
void require_a_thread() {
  start_quietly("serve PMIx to the job", [] {}).join();
}

std::string rank_list(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return fmt::format("{}", fmt::join(ranks, ","));
}

void register_job(const std::string& job, int size) {
  const auto node = node_name();
  const auto ranks = rank_list(size);
  char* nodes = nullptr;
  char* places = nullptr;
  if (auto status = PMIx_generate_regex(node.c_str(), &nodes); status != PMIX_SUCCESS)
    fail("PMIx_generate_regex", status);
  if (auto status = PMIx_generate_ppn(ranks.c_str(), &places); status != PMIX_SUCCESS) {
    std::free(nodes);
    fail("PMIx_generate_ppn", status);
  }
  const auto count = static_cast<std::uint32_t>(size);
  const auto infos = std::make_shared<info_list>(9);
  infos->add(PMIX_UNIV_SIZE, count);
  infos->add(PMIX_JOB_SIZE, count);
  infos->add(PMIX_LOCAL_SIZE, count);
  infos->add(PMIX_NODE_SIZE, count);
  infos->add(PMIX_NUM_NODES, std::uint32_t{1});
  infos->add(PMIX_LOCAL_PEERS, ranks);
  infos->add(PMIX_JOBID, job);
  infos->add(PMIX_NODE_MAP, nodes, PMIX_REGEX);
  infos->add(PMIX_PROC_MAP, places, PMIX_REGEX);
  std::free(nodes);
  std::free(places);
  require("PMIx_server_register_nspace", [job, size, infos](pmix_op_cbfunc_t done, void* data) {
    return PMIx_server_register_nspace(job.c_str(), size, infos->data(), infos->size(), done, data);
  });
}

}  // namespace

pmix_server::pmix_server(const std::string& folder, int size, abort_callback on_abort,
                         join_callback on_join)
    : job_("heddle-run-" + std::to_string(::getpid())), size_(size) {
  require_a_thread();
  abort_handler = std::move(on_abort);
  join_handler = std::move(on_join);
  members.ranks.assign(static_cast<std::size_t>(size), membership::none);
  info_list infos(3);
  infos.add(PMIX_HOSTNAME, node_name());
  infos.add(PMIX_SERVER_TMPDIR, folder);
  infos.add(PMIX_SYSTEM_TMPDIR, folder);
  if (auto status = PMIx_server_init(&host_functions(), infos.data(), infos.size());
      status != PMIX_SUCCESS)
    fail("PMIx_server_init", status);
  register_job(job_, size);
  for (int rank = 0; rank < size; ++rank) {
    const auto process = process_of(job_, static_cast<pmix_rank_t>(rank));
    require("PMIx_server_register_client", [process](pmix_op_cbfunc_t done, void* data) {
      return PMIx_server_register_client(&process, ::getuid(), ::getgid(), nullptr, done, data);
    });
  }
}

pmix_server::~pmix_server() {
  // libpmix 4.2 may wait in there for a lock that its progress thread took along when it ended.
  try {
    if (!call_until(deadline::after(finalize_time), "end the PMIx server", PMIx_server_finalize))
      return;
    abort_handler = nullptr;
    join_handler = nullptr;
  } catch (const error&) {
    // There is no thread to call it on (ulimit -u). The process, which is about to end, does as
    // well.
  }
}

std::vector<std::string> pmix_server::environment_of(int rank,
                                                     const std::vector<std::string>& base) const {
  const auto process = process_of(job_, static_cast<pmix_rank_t>(rank));
  char** changed = nullptr;
  for (const auto& entry : base) {
    pmix_status_t status = PMIX_SUCCESS;
    PMIX_ARGV_APPEND(status, changed, entry.c_str());
    if (status != PMIX_SUCCESS) fail("copying the environment", status);
  }
  if (auto status = PMIx_server_setup_fork(&process, &changed); status != PMIX_SUCCESS)
    fail("PMIx_server_setup_fork", status);
  std::vector<std::string> result;
  for (char** entry = changed; entry && *entry; ++entry) result.emplace_back(*entry);
  PMIX_ARGV_FREE(changed);
  return result;
}

pmix_server::membership pmix_server::membership_of(int rank) const {
  std::lock_guard lock(members.mutex);
  return members.ranks.at(static_cast<std::size_t>(rank));
}

void pmix_server::announce_loss(int rank) const {
  const auto source = process_of(job_, static_cast<pmix_rank_t>(rank));
  const auto infos = std::make_shared<info_list>(1);
  infos->add(PMIX_EVENT_AFFECTED_PROC, &source, PMIX_PROC);
  // A bonus to the clients, who notice by themselves: that it fails is nothing to report.
  (void)complete(deadline::after(patience), [source, infos](pmix_op_cbfunc_t done, void* data) {
    return PMIx_Notify_event(PMIX_ERR_PROC_ABORTED, &source, PMIX_RANGE_NAMESPACE, infos->data(),
                             infos->size(), done, data);
  });
}

}  // namespace heddle::run
