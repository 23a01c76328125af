"""The time for which the grader has run. It leaves out the time in which the grader stood still: somebody stopped it with
Ctrl-Z, or something else took the machine from it. Deadlines count this time, so that nobody loses points by a stop."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Collection
from pathlib import Path

TICK, STALL = 0.2, 1.0  # seconds between two looks at the clock; a longer time than STALL between two looks is a stop

_looking = threading.Lock()
_last = time.monotonic()
_stopped = 0.0
_ticking = False


def now() -> float:
    """Seconds, from any beginning. May be called in every thread."""
    global _last, _stopped, _ticking
    with _looking:
        if not _ticking:
            _ticking, _last = True, time.monotonic()
            threading.Thread(target=_tick, daemon=True).start()
        time_now = time.monotonic()
        if time_now - _last > STALL:
            _stopped += time_now - _last - TICK
        _last = time_now
        return time_now - _stopped


def _tick() -> None:
    while True:
        time.sleep(TICK)
        now()


class Load:
    """What other programs take of the processors of this machine, from now on."""

    def __init__(self) -> None:
        self.begin, self.before, self.own = time.monotonic(), _all_programs(), _own()

    def of_others(self, seconds: float) -> tuple[float, float]:
        """Processor seconds of others, and those that there were. None are seen where this process may use only a part of them.

        @param seconds what a child has used that runs, and no child has ended since but those of the grader itself
        """
        others = _all_programs() - self.before - (_own() - self.own) - seconds
        return 0.0 if _has_quota() else max(0.0, others), (time.monotonic() - self.begin) * len(_processors())


def _all_programs() -> float:
    """Seconds of the processors that this process may use."""
    try:
        lines = {words[0]: words[1:] for words in map(str.split, Path("/proc/stat").read_text(encoding="ascii").splitlines())}
        ours = lines.keys() & {f"cpu{number}" for number in _processors()} or {"cpu"}  # of all, where a container names them otherwise
        # user, nice, system, then two of idling, then irq, softirq, steal
        ticks = sum(sum(map(int, lines[name][:3] + lines[name][5:8])) for name in ours)
    except (OSError, ValueError, KeyError):
        return 0.0
    return ticks / os.sysconf("SC_CLK_TCK")


def _processors() -> Collection[int]:
    """Those that this process may use."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)


def _own() -> float:
    return sum(sum(resource.getrusage(of)[:2]) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _has_quota() -> bool:
    for name in ("cpu.max", "cpu/cpu.cfs_quota_us"):
        try:
            return (Path("/sys/fs/cgroup") / name).read_text(encoding="ascii").split()[0] not in ("max", "-1")
        except (OSError, IndexError):
            continue
    return False
