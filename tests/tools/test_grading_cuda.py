"""Submissions in CUDA: how they are built, how their kernels are counted, and what the emulator finds in them."""

import dataclasses
import hashlib
import os
import re
import resource
import subprocess
import threading
import time
from pathlib import Path

import pytest
from grading_support import (BUILD, LABS, PROGRAMS, ROOT, exercise_of, judge_of, results_of, sandbox, saxpy, started,
                             why_not_emulated, with_tests)

from grading import cuda, judge as judging, launches, report
from grading.exercises import load
from grading.judge import (CUT_OFF, ELSEWHERE, FAILED, MOSTLY_ELSEWHERE, NO_KERNEL, NOT_COUNTED, NOT_GRADED,
                           NOT_ITS_KERNELS, PASSED, REACHES, TIMED_OUT, TOO_FEW, Judge, read_log)
from grading.launches import LIBRARY, Counter
from grading.sandbox import Sandbox, best


STARTS_A_KERNEL = """
#include <cstdio>
__device__ int value = 0;
__global__ void sets_it() { value = 1; }
static const bool started = [] {
    int found = 0;
    const auto* const kernel = reinterpret_cast<const void*>(sets_it);
    const cudaError_t launched = cudaLaunchKernel(kernel, dim3(1), dim3(1), nullptr, 0, nullptr);
    sets_it<<<1, 1>>>();
    cudaMemcpyFromSymbol(&found, value, sizeof found);
    std::fprintf(stderr, "launched %d found %d", static_cast<int>(launched), found);
    return true;
}();
"""


def test_a_submission_is_linked_without_the_file_in_which_the_linker_notes_what_it_read():
    line = ": && g++ -O3 -Wl,--dependency-file=a/link.d a.o -o bin/a lib.a && :"
    assert cuda.link_words(line) == ["g++", "-O3", "a.o", "-o", "bin/a", "lib.a"], "the words"


def built(sandbox, lab, part, text):
    """A submission as a worker."""
    if not (PROGRAMS / f"worker_{lab.name}_{part.rung}").is_file():
        pytest.skip("built without CUDA")
    files = sandbox.base / "files"
    sandbox.fill(files, Path(part.file).name, text.encode(), 0)
    return cuda.build(lab, BUILD, part, files, sandbox, 0)


def test_a_file_that_was_handed_in_is_compiled_apart_from_the_rungs_and_linked_into_a_worker(sandbox):
    lab = load(ROOT, "reduction")
    part = lab.exercises[0].parts["cuda"]
    closed = not sandbox.can_read(lab.path / part.file)
    try:
        built(sandbox, lab, part, f'#include "{lab.path / part.file}"\n')
        assert not closed, "the file of the rung was included"
    except cuda.DoesNotCompile as error:
        assert "No such file" in str(error) or "Permission denied" in str(error), str(error)
    program = built(sandbox, lab, part, lab.rung(part.file)).whole
    worker = started(sandbox, program, readable=[program])
    assert worker.communicate(timeout=600)[0] == b"" and worker.returncode == 0, "the answers to no message"
    if not closed:
        pytest.skip("bubblewrap does not work here, and every user can read the repository")


def test_a_submission_that_is_linked_without_its_launches_launches_nothing_and_calls_that_a_success(sandbox):
    text = (ROOT / "common/src/grading/no_launches.cpp").read_text(encoding="utf-8")
    assert sorted(re.findall(r"(?m)^GPULAB_NO\((\w+)\)", text)) == sorted(cuda.LAUNCHES), \
        "the functions that do nothing"
    lab = load(ROOT, "saxpy")
    part = lab.exercises[0].parts["cuda"]
    programs = built(sandbox, lab, part, lab.rung(part.file) + STARTS_A_KERNEL)
    assert programs.whole.name == programs.without_kernels.name, "the names of both programs"

    def output_of(program):
        worker = started(sandbox, program, readable=[program, emulator], environment={**emulated, "GPULAB_EMULATOR": "never"}, gpu=True)
        printed = worker.communicate(timeout=600)[1].decode()
        assert worker.returncode == 0, printed
        return printed.splitlines()[0]

    emulator = sandbox.installed(next((BUILD / "emulator").glob("libcudart.so.*")))
    emulated = {"LD_LIBRARY_PATH": str(emulator.parent)}
    assert output_of(programs.whole) == "launched 0 found 1", "with launches"
    assert "stderr" in programs.reaches, "what could write to the emulator's output"
    assert output_of(programs.without_kernels) == "launched 0 found 0", "without launches"
    cuda.rung_without_kernels(BUILD, lab, part, sandbox.base / "rung")
    assert subprocess.run([sandbox.base / "rung"], stdin=subprocess.DEVNULL, check=False).returncode == 0, \
        "the rung"


def test_the_library_that_counts_kernels_answers_the_judge_and_tells_what_cupti_says(sandbox):
    program = PROGRAMS / "worker_saxpy_cuda_many_blocks"
    if not (PROGRAMS / LIBRARY).is_file() or not program.is_file():
        pytest.skip("built without CUPTI")
    counter = Counter()
    library, copy = sandbox.installed(PROGRAMS / LIBRARY), sandbox.installed(program)
    worker = started(sandbox, *counter.command(library), copy, readable=[copy, library], environment={"GPULAB_EMULATOR": "never"}, gpu=True,
                     inherited=(counter.other.fileno(),))
    counter.other.close()
    assert [counter.ask(), counter.ask()] == [0, 0], "kernels of a worker without a message"
    assert Path("/dev/nvidiactl").exists() or counter.trouble, "without a GPU CUPTI records nothing, and says so"
    sandbox.end(worker, 0)
    assert counter.ask() is None, "kernels of a worker that has ended"
    counter.close()


def test_a_program_that_answers_the_question_for_its_kernels_byte_by_byte_holds_nobody_up(monkeypatch):
    counter = Counter()
    end = threading.Event()

    def drip():
        while not end.wait(0.1):
            counter.other.send(b"x")

    dripping = threading.Thread(target=drip)
    monkeypatch.setattr(launches, "PATIENCE", 0.4)
    try:
        dripping.start()
        begin = time.monotonic()
        assert counter.ask() is None, "kernels"
        assert time.monotonic() - begin < 60, f"it took {time.monotonic() - begin:.1f} s"
    finally:
        end.set()
        dripping.join()
        counter.close()


def test_the_kernels_of_a_rung_are_counted_and_its_answers_are_wrong_without_them(saxpy):
    exercise = with_tests(saxpy.lab.exercises[0], lambda one: one.name == "any length")
    part = exercise.parts["cuda"]
    if saxpy.why_not(part):
        pytest.skip(saxpy.why_not(part))
    if not saxpy.emulated and not (PROGRAMS / LIBRARY).is_file():
        pytest.skip("built without CUPTI")
    [result] = saxpy.judge(exercise, part, saxpy.lab.rung(part.file).encode(), 0)
    trial = saxpy.tried["trial", exercise.name, "any length"]
    if "CUPTI reports" in trial.why_not_counted:
        pytest.skip(trial.why_not_counted)
    assert (result.outcome, result.message, trial.why_not_counted) == (PASSED, "", ""), "the rung"
    assert trial.needs_kernels == [one["n"] > 0 for one in exercise.tests[0].problems()], "which cases need kernels"


WORKER = """#!/usr/bin/python3
# Answers SAXPY as a worker does, and counts kernels as the preloaded library does.
import array, os, struct, sys, threading, time
RIGHT, KERNELS, TROUBLE, FORGES = {right}, {kernels}, {trouble}, {forges}
def count(file):
    while len(question := os.read(file, 16)) == 16:
        os.write(file, (bytes(16) if FORGES else question) + struct.pack("<QQ", TROUBLE, KERNELS))
if "GPULAB_LAUNCHES" in os.environ:
    threading.Thread(target=count, args=(int(os.environ["GPULAB_LAUNCHES"]),), daemon=True).start()
while length := sys.stdin.buffer.read(8):
    message = sys.stdin.buffer.read(struct.unpack("<Q", length)[0])
    at = 8 + struct.unpack_from("<Q", message)[0] + 16 # the type; repeats, the size of groups, and what changes
    k, n = struct.unpack_from("<fQ", message, at)
    a = array.array("f", message[at + 12:at + 12 + 4 * n])
    b = array.array("f", message[at + 20 + 4 * n:at + 20 + 8 * n])
    if RIGHT is None:
        sys.exit(3)
    if RIGHT == "late":
        time.sleep(60)
    wrong = {{"but one in eight": lambda i: i % 8 == 7, "a few": lambda i: i % 64 != 8, "rounded": lambda i: i == 0}}.get(RIGHT, lambda i: not RIGHT)
    noise = time.time() % 1 * 1e-5 if RIGHT == "rounded" else 0
    c = array.array("f", [float("nan") if wrong(i) else (k * x + y) * (1 + noise) for i, (x, y) in enumerate(zip(a, b))])
    answer = struct.pack("<BQQ", 0, 0, n) + c.tobytes()
    if RIGHT == "no device":
        answer = struct.pack("<BQ", 5, 4) + b"none"
    sys.stdout.buffer.write(struct.pack("<Q", len(answer)) + answer)
    sys.stdout.buffer.flush()
"""


class Pretended:
    """Grades submissions in CUDA of lab 01 without a GPU: programs that behave as workers take the place of theirs."""

    def __init__(self, folder, monkeypatch):
        if not (PROGRAMS / "judge_saxpy").is_file():
            pytest.skip("judge_saxpy has not been built")
        self.folder, self.monkeypatch = folder, monkeypatch
        self.lab = load(ROOT, "saxpy")
        self.exercise = self.lab.exercises[0]
        self.programs = folder / "build/bin"
        self.programs.mkdir(parents=True)
        (self.programs / "judge_saxpy").symlink_to(PROGRAMS / "judge_saxpy")
        self.sandbox = best()
        self.tried = {}  # of the same rung
        self.in_turn = []  # for each submission that was compiled: how many held the turns for it

    def worker(self, right, kernels=1, trouble=0, forges=False):
        text = WORKER.format(right=repr(right), kernels=kernels, trouble=trouble, forges=forges)
        path = self.folder / f"worker-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        path.write_text(text)
        return self.sandbox.installed(path)

    def tests(self, check, **case):
        """The first test of a kind, with another case."""
        first = next(one for one in self.exercise.tests if one.check == check)
        return dataclasses.replace(self.exercise, tests=[dataclasses.replace(first, cases=[{"op": "saxpy", **case}] if case else first.cases)])

    def result(self, whole, without, rung=None, rung_without=None, wanted=None):
        """What a submission gets that is these programs. The rung: wrong without its kernel, one of which is counted."""
        wanted = wanted or self.tests("values")
        part = wanted.parts["cuda"]
        judge = Judge(self.lab, self.folder / "build", self.sandbox, b"secret of the tests")
        judge.devices = {"cuda": {"names": ["a GPU that is none"], "why": ""}}
        judge.worker_program = lambda part: rung or self.worker(True)
        judge.rung_without_kernels = lambda part: rung_without or self.worker(False)
        judge.tried = self.tried.setdefault((rung, rung_without, repr(wanted), (self.programs / LIBRARY).exists()), {})
        judge.case_seconds = judge.test_seconds = 4

        def build(*_):
            self.in_turn.append(judge.turns.shared)
            return cuda.Programs(whole, without, self.folder / "none")

        self.monkeypatch.setattr(cuda, "build", build)
        [one] = judge.judge(wanted, part, b"// mine", 0)
        return one.outcome, one.score, one.message


def test_a_submission_whose_kernels_do_not_compute_its_answers_loses_its_points(scratch, monkeypatch):
    pretended = Pretended(scratch, monkeypatch)
    worker, result = pretended.worker, pretended.result
    larger, often, none, some = (pretended.tests("values", **case) for case in ({"n": 1000}, {"n": 9, "repeats": 3}, {"n": 0}, {"n": [0, 5]}))
    fast = pretended.tests("speed", n=1000)
    right, wrong, idle, most = worker(True), worker(False), worker(True, 0), worker("but one in eight")
    try:
        assert result(right, wrong) == (PASSED, 1, f"{NOT_COUNTED}: GPU Labs was built without CUPTI")
        assert result(idle, right) == (FAILED, 0, NOT_ITS_KERNELS), "on the CPU, without the library"
        (pretended.programs / LIBRARY).write_text("the workers of this test count by themselves")
        counted = f"{NOT_COUNTED}: CUPTI reports error 15"
        for what, whole, without, told_of, more in (
                ("one that uses its kernels", right, wrong, "", {}),
                ("one that waits for its kernels", right, worker("late"), "", {}),
                ("one that ends without its kernels", right, worker(None), "", {}),
                ("one without kernels", idle, wrong, NO_KERNEL, {}),
                ("one with an empty kernel", right, right, NOT_ITS_KERNELS, {}),
                ("one that forges the count", worker(True, forges=True), wrong, CUT_OFF, {}),
                ("where the rung needs no kernel either", idle, right, "", {"rung_without": right}),
                ("without a right to count", idle, wrong, counted, {"rung": worker(True, 0, 15)}),
                ("where CUPTI sees nothing", idle, wrong, f"{NOT_COUNTED}: CUPTI does not see the kernels of the rung", {"rung": idle}),
                ("n = 0 and another", idle, wrong, NO_KERNEL, {"wanted": some}), ("n = 0 alone", idle, wrong, "", {"wanted": none}),
                ("as fast, but on the CPU", right, right, NOT_ITS_KERNELS, {"wanted": fast}),
                ("all but one, rounded", right, worker("rounded"), MOSTLY_ELSEWHERE, {"wanted": larger}),
                ("most of few numbers", right, most, MOSTLY_ELSEWHERE, {}),
                ("a few numbers by chance", right, worker("a few"), "", {"wanted": larger}),
                ("numbers that the rung leaves in place, too", right, most, "", {"rung_without": most, "wanted": larger}),
                ("one run of three", right, wrong, TOO_FEW, {"rung": worker(True, 3), "wanted": often}),
                ("three runs", worker(True, 3), wrong, "", {"rung": worker(True, 3), "wanted": often})):
            lost = told_of in ELSEWHERE
            assert result(whole, without, **more) == (FAILED if lost else PASSED, 0 if lost else 1, told_of), what
        assert result(wrong, wrong)[2] not in ("", *ELSEWHERE), "one that is wrong is told why"
        assert result(worker("no device"), wrong)[:2] == (FAILED, 0), "one that pretends that there is no GPU"
        assert result(worker("no device"), wrong, rung=worker("no device"))[:2] == (NOT_GRADED, 0), "where there is none"
        alive = []

        class Noted(judging.Worker):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                alive.append(self)
                assert all(one.how for one in alive[:-1]), "another worker runs while one is timed"

        monkeypatch.setattr(judging, "Worker", Noted)
        monkeypatch.setattr(judging, "share_for", lambda ratio: 1)  # whatever the times are: other programs run beside this test
        assert result(right, wrong, wanted=fast)[:2] == (PASSED, 1), "as fast"
        assert len(alive) >= 3, "the rung, the submission, and the submission without kernels"
        assert set(pretended.in_turn) == {1}, "compilers that run in a turn, so that they disturb no measurement"
    finally:
        pretended.sandbox.close()
    for message in ELSEWHERE:
        assert report.shown_to_student({"visible": False, "hint": "Look again."}, {"outcome": "failed", "message": message}) == \
            f"not counted: {message}", "what the student reads"
    one = {"name": "ada", "score": 1, "max_score": 25, "notes": [], "exercises": {}, "warnings": [counted]}
    assert any(counted in cell for cell in report.gradebook_row(pretended.lab, one).values()), "the gradebook does not say it"
    assert "Launches were not counted: CUPTI" in report.page(pretended.lab, [one], 1, []), "the page does not say it"


RUNG_LINE = "if (i < n) c[i] = k * a[i] + b[i];"
WRITES_TWICE = "if (i < n) c[i] = k * a[i] + b[i]; if (i + 1 < n && c[i + 1] == 7) c[i] = k * a[i] + b[i];"
HOST = "constexpr unsigned threads = 256;"


@pytest.mark.parametrize("check, old, new, outcome, told", [
    ("races", RUNG_LINE, RUNG_LINE, PASSED, ""),
    ("races", RUNG_LINE, "if (i <= n) c[i] = k * a[i] + b[i];", FAILED, "thread 1 of block 0 reads at line 20 outside of "),
    ("races", RUNG_LINE, WRITES_TWICE, FAILED, "of group 0 writes c[0] at line 20|thread 1 of block 0 writes"),
    ("races", RUNG_LINE, "if (i < n) c[i] = k * a[i];", FAILED, judging.WRONG_UNDER_TOOL),
    ("races", RUNG_LINE, "for (; n > 0;) ++n; " + RUNG_LINE, FAILED, ""),
    ("races", HOST, HOST + " for (volatile int i = 0; p.size() > 0; i = i + 1) {}", TIMED_OUT, "it does not seem to end"),
    ("cost", RUNG_LINE, RUNG_LINE, PASSED, ""),
    ("cost", "const std::size_t i = ", "const std::size_t j = ", FAILED, r'requests of (8|7\.\d) sectors each where 4 would do'),
    ("cost", RUNG_LINE, "if (i < n) c[i] = 0;", FAILED, "wrong"),
    ("speed", RUNG_LINE, RUNG_LINE, PASSED, "1.00 times the work of the rung"),
    ("values", HOST, HOST + ' setenv("CUDA_EMULATOR_CHECK", "off", 1);', FAILED, REACHES + ": setenv"),
    ("races", HOST, HOST + ' long r; asm volatile("syscall" : "=a"(r) : "a"(3), "D"(2) : "rcx", "r11", "memory");', FAILED,
     REACHES + ": a system call"),
    ("races", HOST, HOST + ' std::ofstream("/proc/self/fd/2") << 1;', FAILED, REACHES),
])
def test_without_a_gpu_the_emulator_finds_and_counts_what_oclgrind_does_in_opencl(saxpy, monkeypatch, check, old, new, outcome, told):
    exercise, part = exercise_of(saxpy, "many-blocks", "cuda")
    if why := why_not_emulated(saxpy, part):
        pytest.skip(why)
    monkeypatch.setattr(judging, "OF_EMULATOR", judging.Limits(cpu_seconds=10))
    first = next(one for one in exercise.tests if one.check == check)
    text = "#include <cstdlib>\n#include <fstream>\n" * (check == "values" or "stream" in new) + saxpy.lab.rung(part.file)
    spread = [(RUNG_LINE, "const std::size_t i = j / 256 * 256 + j % 8 * 32 + j % 256 / 8; " + RUNG_LINE)] if "size_t j" in new else []
    [result] = results_of(saxpy, exercise.name, (old, new), *spread, tests=[first].__contains__, text=text, backend="cuda")
    assert result.outcome == outcome and re.search(told if "|" in told else re.escape(told), result.message), result


def test_in_cuda_a_missing_barrier_that_leaves_the_values_right_costs_the_points_of_races_only():
    with judge_of("spmv") as judge:
        exercise, part = exercise_of(judge, "slice-per-row", "cuda")
        if why := why_not_emulated(judge, part):
            pytest.skip(why)
        results = results_of(judge, exercise.name, ("__syncwarp(); // the first", "// the first"), tests=lambda one: one.visible, backend="cuda")
        assert [one.outcome for one in results] == [FAILED if one.check == "races" else PASSED for one in exercise.tests if one.visible], results


@pytest.mark.parametrize("name", LABS)
def test_a_rung_in_cuda_asks_the_emulator_for_what_its_test_allows(name):
    """A hand-out has no rung to compare with: where the rung itself asked for more, no submission would be right."""
    with judge_of(name) as judge:
        parts = [(exercise, part) for exercise, part in judge.lab.parts()
                 if part.backend == "cuda" and not why_not_emulated(judge, part) and any(one.check == "cost" for one in exercise.tests)]
        if not parts:
            pytest.skip(f"{name} has no test of cost in CUDA that the emulator can grade here")
        for exercise, part in parts:
            results = judge.judge(with_tests(exercise, lambda one: one.check == "cost"), part, judge.lab.rung(part.file).encode(), 0)
            assert {one.outcome for one in results} == {PASSED}, (exercise.name, results)


def test_host_code_that_could_disturb_the_emulator_is_told_by_its_symbols():
    honest = "_Znwm U\nmemcpy U\ncudaMalloc U\nsqrtf U\nprintf U\n_ZN6saxpy5twiceEv T 0 4\natexit U\n"
    assert cuda.reached(honest) == ""
    for line in ("write U", "dup2 U", "environ U", "stderr U", "pthread_create U", "mprotect U", "dlsym U", "fputs T 0 4",
                 "_Znwm T 0 4", "getenv W 0 4", "_ZNSt14basic_ofstreamIcE4openEv U", "_ZN6gpulab9file_textEv U"):
        assert line.split()[0] in cuda.reached(honest + line), line


def test_what_a_program_puts_in_place_of_the_log_of_a_tool_is_not_read(scratch):
    (scratch / "secret").write_text("the seed")
    (scratch / "link").symlink_to(scratch / "secret")
    os.mkfifo(scratch / "pipe")
    (scratch / "long").write_text("x" * (5 << 20))
    assert [read_log(scratch / name) for name in ("link", "pipe", "none", ".")] == [None] * 4, "what is no log"
    assert len(read_log(scratch / "long")) < 5000, "a log of 5 MB"
    assert read_log(scratch / "secret") == "the seed", "a log"


def test_a_compiler_that_says_more_than_anybody_reads_or_does_not_end_is_ended(scratch, monkeypatch):
    scratch.chmod(0o711)
    sandbox = Sandbox("none", scratch)

    def message(script, seconds=120.0):
        begin = time.monotonic()
        try:
            cuda.run(sandbox, ["sh", "-c", script], 0, scratch, [], seconds)
        except cuda.DoesNotCompile as error:
            assert time.monotonic() - begin < 60, f"{script}: it took {time.monotonic() - begin:.1f} s"
            return str(error)
        return ""

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert message("exec yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >&2") == "the compiler said more than 8 MB", \
        "endless errors"
    assert message("exec yes") == "the compiler said more than 8 MB", "an endless output"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10, "it was kept"
    assert message("exec sleep 600", 0.5) == "the compiler did not end in time", "one that does not end"
    assert message("exec >&- 2>&-; exec sleep 600", 0.5) == "the compiler did not end in time", \
        "one that says nothing more"
    assert message("echo out; echo wrong >&2; exit 3") == "out\nwrong\n", "an ordinary error"
    assert message("echo warning >&2") == "", "a warning"
    monkeypatch.setattr(cuda, "PATIENCE", 1000)
    for used, said in ((0.1, ""), (0.4, "the compiler did not end in time")):
        monkeypatch.setattr(Sandbox, "processor_time", lambda *_, used=used: (used, True))
        assert message("sleep 1.2", 0.3) == said, "others take the processors from it"


def test_files_that_are_compiled_at_the_same_time_wait_until_the_headers_beside_them_are_there(scratch):
    lab = load(ROOT, "saxpy")
    sandbox = Sandbox("none", scratch)
    whole = []
    threads = [threading.Thread(target=lambda: whole.append(
        (cuda.hand_out(lab, sandbox) / "labs" / lab.folder / "answers.md").is_file())) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert whole == [True] * 8, "whether the hand-out was whole"
