// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pmix.h>

#include <memory>
#include <utility>

#include "bootstrap/bounded_call.hpp"

namespace heddle::run {

/// Runs a call of the PMIx library that reports its end through a callback, `call(callback, data)`,
/// and waits for that: its status, or PMIX_ERR_TIMEOUT. The report may come later; what `call`
/// holds lives until then.
template <class Call>
pmix_status_t complete(deadline until, Call call) {
  struct request {
    explicit request(Call given) : call(std::move(given)) {}
    Call call;
    promised<pmix_status_t> ended;
  };
  using handle = std::shared_ptr<request>;
  const auto shared = std::make_shared<request>(std::move(call));
  auto handed = std::make_unique<handle>(shared);
  const pmix_op_cbfunc_t tell = [](pmix_status_t status, void* data) {
    const std::unique_ptr<handle> taken(static_cast<handle*>(data));
    (*taken)->ended.give(status);
  };
  const pmix_status_t status = shared->call(tell, handed.get());
  if (status == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
  if (status != PMIX_SUCCESS) return status;
  (void)handed.release();  // the callback's
  return shared->ended.wait(until).value_or(PMIX_ERR_TIMEOUT);
}

}  // namespace heddle::run
