// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Files as heddle-perf --json and bench/run.py write them, with few points.
namespace samples {

inline const char* const perf = R"json({
  "version": "0.1.0", "n_pes": 2, "host": "here", "device": "host",
  "date": "2026-11-22T20:00:00Z", "command": "heddle-perf all_reduce", "rows": [
  {"collective": "all_reduce", "bytes": 8, "count": 2, "type": "float", "redop": "sum",
   "in_place": false, "algo": "one_shot", "proto": "ll", "time_us": 0.5, "latency_us": 0.75,
   "algbw": 0.016, "busbw": 0.016, "wrong": 0},
  {"collective": "all_reduce", "bytes": 8, "count": 2, "type": "float", "redop": "sum",
   "in_place": true, "algo": "one_shot", "proto": "ll", "time_us": 0.25, "latency_us": 0.5,
   "algbw": 0.032, "busbw": 0.032, "wrong": null},
  {"collective": "all_reduce", "bytes": 64, "count": 16, "type": "float", "redop": "sum",
   "in_place": false, "algo": "two_shot", "proto": "simple", "time_us": 1, "latency_us": 2,
   "algbw": 0.064, "busbw": 0.064, "wrong": 3}]})json";

/// The machine is twice as slow in the second round of Open MPI, but not of heddle.
inline const char* const bench = R"json({
  "about": {"date": "2026-11-22 20:00", "command": "bench/run.py", "commit": "abcdef0",
            "processor": "a <fast> one", "memory": "8 GiB"},
  "rules": [{"rule": "AllReduce & more", "limit": "faster", "found": "0.5", "passed": true,
             "skipped": false, "ratios": []}],
  "results": {
    "all_reduce": {
      "bare": {"probes_us": [[1, 1], [1, 1], [1, 1]], "facts": {}, "failures": [], "points": [
        {"what": "all_reduce", "variant": "words", "bytes": 8, "us": [1, 1, 1]},
        {"what": "all_reduce", "variant": "lines", "bytes": 8, "us": [2, 2, 2]},
        {"what": "all_reduce", "variant": "lines", "bytes": 64, "us": [3, 3, 3]}]},
      "heddle": {"probes_us": [[1, 1], [1, 1], [1, 1]], "facts": {}, "failures": [], "points": [
        {"what": "all_reduce", "variant": "heddle", "bytes": 8, "us": [2, 2, null]},
        {"what": "all_reduce", "variant": "heddle", "bytes": 64, "us": [4, 4, 4]}]},
      "Open MPI": {"probes_us": [[1, 1], [2, 2], null], "facts": {}, "failures": ["it <broke>"],
        "points": [
        {"what": "all_reduce", "variant": "MPI_Allreduce", "bytes": 8, "us": [4, 8, 4]},
        {"what": "all_reduce", "variant": "MPI_Allreduce", "bytes": 64, "us": [8, 16, 10]}]},
      "heddle ring": {"probes_us": [], "facts": {}, "failures": [], "points": [
        {"what": "all_reduce", "variant": "heddle", "bytes": 8, "us": [3]}]}},
    "network_put": {
      "bare libfabric": {"points": [
        {"what": "fabric_rate", "variant": "net", "bytes": 8, "us": [1.5]}]},
      "heddle": {"facts": {"team_bytes": 79040}, "points": [
        {"what": "network_rate", "variant": "heddle", "bytes": 8, "us": [1]},
        {"what": "network_signal_rate", "variant": "heddle", "bytes": 8, "us": [3]}]}}}})json";

/// What bench/gpu.py writes: heddle in several ways, and captured in a graph.
inline const char* const gpu = R"json({
  "about": {"GPU": "one", "date": "2026-11-22 20:00", "command": "bench/gpu.py", "commit": "abcdef0"},
  "rules": [],
  "results": {
    "latency": {
      "bare": {"points": [
        {"what": "flag", "variant": "volatile", "bytes": 8, "us": [3]},
        {"what": "flag", "variant": "release and acquire, system", "bytes": 8, "us": [2]}]},
      "heddle": {"points": [
        {"what": "signal", "variant": "thread", "bytes": 8, "us": [4]},
        {"what": "signal", "variant": "block", "bytes": 8, "us": [6]}]},
      "NVSHMEM": {"points": [
        {"what": "signal", "variant": "thread", "bytes": 8, "us": [8]},
        {"what": "signal", "variant": "block", "bytes": 8, "us": [24]}]}},
    "all_reduce_2": {
      "bare flag": {"points": [{"what": "flag", "variant": "volatile", "bytes": 8, "us": [3]}]},
      "heddle": {"points": [
        {"what": "all_reduce on a stream", "variant": "heddle", "bytes": 8, "us": [5]}]},
      "heddle, graph": {"points": [
        {"what": "all_reduce in a graph", "variant": "heddle", "bytes": 8, "us": [2]}]},
      "NCCL, graph": {"points": [
        {"what": "all_reduce in a graph", "variant": "NCCL", "bytes": 8, "us": [4]}]},
      "one_shot, graph": {"points": [
        {"what": "all_reduce in a graph", "variant": "heddle", "bytes": 8, "us": [1]}]}}}})json";

}  // namespace samples
