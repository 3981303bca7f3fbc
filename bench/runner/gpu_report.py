# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""The GPU's results as Markdown: a table for each thing that was measured, a column for each who did it."""

from __future__ import annotations

import shlex
from pathlib import Path

from .contenders import Block, Contender
from .measure import Results, Series
from .report import bandwidth, failures, microseconds, rules_table, table
from .rules import Verdict, human
from .session import ROOT

def is_rate(what: str) -> bool:
    """Whether it is told in GB/s."""
    return what == "copy by the whole GPU" or what.endswith((" block", " blocks"))


def command(contender: Contender) -> str:
    """As a shell takes it, in the repository's root."""
    program = Path(contender.command[0])
    if program.is_relative_to(ROOT):
        program = program.relative_to(ROOT)
    settings = [f"{name}={shlex.quote(value)}" for name, value in contender.environment.items()]
    return " ".join([*settings, shlex.join([str(program), *contender.command[1:]])])


def subject(what: str) -> str:
    """The table that it belongs in: the ways to make a call stand side by side."""
    return what.removesuffix(" on a stream").removesuffix(" in a graph")


def columns(series: dict[str, Series], of: str) -> list[tuple[str, str, str]]:
    """(contender, what, variant), in the order in which they were measured."""
    found: dict[tuple[str, str, str], None] = {}
    for name, one in series.items():
        for taken in one.rounds:
            for what, variant, _ in taken:
                if subject(what) == of:
                    found[name, what, variant] = None
    return list(found)


def heading(name: str, what: str, variant: str) -> str:
    return name if subject(what) != what or variant == name else f"{name}, {variant}"


def tables(series: dict[str, Series]) -> str:
    subjects = dict.fromkeys(subject(what) for one in series.values() for taken in one.rounds
                             for what, _, _ in taken)
    parts = []
    for of in subjects:
        shown = columns(series, of)
        sizes = sorted({size for name, what, _ in shown for size in series[name].sizes(what)})
        cells = bandwidth if is_rate(of) else lambda _, us: microseconds(us)
        unit = "GB/s" if is_rate(of) else "us"
        def cell(size: int, column: tuple[str, str, str]) -> str:
            name, what, variant = column
            return cells(size, series[name].median(what, variant, size))

        if len(sizes) == 1:
            text = table(["", unit], [[heading(*column), cell(sizes[0], column)] for column in shown])
        else:
            text = table(["size", *(heading(*column) for column in shown)],
                         [[human(size), *(cell(size, column) for column in shown)]
                          for size in sizes])
        parts.append(f"### {of}, {unit}\n\n{text}")
    return "\n\n".join(parts)


def section(block: Block, series: dict[str, Series]) -> str:
    commands = [f"{one.name}: `{command(one)}`" for one in block.contenders if not one.missing]
    versions = [f"- {name}: {fact} {value:.0f}" for name, one in series.items()
                for fact, value in one.facts.items()]
    parts = [f"## {block.title}", tables(series), failures(series), "\n".join(versions),
             "Commands:\n\n" + "\n".join(f"- {text}" for text in commands) if commands else ""]
    return "\n\n".join(part for part in parts if part)


def markdown(facts: dict[str, str], blocks: list[Block], results: Results,
             verdicts: list[Verdict]) -> str:
    return "\n\n".join([
        "# Measurements on a GPU",
        "All PEs share this one GPU. The contenders of a section run one after the other, round after "
        "round; a number is the median over the rounds, each round's the median over batches of the "
        "slowest PE. A verdict is of the ratios within each round, the ratio of the medians stands "
        "beside it. How to read the numbers: docs/performance.md.",
        table(["", ""], [[name, value] for name, value in facts.items()]),
        "## Speed rules",
        rules_table(verdicts),
        *(section(block, results[block.name]) for block in blocks),
    ]) + "\n"
