// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace perf {

/// The command line: nccl-tests' letters where it has them.
struct options {
  std::string operation;
  std::size_t min_bytes = 8;
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t factor = 2;
  std::size_t step_bytes = 0;  ///< instead of the factor, if not 0
  int iterations = 0;          ///< calls of a batch; 0: as many as take about 2 ms
  int warmup = 5;
  std::vector<heddle_type_t> types = {HEDDLE_FLOAT32};
  std::vector<heddle_op_t> reductions = {HEDDLE_SUM};
  bool check = true;
  int root = -1;
  bool private_buffers = false;
  int threads_as_pes = 0;
  int queues = 0;         ///< of rate; 0: one, then more up to the contexts
  std::string transport;  ///< HEDDLE_TRANSPORT; empty: as the environment has it
  std::string provider;   ///< HEDDLE_FABRIC_PROVIDER, likewise
  bool no_p2p = false;    ///< HEDDLE_P2P_DISABLE
  std::string json_file;
  std::string csv_file;
  std::string profile = "heddle-tuning.json";  ///< that tune writes
  std::string command;                         ///< as it was given, for the JSON

  [[nodiscard]] std::vector<std::size_t> sizes() const;
};

/// Parses; on a mistake prints what is wrong and gives the status to exit with in `status`. True to
/// go on.
bool parse_options(int argc, char** argv, options& into, int& status);

/// Whether it is a collective that combines.
bool is_reduction(std::string_view operation);
/// Whether it is one that combines nothing.
bool is_exchange(std::string_view operation);
/// Whether a PE may send from where it receives.
bool has_in_place(std::string_view operation);

/// Gives init the variables that the options name. Before there are threads.
void set_variables(const options& chosen);

const char* name_of(heddle_type_t type);
std::size_t bytes_of(heddle_type_t type);
const char* name_of(heddle_op_t op);

}  // namespace perf
