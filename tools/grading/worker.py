"""Talks to a worker, the process that runs a student's rung, and measures its time from outside."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from . import clock
from .launches import Counter, Counts
from .sandbox import Limits, Sandbox

MAX_PRINTED = 16 << 10
WATCHED = 1.0  # seconds between two looks at what a worker has written
LOOKED = 0.2  # seconds between two looks at the memory that it uses, where nothing else limits it
ROOM_FOR_ANSWERS = 16 << 20
LAST_LOOK = 1.0  # seconds after the deadline for reading an answer that is there
PATIENCE = 20  # times its seconds that a worker has by the clock, where others take the processors from it
ASLEEP = 3  # looks at which no process of it runs or could run: it waits for nothing that others take


class Ended(Exception):
    """The worker ended, or said what no worker says."""


class TimedOut(Exception):
    """The worker did not answer in time."""


class Worker:
    """A worker that has been started. It answers one message after another."""

    def __init__(self, sandbox: Sandbox, process: subprocess.Popen[bytes], slot: int, written: list[Path],
                 counter: Counter | Counts | None = None) -> None:
        self.sandbox = sandbox
        self.process = process
        self.slot = slot
        self.written = written  # folders in which its files lie
        self.watched = self.looked = clock.now()
        self.how = ""  # it ended
        self.printed = b""
        self.counter = counter
        self.kernels: list[int | None] = []  # that ran for each message, where there is a counter
        self.times: list[float] = []  # that the answers took, in seconds
        self.spent = 0.0  # seconds that it has run: processor time, and a twentieth of the time by the clock at least
        self.asleep = 0  # looks in a row
        assert process.stdin and process.stdout and process.stderr
        self.to, self.answers, self.errors = (pipe.fileno() for pipe in (process.stdin, process.stdout, process.stderr))
        for pipe in (self.to, self.answers, self.errors):
            os.set_blocking(pipe, False)

    def ask(self, message: bytes, seconds: float) -> bytes:
        """Hands a message over and returns the answer. Notes how long it took, and how many kernels ran for it."""
        with self.charged():
            answer = self.exchange(message, seconds)
        if self.counter:
            self.kernels.append(self.counter.ask())
        return answer

    def processor_seconds(self) -> float:
        return self.sandbox.processor_time(self.process, self.slot)[0]

    @contextlib.contextmanager
    def charged(self) -> Iterator[None]:
        self.begin, self.used = clock.now(), self.processor_seconds()
        try:
            yield
        finally:
            took, used = clock.now() - self.begin, self.processor_seconds() - self.used
            self.spent += max(min(took, used), took / PATIENCE) if used >= 0 else took

    def more_time(self, seconds: float) -> float:
        """When the time by the clock is over: the seconds that it has yet, because others took the processors from it; 0: none."""
        used, runs = self.sandbox.processor_time(self.process, self.slot)
        self.asleep = 0 if runs else self.asleep + 1
        if self.asleep > ASLEEP or used - self.used >= seconds or clock.now() - self.begin >= PATIENCE * seconds:
            return 0.0
        return min(LOOKED, seconds - (used - self.used))

    def exchange(self, message: bytes, seconds: float) -> bytes:
        rest = memoryview(struct.pack("<Q", len(message)) + message)
        answer, wanted, begin = bytearray(), 8, clock.now()
        end, self.asleep = begin + seconds, 0
        with selectors.DefaultSelector() as ready:
            for pipe in (self.to, self.answers, self.errors):
                ready.register(pipe, selectors.EVENT_WRITE if pipe == self.to else selectors.EVENT_READ)
            counts = self.counter if isinstance(self.counter, Counts) else None
            if counts:
                ready.register(counts.pipe, selectors.EVENT_READ)
            while len(answer) < wanted:
                left = end - clock.now()
                pipes = [key.fd for key, _ in ready.select(max(0, min(left, LOOKED)))]
                if left <= 0 and (left < -LAST_LOOK or self.answers not in pipes):
                    if not (more := self.more_time(seconds)):
                        raise TimedOut
                    end = clock.now() + more
                self.watch()
                if counts:
                    counts.take()
                if self.to in pipes:
                    try:
                        rest = rest[os.write(self.to, rest[: 1 << 20]):]
                    except BlockingIOError:
                        pass
                    except OSError:
                        rest = rest[:0]
                    if not rest:
                        ready.unregister(self.to)
                if self.errors in pipes and not self.drain():
                    ready.unregister(self.errors)
                if self.answers in pipes:
                    piece = self.read(self.answers, wanted - len(answer))
                    if piece == b"":
                        raise Ended
                    answer += piece or b""
                    if len(answer) == 8 == wanted:
                        wanted += struct.unpack("<Q", answer)[0]
                        if wanted > 4 * len(message) + ROOM_FOR_ANSWERS:
                            raise Ended
        self.times.append(clock.now() - begin)
        return bytes(answer[8:])

    def watch(self) -> None:
        """Ends a worker that writes too much. Where its files lie on a disk, nothing but this look, once a second, does so. Ends
        one that uses too much memory, too: see memory.py."""
        if clock.now() - self.looked > LOOKED:
            if self.sandbox.uses_too_much(self.process, self.slot):
                raise Ended
            self.looked = clock.now()
        if clock.now() - self.watched > WATCHED:
            if self.sandbox.written(self.slot, self.written) > Limits().disk_bytes:
                raise Ended
            self.watched = clock.now()

    @staticmethod
    def read(pipe: int, most: int) -> bytes | None:
        try:
            return os.read(pipe, min(most, 1 << 20))
        except BlockingIOError:
            return None

    def drain(self) -> bool:
        """Takes what the worker printed, and keeps the beginning and the end. Returns False at the end."""
        piece = self.read(self.errors, 1 << 16)
        if piece:
            printed, half = self.printed + piece, MAX_PRINTED // 2
            self.printed = printed if len(printed) <= MAX_PRINTED else printed[:half] + printed[-half:]
        return piece is None or bool(piece)

    def finish(self, seconds: float) -> bool:
        """Tells the worker that nothing follows, and lets it end by itself. Returns whether it did so in time."""
        assert self.process.stdin
        self.process.stdin.close()
        with self.charged():
            deadline, self.asleep = clock.now() + seconds, 0
            while self.process.poll() is None:
                if clock.now() >= deadline:
                    if not (more := self.more_time(seconds)):
                        break
                    deadline = clock.now() + more
                if isinstance(self.counter, Counts):
                    self.counter.take()
                self.drain()  # it must not wait for somebody to read what it prints
                self.read(self.answers, 1 << 16)
                try:
                    self.watch()
                except Ended:
                    return False
                time.sleep(0.01)
        return self.process.poll() is not None

    def end(self, wait: float = 0) -> str:
        """Kills the worker, after giving it `wait` seconds to end by itself, and returns how it ended, in words."""
        self.how = self.how or self.ended(wait)
        return self.how

    def ended(self, wait: float) -> str:
        if wait > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(wait)
        code = self.sandbox.end(self.process, self.slot)
        if self.counter:
            self.counter.close()
        number = -code if code < 0 else code - 128 if code > 128 else 0
        if number == signal.SIGXCPU:
            return "used up its CPU time"
        if number == signal.SIGKILL:
            return "was killed"
        try:
            return f"was ended by {signal.Signals(number).name}" if number else f"ended with exit code {code}"
        except ValueError:
            return f"ended with exit code {code}"
