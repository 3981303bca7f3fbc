// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "bootstrap/imitated_hosts.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "bootstrap/forwarding_bootstrap.hpp"

namespace heddle {

namespace {

constexpr char separator = '/';  // which no host's identity has

class imitated_hosts final : public forwarding_bootstrap {
 public:
  imitated_hosts(std::unique_ptr<bootstrap> real, int pes_per_host)
      : forwarding_bootstrap(std::move(real)) {
    for (int rank = 0; rank < size(); ++rank)
      hosts_.push_back(fmt::format("{}{}{}", forwarding_bootstrap::host_of(rank), separator,
                                   rank / pes_per_host));
  }
  [[nodiscard]] std::string_view host_of(int rank) const override {
    return hosts_[static_cast<std::size_t>(rank)];
  }

 private:
  std::vector<std::string> hosts_;
};

}  // namespace

std::unique_ptr<bootstrap> imitate_hosts(std::unique_ptr<bootstrap> real, int pes_per_host) {
  if (pes_per_host == 0) return real;
  return std::make_unique<imitated_hosts>(std::move(real), pes_per_host);
}

std::string_view real_host_of(std::string_view host) {
  return host.substr(0, host.find(separator));
}

}  // namespace heddle
