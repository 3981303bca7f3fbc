# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""Who is measured on a GPU, with which settings, and the blocks they meet in.

All PEs share one GPU. heddle's and NCCL's are threads of a process; NVSHMEM's are processes under
CUDA's multi-process service.
"""

from __future__ import annotations

from pathlib import Path

from .contenders import Block, Contender, MI
from .mps import Mps

# Kernels of several PEs run side by side on one GPU: none may wait for another's to be loaded, nor behind it. GPUs are
# counted as by nvidia-smi (gpu_machine.py).
CUDA = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_MODULE_LOADING": "EAGER", "CUDA_DEVICE_MAX_CONNECTIONS": "32"}
HEDDLE = {"HEDDLE_DEVICE": "cuda:0", "HEDDLE_HEAP_SIZE": "4GiB", "HEDDLE_MAX_TEAMS": "4",
          "HEDDLE_TIMEOUT": "30", **CUDA}
# A network card or multicast is not what is compared; the loopback interface is there on every machine.
NVSHMEM = {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": "lo", "NVSHMEM_REMOTE_TRANSPORT": "none",
           "NVSHMEM_DISABLE_NVLS": "1", "NVSHMEM_SYMMETRIC_SIZE": "2G", **CUDA,
           # The processes share the channels of the GPU: 4 of 32 each find no memory for a stream.
           "CUDA_DEVICE_MAX_CONNECTIONS": "8"}
NCCL = {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_NVLS_ENABLE": "0", **CUDA}

# HEDDLE_ALGO, HEDDLE_PROTO and the largest size: two words a flag, or a hop a piece, make the others slow.
FORCED = (("one_shot", "ll", MI), ("one_shot", "ll128", MI), ("one_shot", "simple", 16 * MI),
          ("two_shot", "simple", 64 * MI), ("ring", "ll", MI), ("ring", "ll128", 16 * MI),
          ("ring", "simple", 64 * MI), ("tree", "ll", MI), ("tree", "ll128", 16 * MI),
          ("tree", "simple", 64 * MI))


class GpuLaunchers:
    """Builds the command lines for programs in `bin_dir`."""

    def __init__(self, bin_dir: Path, mps: Mps):
        self._bin = bin_dir
        self._mps = mps

    def _contender(self, name: str, program: str, arguments: tuple[str, ...],
                   environment: dict[str, str], missing: str = "") -> Contender:
        path = self._bin / program
        if not path.exists():
            missing = f"{program} is not built"
        return Contender(name, (str(path), *arguments), environment, missing, bound=False)

    def bare(self, name: str, program: str, *arguments: str) -> Contender:
        return self._contender(name, f"gpu_bare_{program}", arguments, CUDA)

    def heddle(self, name: str, program: str, *arguments: str, **settings: str) -> Contender:
        return self._contender(name, f"gpu_heddle_{program}", arguments, {**HEDDLE, **settings})

    def nvshmem(self, name: str, program: str, n: int, *arguments: str) -> Contender:
        """Each PE may use its part of the GPU: with more, NVSHMEM refuses its collectives."""
        environment = {**NVSHMEM, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(100 // n),
                       **self._mps.environment}
        return self._contender(name, f"gpu_nvshmem_{program}", ("--pes", str(n), *arguments),
                               environment, self._mps.missing)

    def nccl(self, name: str, n: int, *arguments: str) -> Contender:
        """The blocks of all ranks must be resident at once, one on a multiprocessor."""
        return self._contender(name, "gpu_nccl_all_reduce", ("--pes", str(n), *arguments),
                               {**NCCL, "NCCL_MAX_CTAS": str(96 // n)})


def _all_reduce(to: GpuLaunchers, n: int, rounds: int) -> Block:
    pes = ("--pes", str(n))
    found = [
        to.bare("bare flag", "flag"),
        to.bare("bare launch", "launch", *pes),
        to.bare("bare copy", "memory"),
        to.heddle("heddle", "all_reduce", *pes),
        to.heddle("heddle, graph", "all_reduce", *pes, "--graph"),
        to.nvshmem("NVSHMEM", "all_reduce", n),
        to.nvshmem("NVSHMEM, graph", "all_reduce", n, "--graph"),
        to.nccl("NCCL", n),
        to.nccl("NCCL, graph", n, "--graph"),
    ]
    if n == 4:
        # First the algorithm that a rule is about, its protocol chosen by size.
        found.append(to.heddle("one_shot, graph", "all_reduce", *pes, "--graph", "--max", str(MI),
                               HEDDLE_ALGO="one_shot"))
        found += [to.heddle(f"{algo} {proto}, graph", "all_reduce", *pes, "--graph", "--max",
                            str(largest), HEDDLE_ALGO=algo, HEDDLE_PROTO=proto)
                  for algo, proto, largest in FORCED]
    return Block(f"all_reduce_{n}", f"AllReduce, float32 sum, {n} PEs", tuple(found), rounds,
                 one_failure=True)


def _barrier(to: GpuLaunchers, n: int, rounds: int) -> Block:
    return Block(f"barrier_{n}", f"Barrier, {n} PEs", (
        to.heddle("heddle", "barrier", "--pes", str(n)),
        to.nvshmem("NVSHMEM", "barrier", n)), rounds, one_failure=True)


def blocks(bin_dir: Path, quick: bool, mps: Mps) -> list[Block]:
    """Everything that `gpu.py` measures, in order."""
    to = GpuLaunchers(bin_dir, mps)
    rounds = 1 if quick else 3
    return [
        Block("latency", "Latency, 2 PEs", (
            to.bare("bare", "flag"),
            to.heddle("heddle", "latency"),
            to.nvshmem("NVSHMEM", "latency", 2)), rounds, one_failure=True),
        Block("bandwidth", "Bandwidth, 2 PEs, one way", (
            to.bare("bare", "copy"),
            to.bare("bare, whole GPU", "memory"),
            to.heddle("heddle", "bandwidth"),
            to.nvshmem("NVSHMEM", "bandwidth", 2)), rounds, one_failure=True),
        Block("atomics", "Atomics, 32 blocks of 256 threads", (
            to.bare("bare", "atomics"),
            to.heddle("heddle", "atomics")), rounds, one_failure=True),
        *(Block(f"launch_{n}", f"Launch of an empty kernel, {n} {'PE' if n == 1 else 'PEs'}", (
            to.bare("bare", "launch", "--pes", str(n)),
            to.heddle("heddle", "launch", "--pes", str(n), "--graph")), rounds,
            one_failure=True) for n in (1, 4)),
        *(_barrier(to, n, rounds) for n in (2, 4, 8)),
        _all_reduce(to, 2, rounds),
        _all_reduce(to, 4, rounds),
    ]
