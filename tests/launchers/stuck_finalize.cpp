// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// In front of libpmix (LD_PRELOAD): the end of its server that never comes.
#include <unistd.h>

extern "C" int PMIx_server_finalize() {
  for (;;) ::pause();
}
