// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>

#include "bootstrap/bootstrap_from_environment.hpp"
#include "bootstrap/thread_bootstrap.hpp"
#include "bootstrap/unique_id_bootstrap.hpp"
#include "host/call_group.hpp"
#include "host/guarded_call.hpp"
#include "host/runtime.hpp"
#include "host/settings.hpp"

using heddle::guarded;
using heddle::required;

/// What the C handle of a job of threads points to.
struct heddle_thread_job : heddle::live_handle {
  explicit heddle_thread_job(int n_pes) : job(n_pes) {}
  heddle::thread_rendezvous job;
};

heddle_status_t heddle_init(heddle_runtime_t* runtime) {
  return guarded([&] {
    auto& out = required(runtime, "heddle_init", "runtime");
    const auto environment = heddle::read_environment();
    out = new heddle_runtime(
        environment, heddle::bootstrap_from_environment(
                         {environment.socket_ifname, environment.job_secret,
                          environment.rendezvous_port, heddle::init_deadline(environment)}));
  });
}

heddle_status_t heddle_get_unique_id(heddle_unique_id_t* id) {
  return guarded([&] {
    auto& out = required(id, "heddle_get_unique_id", "id");
    out = heddle::make_unique_id(heddle::read_environment().socket_ifname);
  });
}

heddle_status_t heddle_init_unique_id(heddle_runtime_t* runtime, const heddle_unique_id_t* id,
                                      int pe, int n_pes) {
  return guarded([&] {
    auto& out = required(runtime, "heddle_init_unique_id", "runtime");
    const auto& joined = required(id, "heddle_init_unique_id", "id");
    const auto environment = heddle::read_environment();
    out = new heddle_runtime(environment,
                             heddle::join_unique_id(joined, pe, n_pes, environment.socket_ifname,
                                                    heddle::init_deadline(environment)));
  });
}

heddle_status_t heddle_thread_job_create(heddle_thread_job_t* job, int n_pes) {
  return guarded([&] {
    auto& out = required(job, "heddle_thread_job_create", "job");
    out = new heddle_thread_job(n_pes);
  });
}

heddle_status_t heddle_init_thread(heddle_runtime_t* runtime, heddle_thread_job_t job, int pe) {
  return guarded([&] {
    auto& out = required(runtime, "heddle_init_thread", "runtime");
    auto& joined = required(job, "heddle_init_thread", "job");
    const auto environment = heddle::read_environment();
    out = new heddle_runtime(environment, joined.job.join(pe));
  });
}

heddle_status_t heddle_thread_job_destroy(heddle_thread_job_t job) {
  return guarded([&] { delete &required(job, "heddle_thread_job_destroy", "job"); });
}

heddle_status_t heddle_finalize(heddle_runtime_t runtime) {
  return guarded([&] {
    auto& checked = required(runtime, "heddle_finalize", "runtime");
    heddle::call_group::of_this_thread().require_nothing_of(checked, "heddle_finalize");
    checked.require_no_work_of_streams("heddle_finalize");
    const std::unique_ptr<heddle_runtime> gone(&checked);
    gone->leave_in_order();
  });
}

heddle_status_t heddle_abort(heddle_runtime_t runtime, const char* reason) {
  return guarded([&] {
    auto& checked = required(runtime, "heddle_abort", "runtime");
    checked.require_no_work_of_streams("heddle_abort");
    const std::unique_ptr<heddle_runtime> gone(&checked);
    heddle::call_group::of_this_thread().cancel(*gone);
    gone->leave_in_disorder(reason ? reason : "heddle_abort without a reason");
  });
}

heddle_status_t heddle_my_pe(heddle_runtime_t runtime, int* pe) {
  return guarded([&] {
    required(pe, "heddle_my_pe", "pe") = required(runtime, "heddle_my_pe", "runtime").my_pe();
  });
}

heddle_status_t heddle_n_pes(heddle_runtime_t runtime, int* n_pes) {
  return guarded([&] {
    required(n_pes, "heddle_n_pes", "n_pes") = required(runtime, "heddle_n_pes", "runtime").n_pes();
  });
}

heddle_status_t heddle_device_name(heddle_runtime_t runtime, char* name, size_t bytes) {
  return guarded([&] {
    auto* out = &required(name, "heddle_device_name", "name");
    const auto& checked = required(runtime, "heddle_device_name", "runtime");
    if (bytes > 0) std::snprintf(out, bytes, "%s", checked.device().name().c_str());
  });
}
