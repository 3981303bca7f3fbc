# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""Prints what jobs have left behind: nothing if all is well.

usage: leftovers.py LAUNCHER_TEST [SECONDS]

The processes of a test are those that began with LAUNCHER_TEST=<that value> in their environment; other tests may run
beside it. Looked for are such processes, and what would outlive a process: heddle's abstract Unix sockets and memory
files that nobody else holds, and names in /dev/shm. What is there at first has SECONDS (default 5) to go.
"""
import os
import sys
import time


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def open_files(pid):
    """What the process's descriptors are: "socket:[1234]", "/memfd:heddle-heap (deleted)"."""
    found = []
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
            except OSError:
                pass
    except OSError:
        pass
    return found


def leftovers(marker):
    processes = [pid for pid in os.listdir("/proc") if pid.isdigit()]
    ours = [pid for pid in processes if marker in read(f"/proc/{pid}/environ").split(b"\0")]
    found = []
    for pid in ours:
        command = read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
        found.append(f"process {pid}: {command}")
        found += [f"memory of process {pid}: {link}" for link in open_files(pid) if link.startswith("/memfd:heddle")]

    # inode of each abstract socket of heddle's, as the kernel names it: @heddle...
    sockets = {}
    for line in read("/proc/net/unix").decode(errors="replace").splitlines()[1:]:
        fields = line.split(None, 7)
        if len(fields) == 8 and fields[7].startswith("@heddle"):
            sockets[f"socket:[{fields[6]}]"] = fields[7]
    others = {link for pid in processes if pid not in ours for link in open_files(pid)} if sockets else set()
    found += [f"abstract socket {name}" for link, name in sockets.items() if link not in others]
    shared = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    found += [f"/dev/shm/{name}" for name in shared if "heddle" in name.lower()]
    return found


def main():
    marker = b"LAUNCHER_TEST=" + sys.argv[1].encode()
    until = time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 5)
    found = leftovers(marker)
    while found and time.monotonic() < until:
        time.sleep(0.1)
        found = leftovers(marker)
    print("\n".join(found))


main()
