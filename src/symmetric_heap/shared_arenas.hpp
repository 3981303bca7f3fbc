// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

/// Names the arena that this PE shares with those of its host (which may be imitated), in any
/// process.
inline std::string arena_name(const bootstrap& bootstrap) {
  return std::string(bootstrap.job_id()) + "@" + std::string(bootstrap.host_of(bootstrap.rank()));
}

/// The arenas of jobs whose PEs are threads of this process: one for each job and host, made by the
/// first PE that asks and shared by the others.
template <class Arena>
class shared_arenas {
 public:
  static shared_arenas& of_process() {
    static shared_arenas instance;
    return instance;
  }

  /// `name` is an arena_name().
  template <class Make>
  std::shared_ptr<Arena> get(const std::string& name, Make make) {
    std::lock_guard lock(mutex_);
    std::erase_if(arenas_, [](const auto& entry) { return entry.second.expired(); });
    auto& known = arenas_[name];
    auto shared = known.lock();
    if (!shared) known = shared = make();
    return shared;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Arena>> arenas_;
};

}  // namespace heddle
