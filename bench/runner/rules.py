# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""The speed rules, each decided from the measured rounds.

A ratio is taken twice: of the medians over the rounds, and as the median of the ratios within each
round. The second decides: its two sides met the same state of the machine. A round in which the probe
(the bare flag; between hosts the bare TCP exchange) shows that they did not (a virtual machine's
processors were moved between the two runs, or in one) is left out, unless it happened in most rounds.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from .contenders import BARE_EXCHANGE, COLLECTIVES, COMPARED, KI, MI, PEERS
from .measure import Results, Series


@dataclass(frozen=True)
class Ratio:
    """time(ours) / time(theirs)."""

    size: int
    of_medians: float
    of_rounds: float
    against: str
    rounds: int = 1  # of the block
    lost: int = 0  # of these, in which one of the two gave nothing


@dataclass(frozen=True)
class Verdict:
    """A rule with what was found. `ratios` is empty when it could not be measured."""

    rule: str
    limit: str
    passed: bool
    found: str
    ratios: tuple[Ratio, ...] = ()
    skipped: bool = False  # it is about one that does not run here: it neither holds nor fails

    @property
    def word(self) -> str:
        return "SKIP" if self.skipped else "PASS" if self.passed else "FAIL"


def same_place(ours: Series, theirs: Series, number: int) -> bool:
    """The processors were where they were, before, between and after the two runs of a round."""
    if ours is theirs or not (ours.probes_us and theirs.probes_us):
        return True
    probes = [*(ours.probes_us[number] or ()), *(theirs.probes_us[number] or ())]
    return max(probes) <= 1.6 * min(probes)


def compare(ours: Series, our_key: tuple[str, str], theirs: Series, their_key: tuple[str, str],
            size: int) -> Ratio | None:
    measured = [(a, b, same_place(ours, theirs, i)) for i, (a, b) in enumerate(
        zip(ours.values(*our_key, size), theirs.values(*their_key, size)))
        if a is not None and b]
    if not measured:
        return None
    pairs = [(a, b) for a, b, comparable in measured if comparable]
    if 2 * len(pairs) < len(measured):
        pairs = [(a, b) for a, b, _ in measured]
    rounds = max(len(ours.rounds), len(theirs.rounds))
    return Ratio(size,
                 statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs),
                 statistics.median(a / b for a, b in pairs), their_key[1], rounds, rounds - len(measured))


def human(size: int) -> str:
    if size >= MI:
        return f"{size // MI} MiB"
    return f"{size // KI} KiB" if size >= KI else f"{size} B"


def lost_rounds(lost: int, rounds: int) -> str:
    return f"; {lost} of {rounds} rounds lost" if lost else ""


def most_lost(ratios: Iterable[Ratio]) -> str:
    return lost_rounds(*max((r.lost, r.rounds) for r in ratios))


def decide(rule: str, limit: str, wanted: list[int], ratios: list[Ratio | None], bound: float,
           strict: bool, why_missing: str, inverse: bool = False) -> Verdict:
    """`inverse` prints 1 / ratio, for rules that are told in bandwidth."""
    measured = [r for r in ratios if r is not None]
    if not wanted or len(measured) < len(wanted):
        absent = len(wanted) - len(measured)
        reason = why_missing or f"{absent} of {len(wanted)} sizes have no value"
        return Verdict(rule, limit, False, f"not measured: {reason}", tuple(measured))
    shown = (lambda x: 1 / x) if inverse else (lambda x: x)
    fails = [r for r in measured if not (r.of_rounds < bound if strict else r.of_rounds <= bound)]
    worst = max(measured, key=lambda r: r.of_rounds)
    found = (f"worst {shown(worst.of_rounds):.2f} at {human(worst.size)} "
             f"(medians {shown(worst.of_medians):.2f})")
    if fails:
        found += f"; {len(fails)} of {len(measured)} fail: " + ", ".join(
            f"{human(r.size)} {shown(r.of_rounds):.2f}" for r in fails)
    return Verdict(rule, limit, not fails, found + most_lost(measured), tuple(measured))


def missing(*series: Series) -> str:
    return "; ".join(s.failures[0] for s in series if s.failures)


def runs_rule(results: Results, peers: Iterable[str]) -> Verdict:
    """A contender that failed in one round, with a wrong result say, is not made good by another. Peers may fail."""
    failed = [f"{block}, {name}: {series.failures[0]}" for block, contenders in results.items()
              for name, series in contenders.items()
              if series.failures and not name.startswith(tuple(peers))]
    return Verdict("heddle's benchmarks and the bare limits run, with right results", "all do",
                   not failed, "; ".join(failed) or "all did")


def put_rules(results: Results) -> list[Verdict]:
    block = results["put"]
    heddle, flag, copy = block["heddle"], block["bare flag"], block["bare copy"]
    verdicts = [decide(
        "put_signal to observed signal, 8 bytes, against the bare flag", "at most 1.5 x", [8],
        [compare(heddle, ("put_signal", "heddle"), flag, ("flag", "bare"), 8)], 1.5, False,
        missing(heddle, flag))]
    for what, how in (("put_one_way", "one way"), ("put_both_ways", "both ways at once")):
        sizes = [s for s in copy.sizes(what) if s >= 64 * KI]
        ratios = [compare(heddle, (what, "heddle"), copy, (what, copy.best_variant(what, s)), s)
                  for s in sizes]
        verdicts.append(decide(
            f"put bandwidth from 64 KiB up, {how}, against the best bare copy", "at least 0.90",
            sizes, ratios, 1 / 0.9, False, missing(heddle, copy), inverse=True))
    return verdicts


def faster_than(peer: str, block: dict[str, Series], what: str, called: str, title: str) -> list[Verdict]:
    """At every size, and by two times in the mean."""
    heddle, theirs = block["heddle"], block[peer]
    sizes = theirs.sizes(what)
    ratios = [compare(heddle, (what, "heddle"), theirs, (what, called), s) for s in sizes]
    rule = f"{title}, against {peer}, 8 B to 64 MiB"
    verdicts = [decide(rule, "faster", sizes, ratios, 1.0, True, missing(heddle, theirs))]
    measured = [r for r in ratios if r is not None]
    if measured:
        mean = statistics.geometric_mean(r.of_rounds for r in measured)
        verdicts.append(Verdict(f"{rule}, geometric mean", "at most 0.5", mean <= 0.5,
                                f"{mean:.2f}" + within_reach(block, measured, theirs, (what, called)) + most_lost(measured)))
    return verdicts


def within_reach(block: dict[str, Series], ours: list[Ratio], theirs: Series, key: tuple[str, str]) -> str:
    """Between hosts a mean is told with that of the bare exchange, and of whichever of both is quicker at each size."""
    bare = [compare(block[BARE_EXCHANGE], (key[0], "bare"), theirs, key, r.size) for r in ours] if BARE_EXCHANGE in block else []
    if not bare or None in bare:
        return ""
    alone, both = (statistics.geometric_mean(ratios) for ratios in (
        [b.of_rounds for b in bare], [min(a.of_rounds, b.of_rounds) for a, b in zip(ours, bare)]))
    return f" (the bare exchange {alone:.2f}, the quicker of both {both:.2f})"


def all_reduce_against_peers(block: dict[str, Series], pes: str) -> list[Verdict]:
    return [verdict for peer, (called, _) in PEERS.items()
            for verdict in faster_than(peer, block, "all_reduce", called, f"AllReduce, {pes}")]


def all_reduce_rules(results: Results) -> list[Verdict]:
    block = results["all_reduce"]
    heddle, bare = block["heddle"], block["bare"]
    what = "all_reduce"
    verdicts = all_reduce_against_peers(block, "2 PEs")
    small = [s for s in bare.sizes(what) if s <= 4 * KI]
    ratios = [compare(heddle, (what, "heddle"), bare, (what, bare.best_variant(what, s)), s)
              for s in small]
    verdicts.append(decide("AllReduce against the best bare exchange, 8 B to 4 KiB",
                           "at most 2 x", small, ratios, 2.0, False, missing(heddle, bare)))

    def two_shot(variant: str) -> bool:
        return variant.startswith("two_shot")

    large = [s for s in bare.sizes(what) if s >= 16 * KI]
    ratios = [compare(heddle, (what, "heddle"), bare,
                      (what, bare.best_variant(what, s, two_shot)), s) for s in large]
    verdicts.append(decide("AllReduce bandwidth against the best bare two-shot, 16 KiB up",
                           "at least 0.85", large, ratios, 1 / 0.85, False,
                           missing(heddle, bare), inverse=True))
    return verdicts


def collectives_rules(results: Results, name: str, pes: str) -> list[Verdict]:
    return [verdict for peer, (_, called) in PEERS.items() for what in COMPARED
            for verdict in faster_than(peer, results[name], what, called, f"{what}, {pes}")]


def collectives_against_bare(block: dict[str, Series]) -> list[Verdict]:
    heddle, bare = block["heddle"], block["bare"]
    verdicts = []
    for what in COLLECTIVES:
        sizes = bare.sizes(what)
        ratios = [compare(heddle, (what, "heddle"), bare, (what, bare.best_variant(what, s)), s) for s in sizes]
        verdicts.append(decide(f"{what} bandwidth against the best bare copies, 1 MiB up, 2 PEs", "at least 0.85", sizes,
                               ratios, 1 / 0.85, False, missing(heddle, bare), inverse=True))
    return verdicts


def idle_rule(series: Series, rule: str) -> Verdict:
    limit = "less than 1 %"
    idle = series.median("network_idle", "heddle", 0)
    if idle is None:
        return Verdict(rule, limit, False, f"not measured: {missing(series)}")
    given = series.values("network_idle", "heddle", 0)
    return Verdict(rule, limit, idle < 1e4, f"{idle / 1e4:.3f} %" + lost_rounds(given.count(None), len(given)))


def network_put_rules(results: Results) -> list[Verdict]:
    block = results["network_put"]
    heddle, bare = block["heddle"], block["bare libfabric"]
    verdicts = []
    for ours, theirs, size, rule, limit, bound, inverse in (
            ("network_signal", "fabric_write_flag", 8,
             "put_signal of 8 bytes, one way, 2 hosts, against bare fi_writemsg",
             "at most 1.3 x", 1.3, False),
            ("network_put", "fabric_write", MI,
             "put bandwidth, 1 MiB, 2 hosts, against bare fi_writemsg", "at least 0.90", 1 / 0.9,
             True),
            ("network_rate", "fabric_rate", 8,
             "8-byte puts a second from 4 blocks, 2 hosts, against bare fi_writemsg",
             "at least 0.80", 1 / 0.8, True)):
        ratio = compare(heddle, (ours, "heddle"), bare,
                        (theirs, bare.best_variant(theirs, size) or ""), size)
        verdicts.append(decide(rule, limit, [size], [ratio], bound, False, missing(heddle, bare),
                               inverse))
    # Over TCP: libfabric's provider has nothing to wait for, and its proxy naps.
    woken = compare(block["heddle, tcp"], ("network_wake", "heddle"), bare, ("tcp_wake", "tcp"), 8)
    verdicts.append(decide("a PE whose threads all sleep answers over TCP, 2 hosts, against a process that sleeps in poll()",
                           "at most 2 x", [8], [woken], 2.0, False, missing(block["heddle, tcp"], bare)))
    for name in ("heddle", "heddle, tcp"):
        verdicts.append(idle_rule(block[name], f"a PE with a network that sleeps ({name}): share of a processor"))
    return verdicts


def crowded_rules(results: Results) -> list[Verdict]:
    block = results["crowded_8"]
    heddle, peer = block["heddle"], block["Open MPI"]
    sizes = [8, 4 * KI, MI]
    ratios = [compare(heddle, ("all_reduce", "heddle"), peer, ("all_reduce", "MPI_Allreduce"), s)
              for s in sizes]
    return [decide("AllReduce, 8 PEs on this machine, against Open MPI --oversubscribe",
                   "not slower", sizes, ratios, 1.0, False, missing(heddle, peer))]


def init_rule(results: Results) -> Verdict:
    block = results["init"]
    heddle, peer = block["heddle"], block["Open MPI"]
    ratio = compare(heddle, ("wall", ""), peer, ("wall", ""), 0)
    rule = "launch, init and one AllReduce, 8 PEs, against Open MPI"
    if ratio is None:
        return Verdict(rule, "not slower", False, f"not measured: {missing(heddle, peer)}")
    return Verdict(rule, "not slower", ratio.of_rounds <= 1.0,
                   f"{ratio.of_rounds:.2f} (medians {ratio.of_medians:.2f})" + most_lost([ratio]), (ratio,))


def team_rules(results: Results) -> list[Verdict]:
    series = results["team"]["heddle"]
    verdicts = []
    for fact, rule, limit, bound in (
            ("team_bytes", "memory of one team per PE before its first collective",
             "at most 1 MiB", MI),
            ("unused_heap_bytes", "memory of 64 MiB of symmetric heap before its first use",
             "at most 64 KiB", 64 * KI)):
        if fact not in series.facts:
            verdicts.append(Verdict(rule, limit, False, f"not measured: {missing(series)}"))
        else:
            verdicts.append(Verdict(rule, limit, series.facts[fact] <= bound,
                                    f"{series.facts[fact] / KI:.1f} KiB"))
    return verdicts


def plans_rules(results: Results) -> list[Verdict]:
    series = results["plans"]["heddle"]
    rule, limit = "rings, trees and all plans of a PE of 65,536 on 8,192 nodes", "under 1 s"
    us = series.facts.get("plans_of_65536_pes")
    if us is None:
        return [Verdict(rule, limit, False, f"not measured: {missing(series)}")]
    return [Verdict(rule, limit, us < 1e6, f"{us / 1000:.1f} ms")]


def rdma_rules(results: Results) -> list[Verdict]:
    both = results["rdma"]["machine"]
    verdicts = []
    for ours, theirs, size, rule, limit, bound, inverse in (
            ("network_signal", "perftest_write_lat", 8,
             "put_signal of 8 bytes, one way, soft RDMA, against ib_write_lat", "at most 1.3 x", 1.3,
             False),
            ("network_put", "perftest_write_bw", MI,
             "put bandwidth, 1 MiB, soft RDMA, against ib_write_bw", "at least 0.90", 1 / 0.9, True),
            ("network_rate", "perftest_write_rate", 8,
             "8-byte puts a second from 4 blocks, soft RDMA, against ib_write_bw", "at least 0.80",
             1 / 0.8, True),
            ("network_atomic_rate", "perftest_atomic_rate", 8,
             "atomics a second from 4 blocks, soft RDMA, against ib_atomic_bw", "at least 0.80",
             1 / 0.8, True)):
        ratio = compare(both, (ours, "heddle"), both, (theirs, "perftest"), size)
        verdicts.append(decide(rule, limit, [size], [ratio], bound, False, missing(both), inverse))
    verdicts.append(idle_rule(both, "a PE with a network that sleeps (verbs): share of an emulated processor"))
    return verdicts


ON_HOSTS = {2: "a PE on each of 2 hosts", 4: "2 PEs on each of 2 hosts"}

RULES = {
    "put": put_rules,
    "all_reduce": all_reduce_rules,
    "collectives_2": lambda results: [*collectives_rules(results, "collectives_2", "2 PEs"),
                                      *collectives_against_bare(results["collectives_2"])],
    "collectives_4": lambda results: collectives_rules(results, "collectives_4", "4 PEs"),
    "all_reduce_4": lambda results: all_reduce_against_peers(results["all_reduce_4"], "4 PEs"),
    "crowded_8": crowded_rules,
    "network_2": lambda results: all_reduce_against_peers(results["network_2"], f"{ON_HOSTS[2]} over TCP"),
    "network_4": lambda results: all_reduce_against_peers(results["network_4"], f"{ON_HOSTS[4]} over TCP"),
    "network_collectives_2": lambda results: collectives_rules(
        results, "network_collectives_2", f"{ON_HOSTS[2]} over TCP"),
    "network_collectives_4": lambda results: collectives_rules(
        results, "network_collectives_4", f"{ON_HOSTS[4]} over TCP"),
    "network_put": network_put_rules,
    "rdma": rdma_rules,
    "init": lambda results: [init_rule(results)],
    "team": team_rules,
    "plans": plans_rules,
}


def judge(results: Results) -> list[Verdict]:
    """Of the blocks that were measured."""
    return [runs_rule(results, PEERS),
            *(verdict for name, rules in RULES.items() if name in results for verdict in rules(results))]
