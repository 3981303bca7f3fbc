// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/loss_record.hpp"

namespace heddle {

enum class collective_call : std::uint8_t { all_gather = 1, barrier = 2 };
const char* name_of(collective_call call);

/// The collectives of a job that are under way, where all parts come together (the root of a tree,
/// the shared state of threads). Collective number n is a `round`. A rank whose deadline passed has
/// added its part and may be ahead with n + 1, so rounds are kept by number. Not thread-safe.
class collective_rounds {
 public:
  struct outcome {
    heddle_status_t status = HEDDLE_SUCCESS;
    std::string problem;                  ///< empty on success
    std::vector<bootstrap::bytes> parts;  ///< of an all_gather that succeeded, in rank order
  };

  explicit collective_rounds(int size);

  /// Adds a rank's part. A second part of one rank to one round is ignored.
  void add(std::uint64_t number, int rank, collective_call call, bootstrap::bytes part);
  /// The rank has left: rounds that lack its part now, and all later ones, end as errors.
  void leave(int rank);

  /// The rounds that were decided since the last call, in order.
  std::vector<std::uint64_t> take_decided();
  /// Null while the round waits for parts.
  [[nodiscard]] const outcome* result(std::uint64_t number) const;
  /// The ranks whose part is missing.
  [[nodiscard]] std::vector<int> absent(std::uint64_t number) const;
  /// Gives up the memory of a decided round's parts. Parts that come late are ignored.
  void forget(std::uint64_t number);

 private:
  struct round {
    std::vector<std::optional<bootstrap::bytes>> parts;
    int arrived = 0;
    collective_call call{};
    int first_rank = -1;
    int other_rank = -1;
    collective_call other_call{};
    std::optional<outcome> decided;
    bool forgotten = false;
  };

  round& at(std::uint64_t number);
  void decide(std::uint64_t number, round& round);
  void fail_if_left(std::uint64_t number, round& round);
  void fail(std::uint64_t number, round& round, int left);

  int size_;
  std::vector<bool> left_;
  std::map<std::uint64_t, round> rounds_;
  std::vector<std::uint64_t> decided_;
};

/// The errors of a collective, in one wording for all bootstraps.
std::string describe_loss(collective_call call, std::uint64_t number, const loss_record::loss& loss,
                          int size);
std::string describe_timeout(collective_call call, std::uint64_t number,
                             const std::vector<int>& absent, int size);
std::string describe_departure(collective_call call, std::uint64_t number, int rank, int size);
/// Throws if this rank has left.
[[noreturn]] void throw_called_after_leave(collective_call call, std::uint64_t number, int rank);
/// Throws HEDDLE_ERROR_INVALID_ARGUMENT unless 0 <= rank < size.
void require_reportable(int rank, int size);

}  // namespace heddle
