// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The C API, from C: one PE alone.

#include <heddle/heddle.h>
#include <stdio.h>

static int failed(heddle_status_t status) {
  if (status == HEDDLE_SUCCESS) return 0;
  fprintf(stderr, "outside_c: %s: %s\n", heddle_status_name(status), heddle_last_error());
  return 1;
}

int main(void) {
  heddle_runtime_t runtime;
  heddle_team_t world;
  void* symmetric;
  int sum = 0;
  const int seven = 7;
  if (failed(heddle_init(&runtime)) || failed(heddle_team_world(runtime, &world)) ||
      failed(heddle_malloc(runtime, sizeof seven, &symmetric)) ||
      failed(heddle_put(world, symmetric, &seven, sizeof seven, 0)) ||
      failed(heddle_quiet(world)) ||
      failed(heddle_all_reduce(world, symmetric, &sum, 1, HEDDLE_INT32, HEDDLE_SUM, NULL)) ||
      failed(heddle_finalize(runtime)))
    return 1;
  printf("outside_c: %d\n", sum);
  return sum == 7 ? 0 : 1;
}
