// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace heddle::tcp {

/// What the kernel does about congestion (HEDDLE_TCP_CONGESTION): "auto", "system", or its name for
/// it.
///
/// auto: BBR and CUBIC are replaced by Reno between hosts that are near each other. BBR sends as
/// fast as it has seen the network to be, keeps under way what that makes of the round trip, and
/// stops every ten seconds to measure that. CUBIC ends its slow start when round trips get longer
/// (HyStart), and goes on as Reno does where they are short. Of round trips of microseconds all of
/// it is noise: AllReduce of 128 KiB to 1 MiB took 2.5 times as long by CUBIC, 1.7 times by BBR.
///
/// A connection that was BBR's for a moment is paced for good, whatever comes after it: what does
/// not fit in one segment waits for a timer (an AllGather of 64 KiB 50 us instead of 26). So the
/// choice is made before there is a connection, and taken back where the peer turns out to be far.

/// Throws HEDDLE_ERROR_INVALID_ARGUMENT, with what there is, for a name that this process may not
/// choose.
void check_congestion_control(const std::string& wish);
/// For a socket that is to connect, or whose connections inherit it: as of a near host.
void choose_congestion_control(int socket, const std::string& wish);
/// For one that is connected now: as the system has it, if the peer is far.
void heed_distance(int socket, const std::string& wish, std::chrono::microseconds round_trip);
/// As the kernel has measured it; far away if that is unknown.
[[nodiscard]] std::chrono::microseconds round_trip_of(int socket);

}  // namespace heddle::tcp
