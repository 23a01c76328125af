"""Grading a class: what is read of submissions, and the books."""

import argparse
import csv
import dataclasses
import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import xml.etree.ElementTree
import zipfile
from pathlib import Path

import pytest
from grading_support import (BUILD, COMMAND, ROOT, VARIABLES, books, closed_repository, command, files_of, graded, made,
                             saxpy)

from grading import board, grade, handout, package, report, sandbox as sandbox_module, submission
from grading.behaves import Mistakes
from grading.exercises import load
from grading.fault import Fault
from grading.judge import BUILD_ERROR, CRASHED, FAILED, NOT_GRADED, PASSED, TIMED_OUT, UNSOLVED, Result, ratio_of, share_for
from grading.submission import read


ONE, STRIDE, DISTANCES = "opencl/02_one_item.cl", "opencl/03_grid_stride.cl", "opencl/distances.cl"
SAXPY = load(ROOT, "saxpy")
RUNG, STUB = (text_of(ONE).encode() for text_of in (SAXPY.rung, SAXPY.stub))


def put(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def packed(files, kind="zip", how=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content, how)
    else:
        with tarfile.open(fileobj=out, mode="w:gz") as archive:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def damaged(archive, name):
    """A zip file with another byte in the middle of a compressed file."""
    at = archive.find(name.encode()) + len(name) + 5
    return archive[:at] + bytes([archive[at] ^ 0xFF]) * 10 + archive[at + 10:]


INNER = packed({f"labs/01_saxpy/{ONE}": RUNG})
MINE = {ONE: RUNG}
DEEP = INNER
for _ in range(6):
    DEEP = packed({"a.zip": DEEP})
MISSING = ["distances: opencl/distances.cl or cuda/distances.cu is missing",
           "repair-stride: opencl/03_grid_stride.cl or cuda/04_grid_stride.cu is missing"]  # where one back end is enough


@pytest.mark.parametrize("files", [
    {f"labs/01_saxpy/{ONE}": RUNG}, {"02_one_item.cl": RUNG}, {f"a/{ONE}": RUNG, f"b/{ONE}": RUNG}, {"a/b/02_one_item.cl": RUNG},
    {"02_one_item (1).cl": RUNG}, {"02_one_item - Copy (2).cl": RUNG}, {"hand-in.zip": INNER, "notes.txt": b"x"},
    {"hand-in.zip": INNER, "hand-in (1).zip": INNER}, {"all.zip": packed({"me/hand-in.zip": INNER})},
    {"work.tar.gz": packed({"x/02_one_item.cl": RUNG}, "tar")}, {"work.TGZ": packed({"hand-in.zip": INNER}, "tar")},
    {ONE: b"\xef\xbb\xbf" + RUNG}, {ONE: RUNG.decode().encode("utf-16")}, {ONE: STUB, "hand-in.zip": INNER},
    {f"exercises/{ONE}": STUB, "02_one_item.cl": RUNG}, {ONE: RUNG, "hand-in.zip": packed({ONE: RUNG + b"old"})},
    {ONE: RUNG, f"labs/02_reduction/{ONE}": b"of another lab"}, {ONE: RUNG, f"__MACOSX/{ONE}": b"Mac"},
    {ONE: RUNG, "broken.zip": b"no zip file", "broken.tgz": b"\x1f\x8b no tar file"},
    {ONE: RUNG, "bomb.tar.gz": gzip.compress(bytes(256 << 20), 1)},
], ids=lambda files: ", ".join(files))
def test_what_a_student_surely_means_is_taken(scratch, files):
    found = read(SAXPY, put(scratch / "Ada L_123", files))
    assert (found.name, found.files) == ("Ada L_123", MINE)
    assert [note for note in found.notes if "is missing" in note] == MISSING
    assert not any("not read" in note for note in found.notes) or "hand-in.zip" not in files or "notes.txt" in files, "an archive that was read"


@pytest.mark.parametrize("files, taken, note", [
    ({f"a/{ONE}": RUNG, f"b/{ONE}": b"other"}, [], f"{ONE} appears 2 times, and each is another one; none of them counts: a/{ONE}, b/{ONE}"),
    ({"one.zip": INNER, "two.zip": packed({"02_one_item.cl": RUNG, ONE: b"new"})}, [], f"one.zip/labs/01_saxpy/{ONE}, two.zip/{ONE}"),
    ({ONE: b"x" * (100 << 20)}, [], "more than 1 MB"),
    ({"z.zip": packed({"../../escaped.cl": b"x", "/etc/escaped.cl": b"x", f"x/{ONE}": RUNG, f"x/{DISTANCES}": bytes(50 << 20)})}, [ONE],
     "names that lead outside are not read (2), such as ../../escaped.cl"),
    ({"z.zip": damaged(packed({f"./x//{ONE}": RUNG, "labs\\01_saxpy\\opencl\\distances.cl": RUNG, STRIDE: RUNG}), STRIDE)}, [ONE, DISTANCES],
     f"{STRIDE} cannot be read"),  # with names as some programs for Windows write them
    ({"z.zip": packed({ONE: RUNG}, how=zipfile.ZIP_BZIP2)}, [], "cannot be read: it is compressed in a way that is not read"),
    ({"z.zip": packed({ONE: RUNG}, how=zipfile.ZIP_LZMA)}, [], "cannot be read: it is compressed in a way that is not read"),
    ({"z.zip": packed({ONE: RUNG}, how=zipfile.ZIP_STORED)}, [ONE], MISSING[0]),
    ({"hand-in.zip": b"hello"}, [], "cannot be read"), ({"z.zip": b"PK\x03\x04" + b"x" * 500}, [], "cannot be read"),
    ({"hand-in.zip": INNER, "answers.md": b"## Question 1\n\nyes\n"}, [ONE, "answers.md"], MISSING[0]),
    ({"broken.zip": b"no zip file", "02_one_item.cl": RUNG}, [ONE], "other files are not read (1): broken.zip"),
    ({f"report{number}.rar": b"x" for number in range(7)}, [],
     "other files are not read (7): report0.rar, report1.rar, report2.rar, report3.rar, report4.rar, ..."),
    ({"02_one_item (1).cl": RUNG}, [ONE], f"02_one_item (1).cl counts as {ONE}"), ({}, [], f"many-blocks: {ONE} or cuda/03_many_blocks.cu is missing"),
    ({"deep.zip": DEEP}, [], "many-blocks: "), ({f"{number}.zip": INNER for number in range(20)}, [ONE], "more than 8 archives"),
    ({"long.zip": packed({f"{number}{'(1)' * 20000}x.cl": b"" for number in range(20)})}, [], "other files are not read (20)"),
])
def test_what_nobody_can_mean_or_would_take_much_to_unpack_is_named_and_the_rest_counts(scratch, files, taken, note):
    begin = time.process_time()
    folder = scratch / "s"
    folder.mkdir()
    found = read(SAXPY, put(folder, files))
    assert sorted(found.files) == sorted(taken) and any(note in one for one in found.notes), found.notes
    assert not list(scratch.rglob("escaped.cl")), "a file was unpacked"
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("files, taken, note", [
    ({"answers.md": b"#" + b" " * 900_000 + b"x", ONE: RUNG}, [ONE, "answers.md"], MISSING[0]),
    ({"a.tar": b"x" * 257 + b"ustar", ONE: RUNG}, [ONE], MISSING[0]),
    ({"mine.cl": RUNG, "other.cl": b"kernel void other() {}"}, [], f"mine.cl may be {ONE}: give it this name")])
def test_reading_has_a_process_of_its_own_and_files_with_other_names_are_offered(scratch, files, taken, note):
    before = time.process_time()
    found = submission.read_one(SAXPY, [put(scratch / "s", files)])
    assert sorted(found.files) == sorted(taken) and any(note in one for one in found.notes), found.notes
    assert not any("other.cl may be" in one for one in found.notes)
    assert time.process_time() - before < 1, "it was read here, where it holds up the class"


def test_what_takes_too_long_to_read_is_ended_and_told(scratch, monkeypatch):
    monkeypatch.setattr(submission, "READ_SECONDS", 1)
    monkeypatch.setattr(submission.sys, "executable", put(scratch, {"python": "#!/bin/sh\nwhile :; do :; done\n"}) / "python")
    (scratch / "python").chmod(0o755)
    found = submission.read_one(SAXPY, [put(scratch / "eve", {ONE: RUNG})])
    assert (found.name, found.files) == ("eve", {}) and "cannot be read in 1 seconds" in found.notes[0]


def test_a_file_of_the_current_folder_is_no_part_of_the_tools(scratch):
    put(scratch, {"argparse.py": "print('eve')"})
    words, = re.findall(r"PYTHONPATH=\$root/tools become (python3 .*-m grading)", (ROOT / "lab").read_text(encoding="utf-8"))
    ran = subprocess.run([*words.split(), ROOT, "handout", "no-lab", "there"], cwd=scratch, text=True, capture_output=True, check=False,
                         env={**os.environ, "PYTHONPATH": str(ROOT / "tools")})
    assert ran.returncode != 0 and ran.stderr.count("\n") < 5 and "eve" not in ran.stdout + ran.stderr, ran


def test_links_pipes_archives_and_hand_outs_are_read_as_what_they_are(scratch):
    (scratch / "linked/opencl").mkdir(parents=True)
    (scratch / "linked" / ONE).symlink_to("/etc/passwd")
    (scratch / "linked/all").symlink_to("/")
    (scratch / "linked/hand-in.zip").symlink_to(scratch / "z.zip")
    os.mkfifo(scratch / "linked/02_pipe.cl")
    found = read(SAXPY, scratch / "linked")
    assert found.files == {} and any("a link, and is not read" in note for note in found.notes), found.notes
    assert found.notes[-1] == "links and special files are not read (3)"
    os.mkfifo(scratch / "pipe")
    for path in (scratch / "pipe", Path("/dev/zero"), put(scratch, {"text.txt": b"hello"}) / "text.txt"):  # two have no end
        assert read(SAXPY, path).notes == ["it is neither a folder nor an archive (.zip, .tar.gz, .tgz, .tar)"], path
    for name, content in (("x.tar.gz", packed(MINE, "tar")), ("y.tgz", packed(MINE, "tar")), ("z.zip", packed({"h.zip": INNER}))):
        (scratch / name).write_bytes(content)
        assert (read(SAXPY, scratch / name).name, read(SAXPY, scratch / name).files) == (name[0], MINE), name
    handout.write_tree([SAXPY], scratch / "whole")
    whole = read(SAXPY, scratch / "whole")
    assert whole.files[ONE] == STUB and any("other files are not read" in note for note in whole.notes), whole.notes


def test_answers_are_found_whatever_program_wrote_them_and_however_their_headings_look():
    asked = handout.questions(SAXPY)
    text = f"# Answers\n\n## Question 1\n\n> {asked[0]}\n\nyes\n\n## Question 2\n\n> {asked[1]}\n> said\n\nQuestion 1 says it.\n"
    for content in (text.encode(), text.replace("\n", "\r\n").encode(), text.encode("utf-8-sig"), text.encode("utf-16"),
                    b"\xfe\xff" + text.encode("utf-16-be"), text.replace("## Q", "### q").replace("Question 2", "Question 2: sectors").encode(),
                    text.replace("## Question 1", "**Question 1**").replace("## Question 2", "**Question 2:**").encode(),
                    text.replace("## Question 1", "Question 1").replace("## Question", "## **Question").encode(),
                    text.replace("## Question 1", "## 1.").replace("## Question 2", "## Q2 (paper)").encode()):
        given, rest = submission.answers_of(SAXPY, submission.text_of(content))
        assert (given, rest) == ({1: "yes", 2: "> said\n\nQuestion 1 says it."}, ""), content
    assert submission.text_of("für".encode("cp1252")) == "für"
    assert submission.answers_of(SAXPY, "# Me\n\nyes\n## Question 99\nno\n") == ({}, "yes\nno"), "no heading"


def test_what_was_handed_in_for_a_back_end_that_is_not_here_is_named(saxpy):
    files = {file: saxpy.lab.rung(file).encode() for file in ("cuda/03_many_blocks.cu", "cuda/04_grid_stride.cu")}
    files["opencl/03_grid_stride.cl"] = b"kernel void saxpy("
    result = grade.grade_one(saxpy, submission.Submission("ada", files), 0, {}, Mistakes(saxpy))
    here = saxpy.why_not(saxpy.lab.exercises[0].parts["cuda"]) == ""
    assert result["notes"] == ([] if here else ["many-blocks: cuda/03_many_blocks.cu was not graded here: no GPU",
                                                "repair-stride: cuda/04_grid_stride.cu was not graded here: no GPU"])


def test_of_several_back_ends_the_one_with_more_points_counts_then_what_was_graded_then_what_was_handed_in():
    def of(outcome, score=0):
        return [Result("values", outcome, score, 3)]
    rising = [of(UNSOLVED), of(NOT_GRADED), of(FAILED), of(FAILED, 1), of(PASSED, 3)]
    assert sorted(rising[::-1], key=grade.worth) == rising and len(set(map(grade.worth, rising))) == 5


@pytest.mark.usefixtures("closed_repository", "saxpy")
def test_a_class_is_graded_again_resumed_and_in_another_order(scratch):
    stride, asked = SAXPY.rung(STRIDE), handout.questions(SAXPY)[1]
    (made(scratch, "ada", stride=stride) / "answers.md").write_text(f"# Answers\n\n## Question 2\n\n> {asked}\n\n<script>alert(1)</script> 42\n")
    made(scratch, "=bob", stride=stride.replace("i < n", "i < n && i != 100"))
    made(scratch, "cy", stride="kernel void saxpy(\n")
    made(scratch, "dan")
    roster = scratch / "roster.csv"
    roster.write_text("submission,Student,ID,SIS User ID,SIS Login ID,Section,Email address\n,Points Possible,,,,,\n"
                      'ada,"Lovelace, Ada",101,,ada,A,a@b.org\ncy,=1+1,102,,cy,A,c@b.org\n=bob,Bob,103,,bob,A,b@b.org\n')
    everybody = [scratch / name for name in ("ada", "=bob", "cy", "dan")]
    out = scratch / "out"
    common = ("--roster", roster, "--seed", "s", "--canvas", "Lab 01", "--moodle", "Lab 01")
    graded("saxpy", *everybody, "--out", out, *common, "--jobs", 2, "--export-sources", scratch / "sources")
    found = books(out)
    assert not any("grading failed" in line["notes"] for line in found.values()), found
    assert {name: line["score"] for name, line in found.items()} == {"ada": "5", "'=bob": "0", "cy": "0", "dan": "0"}, "scores"
    assert (found["ada"]["Section"], found["ada"]["Student"], found["cy"]["Student"]) == ("A", "Lovelace, Ada", "'=1+1"), "roster"
    one = json.loads((out / "submissions/=bob/results.json").read_text())
    assert (one["score"], one["max_score"]) == (0, 25), "results.json"
    fields = {"score", "max_score", "name", "number", "output", "visibility", "status"}
    assert all(fields <= set(entry) for entry in one["tests"]) and one["execution_time"] >= 0, "fields of results.json"
    hidden = [entry for entry in one["tests"] if entry["visibility"] != "visible"]
    assert hidden and all("n = " not in entry["output"] for entry in hidden), "an input of a hidden test is named"
    assert len(one["tests"]) == sum(len(exercise.tests) for exercise in SAXPY.exercises), "tests of results.json"
    for name, words in (("cy", ("it does not compile", "not solved")), ("=bob", ("element 100", "Hint:"))):
        printed = (out / f"submissions/{name}/feedback.md").read_text()
        assert all(word in printed for word in words), printed
    page = (out / "class.html").read_text()
    for words in ("4 of 4 submissions", "overflow-wrap: anywhere", "<th>Section</th>", "<td>Lovelace, Ada</td>"):
        assert words in page, f"{words} is not in class.html"
    assert "<script>alert" not in page
    answer = (out / "answers/question-02.md").read_text()
    asked = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", asked)
    assert answer.startswith(f"# Question 2\n\n{asked}\n\n## ada\n\n") and "42" in answer and "from m on" not in answer.partition("## ada")[2], answer
    assert answer.endswith("\nNo answer: =bob, cy, dan\n"), answer
    with open(out / "answers.csv", newline="") as file:
        assert [row["answered"] for row in csv.DictReader(file) if row["submission"] == "ada"][:3] == ["no", "yes", "no"], "answers.csv"
    assert (scratch / "sources/ada/opencl_03_grid_stride.cl").is_file(), "sources for JPlag"
    assert (scratch / "sources-base/opencl_03_grid_stride.cl").is_file(), "the stubs for JPlag"
    assert (out / "canvas.csv").read_text().splitlines()[2:] == \
        ["Bob,103,,bob,A,0", '"Lovelace, Ada",101,,ada,A,5', "'=1+1,102,,cy,A,0"], "canvas.csv"
    with open(out / "rates.csv", newline="") as file:
        rates = [row for row in csv.DictReader(file) if row["exercise"] == "repair-stride" and row["what"] == "test"]
    assert {row["of"] for row in rates} == {"4"} and "1" in {row["submissions"] for row in rates}, rates

    # In another order, one at a time: the same results.
    graded("saxpy", *reversed(everybody), "--out", scratch / "other", *common, "--jobs", 1)
    assert books(scratch / "other") == found, "the results in another order"
    for name in ("ada", "=bob", "cy", "dan"):
        assert (scratch / f"other/submissions/{name}/feedback.md").read_text() == \
            (out / f"submissions/{name}/feedback.md").read_text(), f"the feedback of {name}"

    # Again: nothing is done twice. What was lost is done again; what was handed in anew as well. A total by hand counts.
    times = {name: (out / f"submissions/{name}/graded.json").stat().st_mtime_ns for name in ("ada", "=bob", "cy", "dan")}
    shutil.rmtree(out / "submissions/ada")
    made(scratch, "dan", stride=stride)
    with open(out / "gradebook.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    with open(out / "gradebook.csv", "w", newline="") as file:
        csv.DictWriter(file, lines[0]).writerows([dict(zip(lines[0], lines[0])), *(
            line | {"total": "4"} if line["submission"] == "cy" else line for line in lines)])
    graded("saxpy", *everybody, "--out", out, *common)
    assert {name for name in times if times[name] != (out / f"submissions/{name}/graded.json").stat().st_mtime_ns} == {"ada", "dan"}
    assert [books(out)[name]["total"] for name in ("ada", "dan", "cy")] == ["5", "5", "4"], "the points then"
    assert "'=1+1,102,,cy,A,4" in (out / "canvas.csv").read_text() and "c@b.org,4," in (out / "moodle.csv").read_text()
    roster.write_text("submission,id\nada,7\neve,9\n")
    printed = graded("saxpy", *everybody, "--out", out, "--roster", roster, "--export-sources", scratch / "sources").stderr
    for words in ("in the roster, but without a submission: eve\n", "not in the roster: =bob, cy, dan\n"):
        assert words in printed, f"'{words}' is not in: {printed}"
    assert (books(out)["ada"]["id"], books(out)["eve"]["id"], books(out)["eve"]["notes"]) == ("7", "9", "no submission"), "who is absent"
    with pytest.raises(Fault, match="holds results of lab saxpy"):
        grade.state_of(out, load(ROOT, "reduction"), "tests", False, "")
    graded("saxpy", *everybody, "--out", scratch, rc=2)
    for told_of, *words in (("there is no submission", scratch / "nobody"), ("--jobs is a number", *everybody, "--jobs", 0),
                            ("is not empty", *everybody, "--export-sources", ROOT / "cmake")):
        refused(told_of, *words, "--out", out)
    refused("--canvas needs a roster", *everybody, "--out", scratch / "none", "--canvas", "Lab 01")
    assert not (scratch / "none").exists()


@pytest.mark.usefixtures("closed_repository", "saxpy")
def test_points_given_by_hand_stay_and_a_folder_that_cannot_be_written_stops_nobody_else(scratch):
    everybody, out = [made(scratch, name) for name in ("ada", "=bob", "cy")], scratch / "out"
    for folder in everybody:
        (folder / "answers.md").write_text("## Question 1\n\nyes\n")
    with (scratch / "cy/answers.md").open("a") as file:
        file.write(f"## zoe\n\n<img src=x> a && b\n## Question {'9' * 5000}\n")
    graded("saxpy", *everybody, "--out", out)
    assert (out / "answers/question-01.md").read_text().split("## cy")[1].splitlines()[:6] == \
        ["", "", "> yes", "> ## zoe", ">", "> &lt;img src=x> a &amp;&amp; b"], "an answer that is no section of its own"
    text = (out / "answers.csv").read_text()
    for old, new in (("ada,1,yes,\nada,2,no,\n", "ada,1,yes,2\nada,2,no,1.5\n"), ("'=bob,1,yes,\n", "'=bob,1,yes,3\n")):
        assert old in text, text
        text = text.replace(old, new)
    (out / "answers.csv").write_text(text)
    book = (out / "gradebook.csv").read_text()
    (out / "gradebook.csv").write_text(re.sub(r"(?m)^(cy,0,25(?:,0)*),,", r"\1,7,", book))
    points = {"ada": "3.5", "'=bob": "3", "cy": "7"}

    def again(written, what):
        graded("saxpy", *everybody, "--out", out)
        assert (out / "answers.csv").read_text() == written, f"answers.csv {what}"
        assert {name: line["answers"] for name, line in books(out).items()} == points, f"the gradebook {what}"

    again(text, "of the first run after that")
    for name in ("answers.csv", "gradebook.csv"):  # as spreadsheets of other countries save a table
        with open(out / name, newline="") as file:
            rows = list(csv.reader(file))
        with open(out / name, "w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file, delimiter=";").writerows([cell.replace("1.5", "1,5") for cell in row] for row in rows)
    again(text.replace("1.5", '"1,5"'), "that had semicolons")
    # A table that is not understood stays beside the new one, and stops nobody.
    for name, content, kept, told_of in (
            ("answers.csv", "sep=;\n" + text, "answers-unread-1.csv", "no column 'submission'"),
            ("answers.csv", text.replace(",1.5", ",1,5"), "answers-unread-2.csv", "has more cells than the first line"),
            ("gradebook.csv", book.replace(",answers,", ",,"), "gradebook-unread-1.csv", "no column 'answers'")):
        before, complaints = (out / name).read_text(), []
        (out / name).write_text(content)
        assert grade.lines_of(out / name, complaints, "submission", "answers" if name == "gradebook.csv" else "points") == []
        assert len(complaints) == 1 and told_of in complaints[0] and f"It is now {kept}" in complaints[0], complaints
        assert (out / kept).read_text() == content and not (out / name).exists(), f"{name}, which is not understood"
        (out / name).write_text(before)
    (out / "answers.csv").write_text(text.replace("1.5", "good"))
    printed = graded("saxpy", *everybody, "--out", out, rc=1).stderr
    assert printed.count("'good' for ada, question 2, is no number") == 1, printed
    (out / "answers.csv").write_text(text)
    again(text, "that was mended")

    # Whoever is not named stays, and so do the points of somebody whose result is lost.
    shutil.rmtree(out / "submissions/=bob")
    tables = (out / "answers.csv").read_text(), books(out)
    graded("saxpy", everybody[0], "--out", out)
    assert books(out) == tables[1], "the gradebook after a run for one of three"
    assert sorted((out / "answers.csv").read_text().splitlines()) == \
        sorted(line.replace("'=bob,1,yes,3", "'=bob,1,,3") for line in tables[0].splitlines()
               if not line.startswith("'=bob") or line.endswith("3")), "answers.csv after a run for one of three"
    assert "3 of" not in (out / "class.html").read_text() and "2 of 2 submissions" in (out / "class.html").read_text()
    shutil.rmtree(out / "submissions/ada")
    (out / "submissions/ada").write_text("no folder")
    (everybody[2] / "answers.md").write_text("## Question 1\n\nno\n")
    printed = graded("saxpy", *everybody, "--out", out).stderr
    assert "ada: grading failed: " in printed and "] cy: 0 of 25" in printed, printed
    assert "grading failed" in books(out)["ada"]["notes"] and "grading failed" not in books(out)["cy"]["notes"], books(out)


def refused(told_of, *words):
    """What ./lab grade refuses before anything is graded, in one line."""
    with pytest.raises(Fault) as caught:
        grade.main(ROOT, ["saxpy", *map(str, words)])
    assert told_of in str(caught.value) and "\n" not in str(caught.value), str(caught.value)


def test_rosters_names_and_folders_that_would_do_harm_are_refused_in_one_line(scratch):
    ada, unnamed, roster, out = made(scratch, "ada"), scratch / os.fsdecode(b"not\xff"), scratch / "roster.csv", scratch / "out"
    unnamed.mkdir()
    assert graded("saxpy", unnamed, "--out", out, rc=2).stderr.count("\n") == 1, "a line"
    refused("lies in the submission", ada, "--out", ada / "opencl/out")  # results would become part of what was handed in
    refused("'not?'", unnamed, "--out", out)
    for content, told_of in ((b"submission,id\nada,1\nada,2\n", "two lines for 'ada'"), (b"name;id\n", "'name,id'"),
                             (b"", "no column 'submission'"), (b"submission,id\nada,1\n ,2\n", "line 3, names no submission"),
                             (b"id,submission\n8\n", "line 2, names no"), (b"submission,id\nada,1,2\n", "line 2, has more cells"),
                             (b"submission,id\nada,1\nbob,1\n", "line 3: the id '1' appears twice"),
                             *((f"submission,{name}\n".encode(), f"'{name}' as the gradebook has")
                               for name in ("score", "answers", "total", "notes", "max_score", "distances")),
                             (b"submission,a,a\n", "'a' twice")):
        roster.write_bytes(content)
        refused(told_of, ada, "--out", scratch / "none", "--roster", roster)
    refused("/ad?[31m?", scratch / "ad\u009b[31m\u202e", "--out", out)
    with pytest.raises(OSError):
        grade.main(ROOT, ["saxpy", str(ada), "--out", str(scratch / "none"), "--roster", str(scratch / "no-roster.csv")])
    for number in range(3):
        made(scratch / "class", f"s{number}", one=f"kernel void saxpy() {{}} // {number}")
    refused(f"class holds several submissions: name {scratch}/class/*", scratch / "class", "--out", out)
    held = sandbox_module.locked(made(scratch, "busy"))
    refused("another run is working on", ada, "--out", scratch / "busy")
    os.close(held)
    assert not any(path.name in ("state.json", "submissions") for path in scratch.rglob("*")), "something was graded"


def test_rosters_are_read_whatever_program_wrote_them():
    text = "Submission,ID,name,late_days\nada,007,Jürgen,2\ne\u0301va,8,,\n"
    people = {"ada": {"submission": "ada", "id": "007", "name": "Jürgen", "late_days": "2"},
              "éva": {"submission": "éva", "id": "8", "name": "", "late_days": ""}}
    for content in (text.encode(), text.encode("utf-8-sig"), text.encode("utf-16"), text.replace(",", ";").encode(),
                    text.replace(",", "\t").replace("\n", "\r\n").encode("utf-16"),
                    text.replace("e\u0301va", "éva").replace(",", ";").encode("cp1252")):
        assert grade.read_roster(submission.text_of(content), Path("r.csv"), []) == (["id", "name", "late_days"], people), content
    assert grade.read_roster(" submission,id, name\n ada , 7,Ada\neve\n", Path("r.csv"), [])[1] == \
        {"ada": {"submission": "ada", "id": "7", "name": "Ada"}, "eve": {"submission": "eve", "id": "", "name": ""}}


def test_what_somebody_writes_into_the_gradebook_stays(scratch):
    head = report.gradebook_head(SAXPY, ["id"])

    def written(scores, sums, names=("ada", "bob")):
        """The gradebook after a run in which each exercise has these points."""
        book, complaints = grade.Gradebook(scratch, head, []), []
        rows = []
        for name in names:
            result = grade.failed(SAXPY, name, "x") | {"notes": [], "person": {"id": f"id of {name}", "submission": name}}
            for exercise in result["exercises"].values():
                exercise["score"] = scores
            rows.append(report.gradebook_row(SAXPY, result | {"score": scores * 3}))
        book.write(rows, sums)
        assert not complaints
        return books(scratch)

    def edited(*pairs):
        text = (scratch / "gradebook.csv").read_text()
        for old, new in pairs:
            assert text.count(old) == 1, f"{old} in {text}"
            text = text.replace(old, new)
        (scratch / "gradebook.csv").write_text(text)

    first = written(1, {"bob": "2"})
    assert (first["ada"]["total"], first["bob"]["total"]) == ("3", "5"), "totals"
    edited(("ada,id of ada,3,25,1,1,1,,3,", "ada,id of ada,3,25,4,1,1,7,3,"), ("notes\n", "notes,tutor\n"), ("bob,id of bob,", "bob,B,"))
    edited(("\nbob,B,3,25,1,1,1,2,5,", "\nbob,B,3,25,1,1,1,2,5,,Eve"), ("ada,id of ada,3,25,4,1,1,7,3,", "ada,id of ada,3,25,4,1,1,7,3,,"))
    with (scratch / "gradebook.csv").open("a") as file:
        file.write("guest,,9\n")
    for _ in range(3):
        found = written(2, {"bob": "2.5"})
        assert found["ada"] | {"tutor": ""} == {"submission": "ada", "id": "id of ada", "score": "8", "max_score": "25", "many-blocks": "4",
                                                "distances": "2", "repair-stride": "2", "answers": "7", "total": "15", "tutor": "",
                                                "notes": "changed by hand: many-blocks was 2"}, found["ada"]
        assert (found["bob"]["id"], found["bob"]["tutor"], found["bob"]["total"], found["bob"]["score"]) == ("B", "Eve", "8.5", "6")
        assert found["guest"]["score"] == "9" and found["guest"]["notes"] == ""
    written(2, {}, names=())  # results that are lost: what was written by hand stays
    assert {name: (line["answers"], line["tutor"]) for name, line in books(scratch).items()} == \
        {"ada": ("7", ""), "bob": ("2.5", "Eve"), "guest": ("", "")}
    edited(("ada,id of ada,8,25,4,", "ada,id of ada,,25,,"))  # an empty cell is no correction
    assert (written(1, {})["ada"]["score"], written(1, {})["ada"]["total"]) == ("3", "10")
    text = (scratch / "gradebook.csv").read_text()
    (scratch / ".gradebook.csv").unlink()  # of an earlier version
    (scratch / "gradebook.csv").write_bytes(text.replace(",", ";").encode("utf-16"))
    assert written(1, {})["ada"]["answers"] == "7" and written(2, {})["ada"]["score"] == "6"


def test_what_runs_that_were_killed_left_is_removed(scratch, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    for name in ("gpulab-grading-dead", "gpulab-sandbox-dead", "gpulab-grading-alive", "gpulab-grading-young", "gpulab-other-dead"):
        (scratch / name).mkdir()
        if "young" not in name:
            os.utime(scratch / name, (0, 0))
    held = sandbox_module.locked(scratch / "gpulab-grading-alive")
    sandbox_module.best("none").close()
    os.close(held)
    assert {path.name for path in scratch.iterdir()} == {"gpulab-grading-alive", "gpulab-grading-young", "gpulab-other-dead"}


def test_a_damaged_state_of_a_class_is_made_anew_and_a_file_of_another_program_is_not(scratch, capsys):
    for number, state in enumerate(("[1]", "null", "7", "", "{", "[" * 5000, '{"lab": "saxpy"}')):
        strange, own = scratch / f"strange{number}", scratch / f"own{number}"
        put(own, {"submissions/ada/graded.json": "", "state.json": state})
        put(strange, {"state.json": state})
        for printed in ("state.json cannot be read", ""):
            grade.state_of(own, SAXPY, "tests", False, "")
            assert printed in capsys.readouterr().err
        with pytest.raises(Fault, match="state.json"):
            grade.state_of(strange, SAXPY, "tests", False, "")


def test_names_that_are_one_in_a_table_and_links_are_refused(scratch):
    for number, name in enumerate(("bob\u200b", "b\u00a0b", " bob", "bob ", "'=x", "a;'=x", 'a; "\'+x', "x\n", "\u202ebob", ".x", "bob\u00ad", "bob\u3164", "bo\ufe0fb", "--sandbox=none")):
        path = scratch / str(number) / name
        path.mkdir(parents=True)
        refused("cannot be the name of a submission", path, "--out", scratch / "out")
    for number, name in enumerate(("=x", "O'Brien, Ada", "a'b", "x; y", "Müller", "李 明", "a-b=c", "'tis")):
        path = scratch / f"fine{number}" / name
        path.mkdir(parents=True)
        assert list(grade.named([str(path)])) == [name]
    for number, (one, other) in enumerate((("bob", "b\u043eb"), ("anna", "\uff41nna"), ("PAT", "\u03a1\u0391\u03a4"))):
        refused("look alike", made(scratch / f"{number}", one), made(scratch / f"{number}", other), "--out", scratch / "out")
    made(scratch / "here", "--sandbox=none")
    ran = subprocess.run([*COMMAND, "grade", "saxpy", "--sandbox=none", "--out", str(scratch / "out")], cwd=scratch / "here", text=True,
                         capture_output=True, check=False, env=VARIABLES)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1) and "name submissions as ./*" in ran.stderr, ran.stderr
    (scratch / "link").symlink_to(scratch / "0", target_is_directory=True)
    for path in ("link", "link/", "link/../link"):
        refused("is a link: name what it leads to", f"{scratch}/{path}", "--out", scratch / "out")
    # Of one name: anna/ beside anna.zip, and accents in one or in two characters. Both count if they hold the same.
    pair = [made(scratch / "nfc", "caf\u00e9", one="a"), made(scratch / "nfd", "cafe\u0301", one="b")]
    assert grade.named(list(map(str, pair))) == {"caf\u00e9": pair}
    assert "two submissions of one name" in submission.read_one(SAXPY, pair).notes[0]
    paths = [made(scratch, "anna", one="x"), scratch / "anna.zip"]
    for content, files, notes in (("x", [ONE], "missing"), ("y", [], "anna and anna.zip are two submissions of one name")):
        paths[1].write_bytes(packed({ONE: content}))
        found = submission.read_one(SAXPY, paths)
        assert (list(found.files), notes in found.notes[0]) == (files, True), found


def test_nothing_that_a_student_wrote_becomes_a_formula_or_a_part_of_a_page():
    for text, cell in (("=1", "'=1"), (" =1", " '=1"), ("a;=1", "a;'=1"), ('a; "=1', 'a; "\'=1'), ("a\n@x", "a\n'@x"), ("\t-x", "\t'-x"),
                       ("x;\uff1d1", "x;'\uff1d1"), ("a - b; c = d", "a - b; c = d"), ("'=1", "'=1")):
        assert report.safe_cell(text) == cell == report.safe_cell(cell), text
    evil = ["<img src=x onerror=alert(1)>", "# heading", "![x](http://evil/x.png)", "[x](javascript:alert(1))", "`</pre><b>", "&lt;i&gt;",
            "a\n\n# heading\n```\n<b>x</b>\n![x](y)", "- x", "<javascript:x>", "*x* _y_ ~~z~~", "[a]: javascript:x"]
    for text in evil:
        tests = [Result(one.name, FAILED, 0, one.points, text, text).as_dict() for one in SAXPY.exercises[0].tests]
        result = grade.failed(SAXPY, text, "x") | {"notes": [text]}
        result["exercises"]["many-blocks"]["tests"] = tests
        page = report.feedback(SAXPY, result)
        outside = re.sub(r"(?ms)^ *(`{3,})$.*?^ *\1$|^  Hint: .*?$", "", page)  # of blocks of code
        assert not re.search(r"(?<!\\)[<`\[\]*~]|(?m:^ *#+ heading|^- [-#]|(?<!\w)(?<!\\)_)|(?<!\\)&", outside), outside
        shown = grade.quoted(text)
        assert not re.search(r"<|\]\(|\]:", shown) and all(line.startswith(">") for line in shown.split("\n")), shown
        page = report.page(SAXPY, [result | {"person": {"<b>": f"<td>{text}<b>"}}], 1, ["<b>"])
        assert "<b>" not in page and "<img" not in page
        found = json.loads(report.gradescope(SAXPY, result))
        assert {found[name] for name in ("output_format", "test_output_format", "test_name_format")} == {"text"}
    assert report.markdown("opencl/02_one_item.cl is missing (1.5)") == "opencl/02_one_item.cl is missing (1.5)", "what needs no escape"
    assert grade.quoted("a[i][j] = b[k]; f(x)") == "> a[i][j] = b[k]; f(x)", "code in an answer"


def graded_as(outcomes, message="why", score=0):
    """A made-up result in which the tests of the first exercise have these outcomes."""
    exercise = SAXPY.exercises[0]
    tests = [Result(test.name, one, 0, test.points, message).as_dict() for test, one in zip(exercise.tests, outcomes)]
    return {"name": "ada", "score": score, "max_score": SAXPY.points, "notes": [], "seconds": 1,
            "exercises": {exercise.name: {"backend": "opencl", "score": 0, "points": exercise.points, "tests": tests}}}


def test_feedback_names_no_input_of_a_hidden_test():
    tests = SAXPY.exercises[0].tests
    shown = sum(one.visible for one in tests)
    assert 0 < shown < len(tests), "the exercise needs tests of both kinds"
    for outcome in (FAILED, CRASHED, TIMED_OUT, BUILD_ERROR, NOT_GRADED):
        result = graded_as([outcome] * len(tests), "n = 257, float: 0.01 times the time of the rung")
        assert report.feedback(SAXPY, result).count("n = 257") == (1 if outcome == BUILD_ERROR else shown), f"inputs named: {outcome}"
        found = report.gradescope(SAXPY, result)
        assert found.count("n = 257") == shown, f"inputs named in results.json: {outcome}"
        assert [one["visibility"] == "visible" for one in json.loads(found)["tests"]] == [one.visible for one in tests], \
            "students see hidden tests before they are published"
    assert report.feedback(SAXPY, {**result, "name": "c\u009b31m\u202e"}).splitlines()[0].endswith(": c?31m?"), "a name that is no text"
    speed = Result("speed", PASSED, 1, 1, "1.10 times the time of the rung", "1.10 times the time of the rung").as_dict()
    assert report.shown_to_student({"visible": False, "hint": ""}, speed) == "right: 1.10 times the time of the rung", "a time"


def test_one_error_of_the_compiler_stands_once_in_the_feedback():
    tests = SAXPY.exercises[0].tests
    page = report.feedback(SAXPY, graded_as([BUILD_ERROR] * len(tests), "line 3: error"))
    assert page.count("line 3: error") == 1 and page.count("see above") == sum(one.visible for one in tests) - 1, page


def test_the_class_page_and_junit_say_what_became_of_each_exercise():
    page = report.page(SAXPY, [graded_as([PASSED], score=score) for score in (7, 1, 2, 9)], 5, [])
    assert "4 of 5 submissions graded. Points: lowest 1, median 4.5, highest 9." in page
    for outcomes, word, left in (((PASSED, FAILED), FAILED, False), ((FAILED, CRASHED), CRASHED, False),
                                 ((BUILD_ERROR, NOT_GRADED), NOT_GRADED, False), ((PASSED, NOT_GRADED), NOT_GRADED, False),
                                 ((NOT_GRADED, NOT_GRADED), NOT_GRADED, True), ((UNSOLVED,), UNSOLVED, False)):
        result = graded_as(outcomes)
        page = report.page(SAXPY, [result], 1, [])
        assert f">0 {word}</td>" in page, outcomes
        assert ("Not graded, and 0 points in the tables: ada (many-blocks)." in page) == left, outcomes
        assert grade.description_of(result) == f"0 of {SAXPY.points:g}{', not graded: many-blocks' if left else ''}", outcomes
    for outcome, counts in ((FAILED, (1, 0, 0)), (UNSOLVED, (1, 0, 0)), (CRASHED, (0, 1, 0)), (TIMED_OUT, (0, 1, 0)),
                            (NOT_GRADED, (0, 0, 1)), (PASSED, (0, 0, 0))):
        suite = xml.etree.ElementTree.fromstring(report.junit(SAXPY, graded_as([outcome])))
        assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["1", *map(str, counts)], outcome


def test_regrade_does_a_mended_test_again_and_keeps_the_others(saxpy):
    exercise = next(one for one in saxpy.lab.exercises if one.name == "repair-stride")
    part = exercise.parts["opencl"]
    files = files_of(part, saxpy.lab.rung)
    marked = {one.key: dataclasses.replace(one, message="kept") for one in saxpy.judge(exercise, part, files, 0)}
    mended = dataclasses.replace(exercise, tests=[exercise.tests[0], dataclasses.replace(exercise.tests[1], points=9)])
    assert [(one.message, one.score) for one in saxpy.judge(mended, part, files, 0, marked)] == [("kept", 2), ("", 9)], "results"
    marked = {key: dataclasses.replace(one, outcome=NOT_GRADED) for key, one in marked.items()}
    again = saxpy.judge(exercise, part, files, 0, marked)
    assert [(one.message, one.outcome) for one in again] == [("", PASSED)] * 3, "what had not been graded"


@pytest.mark.usefixtures("closed_repository")
def test_after_a_regrade_that_was_killed_a_run_without_it_does_the_rest(scratch, saxpy):
    everybody, out = [made(scratch, name) for name in ("ada", "bob")], scratch / "regraded"
    graded("saxpy", *everybody, "--out", out)
    now = json.loads((out / "state.json").read_text())
    (out / "state.json").write_text(json.dumps(now | {"tests": "tests of then"}))
    assert "--regrade" in graded("saxpy", *everybody, "--out", out, rc=2).stderr
    old = out / "submissions/bob/graded.json"
    old.write_text(old.read_text().replace(now["tests"], "tests of then"))
    assert grade.OLD_TESTS in graded("saxpy", everybody[0], "--out", out, "--regrade").stderr, "old results are not told"
    times = {path: path.stat().st_mtime_ns for path in out.glob("submissions/*/graded.json")}
    assert graded("saxpy", *everybody, "--out", out).stderr.count(grade.OLD_TESTS) == 0, "old results that are told"
    assert {path for path in times if path.stat().st_mtime_ns != times[path]} == {old}, "what was done again"
    assert json.loads(old.read_text())["tests"] == now["tests"], "the tests of the second one"
    assert grade.description_of(grade.failed(SAXPY, "ada", "no room")) == \
        "grading failed: no room; the same command grades it again", "what is said where grading itself failed"


@pytest.mark.usefixtures("closed_repository", "saxpy")
def test_a_run_that_is_killed_goes_on_where_it_stopped_and_leaves_no_process_behind(scratch):
    stride = SAXPY.rung("opencl/03_grid_stride.cl")
    names = [f"s{number}" for number in range(3)]
    everybody = [str(made(scratch, name, stride=stride)) for name in names]
    out = scratch / "out"
    words = ["grade", "saxpy", *everybody, "--out", str(out), "--jobs", "1"]
    with subprocess.Popen([*COMMAND, *words], env=VARIABLES, stderr=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL) as running:
        end = time.monotonic() + 600
        while len(list(out.glob("submissions/*/graded.json"))) < 1 and time.monotonic() < end:
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
    before = {path: path.stat().st_mtime_ns for path in out.glob("submissions/*/graded.json")}
    assert 0 < len(before) < 3, f"{len(before)} submissions were graded when it was killed"
    graded("saxpy", *everybody, "--out", out, "--jobs", 2)
    after = {path: path.stat().st_mtime_ns for path in out.glob("submissions/*/graded.json")}
    assert len(after) == 3, "submissions graded"
    assert {path: after[path] for path in before} == before, "what had been graded"
    assert {line["score"] for line in books(out).values()} == {"5"}, "scores"

    # Stopped while a kernel runs that does not end.
    slow = made(scratch, "slow", stride=stride.replace("{", "{ for (volatile int i = 0; ; ++i) {}", 1))
    with tempfile.TemporaryDirectory() as folder:  # in which the sandbox makes its own; what was handed in stays closed to it
        os.chmod(folder, 0o711)
        for number, rc in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            results = Path(folder, number.name)
            words = ["grade", "saxpy", everybody[0], str(slow), "--out", str(results), "--jobs", "2"]
            with subprocess.Popen([*COMMAND, *words], env={**VARIABLES, "TMPDIR": folder}, stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, text=True) as running:
                next(line for line in running.stderr if "/2]" in line)
                time.sleep(1.5)
                running.send_signal(number)
                begin = time.monotonic()
                printed = running.stderr.read()
                assert running.wait() == rc, f"{number.name}: {printed}"
            assert time.monotonic() - begin < 60, f"{number.name} took {time.monotonic() - begin:.0f} s"
            assert (printed.count("stopping"), printed.count("\n")) == (1, 1), printed
            assert list(Path(folder).glob("gpulab-grading-*")) == [], f"what {number.name} leaves"
            assert [path.parent.name for path in results.glob("submissions/*/graded.json")] == ["s0"], "what counts as graded"


@pytest.mark.usefixtures("saxpy")
def test_the_zip_of_the_autograder_laid_out_as_gradescope_does_writes_results(scratch):
    small = scratch / "repository"
    small.mkdir()
    for name in ("lab", "secret.txt"):
        (small / name).touch()
    for words in (["init", "--quiet"], ["add", "lab"]):
        subprocess.run(["git", "-C", str(small), *words], check=True)
    assert package.tracked(small) == ["lab"], "the files of a repository that are packed"
    for name in ("one.zip", "two.zip"):
        command("package-autograder", "saxpy", scratch / name)
    assert (scratch / "one.zip").read_bytes() == (scratch / "two.zip").read_bytes(), "the same zip made again"
    place = scratch / "autograder"
    for name in ("source", "submission", "results"):
        (place / name).mkdir(parents=True)
    with zipfile.ZipFile(scratch / "one.zip") as archive:
        names = archive.namelist()
        archive.extractall(place / "source")
    assert {"setup.sh", "run_autograder", "repository/lab"} <= set(names), "what Gradescope runs"
    assert "seed" not in names and "--seed" not in (place / "source/run_autograder").read_text(), \
        "each grading has new hidden inputs"
    assert not any(name.startswith(("repository/tests/", "repository/labs/02")) for name in names
                   if name != "repository/tests/mistakes/01_saxpy.toml"), \
        "files of other labs"
    (place / "source/repository/build").mkdir()  # what setup.sh builds there
    (place / "source/repository/build/default").symlink_to(BUILD)
    (place / "submission_metadata.json").write_text(json.dumps({"created_at": "2026-11-02T10:00:00.1-07:00", "users": [{}], "assignment":
                                                                {"due_date": "2026-11-01T09:00:00.000000-07:00"}}))
    made(place, "submission", stride=SAXPY.rung("opencl/03_grid_stride.cl"))
    subprocess.run(["bash", str(place / "source/run_autograder")], check=True,
                   env={**os.environ, "GPULAB_AUTOGRADER": str(place)})
    found = json.loads((place / "results/results.json").read_text())
    assert (found["score"], found["max_score"]) == (5, 25), "results.json"
    assert "handed in late: late days: 2" in found["output"] and "25" not in found["output"] and "submission:" not in found["output"], found
    shutil.rmtree(place / "source/repository/labs")  # grading fails
    subprocess.run(["bash", str(place / "source/run_autograder")], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "GPULAB_AUTOGRADER": str(place)})
    assert json.loads((place / "results/results.json").read_text())["score"] == 0, "results.json when grading fails"


def test_whether_a_submission_is_late_is_read_from_gradescopes_file(scratch):
    due, at = "2026-11-01T10:00:00.000000-07:00", "2026-11-01T10:00:00.000000-07:00"
    for created, own, note in ((at, None, []), ("2026-11-01T17:00:01Z", None, ["handed in late: late days: 1"]),
                               ("2026-11-04T10:00:01-07:00", None, ["handed in late: late days: 4"]),
                               ("2026-11-04T10:00:01-07:00", "2026-11-05T10:00:00-07:00", []), ("2026-11-01T09:59:59-07:00", None, [])):
        users = [{"name": "Ada", **({"assignment": {"due_date": own}} if own else {})}]
        (scratch / "m.json").write_text(json.dumps({"created_at": created, "assignment": {"due_date": due}, "users": users}))
        assert grade.lateness(str(scratch / "m.json")) == note, (created, own)
    for damaged in ("", "7", "{", '{"created_at": 7, "assignment": {"due_date": null}, "users": []}', '{"created_at": "x"}'):
        (scratch / "m.json").write_text(damaged)
        assert grade.lateness(str(scratch / "m.json")) == []
    assert grade.lateness("") == grade.lateness("/no/file") == []


def test_points_for_speed_fall_from_1_2_times_the_time_of_the_rung_to_10_times():
    assert [share_for(ratio) for ratio in (0.5, 1.0, 1.2, 10.0, 15.0, 50.0)] == [1, 1, 1, 0, 0, 0], "shares"
    shares = [share_for(1.2 + step * 0.4) for step in range(22)]
    assert shares == sorted(shares, reverse=True), "shares fall"
    assert 0.4 < share_for(3.464) < 0.6, "half of the points in the middle"
    assert ratio_of([3, 2, 9], [1, 1, 1]) == 2, "one busy moment"
    assert ratio_of([2, 20, 2], [1, 10, 8]) == 2, "a busy minute"


@pytest.mark.usefixtures("closed_repository", "saxpy")
def test_what_one_submission_says_or_a_damaged_file_holds_stops_no_later_run(scratch):
    with zipfile.ZipFile(scratch / "eve.zip", "w") as archive:
        for number in range(800):
            archive.writestr(f"../{number:0250}", "")
    out, everybody = scratch / "out", [scratch / "eve.zip", made(scratch, "ada")]
    graded("saxpy", *everybody, "--out", out)
    assert len(books(out)["eve"]["notes"]) < 2100, "the notes of one submission"
    # A table of an earlier version had no limit.
    text = (out / "gradebook.csv").read_text()
    (out / "gradebook.csv").write_text(text.replace("lead outside", "lead outside" * 20000).replace("ada,0,25,0,0,0,", "ada,0,25,0,0,0,7"))
    graded("saxpy", *everybody, "--out", out)
    assert books(out)["ada"]["answers"] == "7", "points given by hand"
    whole = json.loads((out / "submissions/ada/graded.json").read_text())
    for damage in ({**whole, "exercises": 7}, {**whole, "score": "x"}, {**whole, "notes": 7}, [], {}):
        (out / "submissions/ada/graded.json").write_text(json.dumps(damage))
        assert grade.Grading.earlier(argparse.Namespace(lab=SAXPY, folder=(out / "submissions").joinpath),
                                     "ada") is None, damage
    graded("saxpy", *everybody, "--out", out)
    assert json.loads((out / "submissions/ada/graded.json").read_text())["score"] == 0, "a result that was damaged"


def test_the_board_has_right_submissions_of_one_device_by_their_times_and_no_name(scratch):
    class Device:
        secret = b"of a class"

        def timed_on(self, backend):
            return f"a <fast> {backend}"

    [exercise] = [one for one in SAXPY.exercises if one.name == "many-blocks"]

    def result(name, ratio, outcome=PASSED, device="a <fast> opencl"):
        tests = [Result(test.name, PASSED, test.points, test.points) for test in exercise.tests]
        tests[0].outcome = outcome
        [speed] = [one for one, test in zip(tests, exercise.tests) if test.check == "speed"]
        speed.ratio, speed.device, speed.outcome = ratio, device, PASSED if ratio <= 1.2 else FAILED
        return {"name": name, "score": 1, "max_score": 2, "notes": [], "seconds": 0, "exercises": {exercise.name: {
            "backend": "opencl", "score": 1, "points": 2, "tests": [one.as_dict() for one in tests]}}}

    results = [result("anna", 1.5), result("bert", 0.9), result("carl", 0.1, FAILED), result("dora", 0.2, device="another"),
               result("emil", 0.3, device="")]  # emulated, or not timed
    told = board.write(SAXPY, Device(), results, scratch)
    page = (scratch / "board.html").read_text()
    names = [re.search("on the board: (.*)", (scratch / "submissions" / one["name"] / "feedback.md").read_text())[1] for one in results]
    assert len(set(names)) == 5 and not [one for one in results if one["name"] in page]
    assert re.findall("<td>(.*?)</td>", page) == [names[1], "the rung", names[0]] and "a &lt;fast&gt; opencl" in page
    assert re.findall(r"(\d\.\d\d)</td>", page) == ["0.90", "1.00", "1.50"]
    assert told == ["not on the board, because they were timed on another device (--regrade): dora"]
    assert board.pseudonyms(b"of a class", ["zoe", "anna"])["anna"] == names[0] != board.pseudonyms(b"of another", ["anna"])["anna"]


@pytest.mark.usefixtures("closed_repository", "saxpy")
def test_a_class_is_timed_for_a_board(scratch):
    people = [made(scratch / "class", name, one=SAXPY.rung(ONE).replace("if (i < n)", text)) for name, text in (
        ("anna", "if (i < n)"), ("bert", "if (i + 1 < n)"))]
    graded("saxpy", *people, "--out", scratch / "out", "--board", "--seed", "s")
    page, [speed] = (scratch / "out/board.html").read_text(), [
        test for test in json.loads((scratch / "out/submissions/anna/graded.json").read_text())["exercises"]["many-blocks"]["tests"]
        if test["ratio"] or test["message"].startswith("this machine was busy")]
    if speed["outcome"] != NOT_GRADED:
        assert "the rung" in page and len(re.findall("<tr><td", page)) == 2 and speed["device"] in page, page
        assert f"{speed['ratio']:.2f}" in page
    assert "Your name on the board: " in (scratch / "out/submissions/bert/feedback.md").read_text()
