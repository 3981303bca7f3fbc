# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""CUDA's multi-process service, which lets processes share a GPU at the same time."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

CONTROL = "nvidia-cuda-mps-control"


class Mps:
    """A daemon of our own, from `with` to its end. `missing` says why there is none, or is empty.

    Its pipes are in a directory of its own: only programs that are given `environment` use it, and
    one that the machine has already is left alone.
    """

    def __init__(self) -> None:
        self.missing = "the multi-process service was not started"
        self._directory = ""
        self._command = shutil.which(CONTROL)

    @property
    def environment(self) -> dict[str, str]:
        return {"CUDA_MPS_PIPE_DIRECTORY": f"{self._directory}/pipe",
                "CUDA_MPS_LOG_DIRECTORY": f"{self._directory}/log"}

    def __enter__(self) -> Mps:
        if not self._command:
            self.missing = f"{CONTROL} is not installed"
            return self
        self._directory = tempfile.mkdtemp(prefix="mps-")
        try:
            for folder in self.environment.values():
                Path(folder).mkdir()
            # "list of servers" is answered by a daemon that lives; it starts a server for the first client.
            self.missing = self._run("-d") or self._run(words="get_server_list\n")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if not self._directory:
            return
        # A daemon that does not answer did not start, or is gone.
        self._run(words="quit -t 5\n")
        shutil.rmtree(self._directory, ignore_errors=True)

    def _run(self, *arguments: str, words: str = "") -> str:
        """Why it failed, or nothing. What it says goes to a file: the daemon keeps its output open. It counts GPUs as
        its clients do (gpu_contenders.CUDA)."""
        log = Path(self._directory) / "said"
        try:
            with log.open("w", encoding="utf-8") as said:
                done = subprocess.run([self._command, *arguments], input=words, text=True,
                                      stdout=said, stderr=subprocess.STDOUT, timeout=20, check=False,
                                      env={**os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", **self.environment})
        except (OSError, subprocess.TimeoutExpired) as failure:
            return f"{CONTROL} {' '.join(arguments) or words.strip()}: {failure}"
        if done.returncode == 0:
            return ""
        last = (log.read_text(encoding="utf-8").strip() or "no output").splitlines()[-1]
        return f"{CONTROL} {' '.join(arguments) or words.strip()}: exit status {done.returncode}: {last}"
