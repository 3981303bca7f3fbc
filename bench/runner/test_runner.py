# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""How the runner decides, and what it says when it cannot."""

import contextlib
import os
import signal
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from runner import contenders, hosts, machine, measure, rdma, report, rules, session
from runner.measure import RunFailed, Series

KI = contenders.KI
STILL = (0.06, 0.06)
MOVED = (0.06, 0.27)


def series(what, variant, size, values, flags=None):
    return Series(rounds=[{} if v is None else {(what, variant, size): v} for v in values],
                  probes_us=flags or [STILL] * len(values))


@contextlib.contextmanager
def asked_to_end():
    """The runner's ways to end, whatever the tests were started with."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    session.end_when_asked()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def python(code, bound=False):
    return contenders.Contender("test", (sys.executable, "-c", code), bound=bound)


HERE = hosts.Hosts(Path("/nowhere"))


def every_block():
    return [*contenders.blocks(HERE.folder, quick=True), *hosts.blocks(HERE.folder, True, HERE),
            *rdma.blocks(HERE.folder, True)]


class Ratios(unittest.TestCase):
    KEYS = (("t", "a"), ("t", "b"))

    def compare(self, ours, theirs, our_flags=None):
        return rules.compare(series("t", "a", 8, ours, our_flags), self.KEYS[0],
                             series("t", "b", 8, theirs), self.KEYS[1], 8)

    def test_are_paired_by_round(self):
        ratio = self.compare([1, 4, 9], [1, 2, 3])
        self.assertEqual(ratio.of_rounds, 2)
        self.assertEqual(ratio.of_medians, 2)

    def test_leave_out_a_round_in_which_the_processors_were_moved(self):
        ratio = self.compare([1, 1, 4], [1, 1, 1], [STILL, STILL, MOVED])
        self.assertEqual(ratio.of_rounds, 1)

    def test_take_every_round_when_most_were_moved(self):
        ratio = self.compare([1, 4, 4], [1, 1, 1], [STILL, MOVED, MOVED])
        self.assertEqual(ratio.of_rounds, 4)

    def test_skip_rounds_without_a_value(self):
        ratio = self.compare([None, 3, 3], [1, 1, 1])
        self.assertEqual((ratio.of_rounds, ratio.lost, ratio.rounds), (3, 1, 3))
        self.assertIsNone(self.compare([None], [1]))


class Variants(unittest.TestCase):
    def test_the_best_is_the_best_of_the_medians_not_of_the_luckiest_round(self):
        both = Series(rounds=[{("t", "steady", 8): 2.0, ("t", "lucky", 8): us}
                              for us in (0.1, 3.0, 3.0)])
        self.assertEqual(both.best_variant("t", 8), "steady")


class Verdicts(unittest.TestCase):
    def judge(self, of_rounds, bound, strict, wanted=1):
        ratios = [rules.Ratio(4 * KI, of_rounds, of_rounds, "x")]
        return rules.decide("r", "l", list(range(wanted)), ratios, bound, strict, "")

    def test_hold_at_the_limit_unless_it_is_strict(self):
        self.assertTrue(self.judge(2.0, 2.0, False).passed)
        self.assertFalse(self.judge(1.0, 1.0, True).passed)

    def test_name_the_sizes_that_fail(self):
        verdict = self.judge(2.5, 2.0, False)
        self.assertFalse(verdict.passed)
        self.assertIn("1 of 1 fail: 4 KiB 2.50", verdict.found)

    def test_fail_when_a_size_is_missing(self):
        verdict = self.judge(1.0, 2.0, False, wanted=2)
        self.assertFalse(verdict.passed)
        self.assertIn("not measured: 1 of 2 sizes have no value", verdict.found)

    def test_say_how_many_rounds_were_lost(self):
        ratios = [rules.Ratio(8, 1.0, 1.0, "x", 7, 0), rules.Ratio(16, 1.0, 1.0, "x", 7, 5)]
        self.assertIn("; 5 of 7 rounds lost", rules.decide("r", "l", [8, 16], ratios, 2.0, False, "").found)
        self.assertNotIn("lost", rules.decide("r", "l", [8], ratios[:1], 2.0, False, "").found)

    def test_of_a_mean_and_of_a_wall_time_say_so_too(self):
        what, some = "all_reduce", [None, 1.0, 1.0]
        block = {"heddle": series(what, "heddle", 8, some), "Gloo": series(what, "gloo", 8, [4.0] * 3)}
        for verdict in rules.faster_than("Gloo", block, what, "gloo", "AllReduce"):
            self.assertIn("; 1 of 3 rounds lost", verdict.found)
        block = {"heddle": series("wall", "", 0, some), "Open MPI": series("wall", "", 0, [4.0] * 3)}
        self.assertIn("; 1 of 3 rounds lost", rules.init_rule({"init": block}).found)

    def test_of_a_mean_tell_what_the_bare_exchange_takes_of_the_peers_time(self):
        what = "all_gather"
        block = {"heddle": series(what, "heddle", 8, [3.0]), "MPICH": series(what, "MPI", 8, [4.0])}

        def mean():
            return rules.faster_than("MPICH", block, what, "MPI", what)[1].found

        self.assertEqual(mean(), "0.75")
        block[contenders.BARE_EXCHANGE] = series(what, "bare", 8, [2.0])
        self.assertEqual(mean(), "0.75 (the bare exchange 0.50, the quicker of both 0.50)")
        block[contenders.BARE_EXCHANGE] = series("broadcast", "bare", 8, [2.0])
        self.assertEqual(mean(), "0.75")

    def test_of_runs_fail_when_heddle_or_a_bare_program_failed_in_any_round(self):
        broken = Series(rounds=[{}, {("t", "v", 8): 1.0}], failures=["round 1: wrong result"])
        for name, passed in (("heddle", False), ("heddle ring", False), ("bare copy", False), ("machine", False),
                             ("Open MPI", True), ("MPICH", True), ("Gloo", True)):
            verdict = rules.judge({"fresh": {"fine": Series(), name: broken}})[0]
            self.assertEqual(verdict.passed, passed, name)
            self.assertEqual(verdict.found, "all did" if passed else f"fresh, {name}: round 1: wrong result")

    def test_fail_with_the_reason_when_a_contender_is_missing(self):
        absent = Series(failures=["heddle-run is not built"])
        results = {block.name: {c.name: absent for c in block.contenders}
                   for block in every_block()}
        verdicts = rules.judge(results)
        self.assertEqual(len(verdicts), 89)
        self.assertIn("put, heddle: heddle-run is not built", verdicts[0].found)
        for verdict in verdicts:
            self.assertFalse(verdict.passed)
        for verdict in verdicts[1:]:
            self.assertIn("not measured: heddle-run is not built", verdict.found)
        self.assertEqual(report.rules_table(verdicts).count("FAIL"), 89)


class Tables(unittest.TestCase):
    def test_show_the_ratio_of_the_rounds(self):
        what = "all_reduce"
        results = {
            "bare": series(what, "two_shot avx2", 8, [1.0, 2.0, 4.0]),
            "heddle": series(what, "heddle", 8, [2.0, 4.0, 4.0]),
            "Open MPI": series(what, "MPI_Allreduce", 8, [8.0, 8.0, 8.0]),
            "MPICH": Series(failures=["mpiexec.hydra is not installed"]),
            "Gloo": series(what, "gloo", 8, [40.0, 40.0, 40.0]),
        }
        row = report.all_reduce_section(results, what).splitlines()[2]
        self.assertEqual(row, "| 8 B | two_shot avx2 | 2.000 | 2.000 | 4.000 | 8.000 | - "
                         "| 40.0 | 2.00 | 0.50 | - | 0.10 |")


    def test_show_what_there_is_when_one_fails_between_hosts(self):
        what = "all_reduce"
        results = {
            contenders.BARE_EXCHANGE: series(what, "bare", 8, [1.0]),
            "heddle": Series(failures=["round 1: exit status 1"]),
            "Open MPI": series(what, "MPI_Allreduce", 8, [8.0]),
            "MPICH": series(what, "MPI_Allreduce", 8, [4.0]),
            "Gloo": Series(failures=["gloo_all_reduce is not built"]),
        }
        row = report.against_peers(results, what, 0).splitlines()[4]
        self.assertEqual(row, "| 8 B | - | 1.000 | 8.000 | 4.000 | - | - | - | - | - |")
        block = hosts.blocks(HERE.folder, True, HERE)[0]
        self.assertIn("- heddle: round 1: exit status 1", report.section(block, results))


class NetworkPut(unittest.TestCase):
    POINTS = (("network_signal", 8, "fabric_write_flag", "put_signal of 8 bytes", 13.0, 13.1),
              ("network_put", contenders.MI, "fabric_write", "put bandwidth", 11.1, 11.2),
              ("network_rate", 8, "fabric_rate", "8-byte puts a second", 12.5, 12.6))

    def results(self, **ours):
        """Everything at its limit, but for what is given."""
        bare = {("tcp_wake", "tcp", 8): 100.0}
        heddle = {("network_idle", "heddle", 0): ours.get("network_idle", 9999.0),
                  ("network_wake", "heddle", 8): ours.get("network_wake", 199.0)}
        for what, size, theirs, _, limit, _ in self.POINTS:
            bare[(theirs, "net", size)] = 10.0
            heddle[(what, "heddle", size)] = ours.get(what, limit)
        return {"network_put": {"bare libfabric": Series(rounds=[bare], probes_us=[STILL]),
                                "heddle": Series(rounds=[heddle], probes_us=[STILL]),
                                "heddle, tcp": Series(rounds=[heddle], probes_us=[STILL])}}

    def failing(self, **ours):
        return [v.rule for v in rules.network_put_rules(self.results(**ours)) if not v.passed]

    def test_holds_at_the_limits(self):
        self.assertEqual(self.failing(), [])

    def test_fails_beyond_each_limit(self):
        for what, _, _, words, _, beyond in self.POINTS:
            failing = self.failing(**{what: beyond})
            self.assertEqual(len(failing), 1)
            self.assertIn(words, failing[0])
        self.assertIn("that sleeps", self.failing(network_idle=10001.0)[0])
        results = self.results()
        results["network_put"]["heddle"].rounds.append({})
        self.assertIn("1.000 %; 1 of 2 rounds lost", rules.network_put_rules(results)[-2].found)
        self.assertIn("threads all sleep", self.failing(network_wake=201.0)[0])

    def test_is_shown_with_what_has_no_limit(self):
        results = self.results()["network_put"]
        results["heddle"].rounds[0][("network_atomic_rate", "heddle", 8)] = 3.0
        results["heddle, tcp"].rounds[0] = {("network_put", "heddle", contenders.MI): 5.0,
                                            ("network_idle", "heddle", 0): 17.0}
        text = report.network_put_section(results)
        self.assertIn("| each put of 1 MiB, 16 and a quiet | 10.0 | 11.1 | 1.11 | 5.000 |", text)
        self.assertIn("| each atomic_add, the same | - | 3.000 | - | - |", text)
        self.assertIn("takes 9,999 us of a processor in a second (over TCP 17.0 us)", text)
        self.assertNotIn("threads all sleep", text)
        results["heddle, tcp"].rounds[0][("network_wake", "heddle", 8)] = 150.0
        self.assertIn("answers over TCP (atomic_fetch_add) in 150.0 us, a process that sleeps in poll() in 100.0 us",
                      report.network_put_section(results))

    def test_of_soft_rdma_is_within_one_machine(self):
        one = Series(rounds=[{("perftest_write_lat", "perftest", 8): 600.0,
                              ("perftest_send_lat", "perftest", 8): 750.0,
                              ("network_signal", "heddle", 8): 900.0}])
        text = report.rdma_section({"machine": one})
        self.assertIn("| 600.0 | 900.0 | 1.50 |", text)
        self.assertIn("shared receive queue) | 750.0 | 900.0 | 1.20 |", text)

    def test_a_pe_over_verbs_that_sleeps_takes_less_than_a_hundredth(self):
        def idle(us):
            one = Series(rounds=[{("network_idle", "heddle", 0): us} if us else {}])
            return rules.rdma_rules({"rdma": {"machine": one}})[-1]
        self.assertTrue(idle(9999.0).passed)
        self.assertFalse(idle(10001.0).passed)
        self.assertIn("not measured", idle(None).found)


class Collectives(unittest.TestCase):
    def results(self, ours: float):
        def block_of(variant, us):
            return Series(rounds=[{(what, variant, 8): us for what in contenders.COLLECTIVES}],
                          probes_us=[STILL])
        return {"collectives_2": {"heddle": block_of("heddle", ours), "Open MPI": block_of("MPI", 1.0),
                                  "MPICH": block_of("MPI", 2.0), "Gloo": block_of("gloo", 4.0)}}

    def test_must_be_faster_at_each_size_and_twice_as_fast_on_the_whole(self):
        def passed(ours):
            return [v.passed for v in rules.collectives_rules(self.results(ours), "collectives_2", "2 PEs")]
        self.assertEqual(passed(0.4), [True] * 24)
        self.assertEqual(passed(0.6), [True, False] * 4 + [True] * 16)
        self.assertEqual(passed(1.1), [False] * 8 + [True, False] * 4 + [True] * 8)

    def test_move_large_pieces_as_the_best_bare_copies_do(self):
        def block(ours):
            def series(variants):
                return Series(rounds=[{(what, variant, contenders.MI): us for what in contenders.COLLECTIVES
                                       for variant, us in variants.items()}], probes_us=[STILL])
            return {"heddle": series({"heddle": ours}), "bare": series({"avx2": 90.0, "streaming avx2": 85.0})}
        self.assertEqual([v.passed for v in rules.collectives_against_bare(block(100.0))], [True] * 7)
        self.assertEqual([v.passed for v in rules.collectives_against_bare(block(100.1))], [False] * 7)
        self.assertIn("| scatter | 1 MiB | streaming avx2 | 85.0 | 100.0 | 1.18 |",
                      report.bare_collectives(block(100.0)))

    def test_are_shown_with_both_peers(self):
        text = report.collectives_section(self.results(0.5)["collectives_2"])
        self.assertIn("| 8 B | 0.500 | 1.000 | 2.000 | 4.000 | 0.50 | 0.25 | 0.12 |", text)


class Plans(unittest.TestCase):
    def passed(self, **facts):
        return rules.plans_rules({"plans": {"heddle": Series(facts=facts)}})[0].passed

    def test_take_less_than_a_second(self):
        self.assertTrue(self.passed(plans_of_65536_pes=999_999.0))
        self.assertFalse(self.passed(plans_of_65536_pes=1e6))
        self.assertFalse(self.passed())


class Sections(unittest.TestCase):
    def test_can_be_written_of_every_block_though_nobody_was_there(self):
        absent = Series(failures=["not built"])
        for block in every_block():
            results = {c.name: absent for c in block.contenders}
            self.assertIn("not built", report.section(block, results), block.name)


class Blocks(unittest.TestCase):
    def test_between_hosts_say_why_there_are_none(self):
        for block in hosts.blocks(HERE.folder, True, hosts.Hosts(HERE.folder, "no root")):
            for one in measure.run_block(block).values():
                self.assertEqual(one.failures, ["no root"])

    def test_go_on_when_the_probe_fails(self):
        for code in ("raise SystemExit('gone')", ""):
            block = contenders.Block("b", "title", (python("pass"),), 2,
                                     probe=contenders.Probe(python(code), "probe"))
            one = measure.run_block(block)["test"]
            self.assertEqual((len(one.rounds), one.probes_us), (2, [None, None]))
            self.assertRegex(one.failures[1], "round 2: (.* gone|the probe gave no time)")
            self.assertEqual(report.probes(block, {"test": one}), "")

    def test_lose_the_rounds_that_are_not_tried_again(self):
        block = contenders.Block("b", "title", (python("raise SystemExit(1)"),), 3, one_failure=True)
        one = measure.run_block(block)["test"]
        self.assertEqual((len(one.failures), one.rounds), (1, [{}] * 3))


class Runs(unittest.TestCase):
    def test_give_what_the_program_prints(self):
        objects, wall_us = measure.run_once(
            python("print('noise'); print('{\"what\": \"x\"}')"), 20)
        self.assertEqual(objects, [{"what": "x"}])
        self.assertGreater(wall_us, 0)

    def test_fail_with_the_last_words_of_a_program_that_fails(self):
        with self.assertRaisesRegex(RunFailed, "exit status 1: no luck"):
            measure.run_once(python("import sys; sys.exit('no luck')"), 20)

    def test_tell_what_the_program_said_and_not_its_launcher(self):
        frame = "-" * 74
        for output, words in (
                (f"mpi_put: wrong\nmpi_put: wrong\n{frame}\nPrimary job  terminated normally\nNOTE: x\n{frame}\n",
                 "mpi_put: wrong"),
                ("put_signal: wrong\nheddle-run: PE 1 exited with status 1", "put_signal: wrong"),
                ("heddle-run: no such program", "heddle-run: no such program"),
                (f"{frame}\nA request\n\n   Bind to:     CORE\n{frame}\n", "A request / Bind to:     CORE"),
                ("", "no output")):
            self.assertEqual(measure.last_words(output, "heddle-run"), words)

    def test_leave_no_process_behind_when_the_runner_is_asked_to_end(self):
        for number, ends in ((signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)):
            with asked_to_end(), self.assertRaises(ends) as ended:
                # Not before the runner waits for it.
                measure.run_once(python("import os, time; time.sleep(0.3); "
                                        f"os.kill(os.getppid(), {number.value}); time.sleep(60)"), 50)
            if number == signal.SIGTERM:
                self.assertEqual(ended.exception.code, 143)
            with self.assertRaises(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)

    def test_fail_when_the_program_does_not_end(self):
        with self.assertRaisesRegex(RunFailed, "did not end within 1 s"):
            measure.run_once(python("import time; time.sleep(30)"), 1)

    def test_fail_when_a_line_is_broken(self):
        with self.assertRaisesRegex(RunFailed, "unreadable output"):
            measure.run_once(python("print('{\"what\": ')"), 20)

    def test_fail_when_processes_share_a_processor_or_wander(self):
        def core_of(cpu):  # two processors each
            return {cpu // 2 * 2, cpu // 2 * 2 + 1}
        for processors in ([[0], [0]], [[0, 1], [0, 1]], [[1, 2], [4]], [[0], [2, 3, 4]], [[0]], [[], [0]]):
            with self.assertRaisesRegex(RunFailed, "not bound to processors of one core each"):
                measure.check_binding(processors, core_of)
        for processors in ([[1], [0]], [[0], [2]], [[0, 1], [2, 3]]):
            measure.check_binding(processors, core_of)


class ImitatedHosts(unittest.TestCase):
    def test_are_taken_down_though_the_runner_ends_while_they_are_made(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(hosts, "NETWORKS", Path(folder)):
            told = Path(folder) / "told"
            script = Path(folder) / "hosts.sh"
            script.write_text(f"#!/bin/sh\necho $1 >>{told}\n"
                              "[ $1 = down ] || { sleep 0.3; kill -TERM $PPID; exec sleep 60; }\n", encoding="utf-8")
            script.chmod(0o755)
            with asked_to_end(), self.assertRaises(SystemExit), hosts.imitated():
                self.fail("they were not made")
            self.assertEqual(told.read_text(encoding="utf-8"), "up\ndown\n")


class Cores(unittest.TestCase):
    def test_have_the_processors_that_the_system_lists(self):
        with tempfile.TemporaryDirectory() as cpus:
            topology = Path(cpus) / "cpu5" / "topology"
            topology.mkdir(parents=True)
            for text, processors in (("5\n", {5}), ("1,5\n", {1, 5}), ("4-6,9\n", {4, 5, 6, 9})):
                (topology / "thread_siblings_list").write_text(text, encoding="utf-8")
                self.assertEqual(machine.core_of(5, cpus), processors)
            self.assertEqual(machine.core_of(7, cpus), {7})


class Names(unittest.TestCase):
    def test_of_processors_become_names_of_files(self):
        self.assertEqual(machine.slug("AMD EPYC, 2 processors"), "amd-epyc")
        self.assertEqual(machine.slug("Intel(R) Xeon(R) CPU @ 2.20GHz, 8 processors"),
                         "intel-xeon")

    def test_of_sizes(self):
        self.assertEqual([rules.human(s) for s in (8, 4 * KI, contenders.MI)],
                         ["8 B", "4 KiB", "1 MiB"])


if __name__ == "__main__":
    unittest.main()
