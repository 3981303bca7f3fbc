// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

/// Another bootstrap, of which a class derived from this changes something.
class forwarding_bootstrap : public bootstrap {
 public:
  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  [[nodiscard]] std::string_view job_id() const override { return inner_->job_id(); }
  [[nodiscard]] const secret& job_secret() const override { return inner_->job_secret(); }
  [[nodiscard]] std::string_view host_of(int rank) const override { return inner_->host_of(rank); }
  std::vector<bytes> all_gather(std::span<const std::byte> mine, deadline until) override {
    return inner_->all_gather(mine, until);
  }
  void barrier(deadline until) override { inner_->barrier(until); }
  void on_lost(lost_callback callback) override { inner_->on_lost(std::move(callback)); }
  [[nodiscard]] std::optional<loss> first_loss() const override { return inner_->first_loss(); }
  void report_lost(int rank, std::string_view reason) override {
    inner_->report_lost(rank, reason);
  }
  void leave() override { inner_->leave(); }
  [[nodiscard]] bool has_left(int rank) const override { return inner_->has_left(rank); }

 protected:
  explicit forwarding_bootstrap(std::shared_ptr<bootstrap> inner) : inner_(std::move(inner)) {}

  std::shared_ptr<bootstrap> inner_;
};

}  // namespace heddle
