# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""The machine, as a reader of the results needs to know it."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return "unknown"


def _first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "not installed"
    return (done.stdout.strip().splitlines() or ["unknown"])[0]


def _cpuinfo(field: str) -> str:
    found = re.search(rf"^{field}\s*:\s*(.*)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return found.group(1) if found else platform.machine()


def _caches() -> str:
    parts = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind = _read(f"{index}/type")
        if kind != "Instruction":
            parts.append(f"L{_read(f'{index}/level')} {_read(f'{index}/size')}")
    return ", ".join(parts)


def core_of(cpu: int, cpus: str = "/sys/devices/system/cpu") -> set[int]:
    """The processors (hardware threads) of the core that this one belongs to, itself among them."""
    ranges = re.findall(r"(\d+)(?:-(\d+))?", _read(f"{cpus}/cpu{cpu}/topology/thread_siblings_list"))
    return {cpu}.union(*(range(int(first), int(last or first) + 1) for first, last in ranges))


def describe() -> dict[str, str]:
    memory = re.search(r"MemTotal:\s+(\d+)", _read("/proc/meminfo"))
    vectors = [name for name in ("avx2", "avx512f") if name in _cpuinfo("flags").split()]
    return {
        "processor": f"{_cpuinfo('model name')}, {os.cpu_count()} processors",
        "instruction sets": ", ".join(vectors) or "baseline",
        "caches": _caches(),
        "memory": f"{int(memory.group(1)) / (1 << 20):.1f} GiB" if memory else "unknown",
        "virtual machine": "yes" if "hypervisor" in _cpuinfo("flags").split() else "no",
        "huge pages of shared memory": _read("/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
        "kernel": platform.release(),
        "compiler": _first_line("c++", "--version"),
        "Open MPI": _first_line("mpirun.openmpi", "--version"),
        "MPICH": _first_line("mpichversion"),
        "load before the run": " ".join(f"{x:.2f}" for x in os.getloadavg()),
    }


def slug(processor: str) -> str:
    """The processor's name for a file name: 'AMD EPYC, 2 processors' gives 'amd-epyc'."""
    name = re.sub(r"\(.*?\)|,.*|@.*|\bCPU\b", " ", processor)
    return "-".join(re.findall(r"[a-z0-9]+", name.lower())) or "unknown"
