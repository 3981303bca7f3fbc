# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""The speed rules on a GPU. What the limits mean is in docs/performance.md."""

from __future__ import annotations

import dataclasses

from .contenders import KI, MI
from .gpu_contenders import FORCED, OF_NVSHMEM, forced_name
from .measure import Results, Series
from .rules import Ratio, Verdict, compare, decide, missing, runs_rule

FLAG = ("flag", "release and acquire, system")
COPY = "copy by the whole GPU"
IN_GRAPH = "all_reduce in a graph"
PES = 4  # of the rules about collectives
PEERS = ("NVSHMEM", "NCCL")
PROCESSES = "heddle, processes"  # measured where CUDA's multi-process service is


LIMIT = ("limit", "")


def title(what: str) -> str:
    return "AllReduce" if what == "all_reduce" else what


def limit_of(size: int, values: list[float | None]) -> Series:
    """A limit that is made of what others have measured, round by round."""
    return Series(rounds=[{} if us is None else {(*LIMIT, size): us} for us in values])


def signal_rule(results: Results) -> Verdict:
    heddle, bare = results["latency"]["heddle"], results["latency"]["bare"]
    return decide(
        "signal from PE to PE against the bare flag of two blocks", "at most 1.3 x", [8],
        [compare(heddle, ("signal", "thread"), bare, FLAG, 8)], 1.3, False, missing(heddle, bare))


def put_rules(results: Results) -> list[Verdict]:
    heddle, bare = results["bandwidth"]["heddle"], results["bandwidth"]["bare"]
    verdicts = []
    for blocks in (32, 64, 128):
        what = f"put, {blocks} blocks"
        sizes = [size for size in bare.sizes(what) if size >= MI]
        ratios = [compare(heddle, (what, "block"), bare, (what, bare.best_variant(what, size)), size)
                  for size in sizes]
        verdicts.append(decide(
            f"put bandwidth by {blocks} blocks, 1 MiB up, against the best bare copy of that grid",
            "at least 0.90", sizes, ratios, 1 / 0.9, False, missing(heddle, bare), inverse=True))
    return verdicts


def one_shot_rule(results: Results) -> Verdict:
    """An empty kernel of each PE in a graph, and a flag: what every call in a graph must take."""
    block = results[f"all_reduce_{PES}"]
    heddle, launch, flag = block["one_shot, graph"], block["bare launch"], block["bare flag"]
    least = [None if None in both else sum(both) for both in zip(
        launch.values("launch", "graph", 0), flag.values(*FLAG, 8))]
    sizes = [8 << power for power in range(13)]
    ratios = [compare(heddle, (IN_GRAPH, "heddle"), limit_of(size, least), LIMIT, size)
              for size in sizes]
    return decide(
        f"one-shot AllReduce in a graph, {PES} PEs, 8 B to 32 KiB, against an empty kernel of each "
        "PE in a graph and a flag", "at most 1.5 x", sizes, ratios, 1.5, False,
        missing(heddle, launch, flag))


def two_shot_rule(results: Results) -> Verdict:
    """The PEs together read all inputs and write all outputs: what a copy of as many bytes does."""
    block = results[f"all_reduce_{PES}"]
    heddle, copy = block["two_shot simple, graph"], block["bare copy"]
    size = 64 * MI
    moved = PES * size
    ratio = None
    if best := copy.best_variant(COPY, moved):
        ratio = compare(heddle, (IN_GRAPH, "heddle"),
                        limit_of(size, copy.values(COPY, best, moved)), LIMIT, size)
    return decide(
        f"two-shot AllReduce of 64 MiB, {PES} PEs, against the best bare copy of its bytes",
        "at least 0.80", [size], [ratio], 1 / 0.8, False, missing(heddle, copy), inverse=True)


def choice_rule(results: Results, what: str) -> Verdict:
    """At each size against the way whose median over the rounds is least."""
    block = results[f"{what}_{PES}"]
    heddle, key = block["heddle, graph"], (f"{what} in a graph", "heddle")
    forced = {f"{algo} {proto}": block[forced_name(algo, proto)] for algo, proto, _ in FORCED[what]}
    sizes = sorted({size for series in forced.values() for size in series.sizes(key[0])})

    def against_best(size: int) -> Ratio | None:
        known = {way: us for way, series in forced.items()
                 if (us := series.median(*key, size)) is not None}
        if not known:
            return None
        best = min(known, key=known.__getitem__)
        ratio = compare(heddle, key, forced[best], key, size)
        return ratio and dataclasses.replace(ratio, against=best)

    return decide(f"automatic choice of {title(what)} in a graph, {PES} PEs, against the best forced way",
                  "at most 1.1 x", sizes, [against_best(size) for size in sizes], 1.1, False,
                  missing(heddle, *forced.values()))


def peer_rule(rule: str, ours: Series, theirs: Series, keys: list[tuple]) -> Verdict:
    """Not slower at any point that NVSHMEM gave; skipped where it gave none."""
    points = [(mine, other, size) for mine, other in keys
              for size in theirs.sizes(other[0]) if theirs.median(*other, size) is not None]
    if not points:
        return Verdict(rule, "not slower", False,
                       f"NVSHMEM gave nothing: {missing(theirs) or 'no point'}", skipped=True)
    return decide(rule, "not slower", [size for *_, size in points],
                        [compare(ours, mine, theirs, other, size) for mine, other, size in points],
                        1.0, False, missing(ours))


def nvshmem_rules(results: Results) -> list[Verdict]:
    verdicts = []
    latency = results["latency"]
    for what in ("signal", "put_signal", "put, complete", "get"):
        verdicts += [peer_rule(f"{what} by a {by}, against NVSHMEM", latency["heddle"],
                               latency["NVSHMEM"], [((what, by), (what, by))])
                     for by in ("thread", "warp", "block")]
    bandwidth = results["bandwidth"]
    for what in ("put", "get"):
        # More blocks than these do not fit on an NVSHMEM PE's part of the GPU.
        keys = [((f"{what}, {blocks}", "block"),) * 2
                for blocks in ("1 block", "8 blocks", "32 blocks", "64 blocks")]
        verdicts.append(peer_rule(f"{what} bandwidth by blocks, 1 to 64 of them, against NVSHMEM",
                                  bandwidth["heddle"], bandwidth["NVSHMEM"], keys))
    for n in (2, 4, 8):
        block = results[f"barrier_{n}"]
        verdicts.append(peer_rule(f"barrier by a block, {n} PEs, against NVSHMEM", block["heddle"],
                                  block["NVSHMEM"], [(("barrier", "block"),) * 2]))
    in_kernel = results[f"in_kernel_{PES}"]
    verdicts += [peer_rule(f"{title(what)} called by a block, {PES} PEs, against NVSHMEM", in_kernel["heddle"],
                           in_kernel["NVSHMEM"], [((f"{what} in a kernel", "block"),) * 2])
                 for what in OF_NVSHMEM]
    for what, n in (("all_reduce", 2), *((what, PES) for what in OF_NVSHMEM)):
        block = results[f"{what}_{n}"]
        for how, suffix in (("on a stream", ""), ("in a graph", ", graph")):
            point = f"{what} {how}"
            verdicts.append(peer_rule(
                f"{title(what)} {how}, {n} PEs, against NVSHMEM", block[f"heddle{suffix}"],
                block[f"NVSHMEM{suffix}"], [((point, "heddle"), (point, "NVSHMEM"))]))
        if PROCESSES in block:
            point = f"{what} on a stream"
            verdicts.append(peer_rule(
                f"{title(what)} on a stream, {n} PEs that are processes, against NVSHMEM", block[PROCESSES],
                block["NVSHMEM"], [((point, "heddle"), (point, "NVSHMEM"))]))
    return verdicts


def judge(results: Results) -> list[Verdict]:
    return [runs_rule(results, PEERS), signal_rule(results), *put_rules(results), one_shot_rule(results),
            two_shot_rule(results), *(choice_rule(results, what) for what in FORCED), *nvshmem_rules(results)]
