# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""Who is measured: how each contender is launched, and the blocks they meet in.

Every contender of a block does the same work with the same timing code (bench/*.hpp); a round runs
them one after the other, so that a machine that drifts drifts for all of them.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

KI, MI = 1024, 1024 * 1024

# On one machine, and what their programs call what they measure: of AllReduce, and of the others.
PEERS = {"Open MPI": ("MPI_Allreduce", "MPI"), "MPICH": ("MPI_Allreduce", "MPI"), "Gloo": ("gloo", "gloo")}

# Those that are measured beside AllReduce, and which of them are compared with the peers.
COMPARED = ("broadcast", "all_gather", "reduce_scatter", "all_to_all")
COLLECTIVES = (*COMPARED, "gather", "scatter", "reduce")
# Between hosts: what collectives of two PEs cannot do without, and which of them those are.
BARE_EXCHANGE = "bare TCP exchange"
EXCHANGES = ("all_gather", "reduce_scatter", "all_to_all")


@dataclass(frozen=True)
class Contender:
    """One program with its launcher. `missing` says why it cannot run, or is empty."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    missing: str = ""
    bound: bool = True  # each process must be bound to a core of its own


@dataclass(frozen=True)
class Probe:
    """What is timed just before and after each run, to see whether the machine stayed as it was: the
    first time that the program prints."""

    contender: Contender
    meaning: str


@dataclass(frozen=True)
class Block:
    """Contenders that are compared with each other, and how often they meet."""

    name: str
    title: str
    contenders: tuple[Contender, ...]
    rounds: int
    wall: bool = False  # what counts is the time of the whole command
    one_failure: bool = False  # a contender that fails is not tried again: its other rounds are lost, too
    probe: Probe | None = None


def program(bin_dir: Path, name: str) -> tuple[str, str]:
    """The path of a program, and what is wrong with it."""
    path = bin_dir / name
    return str(path), "" if path.exists() else f"{path} is not built"


class Launchers:
    """Builds the command lines for programs in `bin_dir`."""

    def __init__(self, bin_dir: Path):
        self._bin = bin_dir

    def _program(self, name: str) -> tuple[str, str]:
        return program(self._bin, name)

    def bare(self, name: str, *args: str) -> Contender:
        path, missing = self._program("bare_limits")
        return Contender(name, (path, *args), missing=missing)

    def alone(self, name: str, program_name: str) -> Contender:
        path, missing = self._program(program_name)
        return Contender(name, (path,), missing=missing, bound=False)

    def heddle(self, name: str, program_name: str, n: int, *args: str, bind: bool = True,
               **env: str):
        path, missing = self._program(program_name)
        launcher, no_launcher = self._program("heddle-run")
        binding = ("--bind-to", "core") if bind else ()
        return Contender(name, (launcher, "-n", str(n), *binding, path, *args), env,
                         no_launcher or missing, bind)

    def openmpi(self, program_name: str, n: int, *args: str, bind: bool = True) -> Contender:
        return self._by_mpirun("Open MPI", f"{program_name}.openmpi", n, args, bind)

    def gloo(self, program_name: str, n: int, *args: str, bind: bool = True) -> Contender:
        """Open MPI's launcher starts its processes; all else is Gloo's."""
        return self._by_mpirun("Gloo", program_name, n, args, bind)

    def _by_mpirun(self, name: str, program_name: str, n: int, args: tuple[str, ...], bind: bool):
        path, missing = self._program(program_name)
        launcher = shutil.which("mpirun.openmpi")
        how = ("--bind-to", "core") if bind else ("--oversubscribe", "--bind-to", "none")
        env = {}
        if os.geteuid() == 0:
            env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return Contender(name, (launcher or "mpirun.openmpi", *how, "-n", str(n), path, *args), env,
                         missing if launcher else "mpirun.openmpi is not installed", bind)

    def mpich(self, program_name: str, n: int, *args: str, bind: bool = True) -> Contender:
        path, missing = self._program(f"{program_name}.mpich")
        launcher = shutil.which("mpiexec.hydra")
        how = ("-bind-to", "core") if bind else ()
        return Contender("MPICH", (launcher or "mpiexec.hydra", "-launcher", "fork", *how, "-n",
                                   str(n), path, *args),
                         {}, missing if launcher else "mpiexec.hydra is not installed", bind)


def _sizes(*sizes: int) -> tuple[str, ...]:
    return ("--sizes", *map(str, sizes))


def blocks(bin_dir: Path, quick: bool) -> list[Block]:
    """Everything that `run.py` measures, in order."""
    to = Launchers(bin_dir)
    flag = Probe(to.bare("flag", "flag", "--batches", "3", "--batch-us", "500"),
                 "Bare flag, one way")
    rounds = 3 if quick else 7

    step = ("--step", "8", "--batches", "3") if quick else ()
    put_sizes = _sizes(*((8, 64 * KI, MI, 16 * MI) if quick else
                         (8, 64, 512, 4 * KI, 16 * KI, 64 * KI, 128 * KI, 256 * KI, 512 * KI, MI,
                          2 * MI, 4 * MI, 8 * MI, 16 * MI, 32 * MI, 64 * MI)))
    fresh = ("--fresh", *_sizes(*((8, 4 * KI, 64 * KI, MI) if quick else
                                  (8, 64, 512, KI, 2 * KI, 4 * KI, 8 * KI, 16 * KI, 64 * KI,
                                   256 * KI, MI, 4 * MI, 16 * MI))))
    few = (*_sizes(8, 4 * KI, MI), "--batch-us", "5000", "--batches", "3")

    result = [
        Block("put", "Put and signal, 2 PEs", (
            to.bare("bare flag", "flag"),
            to.bare("bare copy", "copy", *put_sizes, "--batches", "3"),
            to.heddle("heddle", "bench_put_signal", 2, *put_sizes, "--batches", "3"),
            to.openmpi("mpi_put", 2, *put_sizes, "--batches", "3"),
            to.mpich("mpi_put", 2, *put_sizes, "--batches", "3"),
        ), rounds, probe=flag),
        Block("all_reduce", "AllReduce, float32 sum, 2 PEs", (
            to.bare("bare", "all_reduce", *step),
            to.heddle("heddle", "bench_all_reduce", 2, *step),
            to.openmpi("mpi_all_reduce", 2, *step),
            to.mpich("mpi_all_reduce", 2, *step),
            to.gloo("gloo_all_reduce", 2, *step),
            to.heddle("heddle ring", "bench_all_reduce", 2, *step, HEDDLE_ALGO="ring"),
            to.heddle("heddle tree", "bench_all_reduce", 2, *step, HEDDLE_ALGO="tree"),
        ), rounds, probe=flag),
        Block("fresh", "AllReduce of data that was just written, 2 PEs", (
            to.bare("bare", "all_reduce", *fresh),
            to.heddle("heddle", "bench_all_reduce", 2, *fresh),
            to.openmpi("mpi_all_reduce", 2, *fresh),
            to.mpich("mpi_all_reduce", 2, *fresh),
            to.gloo("gloo_all_reduce", 2, *fresh),
        ), 1 if quick else 5, probe=flag),
    ]
    for n in (2, 4):
        bind = n == 2
        large = _sizes(*((2 * MI, 16 * MI) if quick else (MI, 2 * MI, 4 * MI, 8 * MI, 16 * MI, 32 * MI, 64 * MI)))
        bare = (to.bare("bare", "collectives", *large, "--batches", "3"),) if n == 2 else ()
        result.append(Block(f"collectives_{n}", f"The other collectives, {n} PEs", (
            *bare,
            to.heddle("heddle", "bench_collective", n, *step, bind=bind),
            to.openmpi("mpi_collective", n, *step, bind=bind),
            to.mpich("mpi_collective", n, *step, bind=bind),
            to.gloo("gloo_collective", n, *step, bind=bind),
        ), rounds, probe=flag))
    result.append(Block("all_reduce_4", "AllReduce, float32 sum, 4 PEs", (
        to.heddle("heddle", "bench_all_reduce", 4, *step, bind=False),
        to.openmpi("mpi_all_reduce", 4, *step, bind=False),
        to.mpich("mpi_all_reduce", 4, *step, bind=False),
        to.gloo("gloo_all_reduce", 4, *step, bind=False),
    ), rounds, probe=flag))
    result.append(Block("crowded_8", "AllReduce, 8 PEs", (
        to.heddle("heddle", "bench_all_reduce", 8, *few, bind=False),
        to.openmpi("mpi_all_reduce", 8, *few, bind=False),
    ), rounds, probe=flag))
    result.append(Block("init", "Launch, init and one AllReduce, 8 PEs", (
        to.heddle("heddle", "bench_init_time", 8, bind=False),
        to.openmpi("mpi_init", 8, bind=False),
        to.mpich("mpi_init", 8, bind=False),
    ), rounds, wall=True, probe=flag))
    result.append(Block("team", "What a team costs", (
        to.heddle("heddle", "bench_team_cost", 2, bind=False),
    ), 1, probe=flag))
    result.append(Block("plans", "What a PE of 65,536 finds out before its first collective", (
        to.alone("heddle", "bench_plan_scale"),
    ), 1, probe=flag))
    return result
