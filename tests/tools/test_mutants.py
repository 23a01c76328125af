#!/usr/bin/env python3
"""The tests of the planted mistakes and of tests/mutants/run.py. test_mutants.py "the sentence to test"."""

import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/mutants"))
sys.dont_write_bytecode = True

import run as mutants  # noqa: E402

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


# ---------------------------------------------------------------------------------------------------------------------
# The planted mistakes


@test
def patches_fit(folder):
    """every planted mistake has a line in the manifest and fits the file as it is"""
    mistakes = mutants.manifest()
    ids = [mistake.id for mistake in mistakes]
    equal(sorted(ids), sorted({path.stem for path in mutants.MUTANTS.glob("*.patch")}), "ids of the manifest")
    for mistake in mistakes:
        files = re.findall(r"(?m)^\+\+\+ b/(\S+)", mistake.patch.read_text(encoding="utf-8"))
        equal(files, [mistake.file], f"{mistake.id} changes")
        equal(re.match(r"labs/\d\d_(\w+)/", mistake.file)[1], mistake.lab, f"the lab of {mistake.id}")
        copy = folder / mistake.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / mistake.file, copy)
        ran = subprocess.run(mutants.apply_command(mistake.patch), cwd=folder, text=True, capture_output=True, check=False,
                             env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)})
        equal(ran.returncode, 0, f"{mistake.id} fits: {ran.stderr}")
        holds(copy.read_bytes() != (ROOT / mistake.file).read_bytes(), f"{mistake.id} changes nothing")


@test
def selection(_):
    """of a build the objects, rungs and test cases that a planted mistake concerns are found"""
    labs = ["cg", "matmul", "saxpy"]
    folder = Path(os.environ.get("GPULAB_BUILD", ROOT / "build/default"))
    if missing := [lab for lab in labs if not (folder / f"bin/test_{lab}").is_file()]:
        skip(f"test_{missing[0]} has not been built")
    build = mutants.Build(folder, labs)
    mistakes = {mistake.id: mistake for mistake in mutants.manifest()}

    def found(name):
        plan = build.plan(mistakes[name])
        return [re.sub(r"CMakeFiles/\w+\.dir/", "", object) for object in plan.objects], plan.rungs

    equal(found("06_saxpy_strided_32_bits"), (["labs/01_saxpy/cuda/studies.cu.o"], []), "of a study")
    equal(build.cases["saxpy"][mutants.GENERAL], ["the kernels of the studies give right results on CUDA devices"],
          "test cases of no rung")
    equal(build.tool_cases["saxpy"][mutants.GENERAL], ["the CUDA kernels of the studies under compute-sanitizer"],
          "test cases of no rung under a tool")
    equal(found("27_matmul_pipeline_waits_one_less"),
          (["tests/labs/03_matmul/late_warp_tile.cu.o", "labs/03_matmul/cuda/10_warp_tiles.cu.o",
            "labs/03_matmul/cuda/11_by_shape.cu.o"], ["cuda_by_shape", "cuda_pipeline", "cuda_warp_tiles"]), "of a header")
    equal(build.cases["matmul"]["cuda_grid"], ["cuda_grid multiplies floats", "cuda_grid multiplies doubles"],
          "test cases of a rung whose name begins another's")
    equal([name for name in build.cases["matmul"][mutants.GENERAL] if "late" in name],
          ["cuda_pipeline and the rungs after it wait for what they read, however late it arrives"],
          "test cases of several rungs")
    equal(found("822_cg_persistent_no_wait_for_p"), (["labs/09_cg/cuda/05_persistent.cu.o"], ["cuda_persistent"]), "of a rung")
    equal(build.tool_cases["cg"]["cuda_persistent"],
          ["cuda_persistent in double under compute-sanitizer", "cuda_persistent in float under compute-sanitizer"],
          "test cases of a rung under a tool")
    large = mutants.Build(folder, labs, large=True)
    equal(large.cases["saxpy"][mutants.GENERAL], ["every CUDA variant computes elements beyond a 32-bit index",
                                                  "the CUDA kernels of the studies compute elements beyond a 32-bit index"],
          "large test cases of no rung")
    equal([name.split()[5] for name in large.cases["matmul"]["cuda_grid"]], ["A", "B", "C"], "large test cases of a rung")
    equal([large.must_reject(mistakes[id]) for id in ("01_saxpy_index_32_bits", "02_saxpy_whole_tile_off_by_one")],
          [True, False], "what large test cases must reject")


@test
def failed_cases(_):
    """of Catch2's output the test case that failed is told"""
    names = ["cuda_one adds, twice [at once]", "cuda_one adds a very long row of numbers that no line of eighty columns holds"]
    equal(mutants.escaped(names[0]), r"cuda_one adds\, twice \[at once\]", "a name for Catch2")
    line = "-" * 79
    text = f"""Filters: "{names[0]}","{names[1]}"
{line}
{names[0]}
{line}
a.cpp:1: SKIPPED:
{line}
{names[1][:48]}
{names[1][49:]}
{line}
a.cpp:2
a.cpp:3: FAILED:
"""
    equal(mutants.failed_case(text, names), names[1], "the test case")
    equal(mutants.failed_case("Segmentation fault", names), "one of 2 test cases", "where none is told")


# ---------------------------------------------------------------------------------------------------------------------
# The driver, with a lab that needs no device: its rungs are C++, its test program talks like Catch2, and its sanitizer
# reports what the program prints.

LAB = {
    "common/include/gpulab/limit.hpp": "const int limit = 7;\n",
    "labs/01_toy/cuda/step.cuh": "inline int step(int i) {\n    return i + 1;\n}\n",
    "labs/01_toy/cuda/01_one.cu": '#include "step.cuh"\n#include "gpulab/limit.hpp"\n'
                                  "int cuda_one() {\n    int i = 0;\n    while (i < limit)\n        i = step(i);\n    return i;\n}\n",
    "labs/01_toy/cuda/02_two.cu": '// two\n//\n\n#include "step.cuh"\n\nint strays = 0;\nint furthest = 7;\nint cuda_two() {\n    return step(6);\n}\n',
    "labs/01_toy/cuda/03_slow.cu": '#include "unistd.h"\nint cuda_slow() {\n    usleep(1500000);\n    return 7;\n}\n',
    "labs/01_toy/cuda/studies.cu": "int study() {\n    return 7;\n}\n",
    "tests/labs/01_toy/expected.hpp": "const int expected = 7;\n",
    "tests/labs/01_toy/test_toy.cpp": r'''
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "labs/01_toy/expected.hpp"
int cuda_one(); int cuda_two(); int cuda_slow(); int study();
extern int strays, furthest;
struct Case { const char* name; int (*run)(); } const cases[] = {
    {"cuda_one counts, to seven", cuda_one}, {"cuda_two counts", cuda_two}, {"cuda_slow counts", cuda_slow},
    {"the studies count", study}};
int main(int, char** words) {
    if (!std::strcmp(words[1], "[cuda]~[large]")) {
        for (const Case& c : cases) std::printf("%s\n", c.name);
    } else if (!std::strcmp(words[1], "[cuda][large]")) {
        std::printf("cuda_two goes far\n");
    } else if (!std::strcmp(words[1], "cuda_two goes far")) {
        if (std::getenv("TOY_SMALL")) return 4; // skipped
        const char* const broken = std::getenv("TOY_BROKEN");
        if (furthest == expected && !(broken && std::strstr(words[1], broken))) return 0;
        std::printf("---\n%s\n---\ntest_toy.cpp:1: FAILED:\n", words[1]);
        return 1;
    } else if (!std::strcmp(words[1], "[.sanitizer]")) {
        for (const Case& c : cases) if (c.run != cuda_slow) std::printf("%.8s under the tool\n", c.name);
    } else {
        const char* const broken = std::getenv("TOY_BROKEN");
        for (const Case& c : cases) {
            if (std::strncmp(words[1], c.name, 8)) continue;
            if (c.run() == expected && !(broken && std::strstr(c.name, broken))) continue;
            std::printf("---\n%s\n---\ntest_toy.cpp:1: FAILED:\n", c.name);
            return 1;
        }
        for (; strays > 0; --strays) std::printf("stray read\n");
    }
}
''',
    "sanitizer": """#!/bin/sh
[ "$1 $3 $4 $5 $7" = "--tool --leak-check no --padding --log-file" ] && tool=memcheck log=$8 && shift 8
[ "$1 $2 $3" = "--tool racecheck --racecheck-report" ] && tool=racecheck log=$6 && shift 6
[ "$1 $3" = "--tool --log-file" ] && tool=other log=$4 && shift 4
out=$("$@") || exit
case "$tool $out" in
*stray*) echo "ERROR SUMMARY: 1 error" ;;
race*) echo "RACECHECK SUMMARY: 0 hazards displayed" ;;
*) echo "ERROR SUMMARY: 0 errors" ;;
esac > "$log"
""",
    "build/build.ninja": """
rule compile
  command = c++ -I{root}/common/include -I{root}/tests -Wall -Werror -MD -MT $out -MF $out.d -x c++ -c $in -o $out
  depfile = $out.d
  deps = gcc
rule archive
  command = : && rm -f $out && ar qc $out  $in && ranlib $out && :
rule link
  command = : && c++ $objects -o $out  $libraries && :
build one.o: compile {root}/labs/01_toy/cuda/01_one.cu
build two.o: compile {root}/labs/01_toy/cuda/02_two.cu
build slow.o: compile {root}/labs/01_toy/cuda/03_slow.cu
build study.o: compile {root}/labs/01_toy/cuda/studies.cu
build test.o: compile {root}/tests/labs/01_toy/test_toy.cpp
build toy.a: archive one.o two.o slow.o study.o
build bin/test_toy: link test.o toy.a
  objects = test.o
  libraries = toy.a
""",
    "build/CMakeCache.txt": "GPULAB_COMPUTE_SANITIZER:FILEPATH={root}/sanitizer\n",
}
CUDA = "labs/01_toy/cuda"
# Name, file, what is replaced, by what, whether it may be accepted, the verdict, by what.
PLANTED = [
    ("wrong", f"{CUDA}/01_one.cu", "int i = 0", "int i = limit + 1", "no", "rejected", "cuda_one counts, to seven"),
    ("step_header", f"{CUDA}/step.cuh", "i + 1", "i + 2", "no", "rejected", "cuda_one counts, to seven"),
    ("common_header", "common/include/gpulab/limit.hpp", "7", "8", "no", "rejected", "cuda_one counts, to seven"),
    ("test_header", "tests/labs/01_toy/expected.hpp", "7", "8", "no", "rejected", "the studies count"),
    ("study", f"{CUDA}/studies.cu", "7", "8", "no: seldom", "rejected", "the studies count"),
    ("stray", f"{CUDA}/02_two.cu", "return", "++strays;\n    return", "no", "rejected", "memcheck: cuda_two"),
    ("hangs", f"{CUDA}/02_two.cu", "return", "for (volatile int i = 1; i;) {}\n    return", "no", "rejected",
     "no end after 4 s: cuda_two"),
    ("slow", f"{CUDA}/03_slow.cu", "1500000", "9000000", "no", "timeout", "no end after 4 s: cuda_slow"),
    ("crashes", f"{CUDA}/01_one.cu", "int i = 0", "int i = 0;\n    __builtin_trap()", "no", "rejected",
     "cuda_one counts, to seven"),
    ("only_warns", f"{CUDA}/01_one.cu", "int i = 0", "int unused, i = 1", "yes: as right", "accepted", ""),
    ("large", f"{CUDA}/02_two.cu", "furthest = 7", "furthest = 6", "no", "accepted", ""),
    ("far_large", f"{CUDA}/02_two.cu", "step(6)", "step(6 + 0)", "no", "accepted", ""),
    ("unseen", f"{CUDA}/02_two.cu", "step(6)", "step(5 + 1)", "no", "accepted", ""),
    ("stale", f"{CUDA}/02_two.cu", None, "step(8)", "no", "does not fit", None),
    ("syntax", f"{CUDA}/02_two.cu", "step(6)", "step(6", "no", "does not compile", None),
]


def toy(folder):
    """A project with the lab and its mistakes in `folder`, and a finished build of it."""
    if not shutil.which("ninja") or not shutil.which("c++"):
        skip("no ninja or no c++")
    root = folder / "root"
    for name, text in LAB.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.replace("{root}", str(root)))
    (root / "sanitizer").chmod(0o755)
    place = root / "tests/mutants"
    place.mkdir()
    shutil.copy(mutants.MUTANTS / "run.py", place)
    lines = ["id\tlab\tfile\tmistake\tequivalent?"]
    for name, file, old, new, harmless, *_ in PLANTED:
        lines.append(f"{name}\ttoy\t{file}\t{'may hang' if name == 'hangs' else 'index (large only)' if name.endswith('large') else '?'}"
                     f"\t{harmless}")
        text = (root / file).read_text()
        before, after = folder / "before", folder / "after"
        before.write_text(text if old else text.replace("step(6)", "step(7)"))
        after.write_text(before.read_text().replace(old or "step(7)", new))
        difference = subprocess.run(["diff", "-u", "--label", f"a/{file}", "--label", f"b/{file}", before, after], text=True,
                                    capture_output=True, check=False).stdout
        (place / f"{name}.patch").write_text(difference)
    (place / "manifest.tsv").write_text("\n".join(lines) + "\n")
    # Since the mistakes were written down the file has got two lines more: they fit all the same.
    file = root / CUDA / "02_two.cu"
    file.write_text(f"// more\n// still more\n{file.read_text()}")
    subprocess.run(["ninja", "-C", str(root / "build")], check=True, capture_output=True)
    return root


def state(root):
    """Names, contents and times of all files."""
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(root.rglob("*")) if path.is_file()}


def command(root, *words):
    return [sys.executable, root / "tests/mutants/run.py", "--build", root / "build", "--jobs", "2", "--timeout", "4", *words]


def verdicts(root, *words, rc, **variables):
    """What the driver writes about the mistakes, by their names."""
    out = root.parent / "out.tsv"
    scratch = root.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    ran = subprocess.run([*command(root, *words), "--out", out], text=True, capture_output=True, check=False,
                         env={**os.environ, "TMPDIR": str(scratch), "PYTHONDONTWRITEBYTECODE": "1", **variables})
    equal(ran.returncode, rc, f"the exit code of {words}: {ran.stdout}{ran.stderr}")
    equal(list(scratch.iterdir()), [], "what is left of the scratch folder")
    with open(out, encoding="utf-8") as file:
        return {line["id"]: (line["verdict"], line["by"]) for line in csv.DictReader(file, delimiter="\t")}, ran


@test
def toy_verdicts(folder):
    """run.py tells of each mistake whether the tests reject it and by what, and changes no file"""
    root = toy(folder)
    before = state(root)
    found, ran = verdicts(root, rc=1)
    equal(found.keys(), {name for name, *_ in PLANTED}, "mistakes")
    for name, *_, verdict, by in PLANTED:
        equal(found[name], (verdict, found[name][1] if by is None else by), name)
    holds("accepted, and must not be: unseen" in ran.stdout, ran.stdout)
    holds("15 mistakes: 8 rejected, 4 accepted, 1 timeout, 1 does not fit, 1 does not compile" in ran.stdout, ran.stdout)
    equal(state(root), before, "files")


@test
def toy_exit_codes(folder):
    """run.py ends with 0, 1, 2 or 3: all rejected, one accepted, the unchanged program is not, or too little time"""
    root = toy(folder)
    verdicts(root, "wrong", "only_warns", "large", rc=0)
    found, ran = verdicts(root, "--large", rc=1)
    equal(found, {"large": ("rejected", "cuda_two goes far"), "far_large": ("accepted", "")}, "with the large test cases")
    holds("accepted, and must not be: far_large" in ran.stdout, ran.stdout)
    _, ran = verdicts(root, "--large", "large", rc=2, TOY_BROKEN="far")
    holds("nothing is accepted here without a mistake either" in ran.stderr, ran.stderr)
    verdicts(root, "wrong", "unseen", rc=1)
    verdicts(root, "stale", rc=1)
    found, _ = verdicts(root, "--build-only", "wrong", "step_header", "large", rc=0, TOY_BROKEN="count")
    equal(found, {"wrong": ("builds", "1 changed: cuda_one"), "step_header": ("builds", "2 changed: cuda_one, cuda_two"),
                  "large": ("builds", "1 changed: cuda_two"), "far_large": ("builds", "1 changed: cuda_two")}, "built only")
    verdicts(root, "--build-only", "wrong", "syntax", rc=1)
    found, _ = verdicts(root, "wrong", "unseen", rc=2, TOY_BROKEN="cuda_two")
    equal(found, {"wrong": ("rejected", "cuda_one counts, to seven"),
                  "unseen": ("not run", "the unchanged cuda_two of toy is not accepted: cuda_two counts")},
          "where an unchanged rung is rejected")
    _, ran = verdicts(root, "wrong", rc=2, TOY_BROKEN="count")
    holds("nothing is accepted here without a mistake either" in ran.stderr, ran.stderr)
    found, _ = verdicts(root, "--known-good", "hangs", "slow", rc=3)
    equal((found["hangs"][0], found["slow"][0]), ("rejected", "timeout"), "what hangs, with --known-good")
    found, _ = verdicts(root, "--known-good", "wrong", "unseen", rc=0, TOY_BROKEN="cuda_two")
    equal(found["unseen"], ("rejected", "cuda_two counts"), "where the unchanged program is said to be good and is not")
    found, _ = verdicts(root, "wrong", "slow", "--budget", "3", rc=3)
    equal(found["slow"], ("not run", "no time left"), "what there was no time for")
    plan = mutants.Plan(mutants.Mistake("slow", "toy", "", "", "no"), [], [])
    equal(mutants.exit_code(None, [mutants.Result(plan, "timeout", "", 4)], True), 3, "the exit code after a timeout")
    ran = subprocess.run(command(root, "nonsense"), text=True, capture_output=True, check=False)
    equal((ran.returncode, ran.stderr.count("\n")), (2, 1), f"an id that there is not: {ran.stderr}")
    for known in [], ["--known-good"]:
        found, ran = verdicts(root, "--large", *known, "far_large", rc=2, TOY_SMALL="1")
        equal(found, {}, "verdicts where the large test cases are skipped")
        holds("too little memory" in ran.stderr, ran.stderr)
    ran = subprocess.run(command(root, "--large", "wrong"), text=True, capture_output=True, check=False)
    equal((ran.returncode, ran.stderr.count("\n")), (2, 1), f"an id that needs no large test: {ran.stderr}")
    (root / CUDA / "01_one.cu").touch()
    ran = subprocess.run(command(root, "wrong"), text=True, capture_output=True, check=False)
    equal((ran.returncode, ran.stderr.count("\n")), (2, 1), f"a build older than a file: {ran.stderr}")
    holds("older than its sources" in ran.stderr, ran.stderr)


@test
def toy_objects(folder):
    """run.py --objects compiles no mistake twice, but one whose files have changed"""
    root = toy(folder)
    objects = folder / "objects"
    verdicts(root, "--build-only", "--objects", objects, "step_header", rc=0)
    kept = sorted(objects.iterdir())
    equal([path.suffix for path in kept], [".o", ".o"], f"what is kept: {kept}")
    for path in kept:  # of which the driver sees that they are used
        names = subprocess.run(["nm", path], text=True, capture_output=True, check=True).stdout
        shutil.copy(root / "build" / ("one.o" if "cuda_one" in names else "two.o"), path)
    found, _ = verdicts(root, "--objects", objects, "step_header", rc=1)
    equal(found["step_header"], ("accepted", ""), "with objects without the mistake")
    found, _ = verdicts(root, "--objects", objects, "wrong", rc=0)
    equal((found["wrong"][0], len(list(objects.iterdir()))), ("rejected", 3), "with an object that is not there")
    for name in ("01_one.cu", "02_two.cu"):
        with open(root / CUDA / name, "a", encoding="utf-8") as file:
            file.write("// changed\n")
    subprocess.run(["ninja", "-C", str(root / "build")], check=True, capture_output=True)
    found, _ = verdicts(root, "--objects", objects, "step_header", rc=0)
    equal(found["step_header"], ("rejected", "cuda_one counts, to seven"), "after a change of the files")
    equal(sorted({path.suffix for path in objects.iterdir()}), [".o"], "what is kept")


@test
def toy_interrupted(folder):
    """run.py that is ended keeps the verdicts it has, and leaves no process and no scratch folder behind"""
    root = toy(folder)
    out, scratch = folder / "out.tsv", folder / "scratch"
    scratch.mkdir()
    process = subprocess.Popen([*command(root, "wrong", "hangs", "--timeout", "600"), "--out", out],
                               env={**os.environ, "TMPDIR": str(scratch)}, stdout=subprocess.DEVNULL)

    def running():
        return [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(scratch).encode() in words_of(path)]

    def words_of(path):
        try:
            return path.read_bytes()
        except OSError:  # it has ended
            return b""

    end = time.monotonic() + 60
    try:
        while not (out.is_file() and "wrong\trejected" in out.read_text() and running()):
            holds(time.monotonic() < end and process.poll() is None, "a verdict, and a program that hangs, after a minute")
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        equal(process.wait(60), 143, "the exit code")
        equal(running(), [], "processes")
    finally:
        process.kill()
        for path in running():
            os.kill(int(path.parent.name), signal.SIGKILL)
    holds("wrong\trejected\tcuda_one" in out.read_text(), out.read_text())
    equal(list(scratch.iterdir()), [], "the scratch folder")


if __name__ == "__main__":
    sentence, *rest = sys.argv[1:]
    if sentence not in TESTS:
        fail(f"no test of that name: {sentence}")
    with tempfile.TemporaryDirectory() as scratch:
        TESTS[sentence](Path(scratch).resolve(), *rest)
