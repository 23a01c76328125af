"""--recorded: stored results of a GPU beside one's own. Each question that needs a GPU can be answered with them."""

import json
import re
import shutil

import pytest
from conftest import ROOT, built, passed, refused, run

READS_ALL = True  # see judged_once.py

# The run that answers a question, by lab and number. Where that can be, it names variants in CUDA only, so that it takes seconds.
COMMANDS = {
    ("saxpy", 9): "--study block-size --n 2^26 --recorded h200 --repeat 1 --warmup 0",
    ("reduction", 10): "--study transfers --recorded h200 --repeat 1 --warmup 0",
    ("spmv", 9): "--generate powerlaw:1e5:19.5 --variant cuda_coo --recorded h100",
    ("streams", 7): "--variant cuda_sync_pageable,cuda_sync_pinned --recorded h200",
    ("streams", 8): "--study work --variant cuda_pipeline --recorded h200",
    ("tridiagonal", 5): "--n 128 --systems 32768 --recorded h100 --layout interleaved --variant cuda_thomas_interleaved",
    ("fdtd", 7): "--study ladder --nx 1000 --variant cuda_steps,cuda_persistent --recorded h200",
    ("cg", 7): "--generate laplace2d:512 --tolerance 0 --limit 100 --variant cuda_sliced,cuda_graph --recorded h100",
}
# What else must stand in its output.
SAYS = {("streams", 7): "pin_ms = 29.0852", ("cg", 7): "matrix = laplace2d:256", ("spmv", 9): "spmv-coo-4.json",
        ("tridiagonal", 5): "also layout = separate"}


def questions(text):
    """(number, text) of the questions that need a GPU. One that can be answered on paper is none."""
    section = re.search(r"(?ms)^## Questions$(.*?)^## ", text)[1]
    for number, question in re.findall(r"(?ms)^(\d+)\. (.*?)(?=^\d+\. |\Z)", section):
        if re.search(r"\*\(GPU\b[^*]*\)\*", question):
            yield int(number), " ".join(question.split())


def of_labs():
    return {(path.parent.name[3:], number): text for path in sorted(ROOT.glob("labs/*/README.md"))
            for number, text in questions(path.read_text(encoding="utf-8"))}


def rows(text):
    """The stored results in an output: what stands above them, and their lines."""
    found, at = {}, None
    for line in text.splitlines():
        at = line if line.startswith("recorded on ") and "variant" not in line and ": nothing" not in line else at if line else None
        if at and re.match(r" .* (right|WRONG)$", line):
            found.setdefault(at, []).append(line)
    return found


def test_each_question_that_needs_a_gpu_has_a_command_and_names_it():
    asked = of_labs()
    assert set(asked) == set(COMMANDS)
    assert [where for where, text in asked.items() if "--recorded h" not in text] == []
    for where, text in asked.items():  # its options are those of the command
        lost = [word for word in re.findall(r"`([^`]*--[^`]*)`", text) if not set(word.split()) <= set(COMMANDS[where].split())]
        assert not lost or where == ("tridiagonal", 5), (where, lost)


def test_a_question_without_a_command_is_seen():
    assert list(questions("## Questions\n\n1. A? *(paper)*\n2. B?\n   C? *(GPU, or\n   D)*\n3. E? *(paper; check on a GPU)*\n\n## Next")) == [
        (2, "B? C? *(GPU, or D)*")]


@pytest.mark.parametrize(("lab", "number"), COMMANDS)
def test_a_question_that_needs_a_gpu_is_answered_by_stored_results(lab, number):
    done = passed(built(lab), *COMMANDS[lab, number].split(), COLUMNS="160", NO_COLOR="1")
    found = rows(done.stdout)
    assert found and all(re.match(r"recorded on h[12]00, 2026-\d\d-\d\d, \S+\.json", head) for head in found), done.stdout
    assert re.search(r"cuda:0  NVIDIA H[12]00", done.stdout) and "cuda_" in str(found), done.stdout
    assert SAYS.get((lab, number), "") in done.stdout, done.stdout


def test_only_results_of_the_same_problem_are_shown(scratch):
    json_file = scratch / "own.json"
    done = passed(built("reduction"), "--op", "dot", "--n", "2^20", "--recorded", "h100,h200", "--backend", "cpu",
                  "--json", json_file)
    assert rows(done.stdout) == {}
    lines = [line for line in done.stdout.splitlines() if line.startswith("recorded on ")]
    scans = [f"op = {kind}-scan, {of}n = 268435456" for kind in ("exclusive", "inclusive") for of in ("type = double, ", "")]
    assert len(lines) == 2 and lines[0].endswith(f"nothing for this problem; there are {'; '.join(scans)}"), lines
    assert "nothing for this problem; there are type = double, n = 268435456" in lines[1] and "n = 16777216" in lines[1], lines
    own = json.loads(json_file.read_text())
    only_study = scratch / "h100/reduction-lost-update.json"
    only_study.parent.mkdir()
    shutil.copy(ROOT / "docs/results/h100" / only_study.name, only_study)
    done = passed(built("reduction"), "--n", "100", "--recorded", "h100", "--variant", "cpu_sequential", GPULAB_RESULTS=scratch)
    assert re.search(r"(?m)^recorded on h100: nothing for this problem; there are --study lost-update$", done.stdout), done.stdout
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", own["date"]) and {one["backend"] for one in own["variants"]} == {"cpu"}


@pytest.fixture
def stored(scratch):
    """A folder of stored results that a test may change, and a run of 1000 elements in it."""
    file = scratch / "mine" / "saxpy.json"
    file.parent.mkdir()
    passed(built("saxpy"), "--n", "1000", "--variant", "cpu_sequential", "--repeat", "2", "--json", file)
    return file


def shown(stored, *words):
    return run(built("saxpy"), "--variant", "cpu_sequential", "--recorded", "mine", *words, GPULAB_RESULTS=stored.parents[1])


def test_stored_results_of_another_problem_or_operation_are_not_shown(stored):
    assert rows(shown(stored, "--n", "1000").stdout) and rows(shown(stored, "--n", "1001").stdout) == {}
    other = run(built("saxpy"), "--n", "1000", "--op", "distances", "--backend", "cpu", "--recorded", "mine", GPULAB_RESULTS=stored.parents[1])
    assert "recorded on mine: nothing for this problem" in other.stdout and rows(other.stdout) == {}, other


def test_stored_results_look_as_they_did_when_they_were_measured(scratch):
    """The device with its rates, the table's heading and rows; a wrong result is wrong in the stored table too."""
    folder = scratch / "mine"
    folder.mkdir()
    words = ("--n", "1000", "--variant", "cpu_sequential,cpu_blocks")
    own = passed(built("saxpy"), *words, "--repeat", "2", "--json", folder / "saxpy.json").stdout
    block = own[own.index("\ncpu:0 ") + 1:own.index("\n\n", own.index("\ncpu:0 "))]
    environment = {"GPULAB_RESULTS": scratch}
    done = passed(built("saxpy"), *words, "--recorded", "mine", **environment).stdout
    content = json.loads((folder / "saxpy.json").read_text())
    assert f"recorded on mine, {content['date']}, saxpy.json\n{block}\n" in done, (block, done)
    content["devices"][0]["ceilings"].update(copy_gb_per_s=10.5, fp32_gflop_per_s=20.5, fp64_gflop_per_s=40.5)
    content["variants"][1].update(status="failed", error=1, kernel_ms={"median": 7.25, "min": 1, "max": 9}, total_ms=8.5,
                                  bytes=29e6, flops=58e6, percent_of_ceiling=38.1, speedup=12.25)
    (folder / "saxpy.json").write_text(json.dumps(content))
    done = run(built("saxpy"), *words, "--recorded", "mine", **environment).stdout
    stored = done[done.index("recorded on mine"):].splitlines()
    assert stored[1].endswith(": copies 10.5 GB/s, 20.5 GFLOP/s float, 40.5 GFLOP/s double"), stored
    assert stored[4].split() == ["cpu_blocks", "7.2500", "8.5000", "4.00", "8.00", "38.1", "12.25", "-", "WRONG"], stored


@pytest.mark.parametrize("change", [lambda text: text[:-9], lambda text: text.replace('"problem"', '"problems"'),
                                    lambda text: text.replace('"cpu"', '"abacus"'), lambda text: ""])
def test_a_file_that_holds_no_results_is_one_line(stored, change):
    stored.write_text(change(stored.read_text()))
    done = shown(stored, "--n", "1000")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "mine/saxpy.json holds no results" in done.stderr, done


def test_a_name_of_which_nothing_is_stored_is_refused():
    refused(run(built("saxpy"), "--recorded", "h300"), "'h300'", "there are: cpu h100 h200")
    refused(run(built("saxpy"), "--recorded", "h200,"), "''")
    refused(run(built("saxpy"), "--recorded"), "--recorded: its value is missing")
    refused(run(built("saxpy"), "--recorded", "counts"), "'counts'")


def test_without_the_folder_nothing_can_be_named(scratch):
    refused(run(built("saxpy"), "--recorded", "h200", GPULAB_RESULTS=scratch / "none"), "'h200'")


def test_a_file_of_another_lab_is_not_read(stored):
    shutil.copy(stored, stored.with_name("saxpyx.json"))
    shutil.copy(stored, stored.with_name("saxpy-again.json"))
    stored.with_name("cg-broken.json").write_text("{")
    assert [head.split(", ")[-1] for head in rows(shown(stored, "--n", "1000").stdout)] == ["saxpy-again.json", "saxpy.json"]


def test_each_stored_result_of_a_gpu_says_its_day_and_stands_in_a_file_named_after_its_lab():
    for file in sorted((ROOT / "docs/results").glob("h*/*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        for one in content if isinstance(content, list) else [content]:
            if "lab" in one:  # else it is a trace
                assert re.fullmatch(r"\d{4}-\d\d-\d\d", one["date"]), file
                assert one["lab"].removesuffix("_mpi") == re.match(r"[a-z]+", file.name)[0], file
