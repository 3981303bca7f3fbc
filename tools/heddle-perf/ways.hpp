// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <optional>
#include <string>
#include <string_view>

namespace perf {

/// An algorithm and a protocol that collectives are to go by, instead of heddle's choice; AUTO for
/// the protocol leaves that to heddle.
struct way {
  heddle_algorithm_t algorithm = HEDDLE_ALGORITHM_AUTO;
  heddle_protocol_t protocol = HEDDLE_PROTOCOL_AUTO;
};

/// "ring:simple" or "ring", as HEDDLE_ALGO and HEDDLE_PROTO name them; none if it is no way.
std::optional<way> parse_way(std::string_view text);
/// "one_shot, two_shot ... each with :simple ...": for messages.
std::string names_of_ways();
const char* name_of(heddle_algorithm_t algorithm);
/// "none" of AUTO.
const char* name_of(heddle_protocol_t protocol);

}  // namespace perf
