# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""The results as Markdown, for people, and as JSON, for comparisons."""

from __future__ import annotations

import statistics

from .contenders import BARE_EXCHANGE, COLLECTIVES, MI, PEERS, Block
from .measure import Results, Series
from .rules import Verdict, compare, human


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def microseconds(us: float | None) -> str:
    if us is None:
        return "-"
    if us < 10:
        return f"{us:.3f}"
    return f"{us:.1f}" if us < 1000 else f"{us:,.0f}"


def bandwidth(size: int, us: float | None) -> str:
    return "-" if us is None else f"{size / us / 1000:.1f}"


def probes(block: Block, results: dict[str, Series]) -> str:
    parts = []
    for name, series in results.items():
        seen = [us for both in series.probes_us if both for us in both]
        if seen:
            low, high = microseconds(min(seen)), microseconds(max(seen))
            parts.append(f"{name} {microseconds(statistics.median(seen))} ({low} to {high})")
    return f"{block.probe.meaning}, just before and after each run, in us, median and range: " + (
        "; ".join(parts) + ".") if parts else ""


def _ratio(ours: Series, our_key: tuple[str, str], theirs: Series, their_key: tuple[str, str],
           size: int) -> str:
    """As the rules take it: the median over the rounds of the ratio within each."""
    ratio = compare(ours, our_key, theirs, their_key, size)
    return f"{ratio.of_rounds:.2f}" if ratio else "-"


def put_section(block: dict[str, Series]) -> str:
    heddle, flag, copy = block["heddle"], block["bare flag"], block["bare copy"]
    rows = []
    for what, variant, meaning in (
            ("flag", "bare", "bare: a flag"),
            ("payload_one_line", "bare", "bare: payload and flag in one line, payload read"),
            ("payload_two_lines", "bare", "bare: payload and flag in two lines, payload read")):
        rows.append([meaning, microseconds(flag.median(what, variant, 8))])
    for what, meaning in (
            ("put_signal", "heddle: put_signal, signal observed"),
            ("put_signal_one_line", "heddle: put_signal in one line, payload read"),
            ("put_signal_two_lines", "heddle: put_signal in two lines, payload read")):
        rows.append([meaning, microseconds(heddle.median(what, "heddle", 8))])
    text = [table(["8 bytes, one way", "us"], rows)]
    for what, how in (("put_one_way", "one way"), ("put_both_ways", "both ways at once")):
        rows = []
        for size in copy.sizes(what):
            best = copy.best_variant(what, size)
            times = [copy.median(what, best, size), heddle.median(what, "heddle", size),
                     block["Open MPI"].median(what, "MPI_Put", size),
                     block["MPICH"].median(what, "MPI_Put", size)]
            cells = [bandwidth(size, t) for t in times] if size >= 64 * 1024 else [
                microseconds(t) + " us" for t in times]
            rows.append([human(size), best or "-", *cells,
                         _ratio(heddle, (what, "heddle"), copy, (what, best), size)])
        text.append(f"Put, {how}: microseconds below 64 KiB, then GB/s of each process.\n\n" + table(
            ["size", "best bare copy", "bare", "heddle", "Open MPI put + flush",
             "MPICH put + flush", "heddle time / bare"], rows))
    return "\n\n".join(text)


def all_reduce_section(block: dict[str, Series], what: str) -> str:
    bare = block["bare"]
    peers = {name: called for name, (called, _) in PEERS.items()}
    others = {"heddle": "heddle", **peers}
    extra = {name: "heddle" for name in ("heddle ring", "heddle tree") if name in block}
    rows = []
    for size in bare.sizes(what):
        best = bare.best_variant(what, size)
        two_shot = bare.best_variant(what, size, lambda v: v.startswith("two_shot"))
        time = {name: block[name].median(what, variant, size)
                for name, variant in {**others, **extra}.items()}
        least = bare.median(what, best, size)
        rows.append([human(size), best or "-", microseconds(least),
                     microseconds(bare.median(what, two_shot, size)) if two_shot else "-",
                     *(microseconds(time[name]) for name in (*others, *extra)),
                     *(_ratio(block["heddle"], (what, "heddle"), series, (what, variant), size)
                       for series, variant in (
                           (bare, best), *((block[name], called) for name, called in peers.items())))])
    return table(["size", "best bare", "bare, us", "bare two-shot", *others, *extra,
                  "heddle / bare", *(f"/ {name}" for name in peers)], rows)


def bare_section(bare: Series, what: str) -> str:
    """Which bare variant wins where, and by how much."""
    rows = []
    for size in bare.sizes(what):
        ranked = sorted((bare.median(what, v, size), v) for v in bare.variants(what, size))
        rows.append([human(size), *(f"{v} {microseconds(us)}" for us, v in ranked[:5])])
    return table(["size", "first", "second", "third", "fourth", "fifth"],
                 [row + ["-"] * (6 - len(row)) for row in rows])


def against_peers(block: dict[str, Series], what: str, called: int) -> str:
    """One collective; `called` chooses from what the peers' programs call it. Between hosts beside a bare exchange."""
    heddle = block["heddle"]
    others = {name: (what, names[called]) for name, names in PEERS.items()}
    bare = {BARE_EXCHANGE: (what, "bare")} if BARE_EXCHANGE in block and block[BARE_EXCHANGE].sizes(what) else {}
    beside = {**bare, **others}
    rows = [[human(size), microseconds(heddle.median(what, "heddle", size)),
             *(microseconds(block[name].median(*key, size)) for name, key in beside.items()),
             *(_ratio(heddle, (what, "heddle"), block[name], key, size) for name, key in beside.items())]
            for size in sorted({s for one in block.values() for s in one.sizes(what)})]
    return f"{what}, us:\n\n" + table(["size", "heddle", *beside, *(f"time / {name}" for name in beside)], rows)


def collectives_section(block: dict[str, Series]) -> str:
    parts = [against_peers(block, what, 1) for what in COLLECTIVES if any(one.sizes(what) for one in block.values())]
    return "\n\n".join([*parts, *([bare_collectives(block)] if "bare" in block else [])])


def bare_collectives(block: dict[str, Series]) -> str:
    heddle, bare = block["heddle"], block["bare"]
    rows = []
    for what in COLLECTIVES:
        for size in bare.sizes(what):
            best = bare.best_variant(what, size)
            rows.append([what, human(size), best or "-", microseconds(bare.median(what, best, size)),
                         microseconds(heddle.median(what, "heddle", size)),
                         _ratio(heddle, (what, "heddle"), bare, (what, best), size)])
    return "Against the best bare copies:\n\n" + table(["", "size", "best bare", "bare, us", "heddle, us", "heddle / bare"], rows)


# what, by bare libfabric and by heddle, and in words
NETWORK_PUT = (("fabric_write_flag", "network_signal", 8, "8 bytes and their signal, one way"),
               ("fabric_write", "network_put", MI, "each put of 1 MiB, 16 and a quiet"),
               ("fabric_rate", "network_rate", 8, "each put of 8 bytes, 4 blocks, 64 and a quiet"),
               ("fabric_rate", "network_signal_rate", 8, "each put_signal of 8 bytes, the same"),
               ("", "network_atomic_rate", 8, "each atomic_add, the same"))


def network_put_section(block: dict[str, Series]) -> str:
    bare, heddle, tcp = block["bare libfabric"], block["heddle"], block["heddle, tcp"]
    rows = []
    for theirs, ours, size, words in NETWORK_PUT:
        variant = bare.best_variant(theirs, size) or ""
        rows.append([words, microseconds(bare.median(theirs, variant, size)),
                     microseconds(heddle.median(ours, "heddle", size)),
                     _ratio(heddle, (ours, "heddle"), bare, (theirs, variant), size),
                     microseconds(tcp.median(ours, "heddle", size))])
    idle, idle_tcp = (one.median("network_idle", "heddle", 0) for one in (heddle, tcp))
    woken, bare_woken = tcp.median("network_wake", "heddle", 8), bare.median("tcp_wake", "tcp", 8)
    return table(["", "bare libfabric, us", "heddle, us", "heddle / bare", "heddle over TCP, us"],
                 rows) + (
        "" if woken is None or bare_woken is None else
        f"\n\nA PE whose threads all sleep answers over TCP (atomic_fetch_add) in {microseconds(woken)} us, "
        f"a process that sleeps in poll() in {microseconds(bare_woken)} us.") + (
        "" if idle is None else
        f"\n\nA PE that sleeps takes {microseconds(idle)} us of a processor in a second "
        f"(over TCP {microseconds(idle_tcp)} us).")


# what, by perftest and by heddle, bytes, and in words
RDMA = (("perftest_write_lat", "network_signal", 8, "8 bytes (ib_write_lat; put_signal), one way"),
        ("perftest_send_lat", "network_signal", 8,
         "the same against its message of 80 bytes (ib_send_lat, shared receive queue)"),
        ("perftest_write_bw", "network_put", MI, "each 1 MiB (ib_write_bw; put_nbi)"),
        ("perftest_write_rate", "network_rate", 8, "each 8 bytes (ib_write_bw; put_nbi, 4 blocks)"),
        ("perftest_atomic_rate", "network_atomic_rate", 8,
         "each atomic (ib_atomic_bw; atomic_add, 4 blocks)"))


def rdma_section(block: dict[str, Series]) -> str:
    one = block["machine"]
    rows = [[words, microseconds(one.median(theirs, "perftest", size)),
             microseconds(one.median(ours, "heddle", size)),
             _ratio(one, (ours, "heddle"), one, (theirs, "perftest"), size)]
            for theirs, ours, size, words in RDMA]
    return table(["soft RDMA on an emulated processor: the ratio alone counts", "perftest, us",
                  "heddle, us", "heddle / perftest"], rows)


def crowded_section(block: dict[str, Series]) -> str:
    rows = []
    for size in sorted({s for series in block.values() for s in series.sizes("all_reduce")}):
        ours = block["heddle"].median("all_reduce", "heddle", size)
        theirs = block["Open MPI"].median("all_reduce", "MPI_Allreduce", size)
        rows.append([human(size), microseconds(ours), microseconds(theirs),
                     _ratio(block["heddle"], ("all_reduce", "heddle"), block["Open MPI"],
                            ("all_reduce", "MPI_Allreduce"), size)])
    return table(["size", "heddle, us", "Open MPI --oversubscribe, us", "heddle / Open MPI"], rows)


def init_section(block: dict[str, Series]) -> str:
    rows = []
    for name, series in block.items():
        median = series.median("wall", "", 0)
        rows.append([name, "-" if median is None else f"{median / 1000:.0f}"])
    return table(["whole command", "ms"], rows)


def failures(series: dict[str, Series]) -> str:
    lines = [f"- {name}: {failure}" for name, one in series.items() for failure in one.failures]
    return "Failed runs:\n\n" + "\n".join(lines) if lines else ""


def section(block: Block, series: dict[str, Series]) -> str:
    if block.name == "put":
        body = put_section(series)
    elif block.name in ("all_reduce", "fresh"):
        what = "all_reduce" if block.name == "all_reduce" else "all_reduce_fresh"
        body = all_reduce_section(series, what) + (
            "\n\nThe bare variants, best first, us:\n\n" + bare_section(series["bare"], what))
    elif block.name == "network_put":
        body = network_put_section(series)
    elif block.name == "rdma":
        body = rdma_section(series)
    elif "collectives" in block.name:
        body = collectives_section(series)
    elif block.name.startswith("network") or block.name == "all_reduce_4":
        body = against_peers(series, "all_reduce", 0)
    elif block.name.startswith("crowded"):
        body = crowded_section(series)
    elif block.name == "init":
        body = init_section(series)
    else:
        unit = "us" if block.name == "plans" else "bytes"
        body = table(["fact", unit], [[fact, f"{value:,.0f}"] for fact, value in
                                      series["heddle"].facts.items()])
    parts = [f"## {block.title}", body, probes(block, series) if not block.wall else "", failures(series)]
    return "\n\n".join(part for part in parts if part)


def rules_table(verdicts: list[Verdict]) -> str:
    return table(["rule", "limit", "found", "verdict"],
                 [[v.rule, v.limit, v.found, v.word] for v in verdicts])


def markdown(facts: dict[str, str], blocks: list[Block], results: Results,
             verdicts: list[Verdict]) -> str:
    return "\n\n".join([
        "# Measurements",
        "Two processes, each bound to a core of its own, unless a section says otherwise. "
        "The contenders of a section run one after the other, round after round; a number is the "
        "median over the rounds, each round's the median over batches of the slower process. "
        "A ratio in a table, and a verdict, is the median of the ratios within each round; in the "
        "rules the ratio of the medians stands beside it. How to read the numbers: docs/performance.md.",
        table(["", ""], [[name, value] for name, value in facts.items()]),
        "## Speed rules",
        rules_table(verdicts),
        *(section(block, results[block.name]) for block in blocks),
    ]) + "\n"


def as_json(facts: dict[str, str], results: Results, verdicts: list[Verdict]) -> dict:
    return {
        "about": facts,
        "rules": [{"rule": v.rule, "limit": v.limit, "found": v.found, "passed": v.passed,
                   "skipped": v.skipped, "ratios": [vars(r) for r in v.ratios]} for v in verdicts],
        "results": {
            block: {
                name: {
                    "probes_us": one.probes_us,
                    "facts": one.facts,
                    "failures": one.failures,
                    "points": [
                        {"what": what, "variant": variant, "bytes": size,
                         "us": one.values(what, variant, size)}
                        for what, variant, size in dict.fromkeys(
                            point for taken in one.rounds for point in taken)
                    ],
                } for name, one in series.items()
            } for block, series in results.items()
        },
    }
