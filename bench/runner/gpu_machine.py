# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""The GPU, as a reader of the results needs to know it."""

from __future__ import annotations

import subprocess

from . import machine

# nvidia-smi's names of what is told.
FIELDS = {"GPU": "name", "driver": "driver_version", "GPU memory": "memory.total",
          "clock of the multiprocessors, now and at most": "clocks.sm,clocks.max.sm",
          "clock of the memory, now and at most": "clocks.mem,clocks.max.mem",
          "power, now and at most": "power.draw,power.limit", "temperature, C": "temperature.gpu",
          "MIG": "mig.mode.current", "compute mode": "compute_mode"}


def ask(fields: str) -> str:
    """What nvidia-smi says of the first GPU; nothing if there is none, or it knows no such field."""
    try:
        done = subprocess.run(["nvidia-smi", "--id=0", f"--query-gpu={fields}",
                               "--format=csv,noheader"],
                              capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def compiler() -> str:
    try:
        done = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, timeout=30,
                              check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    lines = [line for line in done.stdout.splitlines() if "release" in line]
    return lines[0].strip() if lines else "unknown"


def describe() -> dict[str, str]:
    host = machine.describe()
    return {**{fact: ask(fields) or "unknown" for fact, fields in FIELDS.items()},
            "nvcc": compiler(),
            **{fact: host[fact] for fact in ("processor", "memory", "kernel", "compiler",
                                             "load before the run")}}
