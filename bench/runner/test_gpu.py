# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""How the GPU's runner decides, what it shows, and how it starts the multi-process service."""

import argparse
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import gpu
from runner import contenders, gpu_contenders, gpu_machine, gpu_report, gpu_rules, measure, rules, session
from runner.contenders import KI, MI
from runner.measure import Series
from runner.mps import Mps

FLAG = (*gpu_rules.FLAG, 8)


def of(points, rounds=1):
    return Series(rounds=[dict(points) for _ in range(rounds)])


def nothing(why="it is not built"):
    blocks = gpu_contenders.blocks(Path("/nowhere"), True, Mps())
    return {block.name: {c.name: Series(failures=[why]) for c in block.contenders}
            for block in blocks}


def program(folder, name, text):
    path = Path(folder) / name
    path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
    path.chmod(0o755)
    return path


class Rules(unittest.TestCase):
    def test_a_signal_may_take_1_3_flags(self):
        results = nothing()
        results["latency"]["bare"] = of({FLAG: 1.0, ("flag", "relaxed, system", 8): 0.1})
        for us, holds in ((1.3, True), (1.31, False)):
            results["latency"]["heddle"] = of({("signal", "thread", 8): us})
            self.assertEqual(gpu_rules.signal_rule(results).passed, holds)

    def test_a_put_has_nine_tenths_of_the_best_copy_of_its_grid(self):
        results = nothing()
        what = "put, 32 blocks"
        results["bandwidth"]["bare"] = of({(what, "in parts, 4 loads", MI): 12.0,
                                           (what, "in turns, 8 loads", MI): 9.0,
                                           (what, "in turns, 8 loads", 64 * KI): 0.1})
        for us, holds in ((10.0, True), (10.1, False)):
            results["bandwidth"]["heddle"] = of({(what, "block", MI): us, (what, "block", 64 * KI): 9})
            self.assertEqual(gpu_rules.put_rules(results)[0].passed, holds)
        self.assertFalse(gpu_rules.put_rules(results)[1].passed, "64 blocks were not measured")

    def test_one_shot_is_held_against_a_launch_and_a_flag_of_the_same_round(self):
        results = nothing()
        block = results["all_reduce_4"]
        block["bare launch"] = Series(rounds=[{("launch", "graph", 0): us} for us in (1.0, 9.0, 2.0)])
        block["bare flag"] = Series(rounds=[{FLAG: 1.0}] * 3)
        sizes = [8 << power for power in range(13)]

        def heddle(*factors):
            return Series(rounds=[{(gpu_rules.IN_GRAPH, "heddle", size): us for size in sizes}
                                  for us in factors])
        block["one_shot, graph"] = heddle(3.0, 15.0, 4.5)
        verdict = gpu_rules.one_shot_rule(results)
        self.assertTrue(verdict.passed)
        self.assertEqual(verdict.ratios[-1].size, 32 * KI)
        self.assertEqual({ratio.of_rounds for ratio in verdict.ratios}, {1.5})
        block["one_shot, graph"] = heddle(3.1, 15.5, 4.6)
        self.assertFalse(gpu_rules.one_shot_rule(results).passed)

    def test_two_shot_is_held_against_the_copy_of_all_that_the_pes_move(self):
        results = nothing()
        block = results["all_reduce_4"]
        block["bare copy"] = of({(gpu_rules.COPY, "in turns, 8 loads", 256 * MI): 80.0,
                                 (gpu_rules.COPY, "cudaMemcpyAsync", 256 * MI): 90.0,
                                 (gpu_rules.COPY, "in turns, 8 loads", 64 * MI): 1.0})
        for us, holds in ((100.0, True), (101.0, False)):
            block["two_shot simple, graph"] = of({(gpu_rules.IN_GRAPH, "heddle", 64 * MI): us})
            self.assertEqual(gpu_rules.two_shot_rule(results).passed, holds)

    def test_the_automatic_choice_may_take_1_1_of_the_best_forced_way_of_each_size(self):
        results = nothing()
        block = results["reduce_scatter_4"]
        key = ("reduce_scatter in a graph", "heddle")
        block["one_shot ll, graph"] = of({(*key, 16): 2.0, (*key, MI): 90.0})
        block["two_shot simple, graph"] = of({(*key, 16): 4.0, (*key, MI): 10.0, (*key, 64 * MI): 100.0})
        for us, holds in ((2.2, True), (2.3, False)):
            block["heddle, graph"] = of({(*key, 8): 9.0, (*key, 16): us, (*key, MI): 11.0, (*key, 64 * MI): 50.0})
            verdict = gpu_rules.choice_rule(results, "reduce_scatter")
            self.assertEqual(verdict.passed, holds)
            self.assertEqual([(ratio.size, ratio.against) for ratio in verdict.ratios],
                             [(16, "one_shot ll"), (MI, "two_shot simple"), (64 * MI, "two_shot simple")])
        block["heddle, graph"] = of({(*key, 16): 2.0})
        self.assertFalse(gpu_rules.choice_rule(results, "reduce_scatter").passed, "two sizes were not measured")

    def test_the_best_forced_way_is_not_chosen_round_by_round(self):
        results = nothing()
        block = results["all_reduce_4"]
        key = (gpu_rules.IN_GRAPH, "heddle", 8)
        for name, rounds in (("ring ll, graph", (1.0, 9.0, 9.0)), ("tree ll, graph", (9.0, 2.0, 2.0)),
                             ("heddle, graph", (9.0, 2.0, 2.0))):
            block[name] = Series(rounds=[{key: us} for us in rounds])
        verdict = gpu_rules.choice_rule(results, "all_reduce")
        self.assertTrue(verdict.passed)
        self.assertEqual(verdict.ratios[0].against, "tree ll")

    def test_nvshmem_is_met_by_every_collective_that_it_has_on_a_stream_and_in_a_graph(self):
        results = nothing()
        for what in gpu_contenders.OF_NVSHMEM:
            for how, suffix in (("on a stream", ""), ("in a graph", ", graph")):
                block = results[f"{what}_4"]
                block[f"NVSHMEM{suffix}"] = of({(f"{what} {how}", "NVSHMEM", MI): 5.0})
                block[f"heddle{suffix}"] = of({(f"{what} {how}", "heddle", MI): 5.0})
        block = results["all_to_all_4"]
        block["heddle, graph"] = of({("all_to_all in a graph", "heddle", MI): 5.1})
        decided = {verdict.rule: verdict.passed for verdict in gpu_rules.nvshmem_rules(results) if not verdict.skipped}
        self.assertEqual(len(decided), 10)
        self.assertIn("AllReduce on a stream, 4 PEs, against NVSHMEM", decided)
        self.assertEqual([rule for rule, passed in decided.items() if not passed],
                         ["all_to_all in a graph, 4 PEs, against NVSHMEM"])

    def test_processes_meet_nvshmems_on_a_stream_where_they_were_measured(self):
        results = nothing()
        block = results["broadcast_4"]
        point = "broadcast on a stream"
        block["NVSHMEM"] = of({(point, "NVSHMEM", MI): 5.0})
        for us, holds in ((5.0, True), (5.1, False)):
            block["heddle, processes"] = of({(point, "heddle", MI): us})
            decided = {verdict.rule: verdict.passed for verdict in gpu_rules.nvshmem_rules(results)}
            self.assertEqual(decided["broadcast on a stream, 4 PEs that are processes, against NVSHMEM"], holds)

    def test_a_peer_is_met_at_every_point_that_it_gave(self):
        key = ("barrier", "block")
        theirs = of({(*key, 8): 1.0, (*key, 64): 1.0})

        def judged(ours):
            return gpu_rules.peer_rule("rule", of(ours), theirs, [(key, key)])
        self.assertTrue(judged({(*key, 8): 1.0, (*key, 64): 0.5}).passed)
        self.assertFalse(judged({(*key, 8): 1.01, (*key, 64): 0.5}).passed)
        self.assertIn("1 of 2 sizes have no value", judged({(*key, 8): 1.0}).found)

    def test_a_failure_of_heddle_in_any_round_fails(self):
        key = ("all_reduce", "heddle", 8)
        broken = Series(rounds=[{key: 1.0}, {}], failures=["wrong result: element 3"])
        for name, passed in (("ring ll128", False), ("bare", False), ("NCCL, graph", True)):
            verdict = rules.runs_rule({"all_reduce_2": {"heddle": Series(), name: broken}}, gpu_rules.PEERS)
            self.assertEqual(verdict.passed, passed, name)
            self.assertEqual("element 3" in verdict.found, not passed)

    def test_of_a_peer_that_does_not_run_are_skipped_with_the_reason(self):
        results = nothing("nvidia-cuda-mps-control is not installed")
        verdicts = gpu_rules.judge(results)
        runs, own, peers = verdicts[0], verdicts[1:10], verdicts[10:]
        self.assertEqual(runs.word, "FAIL")
        for verdict in own:
            self.assertEqual(verdict.word, "FAIL")
            self.assertIn("not measured: nvidia-cuda-mps-control", verdict.found)
        self.assertEqual(len(peers), 34)
        for verdict in peers:
            self.assertEqual(verdict.word, "SKIP")
            self.assertIn("nvidia-cuda-mps-control is not installed", verdict.found)


class Contenders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = Path(folder.name) / "bin"
        self.bin.mkdir()
        for name in ("gpu_heddle_collectives", "gpu_nvshmem_collectives", "gpu_bare_flag"):
            program(self.bin, name, "")

    def block(self, name, mps=None):
        blocks = gpu_contenders.blocks(self.bin, True, mps or Mps())
        return {c.name: c for block in blocks if block.name == name for c in block.contenders}

    def test_have_names_of_their_own(self):
        for block in gpu_contenders.blocks(self.bin, True, Mps()):
            names = [c.name for c in block.contenders]
            self.assertEqual(len(names), len(set(names)))

    def test_that_are_not_built_say_so(self):
        self.assertEqual(self.block("all_reduce_4")["bare launch"].missing, "gpu_bare_launch is not built")
        self.assertEqual(self.block("all_reduce_4")["bare flag"].missing, "")

    def test_of_nvshmem_need_the_service_and_share_the_gpu(self):
        self.assertIn("was not started", self.block("all_reduce_4")["NVSHMEM"].missing)
        mps = Mps()
        mps.missing = ""
        contender = self.block("all_reduce_4", mps)["NVSHMEM"]
        self.assertEqual(contender.missing, "")
        self.assertEqual(contender.environment["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "25")
        self.assertIn("CUDA_MPS_PIPE_DIRECTORY", contender.environment)

    def test_of_heddle_stay_out_of_the_service_and_force_what_they_are_called(self):
        ring = self.block("all_reduce_4")["ring ll, graph"]
        self.assertNotIn("CUDA_MPS_PIPE_DIRECTORY", ring.environment)
        self.assertEqual((ring.environment["HEDDLE_ALGO"], ring.environment["HEDDLE_PROTO"]),
                         ("ring", "ll"))

    def test_are_the_same_for_each_collective(self):
        for what in gpu_contenders.OTHERS:
            block = self.block(f"{what}_4")
            self.assertEqual(list(block)[:6], [f"{name}{suffix}" for name in ("heddle", "NVSHMEM", "NCCL")
                                               for suffix in ("", ", graph")])
            for one in block.values():
                self.assertIn(f"--collective {what}", " ".join(one.command))
                self.assertIn("--pes 4", " ".join(one.command))
                self.assertEqual("--graph" in one.command, one.name.endswith(", graph"))

    def test_of_heddle_are_forced_on_all_ways_that_a_reduction_has(self):
        def forced(what):
            return [name.removesuffix(", graph") for name, one in self.block(f"{what}_4").items()
                    if "HEDDLE_PROTO" in one.environment]
        links = [f"{algo} {proto}" for algo in ("ring", "tree") for proto in ("ll", "ll128", "simple")]
        direct = ["one_shot ll", "one_shot simple", "two_shot simple"]
        self.assertEqual(forced("all_reduce"), [direct[0], "one_shot ll128", *direct[1:], *links])
        self.assertEqual(forced("reduce"), [*direct, *links])
        self.assertEqual(forced("reduce_scatter"), [*direct, *links[:3]])
        for what in ("broadcast", "all_gather", "all_to_all"):
            self.assertEqual(forced(what), [])

    def test_of_nvshmem_are_missing_where_it_has_no_such_call(self):
        mps = Mps()
        mps.missing = ""
        for name in ("NVSHMEM", "NVSHMEM, graph"):
            self.assertEqual(self.block("reduce_4", mps)[name].missing, "NVSHMEM has no reduce")
            self.assertEqual(self.block("broadcast_4", mps)[name].missing, "")

    def test_that_fail_are_not_tried_again(self):
        failing = contenders.Contender("x", (str(program(self.bin, "failing", "exit 3\n")),),
                                       bound=False)
        block = contenders.Block("b", "title", (failing,), 3, one_failure=True)
        series = measure.run_block(block)["x"]
        self.assertEqual(series.failures, ["round 1: exit status 3: no output"])
        self.assertEqual(series.probes_us, [])

    def test_of_chosen_blocks_fail_with_heddle_and_the_bare_programs_alone(self):
        def status(block):
            arguments = argparse.Namespace(block=[block], build_dir=self.bin.parent, quick=True)
            with mock.patch("builtins.print"):
                return gpu.measure_all(arguments, argparse.ArgumentParser(), Mps())
        program(self.bin, "gpu_heddle_barrier", "")
        self.assertEqual(status("barrier_2"), 0, "NVSHMEM alone is not there")
        program(self.bin, "gpu_heddle_barrier", "exit 1\n")
        self.assertEqual(status("barrier_2"), 1)


class Report(unittest.TestCase):
    def test_gives_each_number_with_its_command(self):
        copy = contenders.Contender("bare", (f"{session.ROOT}/bin/gpu_bare_copy",), {"CUDA_X": "a b"}, bound=False)
        absent = contenders.Contender("NVSHMEM", ("bin/none",), missing="it is not built")
        block = contenders.Block("bandwidth", "Bandwidth", (copy, absent), 1)
        text = gpu_report.section(block, {
            "bare": of({("put, 1 block", "in parts", MI): 10.0, ("put, 1 block", "in parts", KI): 1.0}),
            "NVSHMEM": Series(failures=["it is not built"])})
        self.assertIn("### put, 1 block, GB/s", text)
        self.assertIn("| 1 MiB | 104.9 |", text)
        self.assertIn("- bare: `CUDA_X='a b' bin/gpu_bare_copy`", text)
        self.assertNotIn("bin/none", text)
        self.assertIn("- NVSHMEM: it is not built", text)

    def test_puts_calls_on_a_stream_and_in_a_graph_side_by_side(self):
        text = gpu_report.tables({
            "heddle": of({("all_reduce on a stream", "heddle", s): 5.0 for s in (8, 16)}),
            "heddle, graph": of({("all_reduce in a graph", "heddle", s): 2.0 for s in (8, 16)})})
        self.assertIn("| size | heddle | heddle, graph |", text)
        self.assertIn("| 16 B | 5.000 | 2.000 |", text)
        text = gpu_report.tables({
            "heddle": of({("reduce_scatter on a stream", "heddle", s): 5.0 for s in (16, 32)}),
            "heddle, graph": of({("reduce_scatter in a graph", "heddle", s): 2.0 for s in (16, 32)})})
        self.assertIn("### reduce_scatter, us", text)
        self.assertIn("| 32 B | 5.000 | 2.000 |", text)

    def test_turns_a_table_of_one_size(self):
        text = gpu_report.tables({"bare": of({("launch", "stream", 0): 2.0,
                                              ("launch", "graph", 0): 1.0})})
        self.assertIn("| bare, stream | 2.000 |\n| bare, graph | 1.000 |", text)

    def test_tells_which_rules_were_skipped(self):
        results = nothing()
        blocks = gpu_contenders.blocks(Path("/nowhere"), True, Mps())
        text = gpu_report.markdown({"GPU": "test"}, blocks, results, gpu_rules.judge(results))
        self.assertEqual(text.count("| SKIP |"), 34)
        self.assertEqual(text.count("| FAIL |"), 10)


class MultiProcessService(unittest.TestCase):
    def start(self, text):
        """With a daemon that does `text`, and writes down what it is told."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.told = Path(folder.name) / "told"
        program(folder.name, "nvidia-cuda-mps-control",
                f'[ "$1" = -d ] || read words\necho "$1$words $CUDA_MPS_PIPE_DIRECTORY" >>{self.told}\n'
                + text)
        path = mock.patch.dict(os.environ, {"PATH": f"{folder.name}:{os.environ['PATH']}"})
        path.start()
        self.addCleanup(path.stop)
        return Mps()

    def test_is_started_in_a_directory_of_its_own_and_stopped(self):
        with self.start("") as mps:
            self.assertEqual(mps.missing, "")
            pipe = mps.environment["CUDA_MPS_PIPE_DIRECTORY"]
            self.assertTrue(Path(pipe).is_dir())
        self.assertEqual(self.told.read_text(encoding="utf-8").splitlines(),
                         [f"-d {pipe}", f"get_server_list {pipe}", f"quit -t 5 {pipe}"])
        self.assertFalse(Path(pipe).exists())

    def test_says_why_it_did_not_start(self):
        with self.start("echo no such device; exit 4\n") as mps:
            self.assertEqual(mps.missing,
                             "nvidia-cuda-mps-control -d: exit status 4: no such device")

    def test_is_stopped_though_the_runner_ends_while_it_starts(self):
        mps = self.start("")
        with mock.patch.object(mps, "_run", side_effect=[KeyboardInterrupt, ""]) as run:
            self.assertRaises(KeyboardInterrupt, mps.__enter__)
        self.assertEqual(run.call_args, mock.call(words="quit -t 5\n"))
        self.assertFalse(Path(mps.environment["CUDA_MPS_PIPE_DIRECTORY"]).parent.exists())

    def test_does_not_wait_for_what_the_daemon_leaves_open(self):
        with self.start("[ $1 = -d ] && sleep 5 &\n") as mps:
            self.assertEqual(mps.missing, "")

    def test_is_missing_where_it_is_not_installed(self):
        with mock.patch.dict(os.environ, {"PATH": "/nowhere"}), Mps() as mps:
            self.assertEqual(mps.missing, "nvidia-cuda-mps-control is not installed")


class Machine(unittest.TestCase):
    def test_without_a_gpu_says_nothing(self):
        with mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
            self.assertEqual(gpu_machine.ask("name"), "")

    def visible(self, devices):
        """The number and the UUID of the GPU that is described, and CUDA_VISIBLE_DEVICES as programs get it."""
        with tempfile.TemporaryDirectory() as folder:
            program(folder, "nvidia-smi", """case "$*" in
                -L) echo "GPU 0: NVIDIA H200 (UUID: GPU-aa-0)"; echo "GPU 1: NVIDIA H200 (UUID: GPU-bb-1)"
                    echo "  MIG 1g.18gb     Device  0: (UUID: MIG-cc-2)" ;;
                --id=0*) echo GPU-aa-0 ;;
                --id=1*) echo GPU-bb-1 ;;
                *) exit 6 ;;
                esac\n""")
            with mock.patch.dict(os.environ, {"PATH": f"{folder}:{os.environ['PATH']}"}):
                os.environ.pop("CUDA_VISIBLE_DEVICES", None)
                if devices is not None:
                    os.environ["CUDA_VISIBLE_DEVICES"] = devices
                number, uuid = gpu_machine.first_visible(), gpu_machine.ask("uuid")
                gpu_machine.name_by_uuid()
                return number, uuid, os.environ.get("CUDA_VISIBLE_DEVICES")

    def test_is_of_the_gpu_that_programs_see_first(self):
        self.assertEqual(self.visible(None), ("0", "GPU-aa-0", None))
        self.assertEqual(self.visible("0,1"), ("0", "GPU-aa-0", "0,1"))
        self.assertEqual(self.visible("1,0"), ("1", "GPU-bb-1", "GPU-bb-1"))
        self.assertEqual(self.visible("GPU-bb"), ("1", "GPU-bb-1", "GPU-bb"))
        self.assertEqual(self.visible("MIG-cc-2"), ("1", "GPU-bb-1", "MIG-cc-2"))
        for nothing_there in ("", "-1", "GPU-dd"):
            self.assertEqual(self.visible(nothing_there), ("", "", nothing_there))
        self.assertEqual(gpu_contenders.CUDA["CUDA_DEVICE_ORDER"], "PCI_BUS_ID")

    def test_a_field_that_is_not_known_does_no_harm(self):
        with tempfile.TemporaryDirectory() as folder:
            program(folder, "nvidia-smi",
                    'case "$*" in *query-gpu=name*) echo "NVIDIA H200";; *) exit 2;; esac\n')
            with mock.patch.dict(os.environ, {"PATH": folder, "CUDA_VISIBLE_DEVICES": "0"}):
                facts = gpu_machine.describe()
        self.assertEqual(facts["GPU"], "NVIDIA H200")
        self.assertEqual(facts["MIG"], "unknown")


if __name__ == "__main__":
    unittest.main()
