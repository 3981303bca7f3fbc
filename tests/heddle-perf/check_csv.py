# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""Checks that what heddle-perf --csv wrote says what --json of the same run says. usage: check_csv.py CSV JSON"""
import csv
import json
import sys

# The names in the JSON of what stands in the CSV for each placement.
VALUES = {"time_us": "time_us", "latency_us": "latency_us", "algbw": "algbw_gb_per_s", "busbw": "busbw_gb_per_s",
          "wrong": "wrong_elements"}
SHARED = {"collective": "operation", "bytes": "size_bytes", "count": "count_elements", "type": "type", "redop": "redop",
          "algo": "algorithm", "proto": "protocol"}

with open(sys.argv[1], newline="", encoding="utf-8") as file:
    lines = list(csv.DictReader(file, strict=True))
with open(sys.argv[2], encoding="utf-8") as file:
    run = json.load(file)
rows = iter(run["rows"])
for line in lines:
    assert None not in line and None not in line.values(), line
    assert line["pes"] == str(run["n_pes"]) and line["device"] == run["device"], line
    for place in ("out_of_place", "in_place"):
        if not line[f"{place}_time_us"]:
            assert all(not line[f"{place}_{name}"] for name in VALUES.values()), line
            continue
        row = next(rows)
        assert row["in_place"] == (place == "in_place"), (line, row)
        for name, column in SHARED.items():
            assert line[column] == str(row[name]), (column, line, row)
        cpu_us = line[f"{place}_cpu_us"]
        assert (float(cpu_us) if cpu_us else None) == row.get("cpu_us"), (line, row)
        assert line["root"] == str(row.get("root", -1)), (line, row)
        for name, column in VALUES.items():
            assert float(line[f"{place}_{column}"]) == row[name], (column, line, row)
assert next(rows, None) is None, "rows are missing"
print(len(lines), "lines")
