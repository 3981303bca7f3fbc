# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""heddle over verbs and perftest, in the machine that has software RDMA (tests/rdma_vm). Its processors are
emulated: ratios count, times do not. On request alone (`--block rdma`)."""

from __future__ import annotations

from pathlib import Path

from .contenders import Block, Contender, program

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT_S = 170


def blocks(build_dir: Path, quick: bool) -> list[Block]:
    """Each round is a machine of its own, in which perftest and heddle take turns."""
    path, missing = program(build_dir / "bin", "bench_network_put")
    command = (str(ROOT / "tests" / "rdma_vm" / "rdma_vm.sh"), "-t", str(LIMIT_S), str(build_dir / "rdma_vm"),
               str(ROOT / "bench" / "rdma.sh"), path)
    return [Block("rdma", "Put, signal and atomics over verbs, soft RDMA, 2 PEs", (
        Contender("machine", command, missing=missing, bound=False),), 1 if quick else 5)]
