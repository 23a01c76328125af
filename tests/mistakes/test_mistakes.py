"""The rows of this folder, and plant.py."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("tomllib", reason="needs Python 3.11")
sys.path.insert(0, str(Path(__file__).resolve().parent))
import plant  # noqa: E402

os.environ.pop("GPULAB_MISTAKES", None)  # of the run that this is a part of
FOLDER = Path(os.environ.get("GPULAB_BUILD", plant.ROOT / "build/default"))
order = plant.order
FILES = sorted(plant.MISTAKES.glob("*.toml"))


# ---------------------------------------------------------------------------------------------------------------------
# The rows


def ladder(lab):
    """The rungs of a lab, as its hand-out lists them."""
    return plant.re.findall(r"(?m)^\| *`(\w+)` *\|", next(plant.ROOT.glob(f"labs/??_{lab}/README.md")).read_text(encoding="utf-8"))


def test_every_lab_has_a_file_of_mistakes():
    labs = {path.name for path in plant.ROOT.glob("labs/[0-9][0-9]_*")}
    assert {path.stem for path in FILES} - {"common"} == labs


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_fits(path):
    """The text of each row stands once in its file, and its rung on the ladder."""
    for mistake in plant.mistakes_of(path):
        mistake.planted((plant.ROOT / mistake.file).read_text(encoding="utf-8"))
        assert not set(mistake.rungs) - set(ladder(mistake.lab)), mistake.name


def test_what_orders_memory_stands_where_a_rule_wants_it():
    files = [path for folder in ("labs", "common/include/gpulab/cuda") for path in sorted((plant.ROOT / folder).rglob("*"))
             if path.suffix in (".cu", ".cuh", ".hpp") or path.match("cpu/*.cpp")]
    names = [str(path.relative_to(plant.ROOT)) for path in files]
    assert [fault for name, path in zip(names, files, strict=True) if (fault := order.fault(name, path.read_text(encoding="utf-8")))] == []
    assert set(order.RULES) <= set(names)


def test_a_fence_that_is_missing_or_new_breaks_a_rule():
    name = "labs/09_cg/cuda/sums.cuh"
    text = (plant.ROOT / name).read_text(encoding="utf-8")
    assert "lacks, at its place: __threadfence(); last" in order.fault(name, text.replace("__threadfence();", "", 1))
    assert "no rule for __threadfence" in order.fault(name, text.replace("of_warp[warp] = value;", "of_warp[warp] = value; __threadfence();"))
    assert order.fault(name, text.replace("// first what", "// __threadfence(): first what")) == ""
    first, second = order.RULES[name]
    assert "lacks, at its place: sum +=" in order.fault(name, f"{second} {first}")


ROW = '["x.cl".a]\ntext = "1"\nby = "2"\nfinder = "schedule"\nstudent = "says two"\n'


@pytest.mark.parametrize("old, new, fault", [
    (".a]", '."A b"]', "A b: an id has lower case"),
    ('"schedule"', '"chance"', "a: unknown finder 'chance'"),
    ("finder", "found", "a: unknown field found"),
    ('student = "says two"', "", "a: no student"),
    ('by = "2"', 'by = "1"', "a: it replaces nothing"),
    ('by = "2"', "", "a: give text and by"),
    (ROW, ROW + ROW.replace("x.cl", "y.cl"), "two rows are called a"),
    (ROW, ROW + ROW, "toml: "),
    ('["x.cl".a]', "", "toml: a row begins with"),
])
def test_a_row_that_is_not_as_it_should_be_is_named(scratch, old, new, fault):
    path = scratch / "01_saxpy.toml"
    path.write_text(ROW.replace(old, new), encoding="utf-8")
    with pytest.raises(plant.Fault, match=fault):
        plant.mistakes_of(path)


def mistake(**fields):
    row = {"id": "a", "file": "opencl/02_one_item.cl", "rung": ["opencl_one_item"], "text": "k * a[i] + b[i]", "by": "0",
           "student": "writes 0", **fields}
    return plant.mistake_of(row, Path("01_saxpy.toml"))


def test_a_text_that_does_not_occur_once_does_not_fit():
    edits = mistake(text="1", by="2")
    assert edits.planted("0 1") == "0 2"
    for text in ("0", "1 1"):
        with pytest.raises(plant.Fault, match="a: labs/01_saxpy/opencl/02_one_item.cl has"):
            edits.planted(text)


# ---------------------------------------------------------------------------------------------------------------------
# Verdicts

SPOKEN = "opencl_one_item on opencl:0 (PoCL) is wrong\n  {}\ntest.cpp:1: FAILED:\nexplicitly with message:\n  wrong\n"
CLEAN = "========= ERROR SUMMARY: 0 errors\n"


@pytest.mark.parametrize("fields, code, output, log, verdict", [
    ({}, 0, "", None, "accepted"),
    ({}, 42, SPOKEN.format("every size: n = 1: wrong"), None, "rejected"),
    ({}, 42, "test.cpp:1: FAILED:\n  CHECK( fault == \"\" )\nwith expansion:\n  \"n = 1\" == \"\"\n", None, "rejected"),
    ({}, 42, SPOKEN.format("every size: it threw: no memory"), None, "broken"),
    ({}, 42, "test.cpp:1: FAILED:\ndue to unexpected exception with message:\n  no memory\n", None, "broken"),
    ({"check": "every size: it threw"}, 42, SPOKEN.format("every size: it threw: no memory"), None, "rejected"),
    ({"file": "cuda/a.cu"}, 42, SPOKEN.format("every size: it threw: an illegal memory access"), None, "rejected"),
    ({}, -11, "", None, "broken"),
    ({}, 42, "an OpenCL kernel does not compile for PoCL:\n    x.cl:1: error\n", None, "does not compile"),
    ({}, 4, "skipped: no OpenCL device\n", None, "skipped"),
    ({}, None, "", None, "timeout"),
    ({"check": "NaN"}, 42, SPOKEN.format("every size: n = 1: wrong"), None, "found otherwise"),
    ({"finder": "guard bands"}, 42, SPOKEN.format("every size: n = 1: wrong"), None, "found otherwise"),
    ({"finder": "guard bands"}, 42, SPOKEN.format("every size: the kernel wrote past the end of a buffer (1)"), None, "rejected"),
    ({"finder": "oclgrind"}, 0, "", "", "accepted"),
    ({"finder": "oclgrind"}, 42, SPOKEN.format("every size: n = 1: wrong"), "", "found otherwise"),
    ({"finder": "oclgrind"}, 0, "", "Invalid read of size 4\n", "rejected"),
    ({"finder": "oclgrind", "check": "data race"}, 0, "", "Invalid read of size 4\n", "accepted"),
    ({"finder": "oclgrind"}, 42, "", "Error: CL_BUILD_PROGRAM_FAILURE\n", "broken"),
    ({"finder": "memcheck"}, 0, "", CLEAN, "accepted"),
    ({"finder": "memcheck"}, 1, "", "========= Invalid __global__ read\n========= ERROR SUMMARY: 1 error\n", "rejected"),
    ({"finder": "racecheck"}, 0, "", "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n", "accepted"),
    ({"finder": "racecheck"}, 0, "", "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n", "rejected"),
])
def test_what_a_run_says(fields, code, output, log, verdict):
    assert plant.verdict_of(mistake(**fields), plant.Ran(code, output, 1), log).word == verdict


RACE = "\nRead-write data race at shared memory address 0x10\n\tKernel: k\n"


@pytest.mark.parametrize("fields, code, output, verdict, by", [
    ({}, 0, "", "accepted", ""),
    ({}, 42, SPOKEN.format("every size: n = 1: wrong"), "rejected", "every size"),
    ({}, 0, RACE, "rejected", "racecheck"),  # the emulator's checks are always on
    ({"finder": "racecheck"}, 0, RACE, "rejected", "racecheck"),
    ({"finder": "racecheck", "check": "words of compute-sanitizer"}, 0, RACE, "rejected", "racecheck"),
    ({"finder": "memcheck"}, 0, RACE, "accepted", ""),
    ({"finder": "memcheck"}, 0, "Invalid read of size 4 at global memory address 0x10\n", "rejected", "memcheck"),
    ({"finder": "memcheck"}, 42, SPOKEN.format("every size: n = 1: wrong"), "found otherwise", "every size"),
    ({"finder": "initcheck"}, 42, "Invalid read of size 4 at global memory address 0x10\n", "rejected", "memcheck"),
    ({"finder": "synccheck"}, 0, "Block divergence detected (barrier)\n", "rejected", "synccheck"),
    ({"finder": "initcheck"}, 0, "Uninitialized value of size 4 read from global memory address 0x10\n", "rejected", "initcheck"),
])
def test_what_the_emulator_says(fields, code, output, verdict, by):
    emulated = mistake(file="cuda/a.cu", **fields).in_emulator()
    found = plant.verdict_of(emulated, plant.Ran(code, output, 1), None)
    assert (found.word, found.by.partition(":")[0]) == (verdict, by)


def test_the_emulator_judges_faults_in_cuda_rungs_of_core_ladders_and_the_row_says_what_it_lets_through():
    cuda = {"file": "cuda/a.cu", "accepted": "a", "emulator": "b"}
    core, further = mistake(rung=["cuda_raw"], **cuda), mistake(rung=["cuda_distances_packed"], **cuda)
    assert (core.core, further.core, mistake().core, mistake(rung=["cuda_raw"], finder="large", **cuda).core) == (True, False, False, False)
    assert (core.place, core.entry, core.accepted) == ("cuda", "fault a", "a")
    emulated = core.in_emulator()
    assert (emulated.place, emulated.entry, emulated.accepted) == ("emulator", "emulated a", "b")


@pytest.mark.parametrize("accepting, order, checks", [(1, "1", "report"), (4, "0", "off"), (9, None, None)])
def test_the_emulator_tries_other_orders_and_then_the_usual_sizes(monkeypatch, accepting, order, checks):
    """The tiny cases run in each order, and only the first order of those at usual sizes, which judge results only."""
    judge = plant.Judge.__new__(plant.Judge)
    judge.build = SimpleNamespace(folder=FOLDER, groups=lambda _: [["tiny"], ["usual"]])
    asked = []

    def run(self, mistake, program, group, copy, max_checks=0, turns=True, settings=None):
        asked.append((group[0], settings["CUDA_EMULATOR_ORDER"], settings["CUDA_EMULATOR_CHECK"]))
        return plant.Verdict("rejected" if len(asked) > accepting else "accepted", "every size: n = 1")

    monkeypatch.setattr(plant.Judge, "run", run)
    monkeypatch.setattr(plant.Judge, "control", lambda *_: plant.Verdict("accepted"))
    monkeypatch.setattr(Path, "is_file", lambda _: True)
    verdict = judge.judged(mistake(file="cuda/a.cu").in_emulator(), Path("planted"), None)
    tiny = [("tiny", str(number), "report") for number in plant.ORDERS]
    assert asked == [*tiny, ("usual", "0", "off")][:accepting + 1]
    assert verdict.word == ("rejected" if order else "accepted") and (not order or asked[-1][1:] == (order, checks))


@pytest.mark.parametrize("words, word", [(["accepted", "skipped"], "accepted"), (["skipped", "accepted"], "accepted"),
                                         (["skipped", "skipped"], "skipped")])
def test_what_was_skipped_does_not_hide_what_was_accepted(words, word):
    assert plant.accepted_or_skipped([plant.Verdict(word) for word in words]).word == word


@pytest.mark.parametrize("found, unchanged, seconds, file, verdict", [
    ("rejected", "accepted", 1, "opencl/a.cl", "rejected"), ("rejected", "rejected", 1, "opencl/a.cl", "not judged"),
    ("broken", "accepted", 1, "opencl/a.cl", "broken"), ("rejected", "timeout", 120, "opencl/a.cl", "timeout"),
    ("timeout", "accepted", 1, "opencl/a.cl", "timeout"), ("timeout", "accepted", 1, "cuda/a.cu", "rejected"),
    ("timeout", "accepted", 40, "cuda/a.cu", "timeout"),
])
def test_a_verdict_needs_the_unchanged_program(found, unchanged, seconds, file, verdict):
    judge = plant.Judge.__new__(plant.Judge)
    judge.timeout = 120
    control = plant.Verdict(unchanged, seconds=seconds)
    assert judge.compared(mistake(file=file), plant.Verdict(found), control).word == verdict


@pytest.mark.parametrize("unchanged, timeout, verdict", [("exit 0", 10, "rejected"), ("sleep 1", 2, "timeout")])
def test_a_cuda_program_that_does_not_end_is_rejected_where_the_unchanged_one_soon_ends(monkeypatch, scratch, unchanged, timeout, verdict):
    monkeypatch.setenv("GPULAB_TEST_TURNS", "0")
    for name, text in (("planted", "sleep 600"), ("unchanged", unchanged)):
        (scratch / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (scratch / name).chmod(0o755)
    judge = plant.Judge.__new__(plant.Judge)
    judge.build = SimpleNamespace(folder=scratch, programs={"lab": "unchanged"}, program_for=lambda _: "lab",
                                  groups=lambda _: [["a test case"]])
    judge.scratch, judge.timeout, judge.processes = scratch, timeout, plant.Processes()
    judge.testers, judge.lock, judge.locks, judge.controls = threading.Semaphore(1), threading.Lock(), {}, {}
    printed = judge.judged(mistake(file="cuda/a.cu"), scratch / "planted", None)
    assert printed.word == verdict
    assert bool(re.match(r"it does not end: no end after \d+ s, and the unchanged program takes \d s", printed.by)) == (verdict == "rejected")


def test_a_program_is_none_of_its_objects_though_the_linker_notes_what_it_reads():
    build = plant.Build.__new__(plant.Build)
    build.programs = {"x": "bin/test_x"}
    build.commands = {"bin/test_x": ": && c++ -Wl,--dependency-file=link.d a.o -o bin/test_x b.a -lm && :"}
    build.archives = {"b.a": ["b.o"]}
    build.files = {"a.o": {"a.cpp"}, "b.o": {"b.cpp"}, "bin/test_x": set()}
    assert build.objects_of("x") == ["a.o", "b.o"]


def test_a_row_may_name_the_test_cases_that_reject_it():
    asked = []

    def names(lab, tags):
        asked.append((lab, tags))
        return ["cuda_a with perturbed warps"]

    build = plant.Build.__new__(plant.Build)
    build.names, build.programs = names, {}
    named = mistake(file="cuda/a.cu", cases="* with perturbed warps")
    assert build.groups(named) == [["cuda_a with perturbed warps"]]
    assert asked == [(named.lab, "* with perturbed warps")]


# ---------------------------------------------------------------------------------------------------------------------
# Planting, in lab 01

needs_build = pytest.mark.skipif(not (FOLDER / "bin/test_saxpy").is_file(), reason="test_saxpy is not built")

PLANTED = {
    "swapped": ({"by": "k * b[i] + a[i]"}, "rejected"),
    "past-the-end": ({"text": "if (i < n) c[i]", "by": "c[i]", "finder": "guard bands"}, "rejected"),
    "zero-skipped": ({"by": "(k == 0 ? b[i] : k * a[i] + b[i])", "check": "NaN, infinities and denormals"}, "rejected"),
    "harmless": ({"by": "b[i] + k * a[i]"}, "accepted"),
    "does-not-compile": ({"by": "k * a[i] + d[i]"}, "does not compile"),
    "never-planted": ({"rung": "opencl_grid_stride"}, "not planted"),
    "no-such-rung": ({"rung": "opencl_no_such_rung"}, "not judged"),
    "first-lost": ({"file": "cpu/01_sequential.cpp", "text": "i = 0", "by": "i = 1"}, "rejected"),
    "no-semicolon": ({"file": "cpu/01_sequential.cpp", "text": "i = 0;", "by": "i = 0"}, "does not compile"),
}


def write_rows(folder, names):
    text = ""
    for name in names:
        row = {"text": "k * a[i] + b[i]", "by": "0", "student": "does so", **PLANTED[name][0]}
        text += f'["{row.pop("file", "opencl/02_one_item.cl")}".{name}]\n' + "".join(f"{field} = '{value}'\n" for field, value in row.items())
    (folder / "01_saxpy.toml").write_text(text, encoding="utf-8")


def planted(capsys, monkeypatch, folder, names, *options):
    """The exit code of plant.py and the verdicts on these mistakes, by their ids."""
    write_rows(folder, names)
    monkeypatch.setattr(plant, "MISTAKES", folder)
    monkeypatch.setattr(plant, "JUDGED", folder / "judged")
    code = plant.main(["--build", str(FOLDER), *options])
    lines = capsys.readouterr().out.splitlines()
    return code, {name: next(line for line in lines if line.startswith(f"saxpy: {name} ")).split(maxsplit=2)[2] for name in names}


@needs_build
def test_mistakes_are_rejected_accepted_or_not_planted(capsys, monkeypatch, scratch):
    code, verdicts = planted(capsys, monkeypatch, scratch, PLANTED)
    assert code == 2  # one was not judged
    for name, (_, verdict) in PLANTED.items():
        assert verdicts[name].startswith(verdict), (name, verdicts[name])


@pytest.mark.parametrize("words, code, fields", [
    (["rejected"], 0, {}), (["rejected", "skipped"], 0, {}), (["rejected", "accepted"], 1, {}), (["rejected", "not planted"], 1, {}),
    (["found otherwise"], 1, {}), (["broken"], 1, {}), (["does not fit"], 1, {}), (["does not compile", "timeout"], 1, {}),
    (["not judged", "accepted"], 2, {}), (["rejected", "timeout"], 3, {}), (["skipped"], 4, {}),
    (["accepted", "rejected"], 0, {"accepted": "it does no harm"}), (["not planted"], 1, {"accepted": "it does no harm"}),
])
def test_exit_codes(words, code, fields):
    assert plant.exit_code([(mistake(**fields), plant.Verdict(word)) for word in words]) == code


def test_a_control_run_that_takes_too_long_is_not_kept_for_the_next_mistake(monkeypatch):
    judge = plant.Judge.__new__(plant.Judge)
    judge.build = SimpleNamespace(folder=Path(), programs={"lab": "unchanged"}, program_for=lambda _: "lab")
    judge.lock, judge.locks, judge.controls = threading.Lock(), {}, {}
    answers = [plant.Verdict("timeout"), plant.Verdict("accepted", checks=9)]
    monkeypatch.setattr(plant.Judge, "run", lambda *_, **__: answers.pop(0))
    assert [judge.control(mistake(), ["a test case"], None, 1, {}).word for _ in range(3)] == ["timeout", "accepted", "accepted"]


@needs_build
def test_a_verdict_is_kept_until_what_it_depends_on_changes_and_another_one_fails(capsys, monkeypatch, scratch):
    words = ["rejected"]
    monkeypatch.setattr(plant.Judge, "verdict", lambda self, mistake: plant.Verdict(words[0], "every size: n = 1", 2))
    kept = scratch / "judged/01_saxpy.txt"

    def lines(*options):
        code = plant.main(["--build", str(FOLDER), "--seed", "1", *options])
        return code, capsys.readouterr().out.splitlines()

    code, verdicts = planted(capsys, monkeypatch, scratch, ["swapped", "harmless", "first-lost"])
    assert code == 0 and len(verdicts) == 3
    assert [line.split("\t")[0::2] for line in kept.read_text().splitlines()] == \
        [[f"fault {name}", "rejected", plant.judged.tool(place), "2.0"]
         for name, place in (("first-lost", "cpu"), ("harmless", "opencl"), ("swapped", "opencl"))]
    code, printed = lines()
    assert (code, printed[0]) == (0, "0 of 3 faults are due, and 1 of the others are judged again (--seed 1)")
    assert lines("--mistakes", "all")[1][-1] == "3 mistakes: 3 rejected"

    rows = scratch / "01_saxpy.toml"
    rows.write_text(rows.read_text().replace("does so", "does something else"))  # what students read
    assert lines()[1][0].startswith("0 of 3")
    rows.write_text(rows.read_text().replace("k * b[i] + a[i]", "k * b[i] - a[i]"))
    words[0] = "accepted"
    code, printed = lines("first-lost")  # which is not due
    assert code == 1 and printed[-1] == ("another verdict than before: saxpy: first-lost: accepted, not rejected, "
                                      "as tests/judged/01_saxpy.txt has it")
    words[0] = "timeout"  # which is no verdict
    assert lines()[1][0].startswith("2 of 3"), "swapped, whose row is another one, and first-lost, which was accepted"
    assert lines()[1][0].startswith("2 of 3")


@needs_build
def test_a_build_that_is_older_than_a_source_is_refused(monkeypatch):
    build = plant.Build(FOLDER, ["saxpy"])
    build.must_be_finished()
    monkeypatch.setattr(build, "programs", {"saxpy": "bin/absent"})
    with pytest.raises(plant.Fault, match="is missing or older than its sources"):
        build.must_be_finished()


@needs_build
def test_a_run_that_is_ended_leaves_nothing_behind(scratch):
    (scratch / "tmp").mkdir()
    write_rows(scratch, ["harmless"])
    code = f"import sys; sys.path.insert(0, {str(plant.ROOT / 'tests/mistakes')!r}); import plant; " \
           f"plant.MISTAKES = plant.Path({str(scratch)!r}); plant.JUDGED = plant.MISTAKES / 'judged'; plant.program()"
    run = subprocess.Popen([sys.executable, "-B", "-c", code, "--build", FOLDER], start_new_session=True,
                           env={**os.environ, "TMPDIR": str(scratch / "tmp")}, stdout=subprocess.DEVNULL)
    while not list(scratch.glob("tmp/gpulab-mistakes-*/saxpy/*")):
        time.sleep(0.05)
        assert run.poll() is None
    run.send_signal(signal.SIGTERM)
    assert run.wait(600) == 143
    left = {path.name for path in scratch.glob("tmp/*")} - {f"gpulab-test-turns-{os.getuid()}"}  # which tests keep
    assert not left

    def folders():
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it is another user's, or has ended
                yield os.readlink(process / "cwd")

    end = time.monotonic() + 60  # a compiler that was killed may take a while to end
    while [folder for folder in folders() if folder.startswith(str(scratch))]:
        assert time.monotonic() < end
        time.sleep(0.05)
