#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""Measures heddle, the bare limits of this machine and its peers in one go.

Writes <date>-<processor>-2pe.md and .json (the blocks' names behind it, if some were chosen) into
--out, prints the tables and says of each speed rule whether it holds. The exit status is 0 when all hold, 1 when one does not (or could not
be measured), 2 when nothing could be built.
"""

from __future__ import annotations

import datetime
import shlex
import sys
import time

from runner import contenders, hosts, machine, measure, rdma, report, rules, session


def main() -> int:
    parser = session.options(__doc__.splitlines()[0],
                             "put, all_reduce, fresh, collectives_2, collectives_4, all_reduce_4, crowded_8, init, team, plans, network_2, "
                             "network_4, network_collectives_2, network_collectives_4, network_put, rdma")
    arguments = parser.parse_args()
    session.end_when_asked()
    if not arguments.no_build and not session.build(arguments.build_dir, "benchmarks"):
        return 2
    started = time.monotonic()
    now = datetime.datetime.now()
    facts = {"date": f"{now:%Y-%m-%d %H:%M}", "command": shlex.join(["bench/run.py", *sys.argv[1:]]),
             "commit": session.commit(), **machine.describe()}
    bin_dir = arguments.build_dir / "bin"
    with hosts.imitated() as two_hosts:
        blocks = [*contenders.blocks(bin_dir, arguments.quick),
                  *hosts.blocks(bin_dir, arguments.quick, two_hosts)]
        if arguments.block:
            on_request = rdma.blocks(arguments.build_dir, arguments.quick)
            blocks = session.chosen([*blocks, *on_request], arguments.block, parser)
        results = {block.name: measure.run_block(block) for block in blocks}
    facts["time taken"] = f"{time.monotonic() - started:.0f} s"
    verdicts = rules.judge(results)
    name = "-".join([f"{now:%Y-%m-%d}", machine.slug(facts["processor"]), "2pe", *(arguments.block or ()),
                     *(["quick"] if arguments.quick else ())])
    session.write(arguments.out, name, report.markdown(facts, blocks, results, verdicts), facts, results, verdicts)
    return 0 if all(verdict.passed for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
