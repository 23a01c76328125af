"""Runs programs that are not trusted, with limits, and kills all that is left of them.

Where bubblewrap works, they run under it: without network or home, with a read-only system, and seeing only their own
processes. Otherwise root runs them as a user who owns nothing. As root both apply: bubblewrap runs as that user. Each
slot has a user of its own, so that submissions which run at the same time cannot touch each other.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import os
import platform
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import clock, memory
from .fault import Fault

USERS = range(64100, 65100)  # user ids that no distribution gives to people or services
LOCKS = Path("/run/gpulab-users")  # one file for each of them that is in use, also by another run
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")
READABLE = ("/sys/devices", "/sys/class", "/sys/bus", "/etc/OpenCL", "/etc/ld.so.cache", "/etc/ld.so.conf",
            "/etc/ld.so.conf.d", "/etc/alternatives")
OPEN_TO_ALL = ("/tmp", "/var/tmp", "/dev/shm")  # where every user may write
PREFIXES = ("gpulab-sandbox-", "gpulab-grading-")  # of the names of folders
YOUNG = 10.0  # seconds in which a new folder may not be locked yet
PR_SET_CHILD_SUBREAPER = 36  # of <sys/prctl.h>
# System calls of Linux on x86-64 that no kernel, tool or compiler needs, and with which holes of the system were found: keys, bpf,
# io_uring, performance counters, other processes' memory, mounts, and files by handles.
REFUSED = (101, 155, 165, 166, 175, 246, 248, 249, 250, 272, 298, 303, 304, 308, 310, 311, 313, 320, 321, 323, *range(425, 434), 442)
CLONE, CLONE3, NEW_USER = 56, 435, 0x10000000  # a new user namespace, from clone(); of clone3() a filter cannot see the flags
GPU = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/dri", "/dev/dxg")


@dataclass(frozen=True)
class Limits:
    """What one run may use."""

    cpu_seconds: int = 60
    memory_bytes: int = 6 << 30  # of address space of each process, of which kernel compilers reserve much
    used_bytes: int = 4 << 30  # of memory of all processes together
    processes: int = 64
    file_bytes: int = 64 << 20  # of one file
    files: int = 64  # that are open; CUDA needs more
    disk_bytes: int = 256 << 20  # of all files together


@dataclass
class Sandbox:
    """A way to run programs. kind: "bubblewrap", "user" or "none", which protects nothing."""

    kind: str
    base: Path
    as_root: bool = field(default_factory=lambda: os.geteuid() == 0)
    users: dict[int, tuple[int, int]] = field(default_factory=dict)  # by slot: the user, and the lock that is held
    lost: list[tuple[int, int]] = field(default_factory=list)  # users with processes that cannot be ended, and their locks
    taking: threading.Lock = field(default_factory=threading.Lock)
    groups: memory.Groups | None = None  # where there are control groups: for memory
    limited: dict[int, tuple[Path | None, int]] = field(default_factory=dict)  # by process: its group, and its limit of memory
    held: int = -1  # a lock on the base, so that a later run knows whether this one is alive

    @property
    def has_users(self) -> bool:
        """Whether each slot has a user of its own."""
        return self.as_root and self.kind != "none"

    def __post_init__(self) -> None:
        self.held = locked(self.base)
        if self.has_users:
            adopt_orphans(True)
            self.groups = memory.groups()

    def user_of(self, slot: int) -> int:
        """The user of a slot. Nothing else on this machine runs as this user."""
        with self.taking:
            if slot not in self.users:
                LOCKS.mkdir(mode=0o700, exist_ok=True)
                for user in USERS:
                    lock = os.open(LOCKS / str(user), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except OSError:
                        os.close(lock)
                        continue
                    # Processes that a killed run left behind. Process 1 of a container may never wait for them.
                    if not kill_all_of(user, patience=1):
                        os.close(lock)
                        continue
                    self.users[slot] = (user, lock)
                    break
                else:
                    raise Fault(f"all users from {USERS[0]} to {USERS[-1]} are in use")
            return self.users[slot][0]

    def owner(self, slot: int) -> int:
        """The user to whom the files of a slot belong. It changes when the slot gives its user up."""
        return self.user_of(slot) if self.has_users else os.geteuid()

    def folder(self, name: str, slot: int) -> Path:
        """A new empty folder that the user of a slot may write to, and nobody else. Its name begins with `name`: it is
        never a folder that an earlier program had, whatever that program left there."""
        path = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.base))
        if self.has_users:
            os.chown(path, self.user_of(slot), self.user_of(slot))
        return path

    def fill(self, path: Path, name: str, content: bytes, slot: int) -> None:
        """A new folder with a file that the user of a slot may read, and no other user may."""
        remove(path)
        path.mkdir(mode=0o700)
        (path / name).write_bytes(content)
        (path / name).chmod(0o644)
        if self.has_users:
            os.chown(path, 0, self.user_of(slot))  # its owner could make it writable
            path.chmod(0o750)

    def installed(self, program: Path) -> Path:
        """A copy of a program, or of a folder with one, at a place that every user can read."""
        copies = self.base / "bin"
        copies.mkdir(exist_ok=True)
        copies.chmod(0o755)
        copy = copies / program.name
        if not copy.exists():
            new = copies / f".{program.name}.{threading.get_ident()}"
            (shutil.copytree if program.is_dir() else shutil.copy)(program, new)
            for file in (new, *new.rglob("*")):
                file.chmod(0o755)
            new.rename(copy)
        return copy

    def start(self, command: list[str], *, slot: int, scratch: Path, readable: list[Path],
              environment: dict[str, str], limits: Limits = Limits(), gpu: bool = False,
              inherited: tuple[int, ...] = (), kept: Path | None = None) -> subprocess.Popen[bytes]:
        """Starts a program with pipes for stdin, stdout and stderr, in the folder `scratch`, which is also its home.

        @param readable files and folders that it may read, at their own paths, beside the system
        @param inherited descriptors that stay open in it
        @param kept a folder that it may write to, whose files outlive it. May be `scratch`, which is lost otherwise
        """
        variables = {"HOME": str(scratch), "TMPDIR": str(scratch), "PATH": "/usr/local/cuda/bin:/usr/bin:/bin",
                     "LC_ALL": "C.UTF-8", "POCL_CACHE_DIR": str(scratch / "pocl"), **environment}
        processes = limits.processes + 4 * (os.cpu_count() or 1)
        if not self.as_root:
            processes += threads_of(os.geteuid())
        wrapped = ["prlimit", f"--cpu={limits.cpu_seconds}:{limits.cpu_seconds + 2}", f"--nproc={processes}", f"--fsize={limits.file_bytes}",
                   "--core=0", f"--nofile={512 if gpu else limits.files}"]
        if not gpu:  # CUDA reserves addresses for the memory of all GPUs
            wrapped.append(f"--as={limits.memory_bytes}")
        wrapped.append("--")
        if shutil.which("choom"):  # where memory runs out all the same, the kernel shall end this, and nothing of the grader
            wrapped = ["choom", "-n", "1000", "--", *wrapped]
        most = limits.used_bytes * (2 if gpu else 1)
        group = self.groups.new(most) if self.groups else None
        if group:
            wrapped = memory.inside(group, self.user_of(slot), wrapped)
        if self.kind == "user" and shutil.which("setpriv"):  # as bubblewrap does: su must not become another user
            wrapped += ["setpriv", "--no-new-privs", "--"]
        filtered = -1
        if self.kind == "bubblewrap":
            wrapped += self.bubblewrap(scratch, readable, gpu, limits, kept)
            if platform.machine() == "x86_64":
                filtered = os.memfd_create("filter")
                os.write(filtered, seccomp_filter())
                os.lseek(filtered, 0, os.SEEK_SET)
                wrapped += ["--seccomp", str(filtered)]
                inherited += (filtered,)
        apart: dict[str, Any] = {}
        if self.has_users and not group:
            apart = {"user": self.user_of(slot), "group": self.user_of(slot), "extra_groups": []}
        try:
            process = subprocess.Popen(wrapped + command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       cwd=scratch, env=variables, start_new_session=True, bufsize=0, pass_fds=inherited, **apart)
        finally:
            if filtered >= 0:
                os.close(filtered)
        self.limited[process.pid] = (group, most)
        return process

    @staticmethod
    def bubblewrap(scratch: Path, readable: list[Path], gpu: bool, limits: Limits, kept: Path | None) -> list[str]:
        command = ["bwrap", "--unshare-all", *can_refuse_namespaces(), "--die-with-parent", "--new-session", "--cap-drop", "ALL",
                   "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]
        for folder in SYSTEM:
            if os.path.islink(folder):
                command += ["--symlink", os.readlink(folder), folder]
            elif os.path.isdir(folder):
                command += ["--ro-bind", folder, folder]
        for name in READABLE:
            command += ["--ro-bind-try", name, name]
        if gpu:
            for name in [*GPU, *(str(path) for path in Path("/dev").glob("nvidia[0-9]*"))]:
                command += ["--dev-bind-try", name, name]
        for path in readable:
            command += ["--ro-bind", str(path), str(path)]
        # What it may write to lies in memory, and is limited in size. Only `kept` is a folder of this system.
        for place in [Path("/dev/shm"), *([] if scratch == kept else [scratch])]:
            command += ["--size", str(limits.disk_bytes), "--tmpfs", str(place)]
        if kept:
            command += ["--bind", str(kept), str(kept)]
        return [*command, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(scratch)]

    def end(self, process: subprocess.Popen[bytes], slot: int) -> int:
        """Kills a program and every process that it started, and waits for it. Returns how it ended."""
        ended = process.poll()
        killed = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if self.has_users:
            killed = kill_all_of(self.user_of(slot), process.pid)
        process.wait()
        group, _ = self.limited.pop(process.pid, (None, 0))
        if group:
            memory.remove_group(group)
        for pipe in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError, AttributeError):
                pipe.close()  # type: ignore[union-attr]
        self.forget(slot)
        if not killed:
            self.give_up(slot)
        return process.returncode if ended is None else ended

    def end_all(self) -> None:
        """Kills all programs that run, for those who wait for them to end."""
        for process in list(self.limited):
            with contextlib.suppress(OSError):  # it has ended
                os.killpg(process, signal.SIGKILL)

    def give_up(self, slot: int) -> None:
        """A process of the user of a slot cannot be ended: the slot gets another user, so that nothing waits for it again.
        The lock is kept: no other run shall take this user either."""
        with self.taking:
            self.lost.append(self.users.pop(slot))

    def forget(self, slot: int) -> None:
        """Without bubblewrap: removes what the programs of a slot left where every user may write, for later ones to find."""
        if self.kind != "user" or not self.as_root:
            return
        user = self.user_of(slot)
        found = subprocess.run(["find", *OPEN_TO_ALL, "-xdev", "-path", str(self.base), "-prune", "-o", "-uid", str(user),
                                "-print0"], capture_output=True, check=False).stdout
        if found:
            subprocess.run(["xargs", "-0", "rm", "-rf", "--one-file-system", "--"], input=found, capture_output=True, check=False)
        remove_shared_memory_of(user)

    def written(self, slot: int, folders: list[Path]) -> int:
        """The bytes of the files in some folders and, without bubblewrap, of all that the programs of a slot have written."""
        words = ["find", *map(str, folders), "-xdev"]
        if self.kind == "user" and self.as_root:
            words = ["find", *map(str, folders), *OPEN_TO_ALL, "-xdev", "-path", str(self.base), "-prune", "-o", "-uid",
                     str(self.user_of(slot))]
        told = subprocess.run([*words, "-printf", "%b\\n"], capture_output=True, check=False).stdout
        return 512 * sum(map(int, told.split()))

    def uses_too_much(self, process: subprocess.Popen[bytes], slot: int) -> bool:
        """Whether a program and all that it started use too much memory, where no control group limits them."""
        group, most = self.limited.get(process.pid, (None, 0))
        if group or not most or self.kind == "none":
            return False
        return memory.used_by(self.processes(process, slot)) > most

    def processes(self, process: subprocess.Popen[bytes], slot: int) -> list[int]:
        """A program and all that it started."""
        return processes_of(self.user_of(slot)) if self.has_users else memory.descendants(process.pid)

    def processor_time(self, process: subprocess.Popen[bytes], slot: int) -> tuple[float, bool]:
        """The processor seconds that a program and all that it started have used, and whether one of them runs, or would if it
        had a processor."""
        ticks, runs = 0, False
        for number in self.processes(process, slot):
            with contextlib.suppress(OSError):  # it has ended
                ticks += sum(map(int, stat_of(f"/proc/{number}/stat")[11:15]))
                runs = runs or any(stat_of(str(task / "stat"))[0] in "RD" for task in Path(f"/proc/{number}/task").iterdir())
        return ticks / os.sysconf("SC_CLK_TCK"), runs

    def can_read(self, *paths: Path) -> str:
        """Which of some files and folders that are not handed to it a program in this sandbox could read; "" when none."""
        process = self.start(["sh", "-c", 'for path; do [ ! -r "$path" ] || echo "$path"; done', "sh", *map(str, paths)], slot=0,
                             scratch=self.folder("look", 0), readable=[], environment={})
        found = process.communicate()[0].decode(errors="replace")
        self.end(process, 0)
        return found.partition("\n")[0]

    def close(self) -> None:
        """Ends what is left of the users' processes, gives the users back and removes all files."""
        for user, lock in self.users.values():
            kill_all_of(user)
            os.close(lock)
        for user, lock in self.lost:
            kill_all_of(user, patience=1)
            os.close(lock)
        self.users.clear()
        self.lost.clear()
        if self.has_users:
            adopt_orphans(False)
        remove(self.base)
        if self.held >= 0:
            os.close(self.held)


@functools.cache
def can_refuse_namespaces() -> tuple[str, ...]:
    """The options of bubblewrap, from version 0.8 on, with which no program in it makes a user namespace."""
    said = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False).stdout
    return ("--unshare-user", "--disable-userns") if "--disable-userns" in said else ()


@functools.cache
def seccomp_filter() -> bytes:
    """A program for the kernel: EPERM for REFUSED, for user namespaces and for calls of other instruction sets."""
    code, k, result, errno = 0x15, 0x20, 0x06, 0x50000  # compare, load, return; SECCOMP_RET_ERRNO
    steps = [(k, 0, 0, 4), (code, 1, 0, 0xC000003E), (result, 0, 0, errno | 1), (k, 0, 0, 0),  # AUDIT_ARCH_X86_64, then the number
             (0x35, 0, 1, 0x40000000), (result, 0, 0, errno | 1)]  # x32
    for number in REFUSED:
        steps += [(code, 0, 1, number), (result, 0, 0, errno | 1)]
    steps += [(code, 0, 1, CLONE3), (result, 0, 0, errno | 38), (code, 0, 3, CLONE), (k, 0, 0, 16), (0x45, 0, 1, NEW_USER),
              (result, 0, 0, errno | 1), (result, 0, 0, 0x7FFF0000)]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def locked(folder: Path) -> int:
    """A descriptor of a folder, which is locked until it is closed or this process ends; -1 if another process locks it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    except OSError:
        os.close(descriptor)
        return -1


def remove_what_killed_runs_left() -> None:
    """Removes the folders of runs that were killed and could not. What runs of their programs ends when their user is taken."""
    for path in Path(tempfile.gettempdir()).glob("gpulab-*-*"):
        try:
            status = os.lstat(path)
            if status.st_uid != os.geteuid() or time.time() - status.st_mtime < YOUNG or not path.name.startswith(PREFIXES):
                continue
            descriptor = locked(path)
        except OSError:
            continue
        if descriptor >= 0:
            remove(path)
            os.close(descriptor)


def remove(path: Path) -> None:
    """Removes a folder, whatever rights its files have and however deep it is. What cannot be removed stays; nothing fails."""
    subprocess.run(["rm", "-rf", "--", str(path)], capture_output=True, check=False)
    if path.exists():  # folders that this user made and may not enter
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(path)], capture_output=True, check=False)
        subprocess.run(["rm", "-rf", "--", str(path)], capture_output=True, check=False)


def remove_shared_memory_of(user: int) -> None:
    """Removes the shared memory, message queues and semaphores (System V) of a user. They outlive their processes."""
    libc = ctypes.CDLL(None)
    for kind, call in (("shm", libc.shmctl), ("msg", libc.msgctl), ("sem", libc.semctl)):
        try:
            lines = Path(f"/proc/sysvipc/{kind}").read_text(encoding="utf-8").splitlines()
        except OSError:
            continue
        columns = lines[0].split()
        for line in lines[1:]:
            words = line.split()
            if str(user) in (words[columns.index("uid")], words[columns.index("cuid")]):
                call(int(words[columns.index(f"{kind}id")]), *([0] if kind == "sem" else []), 0, None)  # IPC_RMID


def stat_of(path: str) -> list[str]:
    """The words of a file stat in /proc that stand behind the name of the program, from its state on."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split() or ["X"]


def processes_of(user: int) -> list[int]:
    """The processes of which one of the four user ids is this one: a set-user-id program has several."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, AttributeError):
            ids = re.search(r"(?m)^Uid:(.*)$", (entry / "status").read_text(errors="replace"))[1]  # type: ignore[index]
            if str(user) in ids.split():
                found.append(int(entry.name))
    return found


def threads_of(user: int) -> int:
    return sum(len(list(Path(f"/proc/{process}/task").glob("*"))) for process in processes_of(user))


def kill_all_of(user: int, child: int = 0, patience: float = 10) -> bool:
    """Kills all processes of a user who belongs to a slot, until none is left or some seconds have passed. Returns whether
    none is left.

    A process that was killed counts against the user's limit until its parent has waited for it. Processes that have
    lost their parent become children of this process (see adopt_orphans()), which waits for them here.
    @param child a process for which the caller waits itself
    """
    end = clock.now() + patience
    while clock.now() < end:
        alive = ended = 0
        for process in processes_of(user):
            try:
                os.kill(process, signal.SIGKILL)  # also in state Z: its other threads may still run
                if stat_of(f"/proc/{process}/stat")[0] in "ZX":
                    ended += process != child and not waited_for(process)
                else:
                    alive += 1
            except OSError:
                pass
        if alive == 0 and ended == 0:
            return True
        if alive == 0:
            time.sleep(0.01)
    return False


adopters = 0  # sandboxes that are open


def adopt_orphans(requested: bool) -> None:
    """Makes this process adopt its orphaned descendants (True) until as many calls with False have followed.
    Otherwise process 1 adopts them, and that of a container may wait for them after seconds or never."""
    global adopters
    adopters += 1 if requested else -1
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, int(adopters > 0), 0, 0, 0)


def waited_for(process: int) -> bool:
    """Waits for a process that has ended, if it is a child of this one."""
    try:
        return os.waitpid(process, os.WNOHANG)[0] == process
    except ChildProcessError:
        return False


def works(kind: str) -> bool:
    """Whether a kind of sandbox can run a program here."""
    base = Path(tempfile.mkdtemp(prefix=PREFIXES[0]))
    base.chmod(0o711)
    sandbox = Sandbox(kind, base)
    try:
        process = sandbox.start(["true"], slot=0, scratch=sandbox.folder("try", 0), readable=[], environment={})
        process.communicate(timeout=600)
        return sandbox.end(process, 0) == 0
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        sandbox.close()


def best(requested: str = "") -> Sandbox:
    """The strongest kind of sandbox that works here, or the one asked for."""
    remove_what_killed_runs_left()
    kinds = [requested] if requested else ["bubblewrap", "user"]
    for kind in kinds:
        if kind == "user" and os.geteuid() != 0:
            continue
        if kind == "none" or works(kind):
            base = Path(tempfile.mkdtemp(prefix=PREFIXES[1]))
            base.chmod(0o711)
            return Sandbox(kind, base)
    if requested:
        raise Fault(f"the sandbox '{requested}' does not work here")
    raise Fault("submissions cannot run apart from this user: install bubblewrap, or run this as root")
