# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""What a run of all benchmarks does before and after it measures."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from . import report
from .contenders import Block
from .measure import Results
from .rules import Verdict

ROOT = Path(__file__).resolve().parent.parent.parent


def options(description: str, block_names: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true",
                        help="fewer sizes and rounds: for a first look")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "measurements",
                        metavar="DIR", help="where the results go (docs/measurements)")
    parser.add_argument("--build-dir", type=lambda name: Path(name).resolve(), default=ROOT / "build" / "release", metavar="DIR")
    parser.add_argument("--no-build", action="store_true", help="measure what is built")
    parser.add_argument("--block", action="append", metavar="NAME",
                        help=f"only this block ({block_names})")
    return parser


def end_when_asked() -> None:
    """On SIGTERM as on Ctrl-C: what runs is stopped, and hosts, daemons and folders that were made for it go."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def build(build_dir: Path, target: str) -> bool:
    """The release build of `target`; incremental."""
    commands = (["cmake", "--preset", "release", "-B", str(build_dir)],
                ["cmake", "--build", str(build_dir), "--target", target])
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


def chosen(blocks: list[Block], names: list[str], parser: argparse.ArgumentParser) -> list[Block]:
    unknown = set(names) - {block.name for block in blocks}
    if unknown:
        parser.error(f"no block is called {', '.join(sorted(unknown))}: choose from "
                     f"{', '.join(block.name for block in blocks)}")
    return [block for block in blocks if block.name in names]


def write(out: Path, name: str, text: str, facts: dict[str, str], results: Results,
          verdicts: list[Verdict]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.md").write_text(text, encoding="utf-8")
    (out / f"{name}.json").write_text(
        json.dumps(report.as_json(facts, results, verdicts), indent=1) + "\n", encoding="utf-8")
    print(text)
    print(f"Written to {out / name}.md and .json")
