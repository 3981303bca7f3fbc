#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""Measures heddle, the bare limits of this machine and its peers in one go.

Writes docs/measurements/<date>-<processor>-2pe.md and .json, prints the tables and says of each
speed rule whether it holds. The exit status is 0 when all hold, 1 when one does not (or could not
be measured), 2 when nothing could be built.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

from runner import contenders, machine, measure, report, rules

ROOT = Path(__file__).resolve().parent.parent


def build(build_dir: Path) -> bool:
    """The release build of everything here; incremental."""
    commands = (["cmake", "--preset", "release", "-B", str(build_dir)],
                ["cmake", "--build", str(build_dir), "--target", "benchmarks"])
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"{shlex.join(command)} failed:\n{done.stdout[-4000:]}{done.stderr[-2000:]}",
                  file=sys.stderr)
            return False
    return True


def commit() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true",
                        help="fewer sizes and rounds: under two minutes, for a first look")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "measurements",
                        metavar="DIR", help="where the results go (docs/measurements)")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build" / "release", metavar="DIR")
    parser.add_argument("--no-build", action="store_true", help="measure what is built")
    parser.add_argument("--block", action="append", metavar="NAME",
                        help="only this block (put, all_reduce, fresh, crowded_4, crowded_8, init, "
                        "team); prints its tables, judges no rule and writes no file")
    arguments = parser.parse_args()

    if not arguments.no_build and not build(arguments.build_dir):
        return 2
    started = time.monotonic()
    now = datetime.datetime.now()
    facts = {"date": f"{now:%Y-%m-%d %H:%M}", "command": shlex.join(["bench/run.py", *sys.argv[1:]]),
             "commit": commit(), **machine.describe()}
    launchers = contenders.Launchers(arguments.build_dir / "bin")
    blocks = contenders.blocks(arguments.build_dir / "bin", arguments.quick)
    if arguments.block:
        unknown = set(arguments.block) - {block.name for block in blocks}
        if unknown:
            parser.error(f"no block is called {', '.join(sorted(unknown))}: choose from "
                         f"{', '.join(block.name for block in blocks)}")
        for block in blocks:
            if block.name in arguments.block:
                print(report.section(block, measure.run_block(block, launchers)), end="\n\n")
        return 0

    results = {block.name: measure.run_block(block, launchers) for block in blocks}
    facts["time taken"] = f"{time.monotonic() - started:.0f} s"
    verdicts = rules.judge(results)
    text = report.markdown(facts, blocks, results, verdicts)
    arguments.out.mkdir(parents=True, exist_ok=True)
    name = f"{now:%Y-%m-%d}-{machine.slug(facts['processor'])}-2pe"
    if arguments.quick:
        name += "-quick"
    (arguments.out / f"{name}.md").write_text(text, encoding="utf-8")
    (arguments.out / f"{name}.json").write_text(
        json.dumps(report.as_json(facts, results, verdicts), indent=1) + "\n", encoding="utf-8")
    print(text)
    print(f"Written to {arguments.out / name}.md and .json")
    return 0 if all(verdict.passed for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
