# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""The GPU, as a reader of the results needs to know it."""

from __future__ import annotations

import os
import subprocess

from . import machine

# nvidia-smi's names of what is told.
FIELDS = {"GPU": "name", "driver": "driver_version", "GPU memory": "memory.total",
          "clock of the multiprocessors, now and at most": "clocks.sm,clocks.max.sm",
          "clock of the memory, now and at most": "clocks.mem,clocks.max.mem",
          "power, now and at most": "power.draw,power.limit", "temperature, C": "temperature.gpu",
          "MIG": "mig.mode.current", "compute mode": "compute_mode"}


def nvidia_smi(*arguments: str) -> str:
    """What it says; nothing if it fails."""
    try:
        done = subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def first_visible() -> str:
    """nvidia-smi's number of the GPU that is the first to the measured programs (which gpu_contenders.CUDA lets count
    as nvidia-smi does); nothing if there is none. Named by a UUID, a part of one or a MIG device it is looked up."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    if not first or first.isdigit():
        return first
    number = ""
    for line in nvidia_smi("-L").splitlines():
        if line.startswith("GPU "):
            number = line.removeprefix("GPU ").split(":")[0]
        if f"(UUID: {first}" in line:
            return number
    return ""


def ask(fields: str) -> str:
    """What nvidia-smi says of that GPU; nothing if there is none, or it knows no such field."""
    number = first_visible()
    return nvidia_smi(f"--id={number}", f"--query-gpu={fields}", "--format=csv,noheader") if number else ""


def name_by_uuid() -> None:
    """CUDA_VISIBLE_DEVICES=2 has the multi-process service show GPU 2 to its clients as their 0, and none as 2 (CUDA's
    manual of the service, CUDA_VISIBLE_DEVICES): programs and service are given its UUID, which both know."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip().isdigit() and first_visible() != "0":
        os.environ["CUDA_VISIBLE_DEVICES"] = ask("uuid")


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
