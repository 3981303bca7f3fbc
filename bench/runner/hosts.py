# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""Contenders that run on two imitated hosts (tests/networks): what is between their processes is TCP."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .contenders import BARE_EXCHANGE, COMPARED, EXCHANGES, Block, Contender, Probe, program

NETWORKS = Path(__file__).resolve().parent.parent.parent / "tests" / "networks"
N_HOSTS = 2
LIMIT_S = 150
# Of libfabric: what it and heddle are compared with.
PROVIDER = "net"


@dataclass(frozen=True)
class Hosts:
    """A set of hosts. `missing` says why there is none, or is empty."""

    folder: Path
    missing: str = ""


@contextlib.contextmanager
def imitated() -> Iterator[Hosts]:
    """Two hosts, which are there until the context ends. Each has its own half of the processors: who
    counts them, to see whether processes must share one, is told the truth."""
    script = str(NETWORKS / "hosts.sh")
    with tempfile.TemporaryDirectory(prefix="heddle-hosts-") as name:
        try:
            done = subprocess.run([script, "up", name, str(N_HOSTS), "own-processors"], capture_output=True, text=True,
                                  check=False)
            why_none = (done.stderr.strip() or "hosts.sh failed").splitlines()[-1] if done.returncode != 0 else ""
            yield Hosts(Path(name), why_none)
        finally:  # also of hosts that are half made
            subprocess.run([script, "down", name], check=False)


class HostLaunchers:
    """Builds the command lines for programs in `bin_dir`, with so many processes on each host."""

    def __init__(self, bin_dir: Path, hosts: Hosts):
        self._bin = bin_dir
        self._hosts = hosts

    def _contender(self, name: str, command: tuple[str, ...], missing: str, **env: str) -> Contender:
        environment = {"IMITATED_HOSTS": str(self._hosts.folder), **env}
        if os.geteuid() == 0:
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return Contender(name, command, environment, self._hosts.missing or missing, bound=False)

    def plain(self, name: str, program_name: str, per_host: int, *args: str, **env: str) -> Contender:
        """Without a launcher: heddle's and the bare programs, which meet by themselves."""
        path, missing = program(self._bin, program_name)
        return self._contender(name, (
            str(NETWORKS / "run_job.sh"), str(self._hosts.folder), str(N_HOSTS), str(per_host),
            "--timeout", str(LIMIT_S), "--", path, *args), missing, **env)

    def _launched(self, name: str, launcher: str, suffix: str, program_name: str,
                  options: tuple[str, ...], args: tuple[str, ...]) -> Contender:
        """By a launcher on the first host."""
        path, missing = program(self._bin, f"{program_name}.{suffix}")
        found = shutil.which(launcher)
        return self._contender(name, (
            str(NETWORKS / "hosts.sh"), "on", str(self._hosts.folder), "1", "--",
            found or launcher, *options, path, *args),
            missing if found else f"{launcher} is not installed")

    def openmpi(self, program_name: str, per_host: int, *args: str) -> Contender:
        # It does not see by itself that processes of such a host share a processor.
        crowded = per_host > (os.cpu_count() or 1) // N_HOSTS
        yields = ("--mca", "mpi_yield_when_idle", "1") if crowded else ()
        return self._launched("Open MPI", "mpirun.openmpi", "openmpi", program_name, (
            "--mca", "plm_rsh_agent", str(NETWORKS / "remote_shell.sh"), "--mca", "btl",
            "tcp,vader,self", *yields, "--bind-to", "none", "--oversubscribe", "-H",
            _named(per_host)), args)

    def mpich(self, program_name: str, per_host: int, *args: str) -> Contender:
        return self._launched("MPICH", "mpiexec.hydra", "mpich", program_name, (
            "-launcher", "ssh", "-launcher-exec", str(NETWORKS / "remote_shell.sh"), "-hosts",
            _named(per_host), "-n", str(N_HOSTS * per_host)), args)

    def all_of(self, what: str, per_host: int, *args: str) -> tuple[Contender, ...]:
        """heddle and its peers, each by its program for `what`."""
        return (self.plain("heddle", f"bench_{what}", per_host, *args),
                self.openmpi(f"mpi_{what}", per_host, *args), self.mpich(f"mpi_{what}", per_host, *args),
                self.plain("Gloo", f"gloo_{what}", per_host, *args))


def _named(per_host: int) -> str:
    return ",".join(f"n{i}:{per_host}" for i in range(1, N_HOSTS + 1))


def blocks(bin_dir: Path, quick: bool, hosts: Hosts) -> list[Block]:
    """What `run.py` measures between hosts, in order."""
    to = HostLaunchers(bin_dir, hosts)
    step = ("--step", "8", "--batches", "3") if quick else ()
    probe = Probe(to.plain("probe", "tcp_exchange", 1, "--sizes", "32", "--batches", "3"),
                  "Bare TCP exchange of 32 bytes")
    rounds = 3 if quick else 7

    def exchange(*collectives: str) -> tuple[Contender, ...]:
        return (to.plain(BARE_EXCHANGE, "tcp_exchange", 1, *step, "--collective", *collectives),)

    all_reduce = exchange("all_reduce")
    # Of the others those that the rules are about; the bare exchange beside those that need it at least.
    result = [Block(f"{name}_{N_HOSTS * per_host}", f"{title}, {N_HOSTS} hosts over TCP, PEs on each: {per_host}",
                    (*beside[per_host], *to.all_of(what, per_host, *step, *options)), rounds, one_failure=True, probe=probe)
              for name, title, what, options, beside in (
                  ("network", "AllReduce, float32 sum", "all_reduce", (), {1: all_reduce, 2: all_reduce}),
                  ("network_collectives", "The other collectives", "collective", ("--collective", *COMPARED),
                   {1: exchange(*EXCHANGES), 2: ()}))
              for per_host in (1, 2)]
    # Long enough that a kernel's launch does not count.
    few = ("--batch-us", "10000") + (("--batches", "3") if quick else ())
    result.append(Block("network_put", f"Put and signal, 2 hosts, libfabric's provider {PROVIDER}", (
        to.plain("bare libfabric", "fabric_loop", 1, "--provider", PROVIDER, *few),
        to.plain("heddle", "bench_network_put", 1, *few, HEDDLE_TRANSPORT="libfabric",
                 HEDDLE_FABRIC_PROVIDER=PROVIDER),
        to.plain("heddle, tcp", "bench_network_put", 1, *few, HEDDLE_TRANSPORT="tcp"),
    ), rounds, one_failure=True, probe=probe))
    return result
