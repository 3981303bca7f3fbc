// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "operations.hpp"
#include "ways.hpp"

namespace perf {

/// Of the reductions. The first five are heddle_op_t's; mulsum is a sum times a factor.
enum class redop { sum, prod, min, max, avg, mulsum };

/// How the PEs' times become one.
enum class averaging { pe_0, mean, least, largest };

enum class memory {
  symmetric,
  own,        ///< of the PE, as heddle_device_malloc gives it
  registered  ///< of the PE, and made symmetric by heddle_register
};

/// The command line: nccl-tests' letters where it has them.
struct options {
  operation what;
  std::size_t min_bytes = 8;
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t factor = 2;
  std::size_t step_bytes = 0;  ///< instead of the factor, if not 0
  int iterations = 0;          ///< of a batch; 0: as many as take about 2 ms
  int warmup = 5;
  int aggregated = 1;     ///< operations of an iteration
  int cycles = 1;         ///< of all sizes
  int graph_replays = 0;  ///< of a graph that has captured a batch; 0: no graph
  bool blocking = false;  ///< each iteration is waited for
  bool cpu_time = false;  ///< measure the host's time too
  averaging average = averaging::largest;
  std::vector<heddle_type_t> types = {HEDDLE_FLOAT32};
  std::vector<redop> reductions = {redop::sum};
  std::vector<way> ways;  ///< one after the other; empty: as heddle chooses
  int checks = 1;         ///< 0: none; n: what is timed, and n - 1 runs more
  int root = 0;           ///< all_roots: each PE in turn
  memory buffers = memory::symmetric;
  int threads_as_pes = 0;
  int queues = 0;         ///< of rate; 0: one, then more up to the contexts
  double timeout = 0;     ///< HEDDLE_TIMEOUT; 0: as the environment has it
  std::string transport;  ///< HEDDLE_TRANSPORT; empty: as the environment has it
  std::string provider;   ///< HEDDLE_FABRIC_PROVIDER, likewise
  bool no_p2p = false;    ///< HEDDLE_P2P_DISABLE
  std::string json_file;
  std::string csv_file;
  std::string profile = "heddle-tuning.json";  ///< that tune writes
  std::string command;                         ///< as it was given, for the JSON

  static constexpr int all_roots = -1;

  [[nodiscard]] std::vector<std::size_t> sizes() const;
};

/// An option that does not go with what is found once the job is there: as a mistake in it, status
/// 2.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The status to exit with: after a mistake, which `errors` then tells, or after help on `out`.
/// None to go on.
std::optional<int> parse_options(int argc, const char* const* argv, options& into,
                                 std::ostream& out, std::ostream& errors);

/// Gives init the variables that the options name. Before there are threads.
void set_variables(const options& chosen);

const char* name_of(heddle_type_t type);
std::size_t bytes_of(heddle_type_t type);
const char* name_of(redop op);
const char* name_of(averaging how);
const char* name_of(memory buffers);

}  // namespace perf
