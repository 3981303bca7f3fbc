// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <heddle/error.hpp>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

/// What every rank has thrown alike.
class agreed_error : public error {
 public:
  using error::error;
};

/// A step that every rank does by itself, and of which it tells the others what it returns: by
/// rank. Throws on every rank if `work` has thrown on any, with the first such rank's error and
/// number, as agreed_error; what the others have done is theirs to undo then. A rank that is lost
/// is not waited for. Collective. `work` may have agreed steps of its own, which all ranks' have:
/// what one of them throws is agreed already.
std::vector<bootstrap::bytes> agreed_gather(bootstrap& bootstrap, deadline until,
                                            const std::function<bootstrap::bytes()>& work);

/// The same for a step of which there is nothing more to tell than that it was done.
void agreed_step(bootstrap& bootstrap, deadline until, const std::function<void()>& work);

}  // namespace heddle
