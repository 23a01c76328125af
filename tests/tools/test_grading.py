#!/usr/bin/env python3
"""The tests of hand-outs and grading. test_grading.py "the sentence to test" [what it is about]."""

import contextlib
import csv
import dataclasses
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from grading import cuda, grade, handout, student  # noqa: E402
from grading.exercises import is_unsolved, load, same_outside_todo  # noqa: E402
from grading.fault import Fault  # noqa: E402
from grading.judge import NOT_GRADED, OUTCOMES, PASSED, UNSOLVED, Judge, ratio_of, share_for  # noqa: E402
from grading.sandbox import Sandbox, best  # noqa: E402
from grading.submission import read  # noqa: E402

PROGRAMS = Path(os.environ.get("GPULAB_PROGRAMS", ROOT / "build/default/bin"))
TAMPERING = ROOT / "tests/tools/tampering"
TESTS = {}


def test(function):
    TESTS[function.__doc__.strip()] = function
    return function


def fail(what):
    print(f"FAILED: {what}", file=sys.stderr)
    sys.exit(1)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(4)


def equal(found, expected, what):
    if found != expected:
        fail(f"{what}: expected {expected!r}, got {found!r}")


def holds(condition, what):
    if not condition:
        fail(what)


@contextlib.contextmanager
def judge_of(name, kind="", seconds=20.0):
    """A judge of a lab, with programs of this build."""
    lab = load(ROOT, name)
    if not (PROGRAMS / f"judge_{name}").is_file():
        skip(f"judge_{name} has not been built")
    try:
        sandbox = best(kind)
    except Fault as fault:
        skip(str(fault))
    try:
        judge = Judge(lab, PROGRAMS.parent, sandbox, b"secret of the tests")
        judge.case_seconds = seconds
        if judge.devices["opencl"]["names"] == []:
            skip(judge.devices["opencl"]["why"])
        yield judge
    finally:
        sandbox.close()


def with_tests(exercise, keep):
    return dataclasses.replace(exercise, tests=[one for one in exercise.tests if keep(one)])


def files_of(judge, part, text_of):
    return {file: text_of(file).encode() for file in part.files}


HAS_OCLGRIND = shutil.which("oclgrind") is not None  # without it tests for races are not graded


def told(results):
    return "; ".join(f"{one.test}: {one.outcome} {one.message}" for one in results)


# Exercises


@test
def stubs(_, name):
    """each stub of a lab is its rung outside TODO and END TODO"""
    lab = load(ROOT, name)
    for _, part in lab.parts():
        for file in part.files:
            stub, rung = lab.stub(file), lab.rung(file)
            holds(same_outside_todo(stub, rung), f"{file}: stub and rung differ outside TODO ... END TODO")
            holds(not is_unsolved(stub, rung), f"{file}: the stub is the rung")
            holds("TODO" not in rung, f"{file}: the rung has a TODO")
    broken = lab.stub(file).replace("kernel", "kernal", 1).replace("#include", "#inclade", 1)
    holds(not same_outside_todo(broken, lab.rung(file)), "a stub that differs is not found")


def stub_and_rung(name, check):
    with judge_of(name) as judge:
        for exercise, part in judge.lab.parts():
            wanted = with_tests(exercise, check)
            stub = judge.judge(wanted, part, files_of(judge, part, judge.lab.stub), 0)
            equal((sum(one.score for one in stub), {one.outcome for one in stub}), (0, {UNSOLVED}),
                  f"the stub of {exercise.name} in {part.backend}")
            rung = judge.judge(wanted, part, files_of(judge, part, judge.lab.rung), 0)
            if judge.why_not(part):
                equal((sum(one.score for one in rung), {one.outcome for one in rung}), (0, {NOT_GRADED}),
                      f"{exercise.name} in {part.backend} without a device")
            elif any(one.outcome != PASSED for one in rung):
                fail(f"the rung of {exercise.name} in {part.backend}: {told(rung)}")
            if part.backend == "opencl":  # begun, but not solved
                todo = files_of(judge, part, lambda file: judge.lab.stub(file) + "\n// my own line\n")
                begun = judge.judge(with_tests(wanted, lambda one: one.visible), part, todo, 0)
                holds(any(one.outcome != PASSED for one in begun), f"the stub of {exercise.name} passes its tests")


@test
def scores(_, name):
    """the stub of each exercise of a lab scores nothing and the rung everything"""
    stub_and_rung(name, lambda one: one.check == "values" or (one.check == "races" and HAS_OCLGRIND))


@test
def speeds(_, name):
    """the rung of each exercise of a lab is as fast as itself"""
    with judge_of(name) as judge:
        for exercise, part in judge.lab.parts():
            wanted = with_tests(exercise, lambda one: one.check == "speed")
            if wanted.tests and not judge.why_not(part):
                rung = judge.judge(wanted, part, files_of(judge, part, judge.lab.rung), 0)
                holds(all(one.score == one.points for one in rung), f"{exercise.name}: {told(rung)}")


# Known-wrong kernels. lab: list of (exercise, kernel of tests/wrong, how it takes the place of the exercise's, the test
# that it must lose; none for a right one). It is called by a kernel with the name and the arguments of the exercise's,
# or renamed, or chosen by a macro.
def renamed(to):
    return lambda source, kernel: re.sub(rf"\b{kernel}\b", to, source)


def chosen(macro_of, *names):
    def text(source, kernel):
        for old, new in names:
            source = re.sub(rf"\b{old}\b", new, source)
        return (f"#define {kernel}\n" if kernel != macro_of else "") + source
    return text


def called(call):
    return lambda source, kernel: source + "\n" + call.format(kernel) + "\n"


SAXPY = "kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {{ {}(k, a, b, c, n); }}"
SUM = "kernel void tree_sequential(global const float* a, ulong n, local float* x, global float* sums) {{ {}(a, n, x, sums); }}"
DOT = ("kernel void dot_product(global const float* a, global const float* b, ulong n, local float* x, global float* sums)"
       " {{ {}(a, b, n, x, sums); }}")
SPMV = ("kernel void spmv(global const int* row_start, global const int* column, global const float* value,"
        " global const float* x, global float* y, ulong rows)"
        " {{ {}(row_start, column, value, x, y, rows, 1UL << 30, 1UL << 30); }}")
WRONG = {
    "saxpy": [
        ("many-blocks", "right", SAXPY, ""),
        ("many-blocks", "no_bounds_check", SAXPY, "any length"),
        ("many-blocks", "less_or_equal", SAXPY, "any length"),
        ("many-blocks", "first_group_only", SAXPY, "a last block that is not full"),
        ("many-blocks", "wrong_stride", SAXPY, "a last block that is not full"),
        ("many-blocks", "swapped", SAXPY, "one block"),
        ("many-blocks", "tail_unwritten", SAXPY, "one block"),
        ("many-blocks", "writes_nothing", SAXPY, "one block"),
        ("many-blocks", "accumulates", SAXPY, "one block"),
        ("many-blocks", "last_element_lost", SAXPY, "one block"),
        ("many-blocks", "two_bits_short", SAXPY, "a last block that is not full"),
        ("many-blocks", "right_the_second_time", SAXPY, "one block"),
        ("many-blocks", "clears_its_input", SAXPY, "any length"),
        ("many-blocks", "writes_past_its_input", SAXPY, "one block"),
        ("many-blocks", "tail_of_two_lost", SAXPY, "any length"),
        ("many-blocks", "clamps", SAXPY, "NaN and infinity"),
        ("many-blocks", "nan_not_written", SAXPY, "NaN and infinity"),
        ("many-blocks", "before_the_start", SAXPY, "one block"),
        ("repair-stride", "last_element_lost", SAXPY, "many lengths"),
    ],
    "reduction": [
        ("tree", "group_sums", SUM, ""),
        ("tree", "reads_past_end", SUM, "one group and its neighbours"),
        ("tree", "not_cleared", SUM, "one to eight numbers"),
        ("tree", "stops_early", SUM, "one to eight numbers"),
        ("tree", "one_place_for_all", SUM, "one group and its neighbours"),
        ("tree", "int_accumulator", SUM, "one group and its neighbours"),
        ("tree", "tail_dropped", SUM, "one to eight numbers"),
        ("tree", "nan_lost_in_a_lane", SUM, "NaN and infinity"),
        ("tree", "no_barrier_before_tree", SUM, "no data race"),
        ("tree", "no_barrier_in_tree", SUM, "no data race"),
        ("tree", "group_stride", SUM, "one group and its neighbours"),
        ("dot", "right_dot", DOT, ""),
        ("dot", "dot_squares", DOT, "a few numbers"),
        ("dot", "dot_tail_dropped", DOT, "a few numbers"),
        ("dot", "dot_one_too_many", DOT, "a few numbers"),
        ("dot", "dot_nan_lost_in_vectors", DOT, "NaN and infinity"),
    ],
    "matmul": [
        ("one-thread-per-element", "swapped_indices", renamed("multiply"), "any shape"),
        ("one-thread-per-element", "int_accumulator", renamed("multiply"), "small matrices"),
        ("one-thread-per-element", "last_product_lost", renamed("multiply"), "small matrices"),
        ("one-thread-per-element", "adds_to_c", renamed("multiply"), "small matrices"),
        ("one-thread-per-element", "output_edge_unguarded", renamed("multiply"), "any shape"),
        ("shared-tile", "right", renamed("multiply"), ""),
        ("shared-tile", "no_first_barrier", renamed("multiply"), "no data race"),
        ("shared-tile", "no_second_barrier", renamed("multiply"), "no data race"),
        ("shared-tile", "tile_edge_unguarded", renamed("multiply"), "ragged tiles"),
    ],
    "spmv": [
        ("thread-per-row", "right", called(SPMV), ""),
        ("thread-per-row", "pointer_as_count", called(SPMV), "the matrix of the lecture"),
        ("thread-per-row", "accumulates", called(SPMV), "the matrix of the lecture"),
        ("thread-per-row", "no_bounds_check", called(SPMV), "no access outside the arrays"),
        ("thread-per-row", "last_entry_twice", called(SPMV), "the matrix of the lecture"),
        ("thread-per-row", "empty_rows_unwritten", called(SPMV), "rows of different lengths"),
        ("thread-per-row", "x_by_position", called(SPMV), "the matrix of the lecture"),
        ("thread-per-row", "transposed", called(SPMV), "the matrix of the lecture"),
    ],
    "lu": [
        ("two-kernels", "right", chosen("right"), ""),
        ("two-kernels", "WHOLE_TILES_ONLY", chosen("right"), "small matrices"),
        ("two-kernels", "ROW_FOR_COLUMN", chosen("right"), "small matrices"),
        ("two-kernels", "PAST_THE_EDGE", chosen("right"), "some rows"),
    ],
}


@test
def wrong_kernels(_, name):
    """each known-wrong kernel that fits an exercise of a lab loses the points of the test aimed at it"""
    with judge_of(name) as judge:
        folder = load(ROOT, name).folder
        source = (ROOT / f"tests/wrong/{folder}/wrong_{name}.cl").read_text(encoding="utf-8")
        for exercise in judge.lab.exercises:
            part = exercise.parts["opencl"]
            for of, kernel, call, aimed in WRONG[name]:
                if of != exercise.name:
                    continue
                # Built for double, these kernels of floats do not fit: only the tests of floats count.
                def of_floats(one):
                    return one.check != "speed" and (one.name == aimed if aimed else
                                                     all(case.get("type", "float") == "float" for case in one.cases))
                wanted = with_tests(exercise, of_floats)
                if not HAS_OCLGRIND and any(one.check == "races" for one in wanted.tests):
                    continue
                holds(wanted.tests, f"{exercise.name} has no test '{aimed}'")
                text = (call if callable(call) else called(call))(source, kernel)
                results = judge.judge(wanted, part, {part.files[0]: text.encode()}, 0)
                if not aimed:
                    holds(all(one.outcome == PASSED for one in results), f"{kernel}, which is right: {told(results)}")
                else:
                    equal([one.score for one in results], [0], f"{exercise.name}: {kernel} in '{aimed}': {told(results)}")
                    holds(results[0].outcome == "failed", f"{exercise.name}: {kernel}: {told(results)}")


# Tampering


def headers(text):
    return dict(re.findall(r"(?m)^// (most|outcome|tests): (.*)$", text))


def tampering(name, kind):
    text = (TAMPERING / f"{name}.cl").read_text(encoding="utf-8")
    about = headers(text)
    text = text.replace("@ROOT@", str(ROOT)).replace("@BUILD@", str(PROGRAMS.parent))
    text = (TAMPERING / "syscalls.txt").read_text(encoding="utf-8") + text
    names = about["tests"].split(", ")
    before = hashlib.sha256((PROGRAMS / "judge_saxpy").read_bytes()).hexdigest()
    with judge_of("saxpy", kind, seconds=6) as judge:
        exercise = next(one for one in judge.lab.exercises if one.name == "many-blocks")
        holds(all(any(one.name == name for one in exercise.tests) for name in names), f"a test of {names} is unknown")
        wanted = with_tests(exercise, lambda one: one.name in names)
        part = exercise.parts["opencl"]
        results = judge.judge(wanted, part, {part.files[0]: text.encode()}, 7)
        score = sum(one.score for one in results)
        print(told(results))
        holds(score <= float(about["most"]), f"{score} points: {told(results)}")
        holds(all(one.outcome in OUTCOMES for one in results), told(results))
        if "outcome" in about:
            equal({one.outcome for one in results}, {about["outcome"]}, told(results))
        honest = files_of(judge, part, judge.lab.rung)
        after = judge.judge(with_tests(exercise, lambda one: one.name == "one block"), part, honest, 7)
        holds(after[0].outcome == PASSED, f"an honest submission afterwards: {told(after)}")
    equal(hashlib.sha256((PROGRAMS / "judge_saxpy").read_bytes()).hexdigest(), before, "the judge")
    holds(not (PROGRAMS / "forged").exists(), "a file beside the judge")


@test
def tampers(_, name):
    """a submission that tampers scores no more than its honest part"""
    tampering(name, "")


@test
def tampers_as_user(_, name):
    """without bubblewrap, as a user who owns nothing, it scores no more either"""
    if os.geteuid() != 0:
        skip("only root can run programs as another user")
    tampering(name, "user")


@test
def control(_):
    """what tampers would succeed without a sandbox"""
    for name in ("opens_the_rung", "includes_the_rung"):
        text = (TAMPERING / f"{name}.cl").read_text(encoding="utf-8").replace("@ROOT@", str(ROOT))
        text = (TAMPERING / "syscalls.txt").read_text(encoding="utf-8") + text
        with judge_of("saxpy", "none") as judge:
            exercise = next(one for one in judge.lab.exercises if one.name == "many-blocks")
            part = exercise.parts["opencl"]
            wanted = with_tests(exercise, lambda one: one.name == "one block")
            results = judge.judge(wanted, part, {part.files[0]: text.encode()}, 0)
            holds(results[0].outcome == PASSED, f"{name}: {told(results)}")


# Hand-outs


def tree_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def code_lines(text):
    lines = [re.sub(r"//.*", "", line).strip() for line in text.splitlines()]
    return [" ".join(line.split()) for line in lines if line not in ("", "{", "}")]


def answers_of(lab, file):
    """The code that stands in a rung in place of a stub's TODO blocks, block by block."""
    stub, rung = lab.stub(file), lab.rung(file)
    pieces = re.split(r"(?ms)^[ \t]*// TODO\b.*?^[ \t]*// END TODO[ \t]*\n", stub)
    found = re.fullmatch("(.*?)".join(map(re.escape, pieces)), rung, re.S)
    return [code_lines(block) for block in found.groups()]


def leaks(lab, tree):
    """Which answers, hidden tests or wrong kernels a hand-out holds."""
    found = []
    texts = {}
    for name, content in tree.items():
        if Path(name).suffix in (".cl", ".cu", ".cuh", ".cpp", ".hpp", ".md", ".toml", ".py"):
            texts[name] = "\n".join(code_lines(content.decode("utf-8")))
    for exercise, part in lab.parts():
        for file in part.files:
            for block in answers_of(lab, file):
                text = "\n".join(block)
                if len(text) >= 25:  # a shorter one, such as "c[i] = 0;", appears by chance
                    found += [f"the answer of {file} in {name}" for name, other in texts.items() if text in other]
        hidden = [one for one in exercise.tests if not one.visible]
        shown = {one.hint for one in exercise.tests if one.visible}
        for one in hidden:
            for name, other in texts.items():
                if f'name = "{one.name}"' in other or (one.hint not in shown and one.hint in other):
                    found.append(f"the hidden test '{one.name}' in {name}")
    found += [f"{name} has no place in a hand-out" for name in tree if name.startswith("tests/") or "wrong" in name]
    return found


@test
def hand_outs(folder, name):
    """the hand-out of a lab holds its stubs and no answer, hidden test or wrong kernel"""
    lab = load(ROOT, name)
    equal(handout.main(ROOT, [name, str(folder / "one")]), 0, "exit code")
    tree = tree_of(folder / "one")
    for exercise, part in lab.parts():
        for file in part.files:
            for place in ("", "exercises/"):
                equal(tree[f"labs/{lab.folder}/{place}{file}"].decode(), lab.stub(file), f"{place}{file}")
        holds(exercise.title in tree["README.md"].decode(), f"README.md does not name {exercise.name}")
    equal(leaks(lab, tree), [], "leaks")
    whole = dict(tree)
    _, part = next(lab.parts())
    whole["labs/again.cl"] = lab.rung(part.files[0]).encode()
    whole["tests/exercises.toml"] = (lab.path / "exercises/exercises.toml").read_bytes()
    holds(len(leaks(lab, whole)) >= 3, "a leak is not found")
    handed = load(folder / "one", name)  # the tool reads its own hand-out
    equal([one.name for one in handed.exercises], [one.name for one in lab.exercises], "exercises of the hand-out")
    holds(all(test.visible for one in handed.exercises for test in one.tests), "hidden tests in the hand-out")
    equal(len(re.findall("(?m)^## Question", tree[f"labs/{lab.folder}/answers.md"].decode())),
          len(handout.questions(lab)), "questions in answers.md")
    holds(handout.questions(lab), "the hand-out has no questions")
    handout.main(ROOT, [name, str(folder / "two")])
    equal(tree_of(folder / "two"), tree, "the same hand-out made again")


@test
def hand_out_faults(folder):
    """a folder that is not empty and a lab that there is not are refused in one line"""
    (folder / "full").mkdir()
    (folder / "full/file").write_text("mine")
    for words, told_of in ((["saxpy", str(folder / "full")], "not empty"), (["nothing", str(folder / "new")], "saxpy"),
                           (["--all", "saxpy", str(folder / "new")], "--all"), ([str(folder / "new")], "one lab"), ([], "DIR"), (["--bogus"], "DIR")):
        ran = subprocess.run([sys.executable, "-m", "grading", str(ROOT), "handout", *words], text=True,
                             capture_output=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "tools")})
        equal((ran.returncode, ran.stderr.count("\n")), (2, 1), f"{words}: {ran.stderr}")
        holds(told_of in ran.stderr, f"{words}: {ran.stderr}")
    equal(os.listdir(folder), ["full"], "what it left behind")
    equal(os.listdir(folder / "full"), ["file"], "the full folder")


@test
def student_sees(folder):
    """in a hand-out ./lab test shows what is unsolved, wrong and right, with index, values and hint"""
    target = folder / "out"
    handout.main(ROOT, ["saxpy", str(target)])
    (target / "build").mkdir()
    (target / "build/default").symlink_to(PROGRAMS.parent)  # as if it had been built there
    lab = load(ROOT, "saxpy")
    if not Judge(lab, PROGRAMS.parent, Sandbox("none", folder), b"").devices["opencl"]["names"]:
        skip("no OpenCL device")
    student.built = lambda root, lab, part: ""
    files = target / "labs/01_saxpy/opencl"
    (files / "02_one_item.cl").write_text(lab.rung("opencl/02_one_item.cl"))
    (files / "03_grid_stride.cl").write_text(lab.stub("opencl/03_grid_stride.cl") + "// read\n")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        equal(student.main([str(target), "test"]), 1, "exit code with something wrong")
    for words in ("right  many-blocks in opencl", "unsolved  distances in opencl", "wrong  repair-stride in opencl",
                  "element 0, expected ", ", got ", "Hint: The message names the first wrong element."):
        holds(words in said.getvalue(), f"'{words}' is not in: {said.getvalue()}")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        equal(student.main([str(target), "test", "many-blocks", "distances"]), 0, "exit code with nothing wrong")
        student.main([str(target), "zip"])
    names = zipfile.ZipFile(target / "hand-in.zip").namelist()
    equal(len(names), 7, f"files in {names}")
    equal(read(lab, target / "hand-in.zip").files["opencl/02_one_item.cl"].decode(),
          lab.rung("opencl/02_one_item.cl"), "what was packed")
    try:
        student.main([str(target), "test", "nothing"])
        fail("an unknown exercise is accepted")
    except Fault as fault:
        holds("many-blocks" in str(fault), str(fault))


@test
def student_watches(folder):
    """./lab watch tests again the exercise whose file was saved"""
    target = folder / "out"
    handout.main(ROOT, ["saxpy", str(target)])
    seen = []
    student.test = lambda root, names: seen.append(names)
    file = target / "labs/01_saxpy/opencl/02_one_item.cl"
    import threading

    threading.Timer(0.5, lambda: (file.write_text("new"), os.utime(file, (1, 1)))).start()
    student.watch(target, [], rounds=1)
    equal(seen, [[], ["many-blocks"]], "what was tested")


# Submissions


@test
def submissions(folder):
    """of a submission only the files of the exercises are read, all else is reported and does no harm"""
    lab = load(ROOT, "saxpy")
    rung = lab.rung("opencl/02_one_item.cl").encode()

    def notes_of(make, name="s"):
        path = folder / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        make(path)
        return read(lab, path)

    def put(path, name, content=rung):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)

    found = notes_of(lambda path: put(path, "labs/01_saxpy/opencl/02_one_item.cl"))
    equal(found.files, {"opencl/02_one_item.cl": rung}, "a file in its place")
    holds("cuda/distances.cu is missing" in found.notes, found.notes)
    equal(notes_of(lambda path: put(path, "02_one_item.cl")).files, {"opencl/02_one_item.cl": rung}, "a file alone")
    found = notes_of(lambda path: (put(path, "a/opencl/02_one_item.cl"), put(path, "b/opencl/02_one_item.cl")))
    equal(found.files, {}, "a file twice")
    holds(any("appears 2 times" in note for note in found.notes), found.notes)
    whole = notes_of(lambda path: handout.write_tree([lab], path / "out"))
    equal(whole.files["opencl/02_one_item.cl"].decode(), lab.stub("opencl/02_one_item.cl"), "a whole hand-out")
    holds(any("other files are not read" in note for note in whole.notes), whole.notes)
    found = notes_of(lambda path: put(path, "opencl/02_one_item.cl", b"x" * (100 << 20)))
    equal(found.files, {}, "a file of 100 MB")
    holds(any("more than 1 MB" in note for note in found.notes), found.notes)

    def link(path):
        (path / "opencl").mkdir()
        (path / "opencl/02_one_item.cl").symlink_to("/etc/passwd")
        (path / "all").symlink_to("/")
        os.mkfifo(path / "02_pipe.cl")

    found = notes_of(link)
    equal(found.files, {}, "a link")
    holds(any("a link, and is not read" in note for note in found.notes), found.notes)

    archive = folder / "z.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("../../escaped.cl", "x")
        file.writestr("/etc/escaped.cl", "x")
        file.writestr("x/opencl/02_one_item.cl", rung)
        file.writestr("x/opencl/distances.cl", b"\0" * (50 << 20))
    found = read(lab, archive)
    equal(found.files, {"opencl/02_one_item.cl": rung}, "a zip file")
    equal(sum("leads outside" in note for note in found.notes), 2, found.notes)
    holds(not list(folder.rglob("escaped.cl")), "a file was unpacked")
    archive.write_bytes(b"PK\x03\x04" + b"x" * 500)
    holds(read(lab, archive).notes, "a broken zip file")
    (folder / "text.txt").write_text("hello")
    holds(read(lab, folder / "text.txt").notes, "a file that is no zip file")
    (folder / "empty").mkdir()
    equal(len(read(lab, folder / "empty").notes), 6, "an empty folder")


# Grading a class


def graded(*words, rc=0, **environment):
    ran = subprocess.run([sys.executable, "-m", "grading", str(ROOT), "grade", *map(str, words)], text=True,
                         capture_output=True, check=False,
                         env={**os.environ, "PYTHONPATH": str(ROOT / "tools"), **environment})
    equal(ran.returncode, rc, f"{words}: {ran.stdout} {ran.stderr}")
    return ran


def made(folder, name, **files):
    """A submission of lab 01 with some rungs in OpenCL."""
    for file, text in files.items():
        path = folder / name / "opencl" / {"one": "02_one_item.cl", "distances": "distances.cl",
                                           "stride": "03_grid_stride.cl"}[file]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / name).mkdir(parents=True, exist_ok=True)
    return folder / name


def books(out):
    with open(out / "gradebook.csv", encoding="utf-8", newline="") as file:
        return {line["submission"]: line for line in csv.DictReader(file)}


@test
def a_class(folder):
    """a class is graded: results for Gradescope, JUnit, feedback, gradebook and page, again, resumed and in another order"""
    with judge_of("saxpy"):
        pass
    lab = load(ROOT, "saxpy")
    stride = lab.rung("opencl/03_grid_stride.cl")
    right = made(folder, "ada", stride=stride)
    (right / "answers.md").write_text("# Answers\n\n## Question 2\n\n> the question\n\n<script>alert(1)</script> 42\n")
    made(folder, "=bob", stride=stride.replace("i < n", "i < n && i != 100"))
    made(folder, "cy", stride="kernel void saxpy(\n")
    made(folder, "dan")
    roster = folder / "roster.csv"
    roster.write_text("submission,id,name,late_days\nada,7,Ada L.,2\ncy,8,=1+1,0\n")
    everybody = [folder / name for name in ("ada", "=bob", "cy", "dan")]
    out = folder / "out"
    graded("saxpy", *everybody, "--out", out, "--roster", roster, "--seed", "s", "--jobs", 2,
           "--export-sources", folder / "sources")
    found = books(out)
    holds(not any("grading failed" in line["notes"] for line in found.values()), found)
    equal({name: line["score"] for name, line in found.items()}, {"ada": "5.0", "'=bob": "0.0", "cy": "0.0", "dan": "0"},
          "scores")
    equal((found["ada"]["late_days"], found["ada"]["name"], found["cy"]["name"]), ("2", "Ada L.", "'=1+1"), "roster")
    one = json.loads((out / "submissions/=bob/results.json").read_text())
    equal((one["score"], one["max_score"]), (0, 25), "results.json")
    fields = {"score", "max_score", "name", "number", "output", "visibility", "status"}
    holds(all(fields <= set(entry) for entry in one["tests"]) and one["execution_time"] >= 0, "fields of results.json")
    hidden = [entry for entry in one["tests"] if entry["visibility"] != "visible"]
    holds(hidden and all("n = " not in entry["output"] for entry in hidden), "an input of a hidden test is named")
    equal(len(one["tests"]), sum(len(exercise.tests) for exercise in lab.exercises), "tests of results.json")
    suite = xml.etree.ElementTree.parse(out / "submissions/cy/junit.xml").getroot()
    equal((suite.get("tests"), suite.get("errors")), (str(len(one["tests"])), "2"), "junit.xml")
    told_cy = (out / "submissions/cy/feedback.md").read_text()
    holds("it does not compile" in told_cy and "not solved" in told_cy, told_cy)
    told_bob = (out / "submissions/=bob/feedback.md").read_text()
    holds("element 100" in told_bob and "Hint:" in told_bob, told_bob)
    page = (out / "class.html").read_text()
    holds("4 of 4 submissions" in page and "<script>alert" not in page, "class.html")
    answer = (out / "answers/question-02.md").read_text()
    holds("42" in answer and "the question" not in answer, answer)
    with open(out / "answers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    equal([row["answered"] for row in rows if row["submission"] == "ada"][:3], ["no", "yes", "no"], "answers.csv")
    holds((folder / "sources/ada/opencl_03_grid_stride.cl").is_file(), "sources for JPlag")
    holds((folder / "sources-base/opencl_03_grid_stride.cl").is_file(), "the stubs for JPlag")

    # In another order, one at a time: the same results.
    graded("saxpy", *reversed(everybody), "--out", folder / "other", "--roster", roster, "--seed", "s", "--jobs", 1)
    equal(books(folder / "other"), found, "the results in another order")
    for name in ("ada", "=bob", "cy", "dan"):
        equal((folder / f"other/submissions/{name}/feedback.md").read_text(),
              (out / f"submissions/{name}/feedback.md").read_text(), f"the feedback of {name}")

    # Again: nothing is done twice. What was lost is done again; what was handed in anew as well.
    times = {name: (out / f"submissions/{name}/graded.json").stat().st_mtime_ns for name in ("ada", "=bob", "cy", "dan")}
    shutil.rmtree(out / "submissions/ada")
    made(folder, "dan", stride=stride)
    graded("saxpy", *everybody, "--out", out, "--roster", roster)
    again = {name: (out / f"submissions/{name}/graded.json").stat().st_mtime_ns for name in times}
    equal({name for name in times if times[name] != again[name]}, {"ada", "dan"}, "what was done again")
    equal((books(out)["ada"]["score"], books(out)["dan"]["score"]), ("5.0", "5.0"), "the scores then")
    graded("reduction", *everybody, "--out", out, rc=2)
    graded("saxpy", folder / "nobody", "--out", out, rc=2)
    graded("saxpy", *everybody, "--out", folder, rc=2)
    graded("saxpy", *everybody, "--out", out, "--jobs", 0, rc=2)


@test
def regrading(folder):
    """after a test was mended, --regrade does that test again and keeps the others"""
    with judge_of("saxpy") as judge:
        exercise = next(one for one in judge.lab.exercises if one.name == "repair-stride")
        part = exercise.parts["opencl"]
        files = files_of(judge, part, judge.lab.rung)
        first = judge.judge(exercise, part, files, 0)
        mended = dataclasses.replace(exercise, tests=[exercise.tests[0],
                                                      dataclasses.replace(exercise.tests[1], points=9)])
        marked = {one.key: dataclasses.replace(one, message="kept") for one in first}
        second = judge.judge(mended, part, files, 0, marked)
        equal([(one.message, one.score) for one in second], [("kept", 3), ("", 9)], "results")
    out = folder / "out"
    out.mkdir()
    lab = judge.lab
    grade.state_of(out / "new", lab, "tests of then", False, "")
    try:
        grade.state_of(out / "new", lab, "tests of now", False, "")
        fail("changed tests are not noticed")
    except Fault as fault:
        holds("--regrade" in str(fault), str(fault))
    grade.state_of(out / "new", lab, "tests of now", True, "")


@test
def interrupted(folder):
    """a run that is killed goes on where it stopped, and leaves no process behind"""
    with judge_of("saxpy"):
        pass
    stride = load(ROOT, "saxpy").rung("opencl/03_grid_stride.cl")
    names = [f"s{number}" for number in range(6)]
    everybody = [str(made(folder, name, stride=stride)) for name in names]
    out = folder / "out"
    command = [sys.executable, "-m", "grading", str(ROOT), "grade", "saxpy", *everybody, "--out", str(out), "--jobs", "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as running:
        end = time.monotonic() + 50
        while len(list(out.glob("submissions/*/graded.json"))) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
    before = {path: path.stat().st_mtime_ns for path in out.glob("submissions/*/graded.json")}
    holds(1 < len(before) < 6, f"{len(before)} submissions were graded when it was killed")
    graded("saxpy", *everybody, "--out", out, "--jobs", 2)
    after = {path: path.stat().st_mtime_ns for path in out.glob("submissions/*/graded.json")}
    equal(len(after), 6, "submissions graded")
    equal({path: after[path] for path in before}, before, "what had been graded")
    equal({line["score"] for line in books(out).values()}, {"5.0"}, "scores")


@test
def autograder(folder):
    """the autograder's zip, laid out as Gradescope does, writes results.json for a submission"""
    with judge_of("saxpy"):
        pass
    tools = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    package = [sys.executable, "-m", "grading", str(ROOT), "package-autograder", "saxpy"]
    for name in ("one.zip", "two.zip"):
        subprocess.run([*package, str(folder / name), "--seed", "s"], check=True, env=tools, stdout=subprocess.DEVNULL)
    equal((folder / "one.zip").read_bytes(), (folder / "two.zip").read_bytes(), "the same zip made again")
    place = folder / "autograder"
    for name in ("source", "submission", "results"):
        (place / name).mkdir(parents=True)
    with zipfile.ZipFile(folder / "one.zip") as archive:
        names = archive.namelist()
        archive.extractall(place / "source")
    holds({"setup.sh", "run_autograder", "repository/lab"} <= set(names), "what Gradescope runs")
    holds(not any(name.startswith(("repository/tests/", "repository/labs/02")) for name in names), "files of other labs")
    (place / "source/repository/build").mkdir()  # what setup.sh builds there
    (place / "source/repository/build/default").symlink_to(PROGRAMS.parent)
    made(place, "submission", stride=load(ROOT, "saxpy").rung("opencl/03_grid_stride.cl"))
    subprocess.run(["bash", str(place / "source/run_autograder")], check=True,
                   env={**os.environ, "GPULAB_AUTOGRADER": str(place)})
    found = json.loads((place / "results/results.json").read_text())
    equal((found["score"], found["max_score"]), (5, 25), "results.json")
    shutil.rmtree(place / "source/repository/labs")  # grading fails
    subprocess.run(["bash", str(place / "source/run_autograder")], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "GPULAB_AUTOGRADER": str(place)})
    equal(json.loads((place / "results/results.json").read_text())["score"], 0, "results.json when grading fails")


@test
def classroom(folder):
    """the template for GitHub Classroom is the hand-out with a workflow that tests it"""
    words = [sys.executable, "-m", "grading", str(ROOT)]
    tools = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    subprocess.run([*words, "package-classroom", "saxpy", str(folder / "one")], check=True, env=tools)
    subprocess.run([*words, "handout", "saxpy", str(folder / "two")], check=True, env=tools)
    template = tree_of(folder / "one")
    workflow = template.pop(".github/workflows/exercises.yml").decode()
    holds("run: ./lab test" in workflow and "actions/checkout" in workflow, workflow)
    equal(template, tree_of(folder / "two"), "the template without its workflow")
    equal(leaks(load(ROOT, "saxpy"), tree_of(folder / "one")), [], "leaks")


@test
def cuda_file(_):
    """a CUDA file that was handed in is compiled apart from the rungs and linked into a worker"""
    lab = load(ROOT, "reduction")
    part = lab.exercises[0].parts["cuda"]
    if not (PROGRAMS / f"worker_reduction_{part.rung}").is_file():
        skip("built without CUDA")
    sandbox = best()
    try:
        files = sandbox.base / "files"
        name = Path(part.files[0]).name
        sandbox.fill(files, {name: f'#include "{lab.path / part.files[0]}"\n'.encode()}, 0)
        try:
            cuda.build(lab, PROGRAMS.parent, part, files, sandbox, 0)
            fail("the file of the rung was included")
        except cuda.DoesNotCompile as error:
            holds("No such file" in str(error), str(error))
        sandbox.fill(files, {name: lab.rung(part.files[0]).encode()}, 0)
        program = cuda.build(lab, PROGRAMS.parent, part, files, sandbox, 0)
        worker = sandbox.start([str(program)], slot=0, scratch=sandbox.folder("try", 0), readable=[program],
                               environment={})
        equal(worker.communicate(timeout=60)[0], b"", "the answers to no message")
        equal(worker.returncode, 0, "exit code")
    finally:
        sandbox.close()


@test
def readable_tests(folder):
    """without bubblewrap a repository that every user can read is refused"""
    if os.geteuid() != 0:
        skip("only root can run programs as another user")
    with judge_of("saxpy", "user") as judge:
        (folder / "open").mkdir()
        folder.chmod(0o755)
        (folder / "open/file").write_text("x")
        equal(judge.sandbox.can_read(folder / "open/file"), True, "a file that every user can read")
        folder.chmod(0o700)
        equal(judge.sandbox.can_read(folder / "open/file"), False, "a file in a folder of root alone")
    reachable = all(os.stat(path).st_mode & 0o001 for path in [ROOT, *ROOT.parents])
    ran = graded("saxpy", made(folder, "ada"), "--out", folder / "out", "--sandbox", "user", rc=2 if reachable else 0)
    holds(not reachable or "chmod 700" in ran.stderr, ran.stderr)
    with judge_of("saxpy", "bubblewrap") as judge:
        equal(judge.sandbox.can_read(ROOT / "lab"), False, "the repository under bubblewrap")


@test
def points_for_times(_):
    """points for speed: all up to 1.2 times the rung's time, none from 10 times on, falling in between"""
    equal([share_for(ratio) for ratio in (0.5, 1.0, 1.2, 10.0, 50.0)], [1, 1, 1, 0, 0], "shares")
    shares = [share_for(1.2 + step * 0.4) for step in range(22)]
    equal(shares, sorted(shares, reverse=True), "shares fall")
    holds(0.4 < share_for(3.464) < 0.6, "half of the points in the middle")
    equal(ratio_of([3, 2, 9], [1, 1, 1]), 2, "one busy moment")
    equal(ratio_of([2, 20, 2], [1, 10, 8]), 2, "a busy minute")


@test
def faulty_exercises(folder):
    """a fault in exercises.toml is told in one line that names it"""
    lab = load(ROOT, "saxpy")
    text = (lab.path / "exercises/exercises.toml").read_text(encoding="utf-8")
    for old, new, word in (('kind = "write"', 'kind = "right"', "kind"), ("points = 1", "points = 0", "points"),
                           ("opencl/02_one_item.cl", "opencl/none.cl", "none.cl"), ("visible = true", "", "see"),
                           ('check = "speed"', 'check = "sped"', "sped"), ("[[exercise]]", "[[exercise", "line"),
                           ('name = "distances"', 'name = "many-blocks"', "twice"), ("hints = ", "hint = ", "hint"),
                           ('"opencl/distances.cl"', '"opencl/02_one_item.cl"', "two exercises")):
        shutil.rmtree(folder / "labs", ignore_errors=True)
        shutil.copytree(lab.path, folder / "labs/01_saxpy")
        (folder / "labs/01_saxpy/exercises/exercises.toml").write_text(text.replace(old, new))
        try:
            load(folder, "saxpy")
            fail(f"{new} is accepted")
        except Fault as fault:
            holds(word in str(fault) and "\n" not in str(fault), str(fault))


if __name__ == "__main__":
    sentence, *rest = sys.argv[1:]
    if sentence not in TESTS:
        fail(f"no test of that name: {sentence}")
    with tempfile.TemporaryDirectory() as scratch:
        TESTS[sentence](Path(scratch), *rest)
