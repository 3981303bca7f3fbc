#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""Measures heddle on the first GPU (of CUDA_VISIBLE_DEVICES), the GPU's bare limits, NVSHMEM and NCCL in one go.

Writes docs/measurements/<gpu>-<date>.md and .json, prints the tables and says of each speed rule
whether it holds. NVSHMEM's and NCCL's rules are skipped where they do not run, with the reason. The
exit status is 0 when all others hold, 1 when one does not (or could not be measured), 2 when nothing
could be built or there is no GPU. With --block nothing is written and no rule is decided: 1 is for a run of
heddle's or of a bare program that failed.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import shlex
import sys
import time

from runner import gpu_contenders, gpu_machine, gpu_report, gpu_rules, machine, measure, rules, session
from runner.mps import Mps


def measure_all(arguments: argparse.Namespace, parser: argparse.ArgumentParser, mps: Mps) -> int:
    run = functools.partial(measure.run_block, timeout_s=120)
    blocks = gpu_contenders.blocks(arguments.build_dir / "bin", arguments.quick, mps)
    if arguments.block:
        results = {}
        for block in session.chosen(blocks, arguments.block, parser):
            results[block.name] = run(block)
            print(gpu_report.section(block, results[block.name]), end="\n\n")
        return 0 if rules.runs_rule(results, gpu_rules.PEERS).passed else 1
    started = time.monotonic()
    now = datetime.datetime.now()
    facts = {"date": f"{now:%Y-%m-%d %H:%M}", "command": shlex.join(["bench/gpu.py", *sys.argv[1:]]),
             "commit": session.commit(), **gpu_machine.describe()}
    results = {block.name: run(block) for block in blocks}
    facts["time taken"] = f"{time.monotonic() - started:.0f} s"
    verdicts = gpu_rules.judge(results)
    name = f"{machine.slug(facts['GPU'])}-{now:%Y-%m-%d}"
    session.write(arguments.out, f"{name}-quick" if arguments.quick else name,
                  gpu_report.markdown(facts, blocks, results, verdicts), facts, results, verdicts)
    return 0 if all(verdict.passed or verdict.skipped for verdict in verdicts) else 1


def main() -> int:
    parser = session.options(__doc__.splitlines()[0],
                             "looks, latency, bandwidth, atomics, launch_1, launch_4, barrier_2, barrier_4, "
                             "barrier_8, in_kernel_4, all_reduce_2, all_reduce_4, broadcast_4, reduce_4, all_gather_4, reduce_scatter_4, "
                             "all_to_all_4")
    arguments = parser.parse_args()
    session.end_when_asked()
    if not gpu_machine.ask("name"):
        print("no GPU here (nvidia-smi shows none): nothing was measured", file=sys.stderr)
        return 2
    if not arguments.no_build and not session.build(arguments.build_dir, "gpu_benchmarks"):
        return 2
    gpu_machine.name_by_uuid()
    with Mps() as mps:
        return measure_all(arguments, parser, mps)


if __name__ == "__main__":
    sys.exit(main())
