"""The sandbox, and what programs leave behind."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from grading_support import ROOT, graded, judge_of, needs_root, put, results_of, sandbox, saxpy, started, told, users, with_tests

from grading import sandbox as sandbox_module, worker
from grading.judge import NOT_GRADED, PASSED
from grading.sandbox import Limits, Sandbox, remove


def status_of(process):
    """The state of a process and what follows it in /proc."""
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[-1].split()


def test_a_process_whose_first_thread_has_ended_is_killed_like_any_other(users):
    scratch = users.folder("try", 0)
    (scratch / "orphan.c").write_text("""
        #include <pthread.h>
        #include <stdio.h>
        #include <unistd.h>
        static void* sleeps(void* x) { sleep(600); return x; }
        int main(void) {
            if (fork() > 0) { sleep(1); return 0; }
            setsid(); // killing the group of the worker does not reach it
            printf("%d", getpid()), fclose(stdout), fclose(stderr);
            pthread_t other;
            pthread_create(&other, 0, sleeps, 0);
            pthread_exit(0);
        }""", encoding="utf-8")
    subprocess.run(["cc", "-o", scratch / "orphan", scratch / "orphan.c", "-pthread"], check=True)
    process = started(users, scratch / "orphan", scratch=scratch)
    orphan = int(process.communicate(timeout=600)[0])
    while status_of(orphan)[0] != "Z":
        time.sleep(0.01)
    assert status_of(orphan)[:2] == ["Z", str(os.getpid())], "the state of the orphan, and its parent: the grader waits for it"
    assert len(os.listdir(f"/proc/{orphan}/task")) == 2, "its threads"
    begin, user = time.monotonic(), users.user_of(0)
    users.end(process, 0)
    assert time.monotonic() - begin < 60, f"it took {time.monotonic() - begin:.1f} s"
    assert not Path(f"/proc/{orphan}").exists(), "it is gone"
    assert users.user_of(0) == user, "the user of the slot"


@needs_root
def test_a_process_that_cannot_be_ended_costs_nobody_else_points(monkeypatch):
    with judge_of("saxpy", "user") as judge:
        exercise = with_tests(judge.lab.exercises[0], lambda one: one.check == "values")
        part = exercise.parts["opencl"]
        rung = judge.lab.rung(part.file).encode()
        assert len(exercise.tests) > 1, "there are several tests"
        kill, stayed = sandbox_module.kill_all_of, []

        def kill_but_one(user, child=0, patience=10.0):
            done = kill(user, child, patience)
            if child and not stayed and user == judge.sandbox.user_of(0):
                stayed.append(child)
                return False
            return done

        with monkeypatch.context() as patched:
            patched.setattr(sandbox_module, "kill_all_of", kill_but_one)
            results = judge.judge(exercise, part, rung, 0)
        assert len(stayed) == 1, "processes that stay"
        outcomes = [one.outcome for one in results]
        assert set(outcomes) <= {PASSED, NOT_GRADED} and outcomes[-1] == NOT_GRADED, told(results)
        assert {one.outcome for one in judge.judge(exercise, part, rung, 0, {one.key: one for one in results})} == \
            {PASSED}, "the outcomes of a second try"


def test_no_worker_finds_what_an_earlier_one_compiled_or_left(saxpy, monkeypatch):
    saxpy.keeps, started, start = False, [], saxpy.sandbox.start
    monkeypatch.setattr(saxpy.sandbox, "start", lambda *words, **how: started.append(how) or start(*words, **how))
    results = results_of(saxpy, "many-blocks", tests=lambda one: one.check in ("values", "speed"))
    assert {one.outcome for one in results if "busy" not in one.message} == {PASSED}, told(results)
    assert len({how["scratch"] for how in started}) == len(started) > 3
    assert all(how["kept"] is None and "POCL_CACHE_DIR" not in how["environment"] for how in started)


LATE = "import sys, time\nsleep = 0\nwhile sys.stdin.buffer.read(8): time.sleep(sleep); sleep = {}; sys.stdout.buffer.write(bytes(8)); sys.stdout.flush()"


@pytest.mark.parametrize("used, runs, answers", [(0.0, True, True), (0.1, True, True), (0.0, False, False), (0.4, True, False)])
def test_a_program_from_which_others_take_the_processors_is_late_by_its_own_time(sandbox, monkeypatch, used, runs, answers):
    process = started(sandbox, "/usr/bin/python3", "-c", LATE.format(1 if answers else 600))
    one = worker.Worker(sandbox, process, 0, [])
    one.ask(b"", 30)  # it has started
    looks = iter([(0.0, True)])
    monkeypatch.setattr(sandbox, "processor_time", lambda *_: next(looks, (used, runs)))
    monkeypatch.setattr(worker, "PATIENCE", 1000)
    if answers:
        assert one.ask(b"", 0.3) == b"" and one.spent < 30
    else:
        with pytest.raises(worker.TimedOut):
            one.ask(b"", 0.3)
    one.end()


def test_what_a_program_and_all_that_it_started_use_is_added_up(sandbox):
    spins = "for i in range(2):\n    if os.fork() == 0:\n        while time.process_time() < 0.5: pass\n        print(flush=True)\n        time.sleep(600)\n"
    process = started(sandbox, "/usr/bin/python3", "-c", f"import os, time\n{spins}time.sleep(600)")
    assert process.stdout.read(1) + process.stdout.read(1) == b"\n\n"
    while sandbox.processor_time(process, 0)[1]:
        time.sleep(0.01)
    assert sandbox.processor_time(process, 0)[0] > 0.9
    sandbox.end(process, 0)


def test_64_processes_that_compute_take_no_points_from_a_neighbour():
    with judge_of("saxpy", seconds=5) as judge:
        spins = started(judge.sandbox, "/usr/bin/python3", "-c", "import os\nfor _ in range(6): os.fork()\nwhile True: pass", slot=1)
        results = results_of(judge, "many-blocks", tests=lambda one: one.check == "values")
        assert judge.sandbox.processor_time(spins, 1)[1], "they compute yet"
        judge.sandbox.end(spins, 1)
        assert {one.outcome for one in results} == {PASSED}, told(results)


FORBIDDEN = ("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"  # keyctl, unshare, bpf, io_uring_setup, and clone of a user
             "for call in ((250, 0), (272, 0x10000000), (321, 0), (425, 1), (56, 0x10000011)): print(libc.syscall(*call, 0, 0, 0, 0), end=' ')")


def test_under_bubblewrap_no_program_makes_namespaces_or_calls_what_it_does_not_need():
    with judge_of("saxpy", "bubblewrap") as judge:
        process = started(judge.sandbox, "/usr/bin/python3", "-c", FORBIDDEN)
        assert process.communicate(timeout=600)[0] == b"-1 -1 -1 -1 -1 " or os.uname().machine != "x86_64"
        judge.sandbox.end(process, 0)


def test_a_program_cannot_become_another_user_and_hold_up_what_follows_in_its_slot(users, monkeypatch):
    if not shutil.which("su"):
        pytest.skip("su is needed")
    script = ("import os, time\nif os.fork() == 0:\n    os.setsid()\n    r, w = os.pipe()\n    os.dup2(r, 0)\n"
              "    os.dup2(w, 1)\n    os.dup2(w, 2)\n    if os.fork() == 0: time.sleep(100)\n    os.execv('/usr/bin/su', ['su', 'root'])\n"
              "print(open('/proc/self/status').read())\ntime.sleep(1)\n")
    for command in (["/usr/bin/python3", "-c", script], ["true"]):
        process = started(users, *command)
        out, _ = process.communicate()
        begin = time.monotonic()
        users.end(process, 0)
        assert time.monotonic() - begin < 60, f"it took {time.monotonic() - begin:.1f} s to end {command[0]}"
        assert command == ["true"] or not shutil.which("setpriv") or b"NoNewPrivs:\t1" in out, \
            "it may get new privileges"
    user = users.user_of(0)
    monkeypatch.setattr(sandbox_module, "kill_all_of", lambda *_, **__: False)
    users.end(started(users, "true"), 0)
    monkeypatch.undo()
    assert users.user_of(0) != user, "the slot kept the user of a process that cannot be ended"


TAKES_MEMORY = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        break
held = []
for _ in range(4):
    held.append(os.memfd_create("x"))
    os.posix_fallocate(held[-1], 0, 50 << 20)
time.sleep(600)
"""


@pytest.mark.parametrize("groups", [True, False])
def test_memory_that_is_no_address_space_is_limited_for_all_processes_together(users, groups):
    """Files in memory without a name, in several processes: 600 MB, where 200 are allowed."""
    if groups and not users.groups:
        pytest.skip("there are no control groups here")
    users.groups = users.groups if groups else None
    process = started(users, "/usr/bin/python3", "-c", TAKES_MEMORY, limits=Limits(used_bytes=200 << 20))
    watched = worker.Worker(users, process, 0, [])
    if groups:
        process.wait(600)  # the kernel ends it, and nobody has to look
    else:
        with pytest.raises(worker.Ended):
            watched.ask(b"", 600)
    watched.end()
    assert "killed" in watched.how and not users.limited, watched.how


def test_a_file_of_more_than_64_mb_and_a_65th_open_file_are_refused(users):
    script = ("import os, resource\nfd = os.memfd_create('x')\n"
              "try: os.posix_fallocate(fd, 0, 65 << 20)\nexcept OSError as e: print(e.errno)\n"
              "print(resource.getrlimit(resource.RLIMIT_NOFILE)[1], open('/proc/self/oom_score_adj').read())")
    process = started(users, "/usr/bin/python3", "-c", script)
    assert process.communicate()[0].split() == [b"27", b"64", b"1000"]
    users.end(process, 0)


def test_folders_that_a_program_closed_or_made_deep_are_removed(scratch, monkeypatch):
    monkeypatch.chdir(scratch)  # and back, when the test has ended

    def twice(base):
        sandbox = Sandbox("none", base)
        for _ in range(2):
            scratch = sandbox.folder("slot0", 0)
            (scratch / "closed/inner").mkdir(parents=True)
            os.chdir(scratch)
            for _ in range(3000):
                os.mkdir("deep")
                os.chdir("deep")
            os.chdir("/")
            (scratch / "closed").chmod(0)
            remove(scratch)
            assert not scratch.exists(), "the folder was not removed"

    twice(scratch)
    if os.geteuid() != 0:
        return
    scratch.chmod(0o711)
    (scratch / "of-nobody").mkdir()
    os.chown(scratch / "of-nobody", 65534, 65534)
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            twice(scratch / "of-nobody")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "a user who is not root"


@needs_root
def test_a_repository_that_every_user_can_read_is_refused_without_bubblewrap(scratch):
    with judge_of("saxpy", "user") as judge:
        put(scratch, {"open/file": "x"}).chmod(0o755)
        assert judge.sandbox.can_read(scratch / "open/file"), "a file that every user can read"
        scratch.chmod(0o700)
        assert not judge.sandbox.can_read(scratch / "open/file"), "a file in a folder of root alone"
    reachable = all(os.stat(path).st_mode & 0o001 for path in [ROOT, *ROOT.parents])
    ran = graded("saxpy", put(scratch / "ada"), "--out", scratch / "out", "--sandbox", "user", rc=2 if reachable else 0)
    assert not reachable or "chmod 700" in ran.stderr, ran.stderr
    scratch.chmod(0o711)
    put(scratch / "eve").chmod(0o755)
    (scratch / "out").mkdir(exist_ok=True)
    if not reachable:
        (scratch / "roster.csv").write_text("submission\neve\n")
        for name, more in (("eve", []), ("roster.csv", ["--roster", scratch / "roster.csv"])):
            ran = graded("saxpy", scratch / "eve", "--out", scratch / "out", "--sandbox", "user", *more, rc=2)
            assert f"submissions could read {scratch / name}" in ran.stderr and "chmod 700" in ran.stderr, ran.stderr
            (scratch / "eve").chmod(0o700)
    with judge_of("saxpy", "bubblewrap") as judge:
        assert not judge.sandbox.can_read(ROOT / "lab"), "the repository under bubblewrap"
