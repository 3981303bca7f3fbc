// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// abort_pe STATUS: aborts its job through PMIx with that status.

#include <pmix.h>

#include <cstdlib>

int main(int, char** argv) {
  pmix_proc_t self;
  if (PMIx_Init(&self, nullptr, 0) != PMIX_SUCCESS) return EXIT_FAILURE;
  PMIx_Abort(std::atoi(argv[1]), "out of ink", nullptr, 0);
}
