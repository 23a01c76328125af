"""Limits the memory of all processes of a program together: address space, which each process has for itself, does not, and files
in memory that are mapped nowhere are no part of it.

As root with control groups the kernel does it. Elsewhere somebody has to look: see used_by()."""

from __future__ import annotations

import os
import re
import secrets
import stat
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Groups:
    """The control group in which those of programs are made."""

    parent: Path
    limit: str  # the file with the limit, in version 1 or 2 of control groups
    further: tuple[str, str]  # the file with the limit of swap space, or of both together, and its value unless it is the same

    def new(self, limit: int) -> Path:
        group = self.parent / f"gpulab-{os.getpid()}-{secrets.token_hex(4)}"
        group.mkdir()
        try:
            (group / self.limit).write_text(str(limit))
            if (group / self.further[0]).exists():
                (group / self.further[0]).write_text(self.further[1] or str(limit))
        except OSError:
            remove_group(group)
            raise
        return group


def inside(group: Path, user: int, command: list[str]) -> list[str]:
    """A command for root that runs as a user in a group, which it cannot leave."""
    return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(group / "cgroup.procs"), "setpriv", f"--reuid={user}", f"--regid={user}",
            "--clear-groups", "--", *command]


def groups() -> Groups | None:
    """Where control groups for memory can be made; None if nowhere."""
    try:
        own = [line.rstrip("\n").split(":", 2) for line in open("/proc/self/cgroup", encoding="utf-8")]
    except OSError:
        return None
    places: list[Groups] = []
    for _, controllers, path in own:
        if "memory" in controllers.split(","):
            places += [Groups(MOUNT / "memory" / one, "memory.limit_in_bytes", ("memory.memsw.limit_in_bytes", ""))
                       for one in (path.lstrip("/"), "")]
        elif not controllers:  # version 2: a group that has processes of its own passes no memory on
            inner = Path(path.lstrip("/"))
            places += [Groups(MOUNT / one, "memory.max", ("memory.swap.max", "0")) for one in (inner, *inner.parents)]
    for place in places:
        if not (place.parent / "cgroup.procs").exists():  # it may be any folder
            continue
        try:
            group = place.new(1 << 30)
            works = subprocess.run(inside(group, 0, ["true"]), capture_output=True, check=False).returncode == 0
            remove_group(group)
            if works:
                for left in place.parent.glob("gpulab-*-*"):  # by runs that were killed
                    if not Path("/proc", left.name.split("-")[1]).exists():
                        remove_group(left, patience=1)
                return place
        except OSError:
            continue
    return None


def remove_group(group: Path, patience: int = 100) -> None:
    """Removes a group whose processes have been killed. The kernel may need some hundredths of a second until they are gone."""
    for _ in range(patience):
        try:
            os.rmdir(group)
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)


def used_by(processes: list[int]) -> int:
    """Bytes of memory of some processes: what they have changed or share, and files without a name that they hold open or have
    mapped, such as those of memfd_create()."""
    used = 0
    files: dict[tuple[int, int], int] = {}
    for process in processes:
        place = f"/proc/{process}"
        try:
            with open(f"{place}/status", encoding="utf-8", errors="replace") as file:
                used += sum(1024 * int(line.split()[1]) for line in file if line.startswith(("RssAnon:", "RssShmem:", "VmSwap:")))
            for entry in os.listdir(f"{place}/fd"):
                about = os.stat(f"{place}/fd/{entry}")
                if stat.S_ISREG(about.st_mode) and about.st_nlink == 0:
                    files[about.st_dev, about.st_ino] = 512 * about.st_blocks
            with open(f"{place}/maps", encoding="utf-8", errors="replace") as file:
                for line in file:
                    if found := re.match(r"(\w+)-(\w+) \S+ \w+ (\w+):(\w+) (\d+) +(?!/dev/zero).*\(deleted\)$", line):
                        name = (os.makedev(int(found[3], 16), int(found[4], 16)), int(found[5]))
                        files.setdefault(name, int(found[2], 16) - int(found[1], 16))
        except OSError:
            continue  # it has ended
    return used + sum(files.values())


def descendants(process: int) -> list[int]:
    """A process and all that it started, and these started."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    children.setdefault(int(file.read().rpartition(")")[2].split()[1]), []).append(int(entry))
            except OSError:
                continue
    found = [process]
    for one in found:  # grows
        found += children.get(one, [])
    return found
