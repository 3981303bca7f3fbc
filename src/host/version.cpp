// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <heddle/heddle.h>

heddle_status_t heddle_get_version(int* major, int* minor, int* patch) {
  if (!major || !minor || !patch) return HEDDLE_ERROR_INVALID_ARGUMENT;
  *major = HEDDLE_VERSION_MAJOR;
  *minor = HEDDLE_VERSION_MINOR;
  *patch = HEDDLE_VERSION_PATCH;
  return HEDDLE_SUCCESS;
}

const char* heddle_status_name(heddle_status_t status) {
  switch (status) {
    case HEDDLE_SUCCESS:
      return "HEDDLE_SUCCESS";
    case HEDDLE_ERROR_INVALID_ARGUMENT:
      return "HEDDLE_ERROR_INVALID_ARGUMENT";
    case HEDDLE_ERROR_INVALID_USAGE:
      return "HEDDLE_ERROR_INVALID_USAGE";
    case HEDDLE_ERROR_OUT_OF_MEMORY:
      return "HEDDLE_ERROR_OUT_OF_MEMORY";
    case HEDDLE_ERROR_TIMEOUT:
      return "HEDDLE_ERROR_TIMEOUT";
    case HEDDLE_ERROR_PEER_LOST:
      return "HEDDLE_ERROR_PEER_LOST";
    case HEDDLE_ERROR_MISMATCH:
      return "HEDDLE_ERROR_MISMATCH";
    case HEDDLE_ERROR_NOT_SUPPORTED:
      return "HEDDLE_ERROR_NOT_SUPPORTED";
    case HEDDLE_ERROR_SYSTEM:
      return "HEDDLE_ERROR_SYSTEM";
    case HEDDLE_ERROR_ABORTED:
      return "HEDDLE_ERROR_ABORTED";
    case HEDDLE_ERROR_INTERNAL:
      return "HEDDLE_ERROR_INTERNAL";
  }
  return "unknown status";
}
