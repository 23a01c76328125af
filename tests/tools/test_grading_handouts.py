"""Hand-outs: what is in them, how students work with them, and the marks that they are made from."""

import dataclasses
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import zipfile

import pytest
from grading_support import BUILD, ROOT, VARIABLES, command, hand_out_of, handed_out, put, tree_of

from grading import handout, marks, student
from grading.exercises import folders, load
from grading.fault import Fault
from grading.judge import FAILED, NOT_GRADED, PASSED, Judge, Result
from grading.sandbox import Sandbox
from grading.submission import read


def test_the_page_of_words_holds_no_lines_of_an_exercise_and_still_shows_a_launch(hand_out_of):
    page = (hand_out_of("saxpy") / "docs/kernels.md").read_text(encoding="utf-8")
    for answer in ("size_t{blockDim.x}", "size_t i = get_global_id", "if (i < n)", "(n + threads - 1)"):
        assert answer in (ROOT / "docs/kernels.md").read_text(encoding="utf-8"), f"'{answer}' is not in docs/kernels.md"
        assert answer not in page, f"'{answer}' is handed out"
    left = page.splitlines()
    for line in ("__global__ void saxpy(float k, const float* a, const float* b, float* c, size_t n) {",
                 "    // (you write this in the exercise many-blocks)",
                 "saxpy<<<blocks, threads>>>(k, a, b, c, n); // launch the kernel"):
        assert "    " + line in left, f"'{line}' is not in the page"
    other = (hand_out_of("reduction") / "docs/kernels.md").read_text(encoding="utf-8")
    assert "size_t i = get_global_id" in other, "lines of an exercise that is not handed out"
    assert not re.search(r"//\||(//|<!--) (END|EXERCISE|ANSWER)\b", page + other) and "\n-->\n    __global__" not in page, "a mark in a page"


@pytest.mark.parametrize("words", ["help", "test --help", "watch -h", "run --help", "explain -h"])
def test_each_command_of_a_hand_out_has_a_help(hand_out_of, words):
    ran = subprocess.run([hand_out_of("saxpy") / "lab", *words.split()], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("usage: ./lab COMMAND\n") and ran.stderr == ""


def test_a_withheld_rung_keeps_its_opening_comment(hand_out_of):
    rungs = 0
    for path in sorted((hand_out_of("reduction") / "labs/02_reduction").glob("c*/*.cu")):
        text = path.read_text(encoding="utf-8")
        if handout.WITHHELD in text:
            rungs += 1
            whole = (ROOT / "labs/02_reduction/cuda" / path.name).read_text(encoding="utf-8")
            head = re.match(r"(?://.*\n)*", whole)[0]
            assert "// Limit" in head and text.startswith(head + "//\n// The code of this rung is withheld"), str(path)
    assert rungs >= 3, "withheld rungs"


def refused(*words, root=ROOT, limit=None):
    """The line in which a command that writes a folder or a file refuses to."""
    ran = subprocess.run([sys.executable, "-m", "grading", root, *words], env=VARIABLES, capture_output=True, text=True, check=False,
                         preexec_fn=limit)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), f"{words}: {ran.stderr}"
    return ran.stderr


def test_what_cannot_be_made_is_refused_in_one_line_and_leaves_nothing(scratch):
    put(scratch, {"full/file": "mine"})
    for words, told_of in ((["handout", "saxpy", scratch / "full"], "not empty"), (["handout", "nothing", scratch / "new"], "saxpy"),
                           (["handout", "--all", "saxpy", scratch / "new"], "--all"), (["handout", scratch / "new"], "one lab"),
                           (["handout"], "DIR"), (["handout", "--bogus"], "DIR"),
                           (["handout", "saxpy", scratch / "full/file/new"], "full/file/new"),
                           (["package-autograder", "saxpy", scratch / "none/a.zip"], "none"),
                           (["package-autograder", "saxpy", scratch / "full/file"], "exists"),
                           (["package-autograder", "saxpy", scratch / "full/a.tar"], ".zip")):
        assert told_of in refused(*words), words
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    for command_name, name in (("handout", "out"), ("package-classroom", "out"), ("package-autograder", "a.zip")):
        printed = refused(command_name, "saxpy", scratch / name, limit=limit)
        assert name in printed and "large" in printed, printed
    assert (os.listdir(scratch), os.listdir(scratch / "full")) == (["full"], ["file"]), "what it left behind"
    copied = scratch / "copied"  # a folder in which a hand-out would contain itself
    for name in ("cmake", "common", "labs", "tools", "tests/mistakes"):
        shutil.copytree(ROOT / name, copied / name)
    for command_name in ("handout", "package-classroom"):
        for name in ("cmake/new", "common/src/new", "labs/01_saxpy/new"):
            assert "elsewhere" in refused(command_name, "saxpy", copied / name, root=copied) and not (copied / name).exists(), name
    (scratch / "empty").mkdir()
    place = (scratch / "empty").stat().st_ino
    assert handout.main(ROOT, ["saxpy", str(scratch / "empty")]) == 0, "a hand-out in an empty folder"
    assert (scratch / "empty").stat().st_ino == place, "the folder that there was"
    assert (scratch / "empty/README.md").is_file() and not list((scratch / "empty").glob(".lab*")), "an empty folder"


def test_lab_test_shows_a_student_what_is_unsolved_wrong_and_right_with_index_values_and_hint(scratch, monkeypatch, capsys):
    target = handed_out(scratch, "saxpy", monkeypatch)
    lab = load(ROOT, "saxpy")
    judge = Judge(lab, BUILD, Sandbox("none", scratch), b"")
    if not judge.devices["opencl"]["names"] or not judge.plugin[0]:
        pytest.skip(judge.plugin[1] or "no OpenCL device")
    files = target / "labs/01_saxpy/opencl"
    (files / "02_one_item.cl").write_text(lab.rung("opencl/02_one_item.cl"))
    (files / "03_grid_stride.cl").write_text(lab.stub("opencl/03_grid_stride.cl") + "// read\n")

    def printed(rc, *words):
        assert student.main([str(target), *words]) == rc, words
        return capsys.readouterr().out

    def has(text, *words):
        assert not [word for word in words if word not in text], text

    capsys.readouterr()
    has(printed(1, "test"), "right  many-blocks in opencl", "unsolved  distances in opencl", "wrong  repair-stride in opencl",
        "element 0, expected ", ", got ", "Hint: The message names the first wrong element.")
    has(printed(0, "test", "many-blocks"), "4.5 of 4.5 points in the tests that you can see\n")
    has(printed(1, "test", "distances"), "0 of 4 points in the tests that you can see\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    has(printed(1, "test", "many-blocks", "distances"), "::notice title=Autograding complete::Points 4.5/8.5\n",
        '::notice title=Autograding report::{"totalPoints": 4.5, "maxPoints": 8.5}\n')
    printed(0, "zip")
    assert len(zipfile.ZipFile(target / "hand-in.zip").namelist()) == \
        len({part.file for _, part in lab.parts()}) + 1, "the files, and the answers"
    assert read(lab, target / "hand-in.zip").files["opencl/02_one_item.cl"].decode() == lab.rung("opencl/02_one_item.cl"), "what was packed"
    results = [Result("sizes", PASSED, 2, 2), Result("races", NOT_GRADED, 0, 1, "oclgrind is not installed"),
               Result("time", FAILED, 1.5, 3, "2.00 times the time of the rung")]
    exercise = lab.exercises[0]
    exercise = dataclasses.replace(exercise, tests=[dataclasses.replace(exercise.tests[0], name=one.test) for one in results])
    student.show(exercise, exercise.parts["opencl"], "wrong", results, "")
    has(capsys.readouterr().out, "not tested  races (0 of 1)", "wrong  time (1.5 of 3)")
    with pytest.raises(Fault, match="many-blocks"):
        student.main([str(target), "test", "nothing"])


def test_lab_watch_tests_what_was_saved_also_while_the_first_test_runs(scratch, monkeypatch):
    target = scratch / "out"
    handout.main(ROOT, ["saxpy", str(target)])
    file = target / "labs/01_saxpy/opencl/02_one_item.cl"
    for at_once in (True, False):
        seen = []

        def test(root, names):
            seen.append(names)
            if len(seen) == 1 and at_once:
                os.utime(file, (1, 1))

        monkeypatch.setattr(student, "test", test)
        if not at_once:
            threading.Timer(0.5, lambda: (file.write_text("new"), os.utime(file, (2, 2)))).start()
        student.watch(target, [], rounds=1)
        assert seen == [[], ["many-blocks"]], "what was tested"


def test_a_hand_out_leaves_out_what_git_does_not_know_and_names_it(scratch, capsys):
    checkout, plain = scratch / "checkout", scratch / "plain"
    for root in (checkout, plain):
        put(root, dict.fromkeys(("labs/01/README.md", "labs/01/solution.cu", "labs/01/cuda/rung.cu", "labs/01/cuda/notes.txt"), "text"))
    for words in (["init", "--quiet"], ["add", "labs/01/README.md", "labs/01/cuda/rung.cu"]):
        subprocess.run(["git", "-C", str(checkout), *words], check=True)
    handout.copy_tree(checkout, checkout / "labs", scratch / "one")
    assert sorted(tree_of(scratch / "one")) == ["01/README.md", "01/cuda/rung.cu"], "the copy of a checkout"
    assert sorted(line.split(": ")[1] for line in capsys.readouterr().err.splitlines()) == ["labs/01/cuda/notes.txt", "labs/01/solution.cu"]
    handout.copy_tree(plain, plain / "labs", scratch / "two")
    assert len(tree_of(scratch / "two")) == 4, "files of a folder that is no checkout"


def test_the_template_for_github_classroom_is_the_hand_out_with_a_workflow_that_tests_it(scratch, hand_out_of):
    command("package-classroom", "saxpy", scratch / "one")
    template = tree_of(scratch / "one")
    workflow = template.pop(".github/workflows/classroom.yml").decode()
    assert all(words in workflow for words in ("run: ./lab test", "actions/checkout", "name: Autograding Tests")), workflow
    assert template == tree_of(hand_out_of("saxpy")), "the template without its workflow"


# Marks

RUNG = """// A rung.
kernel void f(global float* c) {
    // EXERCISE one
    //| // TODO: write 1.
    //|     c[0] = 0;
    c[0] = 1;
    // END EXERCISE
    // ANSWER one two
    c[1] = 2;
    // END ANSWER
}
"""


def test_of_marks_follow_the_stub_and_the_text_without_answers():
    repair = re.sub(r" *// (END )?ANSWER.*\n", "", RUNG.replace("//| ", ""))
    assert marks.stub(RUNG, "f.cl", repair=True) == repair
    assert marks.stub(RUNG, "f.cl", repair=False) == repair.replace("    c[0] = 1;\n", "")
    answer = "// ANSWER one\n//| // TODO: the same.\na();\n// END ANSWER\nb();\n"
    assert marks.stub(answer, "f.cl", repair=False) == "// TODO: the same.\nb();\n", "an answer with lines in its place"
    page = answer.replace("// ANSWER one", "<!-- ANSWER one").replace("a();", "-->\na();").replace("// END ANSWER", "<!-- END ANSWER -->")
    assert [marks.without_answers(page, "f.md", names) for names in ({"one"}, set())] == ["// TODO: the same.\nb();\n", "a();\nb();\n"]
    pages = {name: marks.without_answers(RUNG, "f.cl", {name}) for name in ("one", "two", "three")}
    assert "c[0] = 0" in pages["one"] and "c[0] = 1" not in pages["one"] and "c[1]" not in pages["one"]
    assert "c[0] = 1" in pages["two"] and "c[1]" not in pages["two"]
    assert pages["three"] == "// A rung.\nkernel void f(global float* c) {\n    c[0] = 1;\n    c[1] = 2;\n}\n"


@pytest.mark.parametrize(("old", "new", "told_of"), [
    ("    // END EXERCISE\n", "", "f.cl:7: '// ANSWER one two' stands between '// EXERCISE one' and its end"),
    ("    // END ANSWER\n", "", "f.cl: '// ANSWER one two' has no end"),
    ("    // EXERCISE one\n", "", "f.cl:3: '//|' does not follow a mark"),
    ("    // ANSWER one two\n", "", "f.cl:9: '// END ANSWER' ends nothing that was begun"),
    ("END EXERCISE", "END ANSWER", "f.cl:7: '// END ANSWER' ends nothing that was begun"),
    ("EXERCISE one", "EXERCISE one two", "f.cl:3: '// EXERCISE one two' names no exercise, or too many"),
    ("ANSWER one two", "ANSWER", "f.cl:8: '// ANSWER' names no exercise, or too many"),
    ("    c[0] = 1;\n", "    c[0] = 1;\n    //| c[0] = 2;\n", "f.cl:7: '//|' does not follow a mark"),
])
def test_a_mark_that_does_not_fit_is_told_in_one_line(old, new, told_of):
    with pytest.raises(Fault) as caught:
        marks.read(RUNG.replace(old, new, 1), "f.cl")
    assert str(caught.value) == told_of


def test_marks_in_the_pages_of_docs_name_exercises():
    known = {exercise.name for name in folders(ROOT) for exercise in load(ROOT, name).exercises}
    names = [name for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "grading.md"
             for one in marks.regions(page.read_text(encoding="utf-8"), page.name) for name in one.names]
    assert names and set(names) <= known


ONE_ITEM, STRIDE = "opencl/02_one_item.cl", "opencl/03_grid_stride.cl"
TOML, MISTAKES = "exercises/exercises.toml", "../../tests/mistakes/01_saxpy.toml"


@pytest.mark.parametrize(("file", "old", "new", "told_of"), [
    (TOML, 'kind = "write"', 'kind = "right"', "kind"),
    (TOML, "points = 1", "points = 0", "points"),
    (TOML, "visible = true", "", "the first test of 'many-blocks' is hidden"),
    (TOML, 'check = "speed"', 'check = "sped"', "sped"),
    (TOML, "[[exercise]]", "[[exercise", "line"),
    (TOML, 'name = "distances"', 'name = "many-blocks"', "twice"),
    (TOML, "hints = ", "hint = ", "hint"),
    (TOML, "problem = ", "problems = ", "problem"),
    (TOML, "mistake =", "mis_take =", "mis_take"),
    (TOML, "mistake =", "pocl_threads = 0 #", "pocl_threads"),
    (TOML, 'mistake = "opencl-last-element-lost"', "", "0 mistakes"),
    (TOML, 'mistake = "opencl-last-element-lost"', 'mistake = "none"', "'none'"),
    (TOML, 'kind = "repair"', 'kind = "write"', "1 mistakes"),
    (ONE_ITEM, "EXERCISE many-blocks", "EXERCISE few-blocks", "no file in opencl/ has the mark '// EXERCISE many-blocks'"),
    (ONE_ITEM, "//|", "//", "without //| lines"),
    (ONE_ITEM, "kernel void", "// ANSWER all\n// END ANSWER\nkernel void", "has a mark of 'all', which is no exercise"),
    (ONE_ITEM, "kernel void", "// EXERCISE distances\n//| x\n// END EXERCISE\nkernel void", "two exercises"),
    (ONE_ITEM, "kernel void", "// ANSWER distances\n// END ANSWER\nkernel void", "is an exercise, and tells the answer"),
    ("cpu/01_sequential.cpp", "namespace saxpy {", "// EXERCISE distances\n//| x\n// END EXERCISE\nnamespace saxpy {",
     "no such back end"),
    (ONE_ITEM, "    // END EXERCISE\n", "", "has no end"),
    (STRIDE, "i < n; i +=", "i != n; i +=", "occurs 0 times"),
    (STRIDE, "    // EXERCISE", "    for (size_t i = 1; i < n; i += get_global_size(0)) {}\n    // EXERCISE", "occurs 2 times"),
    (MISTAKES, 'text = "i < n;"', 'text = "kernel void"', "does not stand between the marks"),
])
def test_a_fault_in_an_exercise_is_told_in_one_line(scratch, file, old, new, told_of):
    folder = scratch / "labs/01_saxpy"
    shutil.copytree(ROOT / "labs/01_saxpy", folder)
    shutil.copytree(ROOT / "tests/mistakes", scratch / "tests/mistakes")
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    with pytest.raises(Fault) as caught:
        handout.withheld_files(load(scratch, "saxpy"))
    assert told_of in str(caught.value) and "\n" not in str(caught.value)


def test_a_hand_out_has_the_stored_results_of_its_lab_on_gpus_and_no_others(hand_out_of):
    stored = {path.relative_to(ROOT / "docs/results").as_posix() for device in ("h100", "h200")
              for path in (ROOT / "docs/results" / device).glob("reduction*.json")}
    found = hand_out_of("reduction") / "docs/results"
    assert stored and {path.relative_to(found).as_posix() for path in found.rglob("*") if path.is_file()} == stored
