"""Counts the kernels that a CUDA worker runs: the judge's end of common/src/grading/launches.cpp."""

from __future__ import annotations

import secrets
import socket
import struct
import time
from pathlib import Path

LIBRARY = "libgpulab_launches.so"
PATIENCE = 10.0  # seconds for an answer


class Counter:
    """Counts the kernels of one worker, from the preloaded library's answers."""

    def __init__(self) -> None:
        self.own, self.other = socket.socketpair()
        self.trouble = ""  # why CUPTI records no kernels

    def command(self, library: Path) -> list[str]:
        """The words before the worker's command. The worker inherits the descriptor self.other."""
        return ["env", f"LD_PRELOAD={library}", f"GPULAB_LAUNCHES={self.other.fileno()}"]

    def ask(self) -> int | None:
        """The kernels that ran since the last question; None when the library does not answer this question."""
        question, answer = secrets.token_bytes(16), b""
        end = time.monotonic() + PATIENCE  # for all pieces together
        try:
            self.own.settimeout(PATIENCE)
            self.own.sendall(question)
            while len(answer) < 32:
                self.own.settimeout(max(end - time.monotonic(), 0.001))
                if not (piece := self.own.recv(32 - len(answer))):
                    return None
                answer += piece
        except OSError:  # a time-out among others
            return None
        trouble, kernels = struct.unpack("<QQ", answer[16:])
        self.trouble = f"CUPTI reports error {trouble}" if trouble and answer[:16] == question else self.trouble
        return int(kernels) if answer[:16] == question else None

    def close(self) -> None:
        self.own.close()
        self.other.close()
