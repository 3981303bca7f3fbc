# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""Checks the rows that heddle-perf --json wrote: their fields, types and values."""
import json
import sys

FIELDS = {"collective": str, "bytes": int, "count": int, "type": str, "redop": str,
          "in_place": bool, "algo": str, "proto": str, "time_us": float, "latency_us": float,
          "algbw": float, "busbw": float, "wrong": int}

with open(sys.argv[1]) as file:
    rows = json.load(file)["rows"]
for row in rows:
    assert row.keys() == FIELDS.keys(), row.keys() ^ FIELDS.keys()
    for name, kind in FIELDS.items():
        assert isinstance(row[name], kind), (name, row[name])
    assert row["wrong"] == 0 and row["bytes"] == 4 * row["count"] and row["time_us"] > 0, row
print(len(rows), "rows")
