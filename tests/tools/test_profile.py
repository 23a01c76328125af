"""./lab profile and tools/counts --ncu, with an ncu that prints what a real one printed on an H200 (ncu/): rung 3 of lab 02 with
100000 elements, three launches, run twice. The counts of whole launches in it are the sums of its lines."""

import json
import re
import shutil
import sys

import pytest
from conftest import ROOT, refused, run

sys.path.insert(0, str(ROOT / "tools/explain"))
import ncu  # noqa: E402

READS_ALL = True  # see judged_once.py

RECORDED = ROOT / "tests/tools/ncu"
VARIANT = "cuda_tree_interleaved"


class Course:
    """A folder with the tools, a program that only lists its variants, and a profiler that answers from files."""

    def __init__(self, folder):
        self.folder, self.bin = folder, folder / "bin"
        for part in ("docs/results/counts", "docs/figures", "tools", "labs/02_reduction"):
            shutil.copytree(ROOT / part, folder / part)
        self.answer("raw", (RECORDED / "raw.csv").read_text())
        self.answer("source", (RECORDED / "source.csv").read_text().replace("/course/", f"{folder}/"))
        self.outcome = {"devices": [{"id": "cuda:0", "name": "A GPU"}], "variants": [{"device": "cuda:0", "status": "passed"}]}
        self.printed = "==PROF== connected"
        self.program("bin/ncu", f'if [ "$1" = -i ]; then cat {folder}/answer.$4; exit; fi\necho "$*" >>{folder}/asked\n'
                     f'cat {folder}/printed\nwhile [ "$1" != --json ]; do shift; done\ncp {folder}/outcome.json "$2" 2>/dev/null')
        self.program("build/bin/reduction", f"printf '{VARIANT}  cuda  a tree\\ncuda_cub  cuda  the library\\n'")

    def program(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def answer(self, page, text):
        (self.folder / f"answer.{page}").write_text(text)

    def run(self, *words):
        (self.folder / "printed").write_text(self.printed + "\n")
        (self.folder / "outcome.json").unlink(missing_ok=True)
        if self.outcome:
            (self.folder / "outcome.json").write_text(json.dumps(self.outcome))
        return run(sys.executable, "-B", *words, PATH=f"{self.bin}:/usr/bin:/bin", GPULAB_BUILD=self.folder / "build")

    def profile(self, *words, variant=VARIANT):
        return self.run(self.folder / "tools/explain/ncu.py", self.folder, self.folder / "build", "reduction", "--variant", variant, *words)


@pytest.fixture
def course(scratch):
    return Course(scratch)


def test_the_tables_have_the_counts_of_one_run_and_say_what_they_mean(course):
    done = course.profile("--n", "100000", "--json", course.folder / "a.json", "--page", course.folder / "a.html")
    assert done.returncode == 0, done
    rows = [line.split() for line in done.stdout.splitlines()]
    kernel = next(row for row in rows if row[:1] == ["tree_interleaved_kernel"])
    # 3136, 2624 and 2784 ns, by which the percentages are weighed: (3136 * 15.03 + ...) / 8544 = 5.6
    assert kernel[1:8] == ["3", "8.5", "6%", "1%", "5%", "20%", "16"] and "the size of its blocks" in done.stdout, done.stdout
    lines = {row[0]: row for row in rows if row[:1] and row[0].isdigit()}
    # Line 21: 3125 + 13 + 1 requests, 12500 + 49 + 1 sectors. Line 24: 1 299 684 + 6648 + 3324 / 2 threads of 128 248 + ... instructions
    assert lines["21"][-5:] == ["3,139", "4.00", "1.00", "32.0", "43%"] and lines["24"][-3:] == ["1.00", "10.1", "38%"], done.stdout
    assert lines["27"][-5:] == ["394", "1.00", "1.00", "24.6", "6%"]
    assert "line 24: 57% of all instructions run with 10.1 of 32 lanes on average (docs/kernels.md#divergence)" in done.stdout
    assert "27% of the time that warps wait, they wait for other warps at a barrier" in done.stdout
    shown = (ROOT / "docs/kernels.md").read_text().partition("## On a GPU")[2].partition("    kernel ")[2].partition("\n\n- ")[0]
    assert shown.count("\n") == 14 and not [line for line in shown.splitlines()[1:] if line.strip() not in done.stdout]
    assert "No counts of ./lab explain beside these: the build has no CUDA emulator" in done.stdout
    assert "most of them idle" not in done.stdout, "391 blocks for 132 multiprocessors"
    made, = json.loads((course.folder / "a.json").read_text())
    assert made["device"] == "A GPU" and made["options"] == ["--n", "100000"]
    assert {name: made["sums"][name] for name in ("global_requests", "global_sectors", "local_passes", "warps", "launches")} == {
        "global_requests": 3533, "global_sectors": 12944, "local_passes": 59100, "warps": 3152, "launches": 3}
    assert "Counted on an A GPU by Nsight Compute" in (course.folder / "a.html").read_text()
    assert re.search(r"--launch-count 200 .*--variant cuda_tree_interleaved --repeat 1 --warmup 0 .*--n 100000",
                     (course.folder / "asked").read_text())


def test_a_word_of_the_guide_explains_each_finding_and_each_wait():
    guide = (ROOT / "docs/kernels.md").read_text()
    words = {word for _, word in ncu.WAITS.values()} | set(re.findall(r'", "([a-z-]+)"\)\)$', (ROOT / "tools/explain/ncu.py").read_text(), re.M))
    assert len(words) > 10 and not [word for word in words if f'<a name="{word}"></a>' not in guide]


@pytest.mark.parametrize("metric, value, told", [
    (ncu.DRAM, "91", "the device's memory is busy 91% of the time: only fewer bytes help now"),
    (ncu.MEMORY, "82", "caches or shared memory are busy 82% of the time"),
    (ncu.ARITHMETIC, "77", "the arithmetic units are busy 77% of the time"),
    ("launch__grid_size", "12", "the largest launch has 12 blocks for 132 multiprocessors: most of them idle"),
    (ncu.FITTING, "25", "the size of its blocks leaves room for 25%"), (ncu.FITTING, "100", "the launches have too few blocks")])
def test_what_binds_a_kernel_is_said(metric, value, told):
    launches = [{**one, metric: value} for one in ncu.launches_of((RECORDED / "raw.csv").read_text())]
    one = ncu.Profile(VARIANT, [], "A GPU", launches, {}, {})
    assert told in " ".join(text for text, _ in ncu.findings(one))
    assert ("they wait for" in str(ncu.findings(one))) == (metric not in (ncu.DRAM, ncu.MEMORY, ncu.ARITHMETIC))


def test_sectors_and_passes_beyond_the_least_are_named_with_their_line(course):
    table = (RECORDED / "source.csv").read_text().replace('"3125","12500","12500"', '"3125","25000","12500"')
    table = table.replace('"55131","55131"', '"99999","55131"')
    course.answer("source", table.replace("/course/", f"{course.folder}/"))
    told = course.profile().stdout
    assert "line 21: 25,050 sectors where 12,550 would do (docs/kernels.md#coalesced)" in told
    assert re.search(r"line 24: 100,\d{3} passes of shared memory where 55,\d{3} would do", told), told


def test_what_lab_05_does_at_the_same_time_is_drawn_by_a_run_without_the_profiler(course):
    course.program("build/bin/streams", f"""case "$*" in
*--lanes*--n*) printf 'table\n\n{VARIANT}: overlap 41.0 %%\n   0 |>>##<<|\n   1 | >>##<|\n      > copy up   0 ... 9.0 us\n\nmore\n' ;;
*) echo '{VARIANT}  cuda  a pipeline' ;;
esac""")
    done = course.run(course.folder / "tools/explain/ncu.py", course.folder, course.folder / "build", "streams", "--variant", VARIANT,
                      "--n", "5")
    drawn = done.stdout.partition("At the same time, without the profiler:\n")[2]
    assert drawn.startswith(f"{VARIANT}: overlap 41.0 %\n   0 |>>##<<|\n   1 | >>##<|\n      > copy up   0 ... 9.0 us\nNsight Systems"), done
    assert drawn.endswith(f"bin/streams --variant {VARIANT}\n") and "At the same time" not in course.profile().stdout


@pytest.mark.parametrize("variant, library", [("cuda_tree_interleaved", "cuda_cub"), ("cuda_dot", "cuda_dot_cublas"),
                                              ("cuda_scan_two_level", "cuda_scan_cub"), ("cuda_tensor_bf16", "cuda_cublas_bf16")])
def test_the_library_beside_a_variant_does_the_same(variant, library):
    assert ncu.baseline_of(ROOT, "matmul" if "tensor" in variant else "reduction", variant) == library


def test_what_cannot_be_profiled_is_refused_in_a_line(course):
    refused(course.profile(variant="cuda_none"), "no CUDA variant 'cuda_none'", "cuda_cub")
    course.printed, course.outcome = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", None
    refused(course.profile(), "administrator", "./lab explain LAB --cuda")
    course.printed = "error: --n takes a number\n==WARNING== No kernels were profiled."
    refused(course.profile("--n", "x"), "error: --n takes a number")
    course.outcome = {"devices": [], "variants": [{"device": "", "status": "failed", "reason": "3 values differ"}]}
    refused(course.profile(), "its result is failed: 3 values differ")
    (course.bin / "ncu").unlink()
    if not shutil.which("ncu", path="/usr/bin:/usr/local/cuda/bin"):
        refused(course.profile(), "ncu is not installed", "./lab explain LAB --cuda")


def test_counts_of_the_hardware_are_those_of_one_run_without_the_kernel_that_measures_the_device(course):
    rows = (RECORDED / "raw.csv").read_text().splitlines()
    course.answer("raw", "\n".join([*rows[:2], rows[2].replace("tree_interleaved_kernel", "fma_kernel"), *rows[2:]]))
    kept = course.folder / "docs/results/counts/ncu/reduction.json"
    kept.unlink()
    done = course.run(course.folder / "tools/counts", "--ncu", "reduction")
    made = json.loads(kept.read_text())
    assert made["device"] == "A GPU", done
    assert [(v["variant"], v["twin"]) for v in made["variants"]] == [
        (f"opencl_{name}", f"cuda_{name}") for name in ("tree_interleaved", "tree_sequential", "grid_stride")]
    assert all(one["sums"]["global_requests"] == 3533 and one["sums"]["launches"] == 3 for one in made["variants"])


@pytest.mark.parametrize("name, by, printed", [
    (ncu.METRICS["warps"][0], "other", f"ncu does not count {ncu.METRICS['warps'][0]} on this device"),
    ("tree_interleaved_kernel", "fma_kernel", "ncu has seen no kernel")])
def test_what_the_hardware_did_not_count_is_refused_and_no_file_written(course, name, by, printed):
    course.answer("raw", (RECORDED / "raw.csv").read_text().replace(name, by))
    kept = course.folder / "docs/results/counts/ncu/reduction.json"
    kept.unlink()
    refused(course.run(course.folder / "tools/counts", "--ncu", "reduction"), printed)
    assert not kept.exists()
