# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""Who is measured on a GPU, with which settings, and the blocks they meet in.

All PEs share one GPU. heddle's and NCCL's are threads of a process; NVSHMEM's are processes under
CUDA's multi-process service.
"""

from __future__ import annotations

from dataclasses import replace
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

# The collectives that are measured beside AllReduce, and those that NVSHMEM has: none to one PE alone.
OTHERS = ("broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all")
OF_NVSHMEM = ("all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all")

# HEDDLE_ALGO, HEDDLE_PROTO and the largest size: two words a flag, or a hop a piece, make the others slow.
_WAYS = (("one_shot", "ll", MI), ("one_shot", "ll128", MI), ("one_shot", "simple", 16 * MI),
         ("two_shot", "simple", 64 * MI), ("ring", "ll", MI), ("ring", "ll128", 16 * MI),
         ("ring", "simple", 64 * MI), ("tree", "ll", MI), ("tree", "ll128", 16 * MI),
         ("tree", "simple", 64 * MI))
# One shot of the other two goes by words or by slots, and ReduceScatter has no tree.
_REDUCE = tuple(way for way in _WAYS if way[:2] != ("one_shot", "ll128"))
FORCED = {"all_reduce": _WAYS, "reduce": _REDUCE,
          "reduce_scatter": tuple(way for way in _REDUCE if way[0] != "tree")}


def forced_name(algo: str, proto: str) -> str:
    """What the contender that is forced that way is called."""
    return f"{algo} {proto}, graph"


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

    def heddle_processes(self, name: str, program: str, *arguments: str) -> list[Contender]:
        """As NVSHMEM's PEs are; nobody where they cannot be."""
        if self._mps.missing:
            return []
        environment = {**HEDDLE, "CUDA_DEVICE_MAX_CONNECTIONS": "8", **self._mps.environment}
        return [self._contender(name, f"gpu_heddle_{program}", (*arguments, "--processes"), environment)]

    def nvshmem(self, name: str, program: str, n: int, *arguments: str) -> Contender:
        """Each PE may use its part of the GPU: with more, NVSHMEM refuses its collectives."""
        environment = {**NVSHMEM, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(100 // n),
                       **self._mps.environment}
        return self._contender(name, f"gpu_nvshmem_{program}", ("--pes", str(n), *arguments),
                               environment, self._mps.missing)

    def nccl(self, name: str, n: int, *arguments: str) -> Contender:
        """The blocks of all ranks must be resident at once, one on a multiprocessor."""
        return self._contender(name, "gpu_nccl_collectives", ("--pes", str(n), *arguments),
                               {**NCCL, "NCCL_MAX_CTAS": str(96 // n)})


def _by_all(to: GpuLaunchers, what: str, n: int) -> list[Contender]:
    """Each puts calls on a stream, and replays them from a graph."""
    of = ("--collective", what)
    pes = ("--pes", str(n))
    found = [
        to.heddle("heddle", "collectives", *pes, *of),
        to.heddle("heddle, graph", "collectives", *pes, *of, "--graph"),
        to.nvshmem("NVSHMEM", "collectives", n, *of),
        to.nvshmem("NVSHMEM, graph", "collectives", n, *of, "--graph"),
        to.nccl("NCCL", n, *of),
        to.nccl("NCCL, graph", n, *of, "--graph"),
        *to.heddle_processes("heddle, processes", "collectives", *pes, *of),
    ]
    if what not in OF_NVSHMEM:
        found = [replace(one, missing=f"NVSHMEM has no {what}") if one.name.startswith("NVSHMEM") else one
                 for one in found]
    return found


def _forced(to: GpuLaunchers, what: str, n: int) -> list[Contender]:
    def one(name: str, largest: int, **settings: str) -> Contender:
        return to.heddle(name, "collectives", "--pes", str(n), "--collective", what, "--graph",
                         "--max", str(largest), **settings)
    found = [one(forced_name(algo, proto), largest, HEDDLE_ALGO=algo, HEDDLE_PROTO=proto)
             for algo, proto, largest in FORCED.get(what, ())]
    if what == "all_reduce":
        # First the algorithm that a rule is about, its protocol chosen by size.
        found.insert(0, one("one_shot, graph", MI, HEDDLE_ALGO="one_shot"))
    return found


def _all_reduce(to: GpuLaunchers, n: int, rounds: int) -> Block:
    return Block(f"all_reduce_{n}", f"AllReduce, float32 sum, {n} PEs", (
        to.bare("bare flag", "flag"),
        to.bare("bare launch", "launch", "--pes", str(n)),
        to.bare("bare copy", "memory"),
        *_by_all(to, "all_reduce", n),
        *(_forced(to, "all_reduce", n) if n == 4 else ())), rounds, one_failure=True)


def _other(to: GpuLaunchers, what: str, n: int, rounds: int) -> Block:
    kind = "float32 sum" if what in FORCED else "float32"
    return Block(f"{what}_{n}", f"{what}, {kind}, {n} PEs",
                 (*_by_all(to, what, n), *_forced(to, what, n)), rounds, one_failure=True)


def _barrier(to: GpuLaunchers, n: int, rounds: int) -> Block:
    return Block(f"barrier_{n}", f"Barrier, {n} PEs", (
        to.heddle("heddle", "barrier", "--pes", str(n)),
        to.nvshmem("NVSHMEM", "barrier", n)), rounds, one_failure=True)


def blocks(bin_dir: Path, quick: bool, mps: Mps) -> list[Block]:
    """Everything that `gpu.py` measures, in order."""
    to = GpuLaunchers(bin_dir, mps)
    rounds = 1 if quick else 3
    return [
        Block("looks", "Looks and fences", (to.bare("bare", "looks"),), rounds, one_failure=True),
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
        Block("in_kernel_4", "Collectives that kernels call, float32, 4 PEs, a block of each", (
            to.heddle("heddle", "in_kernel", "--pes", "4"),
            to.nvshmem("NVSHMEM", "in_kernel", 4)), rounds, one_failure=True),
        _all_reduce(to, 2, rounds),
        _all_reduce(to, 4, rounds),
        *(_other(to, what, 4, rounds) for what in OTHERS),
    ]
