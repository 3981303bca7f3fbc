// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/tuning.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

inline const tuning& built_in_tuning(bool on_cuda) { return on_cuda ? cuda_tuning : host_tuning; }

/// Of a host: what is still as built in, as where so many PEs must share each processor.
tuning where_crowded(const tuning& costs, double pes_per_processor);

/// `base` with what a profile's text (JSON) gives. Throws HEDDLE_ERROR_INVALID_ARGUMENT, with
/// `name` and what is wrong, for any that is not one.
tuning read_tuning(std::string_view text, const std::string& name, const tuning& base);
/// The same of a file; "" is `base`.
tuning read_tuning_file(const std::string& path, const tuning& base);

/// Each way with what it costs among n PEs, as profiles have it: for an AllReduce, or for all
/// pieces of a PE, the hops together (fixed) and a KiB of its bytes.
std::vector<std::pair<std::string_view, way_cost>> entries(const tuning& costs, int n_pes);

}  // namespace heddle
