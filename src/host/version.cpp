// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/guarded_call.hpp"

using heddle::guarded;
using heddle::required;

heddle_status_t heddle_get_version(int* major, int* minor, int* patch) {
  return guarded([&] {
    auto& first = required(major, "heddle_get_version", "major");
    auto& second = required(minor, "heddle_get_version", "minor");
    auto& third = required(patch, "heddle_get_version", "patch");
    first = HEDDLE_VERSION_MAJOR;
    second = HEDDLE_VERSION_MINOR;
    third = HEDDLE_VERSION_PATCH;
  });
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
