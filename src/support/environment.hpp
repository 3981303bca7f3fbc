// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Every HEDDLE_* variable is one field here and one row in environment.cpp (name, default,
/// meaning, parser), from which parsing, `heddle-info` and the errors follow.
struct environment {
  std::string debug;            ///< HEDDLE_DEBUG: NONE, WARN, INFO or TRACE
  std::string debug_subsys;     ///< HEDDLE_DEBUG_SUBSYS
  bool accumulate_f32 = false;  ///< HEDDLE_ACCUMULATE_F32: small floats are rounded once
  bool check = false;           ///< HEDDLE_CHECK: compare collective calls across PEs
  std::string fabric_handles;   ///< HEDDLE_FABRIC_HANDLES: auto or off
  std::string fabric_provider;  ///< HEDDLE_FABRIC_PROVIDER: of libfabric; "": the best that fits
  double timeout = 0;           ///< HEDDLE_TIMEOUT: seconds that a wait may take
  double init_timeout = 0;      ///< HEDDLE_INIT_TIMEOUT: seconds that joining the job may take
  std::size_t heap_size =
      0;                     ///< HEDDLE_HEAP_SIZE: bytes reserved per PE; 0 until init settles auto
  std::string device;        ///< HEDDLE_DEVICE: host, cuda or cuda:N
  int pes_per_host = 0;      ///< HEDDLE_PES_PER_HOST: imitate hosts of so many; 0: none
  bool p2p_disable = false;  ///< HEDDLE_P2P_DISABLE: reach no other PE by memory
  bool ib_disable = false;   ///< HEDDLE_IB_DISABLE: as NCCL_IB_DISABLE
  int contexts = 0;          ///< HEDDLE_CONTEXTS: of a PE's proxy
  std::string tuning;        ///< HEDDLE_TUNING: a file
  std::string transport;     ///< HEDDLE_TRANSPORT: auto, verbs, libfabric, tcp or none
  bool multicast = false;    ///< HEDDLE_MULTICAST: use the NVLink switch's multicast
  int max_teams = 0;         ///< HEDDLE_MAX_TEAMS: teams alive at one time; auto by device
  bool gpudirect_disable = false;  ///< HEDDLE_GPUDIRECT_DISABLE: no card reaches GPU memory
  std::string job_secret;      ///< HEDDLE_JOB_SECRET: shared by PEs that torchrun's variables start
  int rendezvous_port = 0;     ///< HEDDLE_RENDEZVOUS_PORT: 0: MASTER_PORT + 1
  std::string ib_hca;          ///< HEDDLE_IB_HCA: as NCCL_IB_HCA
  int ib_gid_index = -1;       ///< HEDDLE_IB_GID_INDEX: -1 chooses
  int ib_timeout = 0;          ///< HEDDLE_IB_TIMEOUT: exponent of the card's acknowledgement wait
  int ib_retry_count = 0;      ///< HEDDLE_IB_RETRY_CNT
  int ib_traffic_class = 0;    ///< HEDDLE_IB_TRAFFIC_CLASS
  int ib_service_level = 0;    ///< HEDDLE_IB_SL
  std::string socket_ifname;   ///< HEDDLE_SOCKET_IFNAME: as NCCL_SOCKET_IFNAME
  std::string tcp_congestion;  ///< HEDDLE_TCP_CONGESTION: auto, system, or the kernel's name
  std::string algo;            ///< HEDDLE_ALGO: "" or the name of an algorithm
  std::string proto;           ///< HEDDLE_PROTO: "" or simple, ll, ll128
  int channels = 0;            ///< HEDDLE_CHANNELS: blocks of a collective; 0 chooses
  int block_threads = 0;       ///< HEDDLE_BLOCK_THREADS: threads per block; 0 chooses
  int epoch_bits = 0;          ///< HEDDLE_EPOCH_BITS: flag width, 8 to 32 (8 tests the wrap)
  int spin = 0;  ///< HEDDLE_SPIN: polls before a wait yields; -1: agree_on_settings chooses

  /// Reads the process's variables. Throws heddle::error for a bad value, and for an unknown
  /// HEDDLE_* name, with the nearest known one.
  static environment from_process();

  struct description {
    std::string name, value, default_value, meaning;
    bool is_set = false;
  };
  /// Every variable, sorted by name, for heddle-info.
  static std::vector<description> describe();
};

/// "64M", "1GiB", "4096" as bytes (powers of 1024); nothing if it is not a size.
std::optional<std::size_t> parse_bytes(std::string_view text);
/// 67108864 as "64 MiB".
std::string format_bytes(std::size_t bytes);

}  // namespace heddle
