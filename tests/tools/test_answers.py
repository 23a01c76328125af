"""The model answers: each question has one, the key opens them, nothing of them gets to students, and their numbers are right."""

import shutil
import subprocess
import sys
import zipfile

import pytest
from conftest import BUILD, ROOT, passed, refused, run

if sys.version_info < (3, 11):
    pytest.skip("Python 3.11 is needed", allow_module_level=True)

sys.path.insert(0, str(ROOT / "tools"))
from grading import sealed  # noqa: E402
from grading.exercises import folders, load  # noqa: E402
from grading.fault import Fault  # noqa: E402

READS_ALL = True  # see judged_once.py

SECRET = "unlockedanswer7f3a"  # in each answer of these tests, and nowhere else
needs_age = pytest.mark.skipif(not shutil.which("age"), reason="no age (./lab setup)")


def instructor(root, *words, **environment):
    return run(sys.executable, "-B", "-m", "grading", root, "instructor", *words, PYTHONPATH=ROOT / "tools", **environment)


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old} stands {text.count(old)} times in {path}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def write_answers(root):
    """An answer to each question and open exercise of the labs."""
    (root / "answers").mkdir()
    for name, folder in folders(root).items():
        lines = ["# Answers"]
        for key, question in sealed.questions_of(load(root, name)).items():
            lines += ["", f"## {key.capitalize()}", "", f"> {question}", "", f"{SECRET} of {key}.", "", "Rubric:",
                      "- 2: the number", "- 1: the reason"]
        (root / "answers" / f"{folder}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def new_key(path):
    """Makes a key, and returns its public half."""
    passed("age-keygen", "-o", path)
    return passed("age-keygen", "-y", path).stdout


# The repository's own answers, without the key.


def test_every_question_and_open_exercise_has_an_answer_that_was_written_for_its_present_text():
    assert sealed.faults_of_questions(ROOT) == []
    index = sealed.read_index(ROOT)
    assert list(index) == [name for name, _ in sorted(folders(ROOT).items(), key=lambda one: one[1])]
    for name, entries in index.items():
        points = {key: entry["points"] for key, entry in entries.items() if isinstance(entry, dict)}
        assert list(points) == list(sealed.questions_of(load(ROOT, name)))
        assert all(2 <= one <= 5 for one in points.values()), points


def test_the_sealed_files_are_those_that_the_index_is_about():
    for name, entries in sealed.read_index(ROOT).items():
        path = ROOT / sealed.SEALED / f"{folders(ROOT)[name]}.md.age"
        assert path.read_bytes().startswith(b"-----BEGIN AGE ENCRYPTED FILE-----"), path
        assert sealed.digest(path.read_bytes()) == entries["sealed"], path


def test_numbers_of_answers_agree_with_the_programs():
    if not shutil.which("oclgrind"):
        pytest.skip("no oclgrind (./lab setup)")
    faults, compared, left = sealed.faults_of_numbers(ROOT, BUILD)
    assert not faults
    assert compared > left, f"only {compared} numbers were compared, {left} belong to labs that are not built"


# A copy of two labs, with answers and a key of its own.


@pytest.fixture
def copy(scratch):
    root = scratch / "copy"
    for folder in ("01_saxpy", "05_streams"):
        shutil.copytree(ROOT / "labs" / folder, root / "labs" / folder)
    shutil.copytree(ROOT / "tests/mistakes", root / "tests/mistakes")
    (root / "docs/results").mkdir(parents=True)
    (root / "docs/results/one.json").write_text('{"name":"a","kernel_ms":1.2345}\n')
    (root / "docs/answers").mkdir()
    write_answers(root)
    if shutil.which("age"):
        (root / "docs/answers/authors.pub").write_text(new_key(scratch / "key"))
    return root


@pytest.fixture
def locked(copy):
    """The same, sealed, and what was sealed moved to the folder `before`."""
    passed_instructor(copy, "seal")
    (copy / "answers").rename(copy.parent / "before")
    return copy


def passed_instructor(root, *words):
    done = instructor(root, *words)
    assert done.returncode == 0, done
    return done


@needs_age
def test_what_is_sealed_comes_back_with_the_key_byte_by_byte(locked):
    before = locked.parent / "before"
    assert not any(SECRET.encode() in content for content in files_of(locked / "docs").values())
    passed_instructor(locked, "unlock", locked.parent / "key")
    assert files_of(locked / "answers") == files_of(before)
    assert (locked / "answers").stat().st_mode & 0o077 == 0, "others can read the folder"
    passed_instructor(locked, "unlock", locked.parent / "key")  # again: nothing to do


@needs_age
def test_only_what_has_changed_is_sealed_anew(copy):
    change(copy / "answers/01_saxpy.md", f"{SECRET} of question 3.", f"{SECRET}: 1.23.\n\n{number(1.23)}")
    passed_instructor(copy, "seal")
    assert sealed.read_index(copy)["saxpy"]["question 3"]["points"] == 3, "the sum of its rubric"
    before = files_of(copy / "docs/answers")
    assert passed_instructor(copy, "seal").stdout == "sealed anew: nothing\n"
    assert files_of(copy / "docs/answers") == before
    change(copy / "answers/05_streams.md", f"{SECRET} of question 3.", f"{SECRET} of question 3, better.")
    assert passed_instructor(copy, "seal").stdout == "sealed anew: 05_streams.md.age\n"
    after = files_of(copy / "docs/answers")
    assert {name for name in after if after[name] != before[name]} == {"05_streams.md.age", "index.toml"}


def number(value, unit="ms", command="docs/results/one.json", pattern="([0-9.]+)"):
    return f"<!-- number {value}\n{command}\n_{unit}\":{pattern}\n-->"


ANSWER, RUBRIC = f"{SECRET} of question 3.", "Rubric:\n- 2: the number\n- 1: the reason"


@needs_age
@pytest.mark.parametrize("old, new, told_of", [
    (f"{ANSWER}\n", "\n", ["01_saxpy.md", "question 3", "has no answer"]),
    (f"{ANSWER}\n\n{RUBRIC}", ANSWER, ["question 3", "rubric"]),
    (f"{ANSWER}\n\n{RUBRIC}", f"{ANSWER}\n\nRubric:\n- the number", ["question 3", "rubric"]),
    ("## Exercise 2\n", "## Exercise 7\n", ["exercise 2", "has no answer"]),
    ("## Question 4\n", "## Question 3\n", ["question 3", "twice"]),
    (ANSWER, f"{SECRET}: 1.23.\n\n{number(1.23)}", []), (ANSWER, f"{SECRET}: 1.3.\n\n{number(1.3)}", ["question 3", "1.2,"]),
    (ANSWER, f"{SECRET}.\n\n{number(1.23)}", ["question 3", "does not name 1.23"]),
    (ANSWER, f"{SECRET}: 1.\n\n{number(1, 'us')}", ["one.json", "_us"]),
    (ANSWER, f"{SECRET}: 1.\n\n{number(1, command='rm -r labs')}", ["rm -r labs", "./lab run"]),
    (ANSWER, f"{SECRET}: 1.\n\n<!-- number 1\n([0-9.]+)\n-->", ["question 3", "a number has"]),
], ids=["no answer", "no rubric", "no points", "not numbered on", "twice", "a right number", "another number", "a number not named",
        "no number printed", "a command of another kind", "no command"])
def test_answers_that_lack_something_or_name_another_number_are_not_sealed(copy, old, new, told_of):
    change(copy / "answers/01_saxpy.md", old, new)
    done = instructor(copy, "seal")
    if not told_of:
        assert done.returncode == 0, done
        return
    refused(done, *told_of)
    assert list(files_of(copy / "docs/answers")) == ["authors.pub"], "what was written"


@needs_age
def test_a_number_of_a_sealed_answer_is_compared_without_the_key(copy):
    change(copy / "answers/01_saxpy.md", ANSWER, f"{SECRET}: 1.23.\n\n{number(1.23)}")
    passed_instructor(copy, "seal")
    assert "1.23" not in (copy / "docs/answers/index.toml").read_text()
    (copy / "answers").rename(copy.parent / "elsewhere")
    assert sealed.faults_of_numbers(copy, BUILD) == ([], 1, 0)
    (copy / "docs/results/one.json").write_text('{"name":"a","kernel_ms":1.2399}\n')
    done = instructor(copy, "check")
    assert (done.returncode, done.stderr) == (1, "lab: question 3 of saxpy: the answer names another number than 1.24, which "
                                                 "'docs/results/one.json' gives\n")


@needs_age
def test_a_number_of_a_lab_that_is_not_built_can_be_sealed_again_but_not_changed(copy, scratch):
    text = "<!-- number 7\n./lab run saxpy --list\n^([0-9]+)\n-->"
    change(copy / "answers/01_saxpy.md", ANSWER, f"{SECRET}: 7.\n\n{text}")
    (scratch / "bin").mkdir()
    (scratch / "bin/saxpy").write_text("#!/bin/sh\necho 7 rungs\n")
    (scratch / "bin/saxpy").chmod(0o755)
    built, bare = {"GPULAB_BUILD": scratch}, {"GPULAB_BUILD": scratch / "nowhere"}
    assert instructor(copy, "seal", **built).returncode == 0
    assert instructor(copy, "check", **built).stdout == "numbers that programs give: 1 compared, 0 of labs that are not built\n"
    assert instructor(copy, "check", **bare).stdout == "numbers that programs give: 0 compared, 1 of labs that are not built\n"
    assert instructor(copy, "seal", **bare).stdout == "sealed anew: nothing\n"
    change(copy / "answers/01_saxpy.md", f"{SECRET}: 7.", f"{SECRET}: 7!")
    refused(instructor(copy, "seal", **bare), "saxpy is not built")


@needs_age
def test_a_question_that_changes_comes_or_goes_is_named(locked):
    assert sealed.faults_of_questions(locked) == []
    page = locked / "labs/05_streams/README.md"
    change(page, "A GPU has one copy engine, which", "A GPU has one [copy engine](../../docs/kernels.md#copy-engine), which")
    assert sealed.faults_of_questions(locked) == [], "a link is no change"
    change(page, "p = 0$ and $k = 0$.", "p = 0$ and $k = 1$.")
    change(page, "\n## Exercises\n", "10. One more? *(paper)*\n\n## Exercises\n")
    change(page, "7. Further, on a GPU:", "Also, on a GPU:")
    assert sealed.faults_of_questions(locked) == [
        "question 1 of lab 05 changed since its answer was written", "question 10 of lab 05 has no answer",
        "exercise 6 of lab 05 changed since its answer was written",
        "exercise 7 of lab 05 has an answer, but is not in the hand-out"]
    passed_instructor(locked, "unlock", locked.parent / "key")
    refused(instructor(locked, "seal"), "question 1 of lab 05 changed since its answer was written")


def sealed_anew(root):
    text = (root.parent / "before/05_streams.md").read_text() + "\n"
    return subprocess.run(["age", "--encrypt", "-R", root / "docs/answers/authors.pub"], input=text.encode(), capture_output=True, check=True).stdout


def flipped(content):
    return bytes(byte ^ (at == len(content) // 2) for at, byte in enumerate(content))


@needs_age
@pytest.mark.parametrize("key, content, told_of", [
    ("nowhere", None, ["nowhere", "authors"]), ("other", None, ["other", "not the key"]), (ROOT / "LICENSE", None, ["LICENSE", "no key of age"]),
    ("key", lambda root, old: flipped(old), ["05_streams.md.age", "damaged"]), ("key", lambda root, old: old[:200], ["05_streams.md.age", "damaged"]),
    ("key", lambda root, old: sealed_anew(root), ["05_streams.md.age", "index.toml"]),  # of another version
    ("key", "my notes", ["05_streams.md", "differs"]), ("key", "no age", ["age is not installed"]),
])
def test_what_keeps_answers_from_being_unlocked_is_told_in_one_line_and_nothing_is_written(locked, key, content, told_of):
    path = locked / "docs/answers/05_streams.md.age"
    if key == "other":
        new_key(locked.parent / "other")
    if callable(content):
        path.write_bytes(content(locked, path.read_bytes()))
    if content == "my notes":
        (locked / "answers").mkdir()
        (locked / "answers/05_streams.md").write_text("my notes\n")
    before = files_of(locked)
    environment = {"PATH": locked.parent / "bin"} if content == "no age" else {}
    refused(instructor(locked, "unlock", locked.parent / key if key != "nowhere" else key, **environment), *told_of)
    assert files_of(locked) == before, "what was written"


def test_the_front_door_takes_the_three_commands_and_no_other(scratch):
    message = passed(ROOT / "lab", "instructor", "--help", GPULAB_INSTALL="no").stdout
    assert all(word in message for word in ("unlock", "check", "seal")), message
    refused(run(ROOT / "lab", "instructor", "open", GPULAB_INSTALL="no"), "open", "unlock")
    refused(run(ROOT / "lab", "instructor", "unlock", scratch / "nowhere", GPULAB_INSTALL="no"), "nowhere")


# What students get.


@pytest.fixture(scope="module")
def unlocked(tmp_path_factory):
    """A checkout of the repository as it is, with unlocked answers in it."""
    root = tmp_path_factory.mktemp("unlocked") / "checkout"
    names = passed("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard").stdout.split("\n")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    passed("git", "init", "--quiet", root)
    passed("git", "-C", root, "add", "--all")
    write_answers(root)
    assert passed("git", "-C", root, "status", "--porcelain", "--ignored").stdout.count("!! answers/") == 1
    yield root
    shutil.rmtree(root)


def contents(path):
    """The files of a folder or of a zip file, by their names."""
    if path.is_dir():
        return files_of(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def leaks(path):
    """What holds an answer, open or sealed, or tells something of it."""
    return [name for name, content in contents(path).items() if SECRET.encode() in content or
            name.endswith((".age", "answers/index.toml", "authors.pub"))]


@pytest.mark.parametrize("words, made", [
    (["handout", "--all"], "labs"),
    (["handout", "streams"], "lab"),
    (["package-classroom", "saxpy"], "template"),
    (["package-autograder", "saxpy"], "autograder.zip"),
])
def test_nothing_of_unlocked_or_sealed_answers_is_in_what_students_or_their_autograder_get(unlocked, scratch, words, made):
    passed(sys.executable, "-B", "-m", "grading", unlocked, *words, scratch / made, PYTHONPATH=ROOT / "tools")
    assert len(contents(scratch / made)) > 50
    assert leaks(scratch / made) == []


def test_an_answer_in_a_hand_out_is_found(scratch):
    for name in ("labs/one/notes.md", "docs/answers/index.toml", "docs/answers/01_saxpy.md.age", "labs/one/answers.md"):
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).write_text(SECRET if "notes" in name else "nothing")
    assert leaks(scratch) == ["docs/answers/01_saxpy.md.age", "docs/answers/index.toml", "labs/one/notes.md"]


def test_a_file_of_answers_without_the_text_of_its_question_is_refused(scratch):
    (scratch / "a.md").write_text("## Question 1\n\nBecause.\n\nRubric:\n- 1: so\n")
    with pytest.raises(Fault, match="question 1 does not begin with the text of the question"):
        sealed.read_answers(scratch / "a.md")
