"""Counts the kernels that a CUDA worker runs. On a GPU, CUPTI does: this is the judge's end of common/src/grading/launches.cpp.
Without one, the emulator does."""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
import struct
from pathlib import Path

from . import clock

LIBRARY = "libgpulab_launches.so"
PATIENCE = 60.0  # seconds for an answer: others may have the processors
PIPE_BYTES = 1 << 20  # that wait in a pipe to be read
MOST_KEPT = 64 << 20  # bytes of counts


class Counter:
    """Counts the kernels of one worker, from the preloaded library's answers."""

    def __init__(self) -> None:
        self.own, self.other = socket.socketpair()
        self.trouble = ""  # why CUPTI records no kernels
        self.cut_off = False  # it did not answer, and is asked no more

    def command(self, library: Path) -> list[str]:
        """The words before the worker's command. The worker inherits the descriptor self.other."""
        return ["env", f"LD_PRELOAD={library}", f"GPULAB_LAUNCHES={self.other.fileno()}"]

    def ask(self) -> int | None:
        """The kernels that ran since the last question; None when the library did not answer this one or an earlier one."""
        kernels = None if self.cut_off else self.answer()
        self.cut_off = kernels is None
        return kernels

    def answer(self) -> int | None:
        question, answer = secrets.token_bytes(16), b""
        end = clock.now() + PATIENCE  # for all pieces together
        try:
            self.own.settimeout(PATIENCE)
            self.own.sendall(question)
            while len(answer) < 32:
                self.own.settimeout(max(end - clock.now(), 0.001))
                if not (piece := self.own.recv(32 - len(answer))):
                    return None
                answer += piece
        except OSError:  # a time-out among others
            return None
        trouble, kernels = struct.unpack("<QQ", answer[16:])
        self.trouble = f"CUPTI reports error {trouble}" if trouble and answer[:16] == question else self.trouble
        return int(kernels) if answer[:16] == question else None

    def inherited(self) -> int:
        return self.other.fileno()

    def started(self) -> None:
        """The worker has been started, and has its end."""
        self.other.close()

    def close(self) -> None:
        self.own.close()
        self.other.close()


class Counts:
    """What the emulator counts, a line for each launch. It comes through a pipe: a worker cannot take back what was said."""

    trouble = ""

    def __init__(self, user: int) -> None:
        """@param user to whom the worker's end belongs, which the worker opens by its name"""
        self.pipe, self.other = os.pipe()
        os.set_blocking(self.pipe, False)
        fcntl.fcntl(self.pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        if os.geteuid() == 0:
            os.fchown(self.other, user, -1)
        self.environment = {"CUDA_EMULATOR_COUNTS": f"/proc/self/fd/{self.other}"}
        self.kept = bytearray()
        self.told = 0  # lines, at the last question

    def inherited(self) -> int:
        return self.other

    def started(self) -> None:
        """The worker keeps its end open; so does this process, and thus the pipe never ends."""

    def take(self) -> None:
        """Reads what is there, and of an endless stream a part."""
        for _ in range(MOST_KEPT // PIPE_BYTES):
            try:
                piece = os.read(self.pipe, PIPE_BYTES)
            except OSError:  # nothing is there, or it is closed
                return
            if len(self.kept) < MOST_KEPT:
                self.kept += piece

    def ask(self) -> int:
        """The kernels that ran since the last question."""
        self.take()
        before, self.told = self.told, self.kept.count(b"\n")
        return self.told - before

    def text(self) -> str:
        self.take()
        return self.kept.decode("utf-8", errors="replace")

    def close(self) -> None:
        self.take()
        os.close(self.pipe)
        os.close(self.other)
        self.pipe = -1
