// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace heddle {

/// The arenas of jobs whose PEs are threads of this process: one for each job, made by the first
/// PE that asks and shared by the others.
template <class Arena>
class shared_arenas {
 public:
  static shared_arenas& of_process() {
    static shared_arenas instance;
    return instance;
  }

  /// `job` is unique to the job and the process.
  template <class Make>
  std::shared_ptr<Arena> get(const std::string& job, Make make) {
    std::lock_guard lock(mutex_);
    std::erase_if(arenas_, [](const auto& entry) { return entry.second.expired(); });
    auto& known = arenas_[job];
    auto shared = known.lock();
    if (!shared) known = shared = make();
    return shared;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Arena>> arenas_;
};

}  // namespace heddle
