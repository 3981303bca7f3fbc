# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks and keeps every number of every round."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from . import machine
from .contenders import Block, Contender, Probe

# (what, variant, bytes), as the programs print them
Point = tuple[str, str, int]


@dataclass
class Series:
    """What one contender of one block gave, round by round."""

    rounds: list[dict[Point, float]] = field(default_factory=list)
    # The probe just before and just after each round's run, if that gave a result.
    probes_us: list[tuple[float, float] | None] = field(default_factory=list)
    facts: dict[str, float] = field(default_factory=dict)  # other numbers, of the last round
    failures: list[str] = field(default_factory=list)

    def values(self, what: str, variant: str, size: int) -> list[float | None]:
        return [taken.get((what, variant, size)) for taken in self.rounds]

    def median(self, what: str, variant: str, size: int) -> float | None:
        found = [v for v in self.values(what, variant, size) if v is not None]
        return statistics.median(found) if found else None

    def variants(self, what: str, size: int) -> list[str]:
        seen: dict[str, None] = {}
        for taken in self.rounds:
            for point in taken:
                if point[0] == what and point[2] == size:
                    seen[point[1]] = None
        return list(seen)

    def sizes(self, what: str) -> list[int]:
        return sorted({point[2] for taken in self.rounds for point in taken if point[0] == what})

    def best_variant(self, what: str, size: int, accept=lambda variant: True) -> str | None:
        """The one whose median over the rounds is least. Choosing in each round by itself would
        reward the noise."""
        found = [v for v in self.variants(what, size) if accept(v)]
        return min(found, key=lambda v: self.median(what, v, size), default=None)


Results = dict[str, dict[str, Series]]


class RunFailed(Exception):
    """A contender's command did not give what it should."""


def run_once(contender: Contender, timeout_s: float) -> tuple[list[dict], float]:
    """Runs the command once: the objects it printed, and its wall time in microseconds."""
    start = time.monotonic()
    with subprocess.Popen(contender.command, env={**os.environ, **contender.environment},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            stop(process)
            raise RunFailed(f"did not end within {timeout_s:.0f} s") from None
        except BaseException:  # who asks the runner to end means the contender too
            stop(process)
            raise
    wall_us = (time.monotonic() - start) * 1e6
    if process.returncode != 0:
        why = last_words(stderr.strip() or stdout.strip(), os.path.basename(contender.command[0]))
        raise RunFailed(f"exit status {process.returncode}: {why[:300]}")
    try:
        objects = [json.loads(line) for line in stdout.splitlines() if line.startswith("{")]
    except json.JSONDecodeError as error:
        raise RunFailed(f"unreadable output: {error}") from None
    if contender.bound:
        check_binding([o["cpus"] for o in objects if o["what"] == "binding"])
    return objects, wall_us


def last_words(output: str, launcher: str) -> str:
    """Why a command failed: what its programs said ("name: reason"), if they did. Launchers speak after them."""
    lines = list(dict.fromkeys(line for line in output.splitlines() if line.strip(" -=")))
    named = [line for line in lines if re.match(r"[a-z/][\w./+-]*: ", line)]
    own = [line for line in named if not line.startswith(f"{launcher}:")]
    return " / ".join(line.strip() for line in (own or named or lines)[-3:]) or "no output"


def stop(process: subprocess.Popen) -> None:
    """A launcher that is asked to end takes its processes with it; one that is killed does not."""
    process.terminate()
    try:
        process.communicate(timeout=5)
    except BaseException as interrupted:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if not isinstance(interrupted, subprocess.TimeoutExpired):
            raise


def check_binding(processors: list[list[int]], core_of: Callable[[int], set[int]] = machine.core_of) -> None:
    """A process that wanders from core to core, or shares a processor, makes a number of another experiment.
    Launchers bind to cores, which may have several processors."""
    if len(processors) != 2 or not all(one and core_of(one[0]).issuperset(one) for one in processors) or \
            not set(processors[0]).isdisjoint(processors[1]):
        raise RunFailed(f"the processes were not bound to processors of one core each, but to {processors}")


def probe_us(probe: Probe) -> float:
    """What the probe takes now: it tells where the machine has put its processors."""
    objects, _ = run_once(probe.contender, 30)
    found = [o["us"] for o in objects if "us" in o]
    if not found:
        raise RunFailed("the probe gave no time")
    return found[0]


def points(objects: list[dict]) -> dict[Point, float]:
    """The median of what was measured more than once."""
    found: dict[Point, list[float]] = {}
    for o in objects:
        if "us" in o:
            found.setdefault((o["what"], o["variant"], o["bytes"]), []).append(o["us"])
    return {point: statistics.median(values) for point, values in found.items()}


def run_block(block: Block, timeout_s: float = 180) -> dict[str, Series]:
    """All rounds of a block: A B C, A B C, ..."""
    series = {contender.name: Series() for contender in block.contenders}
    for number in range(block.rounds):
        print(f"\r{block.title}: round {number + 1} of {block.rounds}   ", end="",
              file=sys.stderr, flush=True)
        for contender in block.contenders:
            mine = series[contender.name]
            if contender.missing:
                mine.failures = [contender.missing]
                continue
            objects, wall_us, probed = [], None, None
            try:
                if not (block.one_failure and mine.failures):
                    before = probe_us(block.probe) if block.probe else None
                    objects, wall_us = run_once(contender, timeout_s)
                    probed = (before, probe_us(block.probe)) if block.probe else None
            except (RunFailed, OSError) as failure:
                mine.failures.append(f"round {number + 1}: {failure}")
                objects, wall_us = [], None
            if block.probe:
                mine.probes_us.append(probed)
            taken = points(objects)
            if block.wall and wall_us is not None:
                taken[("wall", "", 0)] = wall_us
            mine.rounds.append(taken)
            mine.facts.update({o["what"]: o["value"] for o in objects if "value" in o})
    print(file=sys.stderr)
    return series
