// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/agreed_step.hpp"

#include <string>

#include "bootstrap/byte_stream.hpp"
#include "support/throw_error.hpp"

namespace heddle {

std::vector<bootstrap::bytes> agreed_gather(bootstrap& bootstrap, deadline until,
                                            const std::function<bootstrap::bytes()>& work) {
  auto status = HEDDLE_SUCCESS;
  std::string problem;
  bootstrap::bytes result;
  try {
    result = work();
  } catch (const agreed_error&) {
    throw;
  } catch (const error& failure) {
    status = failure.status();
    problem = failure.what();
  } catch (const std::exception& failure) {
    status = HEDDLE_ERROR_SYSTEM;
    problem = failure.what();
  }
  // What the bootstrap itself cannot do any more, it says better; the others are in another call.
  if (status == HEDDLE_ERROR_PEER_LOST || status == HEDDLE_ERROR_TIMEOUT)
    throw error(status, problem);
  byte_writer out;
  out.number(static_cast<std::int32_t>(status)).text(problem).raw(result);
  auto all = bootstrap.all_gather(out.bytes(), until);
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    byte_reader in(all[pe]);
    const auto theirs = static_cast<heddle_status_t>(in.number<std::int32_t>());
    const auto reason = in.text();
    if (theirs != HEDDLE_SUCCESS) throw agreed_error(theirs, fmt::format("PE {}: {}", pe, reason));
    all[pe] = {in.left().begin(), in.left().end()};
  }
  return all;
}

void agreed_step(bootstrap& bootstrap, deadline until, const std::function<void()>& work) {
  agreed_gather(bootstrap, until, [&] {
    work();
    return bootstrap::bytes();
  });
}

}  // namespace heddle
