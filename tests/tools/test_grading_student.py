"""What a student's own ./lab does: names, resets, what comes free, CUDA on and off, messages, and the objects that a verdict needs."""

import errno
import os
import re
import shutil
import subprocess
import tempfile
import zipfile

import pytest
from grading_support import (BUILD, PROGRAMS, ROOT, exercise_of, handed_out, judge_of, needs_oclgrind, of_values, results_of, saxpy, told,
                             with_tests)

from grading import handout, judge as judging, report, student
from grading.exercises import folders, load
from grading.fault import Fault, exit_code
from grading.judge import CRASHED, FAILED, PASSED

ONE, DISTANCES = "labs/01_saxpy/opencl/02_one_item.cl", "labs/01_saxpy/opencl/distances.cl"


@pytest.fixture
def handed(scratch):
    return handed_out(scratch, "saxpy")


def solve(handed, *files):
    for file in files:
        shutil.copy(ROOT / file, handed / file)


def output_of(capsys, *words):
    capsys.readouterr()
    code = student.main([str(words[0]), *words[1:]])
    return code, capsys.readouterr()


# Names, and files that are not there


def test_the_name_of_a_lab_stands_for_its_exercises(handed):
    labs = student.labs_of(handed)
    every = [exercise.name for _, exercise in student.chosen(labs, [])]
    assert [exercise.name for _, exercise in student.chosen(labs, ["saxpy"])] == every and len(every) == 3


def test_a_deleted_file_is_named_with_the_command_that_brings_it_back_and_reset_keeps_what_was_written(handed, capsys):
    (handed / ONE).unlink()
    code, printed = output_of(capsys, handed, "test", "many-blocks")
    assert code == 1 and "missing  many-blocks" in printed.out
    assert f"    ./lab reset many-blocks puts {ONE} back as handed out.\n" in printed.out
    with pytest.raises(Fault, match=f"{ONE} is missing: ./lab reset many-blocks"):
        student.unsolved(handed, "saxpy")
    assert output_of(capsys, handed, "reset", "many-blocks")[1].out == f"{ONE} is as it was handed out\n"
    stub = load(ROOT, "saxpy").stub("opencl/02_one_item.cl")
    for number in (1, 2):
        (handed / ONE).write_text(f"mine {number}")
        _, printed = output_of(capsys, handed, "reset", "many-blocks")
        assert printed.out == f"{ONE} is as it was handed out; yours is 02_one_item.cl.before-{number} beside it\n"
        assert (handed / ONE).read_text() == stub
        assert (handed / f"{ONE}.before-{number}").read_text() == f"mine {number}"
    assert output_of(capsys, handed, "reset", "many-blocks")[1].out == "", "nothing to do"
    with pytest.raises(Fault, match="reset which exercise"):
        student.reset(handed, [])


def test_of_two_back_ends_the_points_of_the_better_one_count(handed, capsys, monkeypatch):
    points = {"opencl": 1, "cuda": 2}
    for name, answer in (("state_of", lambda lab, part: "begun"), ("built", lambda *_: ""), ("prebuild", lambda *_: None),
                         ("test_part", lambda root, judge, exercise, part: (
                             "wrong", [judging.Result(exercise.tests[0].name, FAILED, points[part.backend], 3)], ""))):
        monkeypatch.setattr(student, name, answer)
    assert set(load(handed, "saxpy").exercises[0].parts) == {"opencl", "cuda"}
    _, printed = output_of(capsys, handed, "test", "many-blocks")
    assert "\n2 of " in printed.out, printed


def test_zip_keeps_a_good_hand_in_and_says_what_is_not_in_it(handed, capsys):
    solve(handed, ONE)
    answers = handed / "labs/01_saxpy/answers.md"
    answers.write_text(re.sub(r"(?m)^(## Question 2)$", r"\1\n\nFour.", answers.read_text()))
    _, printed = output_of(capsys, handed, "zip")
    assert printed.err.startswith("lab: not solved or answered in it: distances (unsolved); repair-stride (unsolved); ")
    assert re.search(r"answers\.md, questions 1, 3(, \d+)*\n$", printed.err), printed.err
    good = (handed / "hand-in.zip").read_bytes()
    assert len(zipfile.ZipFile(handed / "hand-in.zip").namelist()) == 7
    for path in [*(handed / "labs/01_saxpy").glob("opencl/*.cl"), *(handed / "labs/01_saxpy").glob("cuda/*.cu"), answers]:
        path.unlink()
    with pytest.raises(Fault, match="the one that is there stays"):
        student.main([str(handed), "zip"])
    assert (handed / "hand-in.zip").read_bytes() == good and not list(handed.glob(".hand-in*"))


# What comes free


def test_what_is_withheld_comes_free_when_all_exercises_are_right_whose_answers_it_tells(handed, capsys):
    studies, raw = (handed / f"labs/01_saxpy/opencl/{name}" for name in ("studies.cl", "04_vectorised.cl"))
    assert "k * a[i] + b[i]" not in studies.read_text().split("strided")[0] and handout.WITHHELD in raw.read_text()
    student.release(handed, {"distances"})
    assert handout.WITHHELD in raw.read_text(), "another exercise is right"
    capsys.readouterr()
    student.release(handed, {"many-blocks"})
    printed = capsys.readouterr().out
    assert printed.startswith("No longer withheld, because you have solved it:\n    docs/kernels.md\n")
    assert "k * a[i] + b[i]" in studies.read_text().split("strided")[0] and handout.WITHHELD not in raw.read_text()
    assert not re.search(r"// (END )?ANSWER|//\|", studies.read_text() + raw.read_text()), "marks"
    student.release(handed, {"many-blocks"})
    assert capsys.readouterr().out == "", "what is free already"


def test_when_everything_is_right_nothing_is_withheld_in_any_lab(scratch):
    for name, folder in folders(ROOT).items():
        handout.main(ROOT, [name, str(scratch / name)])
        lab = load(ROOT, name)
        closed = [file for file in handout.withheld_files(lab)]
        student.release(scratch / name, {exercise.name for exercise in lab.exercises})
        for file in closed:
            text = (scratch / name / "labs" / folder / file).read_text(encoding="utf-8")
            assert handout.WITHHELD not in text, f"{folder}/{file}"
            code = re.sub(r"(?m)^.*(?://\||// ANSWER|// END ANSWER).*\n", "", (lab.path / file).read_text(encoding="utf-8"))
            assert text == code, f"{folder}/{file}"


def test_what_an_instructor_keeps_withheld_is_in_no_file_of_the_hand_out(scratch):
    handout.main(ROOT, ["saxpy", str(scratch / "out"), "--keep-withheld"])
    assert not list((scratch / "out").rglob("withheld*"))
    student.release(scratch / "out", {"many-blocks", "distances", "repair-stride"})
    assert handout.WITHHELD in (scratch / "out/labs/01_saxpy/opencl/04_vectorised.cl").read_text()


# Runs of a lab


def test_a_run_of_a_lab_calls_what_nobody_has_begun_unsolved(handed):
    assert student.unsolved(handed, "saxpy").split() == [
        "opencl_one_item=many-blocks", "cuda_many_blocks=many-blocks", "opencl_distances_packed=distances",
        "opencl_distances_aligned=distances", "cuda_distances_packed=distances", "cuda_distances_aligned=distances"]
    solve(handed, DISTANCES)
    assert "opencl_distances_packed=distances" not in student.unsolved(handed, "saxpy")
    program = PROGRAMS / "saxpy"
    if not program.is_file():
        pytest.skip("saxpy has not been built")
    variables = {**os.environ, "GPULAB_UNSOLVED": "cpu_blocks=many-blocks opencl_one_item=many-blocks"}
    run = subprocess.run([program, "--n", "100", "--backend", "cpu", "--repeat", "1"], env=variables, text=True, capture_output=True, check=False)
    assert run.returncode == 0 and re.search(r"cpu_blocks .*skipped.*unsolved: it is the exercise many-blocks", " ".join(run.stdout.split()))
    run = subprocess.run([program, "--n", "100", "--variant", "cpu_blocks"], env=variables, text=True, capture_output=True, check=False)
    assert run.returncode == 2 and run.stderr == "saxpy: cpu_blocks: unsolved: it is the exercise many-blocks\n"


def test_a_hand_out_draws_what_a_run_wrote(handed, scratch):
    if all(subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False).returncode
           for python in ("python3", "/usr/bin/python3")):
        pytest.skip("no matplotlib (package python3-matplotlib)")
    run = ROOT / "docs/results/cpu/saxpy-run.json"
    ran = subprocess.run([handed / "lab", "plot", run], cwd=scratch, text=True, capture_output=True, check=False,
                         env={**os.environ, "GPULAB_INSTALL": "no"})
    assert (ran.returncode, ran.stdout) == (0, "saxpy-run.svg\n"), ran.stderr
    assert "opencl_one_item" in (scratch / "saxpy-run.svg").read_text(encoding="utf-8")


# CUDA


def test_whether_CUDA_is_compiled_is_chosen_once_and_lasts(handed, scratch):
    def cuda(*words):
        ran = subprocess.run([handed / "lab", "cuda", *words], text=True, capture_output=True, check=False)
        return ran.stdout if ran.returncode == 0 else (ran.returncode, ran.stderr)

    assert cuda().startswith("CUDA: auto, so it is ")
    assert cuda("on") == "CUDA: on, so it is compiled here\n" == cuda()
    assert cuda("off") == "CUDA: off, so it is not compiled here\n" == cuda()
    shutil.rmtree(handed / "build/default", ignore_errors=True)
    assert cuda() == "CUDA: off, so it is not compiled here\n", "without the build"
    assert cuda("perhaps") == (2, "lab: cuda takes one of: on off auto\n")


# What a verdict needs


def test_a_judge_and_its_workers_wait_for_no_rung_of_another_exercise(scratch):
    handout.main(ROOT, ["reduction", str(scratch / "out")])
    known = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    same = re.findall(r"(?m)^((?:CMAKE_PREFIX_PATH|FETCHCONTENT_BASE_DIR|CMAKE_BUILD_TYPE):.*)$", known)
    build = scratch / "build"
    subprocess.run(["cmake", "-S", scratch / "out", "-B", build, "-G", "Ninja", "-DGPULAB_CUDA=OFF",
                    "-DFETCHCONTENT_FULLY_DISCONNECTED=ON", *(f"-D{one}" for one in same)], capture_output=True, check=True)
    if "GPULAB_WITH_OPENCL" not in (build / "build.ninja").read_text():
        pytest.skip("OpenCL is not built here")

    def compiled_for(*targets):
        printed = subprocess.run(["ninja", "-C", build, "-t", "commands", *targets], capture_output=True, text=True, check=True).stdout
        return {os.path.relpath(name, scratch / "out") for name in re.findall(r" -c (\S+\.(?:cpp|cu))$", printed, re.MULTILINE)}

    files = compiled_for("bin/judge_reduction", "bin/worker_reduction_opencl_tree_sequential")
    rungs = {file for file in files if file.startswith("labs/") and "/opencl/" in file}
    assert rungs == {"labs/02_reduction/opencl/02_tree_sequential.cpp"}, rungs
    assert {"common/src/grading/judge.cpp", "labs/02_reduction/sum.cpp"} <= files
    for other in ("common/src/options.cpp", "common/src/report.cpp", "common/src/image/image.cpp", "common/src/sparse/convert.cpp",
                  "labs/02_reduction/studies.cpp", "labs/02_reduction/main.cpp"):
        assert other in compiled_for("bin/reduction") and other not in files, other
    assert len(files) < 45, sorted(files)


# Messages


def test_an_error_in_a_file_that_is_not_the_students_says_so():
    lab = load(ROOT, "saxpy")
    part = lab.exercises[0].parts["opencl"]
    for printed, names in (("02_one_item.cl:4:9: error: no", False), ("Device x\nother.cl:7:1: error: no", True), ("error: yee.cl:7:1: no", True), ("error: 02_one_item.cl:4:9: no", False),
                        ("/a/b/cuda/studies.cu(58): error: identifier \"blocks\" is undefined", True),
                        ("In file\n/a/tasks.hpp:3:1: error: no\n02_one_item.cl:4:9: error: no", True),
                        ("02_one_item.cl:4:9: warning: no", False)):
        assert ("which is not your file: opencl/02_one_item.cl." in student.not_theirs(part, printed)) == names, printed


@pytest.mark.parametrize(("lab", "title", "old", "new", "words"), [
    ("saxpy", "many-blocks", "void saxpy", "void saxpie", r"OpenCL kernel 'saxpy': CL_INVALID_KERNEL_NAME: there is none of this name; the text has saxpie"),
    ("saxpy", "many-blocks", "ulong n", "int n",
     r"OpenCL kernel 'saxpy' does not take the host's argument 5, counted from 1: CL_INVALID_ARG_\w+.*'int n'"),
    ("saxpy", "many-blocks", "ulong n", "ulong n, ulong m", r"CL_INVALID_KERNEL_ARGS \(a parameter of the kernel is given no argument\)"),
    ("saxpy", "many-blocks", "k * a[i]", "k * a[i - 100000000000]", r"SIGSEGV before it had answered: .* Is an index below 0\?"),
    ("saxpy", "many-blocks", "k * a[i]", "k + a[i]", r"There k = \S+, a\[\d+\] = \S+, b\[\d+\] = "),
    ("tridiagonal", "thomas", "i == 0 ? b[at] : b[at]", "b[at]", "a of the first row and c of the last one have no meaning and are NaN here"),
    ("tridiagonal", "thomas", "x_after = d_before;", "x_after = d_before - c_before * 0;", "are NaN here: who uses them gets NaN."),
    ("fdtd", "update", "? source : h", "? source : i == 64 && j == 4 ? 2 * h : h", "Element 864 is Hz in row 4, column 64."),
    ("fdtd", "update", "if (j > 0)", "if (j > 0 && (i != 64 || j != 4))", "Element 3464 is Ex in row 4, column 64."),
    ("fdtd", "update", "if (i > 0)", "if (i > 0 && (i != 64 || j != 4))", "Element 6268 is Ey in row 4, column 64."),
    ("fdtd", "media-and-sources", "r->probes + s] = u;", "r->probes + s] = 2 * u;",
     "is behind the field: a split part, or what a probe recorded."),
    # What only hidden tests showed once.
    ("reduction", "prefix-sum", "base = before[get_group_id(0)]", "base = 0", ""),
    ("tridiagonal", "thomas", "if (pivot == 0 && zero < 0) zero = (int)i;", "", ""),
    ("tridiagonal", "pcr", "if (my_b == 0) atomic_min(&zero, i);", "", ""),
    ("fdtd", "update", "hz[at] = i == g.source_i && j == g.source_j ? source : h;", "hz[at] = h;", ""),
    ("fdtd", "media-and-sources", "else if (may_add) value += gain * x;", "else if (may_add) value += x;", ""),
    ("cg", "dot", "r[i] * (inverse[i] * r[i])", "r[i] * r[i]", ""),
    # Kernels that know the size of their group: without words a test of races may find them, too.
    *((lab, title, asked, known, None) for lab, title, asked, known in (
        ("reduction", "tree", "get_local_size(0) / 2", "128"), ("reduction", "dot", "get_local_size(0) / 2", "128"),
        ("reduction", "prefix-sum", "stride < get_local_size(0)", "stride < 256"), ("matmul", "shared-tile", "l < TILE", "l < 16"),
        ("cg", "dot", "get_local_size(0) / 2", "128"), ("spmv", "slice-per-row", "width / 2", "16"))),
])
def test_visible_tests_find_a_fault_and_tell_what_it_is_in_the_problem(lab, title, old, new, words):
    with judge_of(lab) as judge:
        results = results_of(judge, title, (old, new), tests=of_values if words is not None else lambda one: one.visible and one.check != "cost")
        if "does not take" in (words or "") and results[0].outcome == PASSED:
            pytest.skip("this device takes an argument of another size")
        assert any(one.outcome in (FAILED, CRASHED) and re.search(words or "", one.message) for one in results), told(results)


def test_the_second_kernel_of_an_exercise_is_tested_too(saxpy):
    text = saxpy.lab.rung("opencl/distances.cl")
    begin = text.index("kernel void distances_aligned")
    empty = text[:begin] + re.sub(r"(?s)// EXERCISE.*// END EXERCISE", "", text[begin:])
    results = results_of(saxpy, "distances", text=empty, tests=lambda one: one.check == "values")
    assert [one.outcome for one in results] == [FAILED] * 2, told(results)


def test_each_lab_has_a_visible_test_for_races_of_each_exercise_that_is_graded_for_them():
    found = 0
    for name in folders(ROOT):
        for exercise in load(ROOT, name).exercises:
            races = [one for one in exercise.tests if one.check == "races"]
            found += len(races)
            assert not races or {one.visible for one in races} == {True, False}, f"{name}: {exercise.name}"
    assert found >= 36


@needs_oclgrind
def test_in_a_hand_out_a_race_is_told_in_words(scratch, monkeypatch):
    """There the rung is the student's own file, so that nothing can be said of the tool by running the rung."""
    monkeypatch.setattr(judging, "HAS_ANSWERS", False)
    handout.main(ROOT, ["reduction", str(scratch / "out")])
    with judge_of("reduction") as judge:
        judge.lab = load(scratch / "out", "reduction")
        exercise = judge.lab.exercises[0]
        part = exercise.parts["opencl"]
        first, second, last = load(ROOT, "reduction").rung(part.file).split("barrier(CLK_LOCAL_MEM_FENCE);")
        for text, words in ((f"{first}barrier(CLK_LOCAL_MEM_FENCE);{second}{last}",
                             r"work-item \d+ of group \d+ writes x\[\d+\] at line \d+ while "),
                            (f"{first}{second}barrier(CLK_LOCAL_MEM_FENCE);{last}",
                             r"a work-item uses at line 19 what nobody has written so far: ")):
            (judge.lab.path / part.file).write_text(text)
            [one] = judge.judge(with_tests(exercise, lambda one: one.check == "races"), part, text.encode(), 0,
                                built=judge.worker_program(part))
            assert one.outcome == FAILED and re.match(words, one.message), told([one])


TILE = "        barrier(CLK_LOCAL_MEM_FENCE); // the tiles"


@pytest.mark.parametrize("old, new, shown, not_shown", [
    ("// Tiles", "\ufeff// Tiles", ["right  shared-tile"], "wrong"),
    (TILE, f'        if (x == 0 && y == 0) for (int q = 0; q < 50; ++q) printf("round %d\\n", q);\n{TILE}',
     ["right  shared-tile", "printed in 'whole tiles':\n      round 0\n", "      round 39\n      ... cut after 40 lines"], "wrong"),
    ("barrier(CLK_LOCAL_MEM_FENCE)", "__syncthreads()", ["undeclared identifier", "in OpenCL: barrier(CLK_LOCAL_MEM_FENCE)"], "printed in"),
    ("    REAL sum = 0;", "    if (i >= m || j >= n) return;\n    REAL sum = 0;", ["only 32 of 256 work-items reach the barrier at line 24: ",
     "    barrier(CLK_LOCAL_MEM_FENCE); // the tiles are complete\n", "This may follow from the barrier that not all reach: see 'no data race, small'"], "Hint"),
    (TILE, "        if (j < n) barrier(CLK_LOCAL_MEM_FENCE); // the tiles", ["wait at the barrier at line 2", "work-items of a group have to reach"], "Hint"),
    ("if (i < m && j < n) c[(size_t)i * n + j] = sum", "if (i <= m && j < n) c[(size_t)i * n + j] = sum", [" outside of c, at c[3"], "still being read"),
    ("l0 += TILE", "l0 += 0", ["it does not seem to end. Does each loop end?"], "Hint"),
])
@needs_oclgrind
def test_a_hand_out_says_plainly_what_is_wrong(old, new, shown, not_shown, capsys):
    with judge_of("matmul", kind="none", seconds=3.0 if "+= 0" in new else 20.0) as judge:
        exercise, part = exercise_of(judge, "shared-tile")
        results = results_of(judge, "shared-tile", (old, new), tests=lambda one: one.visible and one.check != "cost")
        state = "right" if {one.outcome for one in results} == {PASSED} else "wrong"
        student.show(exercise, part, state, results, "")
    said = capsys.readouterr().out
    assert all(words in said for words in shown) and not_shown not in said, said


def test_a_full_folder_for_temporary_files_is_named(capfd):
    def full():
        raise OSError(errno.ENOSPC, "No space left on device", "a worker")

    assert exit_code(full) == 2
    assert f"a worker: No space left on device (the folder for temporary files is {tempfile.gettempdir()}; " in capfd.readouterr().err


# Kernels that PoCL compiles wrongly


@needs_oclgrind
def test_a_correct_kernel_that_PoCL_3_compiles_wrongly_is_right():
    """The tree in which the working items lie apart, with their distance as the loop's variable."""
    with judge_of("reduction") as judge:
        results = results_of(
            judge, "tree", ("size_t stride = get_local_size(0) / 2; stride > 0; stride /= 2", "size_t s = 1; s < get_local_size(0); s *= 2"),
            ("if (me < stride) x[me] += x[me + stride];", "if (me % (2 * s) == 0) x[me] += x[me + s];"),
            tests=lambda one: one.visible and one.check != "cost")
    assert {one.outcome for one in results} == {PASSED}, told(results)


@needs_oclgrind
def test_a_right_kernel_that_the_devices_compiler_breaks_keeps_its_points_and_a_wrong_one_does_not(saxpy, monkeypatch):
    """A device whose answers are wrong, whatever the kernel: the last number of each is another one."""
    asked = judging.Run.asked

    def broken(self, worker, cases):
        answers, trouble = asked(self, worker, cases)
        in_tool = "oclgrind" in " ".join(map(str, worker.process.args))
        return [one if in_tool or worker.slot != self.slot else one[:-4] + b"\0\0\x80\x7f" for one in answers], trouble

    def results(*changes):
        return results_of(saxpy, "many-blocks", *changes, tests=lambda one: one.name == "one block" or one.check == "speed")

    monkeypatch.setattr(judging.Run, "asked", broken)
    monkeypatch.setattr(judging.Judge, "on_pocl", True)
    one, speed = results()
    assert (one.outcome, one.score, one.public) == (PASSED, one.points, judging.COMPILER), told([one])
    assert speed.outcome == judging.NOT_GRADED, told([speed])  # its answer is wrong, too: it may have done something else
    assert one.message.startswith(f"{judging.COMPILER}. PoCL: n = 1: "), one.message
    for visible in (True, False):
        assert judging.COMPILER in report.shown_to_student({"visible": visible, "hint": "hint"}, one.as_dict())
    for change in (("k * a[i]", "2 * k * a[i]"), ("i < n", "i <= n")):  # wrong, and outside of the arrays
        found = results(change)
        assert [(one.outcome, one.score) for one in found] == [(FAILED, 0)] * 2, told(found)
    monkeypatch.setattr(judging.Judge, "on_pocl", False)
    assert results()[0].outcome == FAILED, "on another platform the device's answer counts"
