// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <array>
#include <cstddef>
#include <heddle/device/coll/exchange.hpp>
#include <optional>
#include <string>

#include "coll/exchange_plan.hpp"
#include "host/piece_list.hpp"
#include "host/plans_by_limit.hpp"

namespace heddle {

/// A team's collectives that combine nothing: checks a call, plans it and enqueues its kernel.
class exchange_calls {
 public:
  /// Of a team that outlives it.
  explicit exchange_calls(heddle_team& team);

  // As the functions of heddle.h.
  void broadcast(const void* input, void* output, std::size_t count, heddle_type_t type, int root,
                 heddle_stream_t stream);
  void all_gather(const void* input, void* output, std::size_t count, heddle_type_t type,
                  heddle_stream_t stream);
  void all_to_all(const void* input, void* output, std::size_t count, heddle_type_t type,
                  heddle_stream_t stream);
  void gather(const void* input, void* output, std::size_t count, heddle_type_t type, int root,
              heddle_stream_t stream);
  void scatter(const void* input, void* output, std::size_t count, heddle_type_t type, int root,
               heddle_stream_t stream);
  void all_gather_v(const void* input, void* output, const std::size_t* counts,
                    const std::size_t* displacements, heddle_type_t type, heddle_stream_t stream);
  void all_to_all_v(const void* input, const std::size_t* input_counts,
                    const std::size_t* input_displacements, void* output,
                    const std::size_t* output_counts, const std::size_t* output_displacements,
                    heddle_type_t type, heddle_stream_t stream);

  void forget_plans() { plans_.forget(); }
  void set_limit(int channels) { plans_.set_limit(channels); }
  /// Of elements of a valid type.
  [[nodiscard]] std::string explain(collective what, std::size_t count, heddle_type_t type) const;

 private:
  /// What all calls have.
  struct call {
    const char* function;
    collective what;
    operation waits_in;
    std::size_t input_bytes;   ///< that this PE reads: 0 if it sends nothing
    std::size_t output_bytes;  ///< up to the end of what it receives
    /// Offset of the input in the output, if they may meet so.
    std::optional<std::ptrdiff_t> in_place;
    std::size_t piece;  ///< bytes, for the plan: the same on every PE
    int root = 0;
  };
  /// Elements of a call with pieces of one size, checked.
  struct elements {
    std::size_t piece;
    std::size_t all;
  };

  /// By the addresses that they have in the heap, if they are registered.
  struct buffers {
    const byte* input;
    byte* output;
  };

  [[nodiscard]] buffers checked(const call& call, const void* input, void* output) const;
  [[nodiscard]] elements checked(const char* function, std::size_t count, heddle_type_t type) const;
  void exchange_by_transfers(const byte* input, const piece_list& in, byte* output,
                             const piece_list& out, heddle_stream_t stream) const;
  /// That the team has not failed, and, where calls are compared, that all make this one.
  void check(const char* function, collective what, std::size_t count, heddle_type_t type, int root,
             std::size_t piece);
  void compare(const char* function, collective what, std::size_t count, heddle_type_t type,
               int root, std::size_t piece);
  template <class Pieces>
  void run(const call& call, exchange_args<Pieces>& args, const void* input, void* output,
           heddle_stream_t stream);
  /// By a kernel of its own, as the plan says.
  void run_otherwise(const call& call, const buffers& at, const exchange_plan& plan,
                     heddle_stream_t stream) const;
  void run_in_rounds(const call& call, const buffers& at, const exchange_plan& plan,
                     heddle_stream_t stream) const;
  void run_relay(const call& call, const buffers& at, const exchange_plan& plan,
                 heddle_stream_t stream) const;
  void run_by_domains(const call& call, const buffers& at, const exchange_plan& plan,
                      heddle_stream_t stream) const;
  void run_by_leaders(const call& call, const buffers& at, const exchange_plan& plan,
                      heddle_stream_t stream) const;
  const exchange_plan& plan_for(collective what, std::size_t piece);
  const exchange_plan& make_plan(collective what, std::size_t bucket);

  heddle_team& team_;
  /// Of the calls with equal pieces. The team is copied once: what a call copies whole it reads
  /// back in other pieces, for which a host processor waits.
  exchange_args<equal_pieces> equal_{};
  /// By the power of two that holds the bytes.
  using cached_plans = std::array<std::array<std::optional<exchange_plan>, 65>, 6>;
  plans_by_limit<cached_plans> plans_;
};

}  // namespace heddle
