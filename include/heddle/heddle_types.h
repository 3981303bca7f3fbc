// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

/// Statuses, types, operations and handles of the C API: what heddle.h's functions have in common.
#ifndef HEDDLE_HEDDLE_TYPES_H
#define HEDDLE_HEDDLE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(HEDDLE_BUILD)
#define HEDDLE_API __attribute__((visibility("default")))
#else
#define HEDDLE_API
#endif

#ifdef __cplusplus
/* Enumerations are ints on both sides, so that a value that is none of theirs can be told apart. */
#define HEDDLE_ENUM : int
#else
#define HEDDLE_ENUM
#endif

#define HEDDLE_VERSION_MAJOR 0
#define HEDDLE_VERSION_MINOR 1
#define HEDDLE_VERSION_PATCH 0

typedef enum heddle_status HEDDLE_ENUM {
  HEDDLE_SUCCESS = 0,
  HEDDLE_ERROR_INVALID_ARGUMENT = 1,  ///< an argument is wrong; nothing was sent
  HEDDLE_ERROR_INVALID_USAGE = 2,     ///< the call is wrong here: order, second init, double free
  HEDDLE_ERROR_OUT_OF_MEMORY = 3,  ///< the heap or the machine has no room; the heap stays usable
  HEDDLE_ERROR_TIMEOUT = 4,        ///< a wait passed its deadline; the message names the peer
  HEDDLE_ERROR_PEER_LOST = 5,      ///< a PE died; the message names it
  HEDDLE_ERROR_MISMATCH = 6,       ///< PEs differ: in settings at init, in a split, and with
                                   ///< HEDDLE_CHECK=1 in the other collective calls
  HEDDLE_ERROR_NOT_SUPPORTED = 7,  ///< this device, type or peer cannot do it
  HEDDLE_ERROR_SYSTEM = 8,         ///< the operating system or a library failed
  HEDDLE_ERROR_ABORTED = 9,        ///< the team was aborted by another PE or an earlier error
  HEDDLE_ERROR_INTERNAL = 10       ///< a defect in heddle
} heddle_status_t;

typedef enum heddle_type HEDDLE_ENUM {
  HEDDLE_INT32 = 0,
  HEDDLE_INT64 = 1,
  HEDDLE_FLOAT16 = 2,
  HEDDLE_BFLOAT16 = 3,
  HEDDLE_FLOAT32 = 4,
  HEDDLE_FLOAT64 = 5,
  HEDDLE_INT8 = 6,
  HEDDLE_INT16 = 7,
  HEDDLE_UINT8 = 8,
  HEDDLE_UINT16 = 9,
  HEDDLE_UINT32 = 10,
  HEDDLE_UINT64 = 11,
  HEDDLE_FLOAT8_E4M3 = 12,  ///< OCP FP8, as PyTorch's float8_e4m3fn
  HEDDLE_FLOAT8_E5M2 = 13
} heddle_type_t;

/// Integers wrap. Floating point of 8 and 16 bits is combined in float32, and rounded to itself
/// where it goes from PE to PE, or once in all (heddle_team_set_accumulate_f32); float8 that is too
/// large, or infinite, becomes the largest finite number. A NaN in min or max is the result. AVG
/// divides the sum by n_pes; that of integers, which may have wrapped, truncating towards zero.
typedef enum heddle_op HEDDLE_ENUM {
  HEDDLE_SUM = 0,
  HEDDLE_PROD = 1,
  HEDDLE_MIN = 2,
  HEDDLE_MAX = 3,
  HEDDLE_AVG = 4
} heddle_op_t;
/* From here on those of heddle_op_create_scaled_sum. */
#define HEDDLE_FIRST_CREATED_OP 16

/// When a scalar is read.
typedef enum heddle_scalar HEDDLE_ENUM {
  HEDDLE_SCALAR_HOST = 0,   ///< before the call that is given it returns
  HEDDLE_SCALAR_DEVICE = 1  ///< in memory of the device, by the kernel of each collective
} heddle_scalar_t;

typedef enum heddle_signal_op HEDDLE_ENUM {
  HEDDLE_SIGNAL_SET = 0,
  HEDDLE_SIGNAL_ADD = 1
} heddle_signal_op_t;

/// Unsigned comparison of a signal with a value in the waits.
typedef enum heddle_cmp HEDDLE_ENUM {
  HEDDLE_CMP_EQ = 0,
  HEDDLE_CMP_NE = 1,
  HEDDLE_CMP_GT = 2,
  HEDDLE_CMP_GE = 3,
  HEDDLE_CMP_LT = 4,
  HEDDLE_CMP_LE = 5
} heddle_cmp_t;

/// Atomic operations of `heddle_atomic`; the 64-bit or 32-bit word is taken as unsigned.
typedef enum heddle_atomic_op HEDDLE_ENUM {
  HEDDLE_ATOMIC_FETCH = 0,
  HEDDLE_ATOMIC_SET = 1,
  HEDDLE_ATOMIC_ADD = 2,
  HEDDLE_ATOMIC_AND = 3,
  HEDDLE_ATOMIC_OR = 4,
  HEDDLE_ATOMIC_XOR = 5,
  HEDDLE_ATOMIC_SWAP = 6,
  HEDDLE_ATOMIC_COMPARE_SWAP = 7
} heddle_atomic_op_t;

typedef struct heddle_runtime* heddle_runtime_t;
typedef struct heddle_team* heddle_team_t;
/// NULL is the default stream: on the host device its work runs in the calling thread.
typedef struct heddle_stream* heddle_stream_t;
typedef struct heddle_event* heddle_event_t;
/// A job of PEs that are threads of this process.
typedef struct heddle_thread_job* heddle_thread_job_t;

/// What the PEs of a collective have to give alike, as messages call it: {"count", 5}.
typedef struct heddle_named_value {
  const char* name;
  uint64_t value;
} heddle_named_value_t;

/// Names a job to be formed over TCP: addresses and a random secret. Pass it round by any means.
typedef struct heddle_unique_id {
  char bytes[128];
} heddle_unique_id_t;

#endif  // HEDDLE_HEDDLE_TYPES_H
