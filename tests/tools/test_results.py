"""The tests of tools/tables and tools/plot.

Each test works in a copy of tools/ in a folder of its own, with results whose figures are known.
"""

import contextlib
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, refused
from conftest import run as started


def fail(text):
    pytest.fail(text, pytrace=False)


def equal(got, wanted, what):
    assert got == wanted, what


class Copy:
    """A folder with the tools, and what the tests put beside them."""

    def __init__(self, folder):
        self.folder = folder
        shutil.copytree(os.path.join(ROOT, "tools"), os.path.join(folder, "tools"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def run(self, tool, *arguments, **environment):
        return subprocess.run(
            [sys.executable, self.path(f"tools/{tool}"), *arguments],
            cwd=self.folder,
            text=True,
            capture_output=True,
            check=False,
            env={**os.environ, **environment},
        )


def variant(name, ms, device="cuda:0", **fields):
    timed = ms is not None
    return {
        "name": name,
        "backend": (device or "cuda:0").split(":")[0],
        "device": device,
        "status": "passed" if timed else "skipped",
        "reason": None if timed else "not here",
        "kernel_ms": {"median": ms, "min": ms / 2, "max": ms * 2} if timed else None,
        "repeats": 20 if timed else 0,
        "total_ms": None,
        "bytes": 1e6,
        "flops": 2e6,
        "gb_per_s": 1 / ms if timed else None,
        "gflop_per_s": 2 / ms if timed else None,
        "percent_of_ceiling": 50 / ms if timed else None,
        "speedup": None,
        "error": 0.0,
        "tolerance": 1e-6,
        **fields,
    }


def run(problem, *variants, study=None, platform=""):
    ids = dict.fromkeys(v["device"] for v in variants if v["device"])
    devices = [
        {
            "id": i,
            "name": f"Device {i}",
            "backend": i.split(":")[0],
            "platform": platform if i.startswith("opencl") else "",
            "memory_bytes": 1,
            "compute_units": 1,
            "ceilings": {"copy_gb_per_s": 2.0, "fp32_gflop_per_s": None, "fp64_gflop_per_s": None},
        }
        for i in ids
    ]
    return {
        "lab": "lab",
        **({"study": study} if study else {}),
        "problem": {**problem, "seed": 42},
        "sequential_ms": 8.0,
        "devices": devices,
        "variants": list(variants),
    }


GPU = run(
    {"n": 2**20, "shape": "tall"},
    variant("cuda_a", 0.5),
    variant("cuda_b", 0.25, extra=7, note="a|b"),
    variant("cuda_c", None),
    variant("opencl_a", 1.0, "opencl:0"),
    variant("opencl_a", 0.8, "opencl:1"),
)
CPU = run(
    {"n": 2**20, "shape": "tall"},
    variant("cpu_a", 8.0, "cpu:0"),
    variant("opencl_a", 4.0, "opencl:0"),
    variant("cuda_a", None, None),
    platform="Portable Computing Language",
)
STUDY = [
    run({"n": n, "blocks": b}, variant("cuda_a", n / 1e4 * b), variant("cuda_b", n / 1e4 + b), study="sizes")
    for n in (1000, 10000, 100000)
    for b in (1, 2)
]


def table(directive, rows=""):
    return f"before\n\n<!-- table\n{directive}\n-->\n{rows}<!-- end of table -->\n\nafter\n"


POWERS = [run({"m": m}, variant("cuda_a", 1.0)) for m in (1024, 20000, 65536)]
FILES = "file gpu results/gpu.json\nfile cpu results/cpu.json\nfile study results/study.json\n"


COUNTS = {"lab": "lab", "variants": [
    {"variant": "opencl_a", "options": "--n 4", "sums": {"groups": 2, "barriers": 6, "local_passes": 8}},
    {"variant": "opencl_b", "options": "--n 4", "sums": {"groups": 4, "barriers": 0, "splits": 3}}]}


def with_results(folder):
    copy = Copy(folder)
    for name, content in (("gpu", GPU), ("cpu", CPU), ("study", STUDY), ("powers", POWERS), ("counts", COUNTS)):
        copy.write(f"results/{name}.json", content)
    return copy


def test_the_tables_of_measured_figures_agree_with_their_files():
    outcome = subprocess.run([sys.executable, os.path.join(ROOT, "tools/tables"), "--check"], text=True, capture_output=True, check=False)
    if outcome.returncode != 0:
        fail(outcome.stderr)
    if not re.match(r"tables that agree with their files: [1-9]", outcome.stdout):
        fail(f"there is none: {outcome.stdout}")


def test_a_table_is_filled_in_from_its_files_and_a_second_run_changes_nothing(scratch):
    copy = with_results(scratch)
    by_size = "| n | 1 blocks | 2 blocks |\n|---|---:|---:|\n"
    by_size += "| 10³ | 100 | 200 |\n| 10⁴ | 1000 | 2000 |\n| 10⁵ | 10000 | 20000 |\n"
    cases = [
        # Rows by patterns in their order, one left out; decimals, digits, whole numbers; a ratio to another variant.
        """
rows variant cuda_b cuda_* !cuda_c
column "kernel ms" show=kernel_ms decimals=3
column digits show=gb_per_s digits=2
column extra show=extra
column ratio show=kernel_ms@cuda_a/kernel_ms decimals=1
""",
        """
| variant | kernel ms | digits | extra | ratio |
|---|---:|---:|---:|---:|
| cuda_b | 0.250 | 4.0 | 7 | 2.0 |
| cuda_a | 0.500 | 2.0 | – | 1.0 |
""",
        # Groups of columns from two files, gaps, what a device refused, a column worked out from those at its left.
        """
heading rung
row "a | b" variant=cuda_a
row c variant=cuda_c
row OpenCL variant=opencl_a
cells show=kernel_ms digits=2
column GPU device=cuda:0|opencl:1
column CPU file=cpu
column "times" show="{CPU} / {GPU}" decimals=0
""",
        """
| rung | GPU | CPU | times |
|---|---:|---:|---:|
| a \\| b | 0.50 | – | – |
| c | skipped | – | – |
| OpenCL | 0.80 | 4.0 | 5 |
""",
        # A study: a parameter as rows, another as columns, a row of its own.
        """
rows n file=study
row "one core" n=1000 show=sequential_ms decimals=0
columns blocks file=study label="{} blocks"
cells variant=cuda_a show=kernel_ms*1000 digits=2
""",
        f"\n{by_size}| one core | 8 | 8 |\n",
        """
rows n file=study
columns blocks file=study label="{} blocks"
cells variant=cuda_a show=(kernel_ms+1-1)*1000 digits=2
""",
        f"\n{by_size}",
        """
rows n file=study 1e3 10^5
columns variant file=study blocks=2 show=kernel_ms digits=1
""",
        """
| n | cuda_a | cuda_b |
|---|---:|---:|
| 10³ | 0.2 | 2 |
| 10⁵ | 20 | 10 |
""",
        # The other variant of the run is that of the same device where it ran there, else the only one there is.
        """
rows device opencl:* variant=opencl_a
cells variant=opencl_a
column itself show=kernel_ms@opencl_a/kernel_ms decimals=2
column cuda_a show=kernel_ms@cuda_a/kernel_ms decimals=3
""",
        """
| device | itself | cuda_a |
|---|---:|---:|
| opencl:0 | 1.00 | 0.500 |
| opencl:1 | 1.00 | 0.625 |
""",
        # Powers only where all values are powers of 2, or all of 10.
        """
file powers results/powers.json
rows m file=powers show=m
columns variant file=powers
""",
        """
| m | cuda_a |
|---|---:|
| 1024 | 1024 |
| 20000 | 20000 |
| 65536 | 65536 |
""",
        """
file powers results/powers.json
rows m 1024 65536 file=powers show=m
columns variant file=powers
""",
        """
| m | cuda_a |
|---|---:|
| 2¹⁰ | 1024 |
| 2¹⁶ | 65536 |
""",
        # Counts, of the size that is asked for; not every variant has all of them.
        """
counts oclgrind results/counts.json
rows variant file=oclgrind
cells file=oclgrind options="--n 4"
column passes show=local_passes
column barriers show=barriers/groups decimals=1
""",
        """
| variant | passes | barriers |
|---|---:|---:|
| opencl_a | 8 | 3.0 |
| opencl_b | – | 0.0 |
""",
        # A text, and a field that is the same for all results that fit.
        """
rows shape
column text show=device_name variant=cuda_a
column one show=sequential_ms
""",
        """
| shape | text | one |
|---|---|---:|
| tall | Device cuda:0 | 8.00 |
""",
        # The median, the least and the largest time.
        """
rows variant cuda_a
column ms show=kernel_ms
column least show=kernel_ms_min
column most show=kernel_ms_max
""",
        """
| variant | ms | least | most |
|---|---:|---:|---:|
| cuda_a | 0.500 | 0.250 | 1.00 |
""",
        # A bar in a text, nothing for a division by 0, and two results that look the same in so few digits.
        """
rows variant cuda_b opencl_a
column note show=note
column nothing show=kernel_ms/0
column ms show=kernel_ms decimals=0
""",
        """
| variant | note | nothing | ms |
|---|---|---:|---:|
| cuda_b | a\\|b | – | 0 |
| opencl_a | – | – | 1 |
""",
    ]
    for directive, wanted in zip(cases[::2], cases[1::2]):
        directive, wanted = directive.strip(), wanted[1:]
        copy.write("README.md", table(FILES + directive))
        outcome = copy.run("tables")
        equal((outcome.returncode, outcome.stdout, outcome.stderr), (0, "README.md\n", ""), directive)
        equal(copy.read("README.md"), table(FILES + directive, wanted), directive)
        os.utime(copy.path("README.md"), (1, 1))
        outcome = copy.run("tables")
        equal((outcome.returncode, outcome.stdout, outcome.stderr), (0, "", ""), "the second run")
        equal(os.stat(copy.path("README.md")).st_mtime, 1, "the second run wrote the file")
        equal(copy.run("tables", "--check").stdout, "tables that agree with their files: 1\n", "--check")
    for mode in (0o640, 0o755):
        copy.write("README.md", table(FILES + directive))
        os.chmod(copy.path("README.md"), mode)
        equal(copy.run("tables").stdout, "README.md\n", "a page to be changed")
        equal(oct(os.stat(copy.path("README.md")).st_mode & 0o777), oct(mode), "the permissions of a changed page")
    example = "    " + table(FILES + "nothing").replace("\n", "\n    ")
    copy.write("README.md", example)
    equal(copy.run("tables").stdout, "", "an indented table, which is an example")
    equal(copy.read("README.md"), example, "the example")


def test_a_figure_that_disagrees_with_its_file_ends_check_with_1_names_file_and_line_and_nothing_is_written(scratch):
    copy = with_results(scratch)
    directive = FILES + "rows variant cuda_a cuda_b\ncolumn ms show=kernel_ms decimals=2"
    right = "| variant | ms |\n|---|---:|\n| cuda_a | 0.50 |\n| cuda_b | 0.25 |\n"
    copy.write("labs/01_a/README.md", table(directive, right))
    equal(copy.run("tables", "--check").returncode, 0, "a right table")
    less = directive.replace(" cuda_b", "")
    for text, line, says in (
        (
            table(directive, right.replace("0.50", "0.51")),
            12,
            "the table says '| cuda_a | 0.51 |', its files say '| cuda_a | 0.50 |'",
        ),
        (
            table(directive, right.replace("0.25", "0.26")),
            13,
            "the table says '| cuda_b | 0.26 |', its files say '| cuda_b | 0.25 |'",
        ),
        (
            table(directive, right.replace("| cuda_b | 0.25 |\n", "")),
            13,
            "the table says '', its files say '| cuda_b | 0.25 |'",
        ),
        (table(less, right), 13, "the table says '| cuda_b | 0.25 |', its files say ''"),
        (table(directive), 10, "the table says '', its files say '| variant | ms |'"),
    ):
        copy.write("labs/01_a/README.md", text)
        outcome = copy.run("tables", "--check")
        equal(outcome.returncode, 1, "the exit code")
        if f"labs/01_a/README.md:{line}: {says}" not in outcome.stderr:
            fail(f"not line {line}, {says}: {outcome.stderr}")
        equal(copy.read("labs/01_a/README.md"), text, "the file after --check")
    copy.write("results/gpu.json", run({"n": 1}, variant("cuda_a", 0.5), variant("cuda_b", 0.75)))
    copy.write("labs/01_a/README.md", table(directive, right))
    equal(copy.run("tables", "--check").returncode, 1, "a file that changed")


def test_a_fault_in_a_table_ends_with_2_and_one_line_that_names_it_and_no_page_is_changed(scratch):
    copy = with_results(scratch)
    copy.write("results/wrong.json", run({}, variant("cuda_a", 1, status="failed")))
    copy.write("results/cut.json", "{")
    copy.write("results/other.json", {"traceEvents": []})
    copy.write("results/none.json", run({}))
    outdated = table(FILES + "rows variant cuda_a\ncolumn ms show=kernel_ms")
    good = "rows variant cuda_a\ncolumn ms show=kernel_ms"
    copy.write("A.md", outdated)
    for directive, line, *words in (
        ("file a results/absent.json\n" + good, 4, "results/absent.json", "No such file"),
        ("file a results/cut.json\n" + good, 4, "results/cut.json", "JSON"),
        ("file a results/other.json\n" + good, 4, "results/other.json", "--json"),
        ("file a results/none.json\n" + good, 4, "results/none.json", "no results"),
        ("file a results/wrong.json\n" + good, 6, "cuda_a", "wrong"),
        (FILES + "rows variant cuda_a\ncolumn ms show=kernel_milliseconds", 8, "'kernel_milliseconds'"),
        (FILES + "rows variant cuda_a\ncolumn ms show=kernel_ms kernel=3", 8, "'kernel'"),
        (FILES + "rows variant cuda_z\ncolumn ms show=kernel_ms", 7, "'cuda_z'"),
        (FILES + "rows variants\ncolumn ms show=kernel_ms", 7, "'variants'"),
        (FILES + "row z variant=cuda_z\ncolumn ms show=kernel_ms", 7, "row 'z'"),
        (FILES + good + "\ncolumn x n=3 show=kernel_ms", 9, "column 'x'"),
        (FILES + "rows variant opencl_a\ncolumn ms show=kernel_ms", 8, "2 results", "device"),
        (FILES + "rows variant cuda_a\ncolumn ms file=tpu show=kernel_ms", 8, "'tpu'", "gpu cpu study"),
        (FILES + "rows variant cuda_a\ncolumn ms", 8, "show="),
        (FILES + "rows variant cuda_a\ncolumn ms show=kernel_ms/", 8, "kernel_ms/"),
        (FILES + "rows variant cuda_a\ncolumn ms show=1+device", 8, "'device'", "text"),
        (FILES + "rows variant cuda_a\ncolumn ms show=kernel_ms$2", 8, "kernel_ms$2"),
        (FILES + "rows variant cuda_a\ncolumn ms show={x}", 8, "'x'"),
        (FILES + "rows variant cuda_a\ncolumn ms show=kernel_ms@cuda_z", 8, "'cuda_z'"),
        (FILES + "rows variant cuda_a\ncolumn ms show=kernel_ms decimals=few", 8, "decimals=few"),
        (FILES + "rows variant cuda_a\ncolumn ms show=kernel_ms digits=0", 8, "digits=0"),
        (FILES + "rows variant cuda_a\ncolumn kernel ms show=kernel_ms", 8, "quotes"),
        (FILES + 'rows variant cuda_a\ncolumn "ms show=kernel_ms', 8, "quotation"),
        (FILES + "rows variant cuda_a\ncolum ms show=kernel_ms", 8, "'colum'"),
        (FILES + "rows\ncolumn ms show=kernel_ms", 7, "rows FIELD"),
        ("file results/gpu.json\n" + good, 4, "file NAME PATH"),
        ("counts a results/gpu.json\n" + good, 4, "results/gpu.json", "tools/counts"),
        ("counts a results/counts.json\nrows variant\ncells options=\"--n 8\"\ncolumn x show=splits", 5, "row 'opencl_a'"),
        (FILES + "rows variant cuda_a", 3, "columns"),
    ):
        copy.write("README.md", table(directive))
        for arguments in ([], ["--check"]):
            refused(copy.run("tables", *arguments), f"README.md:{line}: ", *words)
        equal(copy.read("README.md"), table(directive), directive)
        equal(copy.read("A.md"), outdated, "a page before the fault")
    whole = table(FILES + good)
    for text, line in (
        (whole.replace("<!-- end of table -->", ""), 3),
        (whole.replace("-->\n<!-- end", "<!-- end"), 3),
        (whole.replace("<!-- table", "<!-- tables"), 3),
        (whole + "<!-- end of table -->\n", 13),
        (whole.replace("<!-- end of table -->", "") + whole, 3),
    ):
        copy.write("README.md", text)
        refused(copy.run("tables"), f"README.md:{line}: ")
        equal(copy.read("README.md"), text, "the page")
    os.remove(copy.path("README.md"))
    refused(copy.run("tables", "absent.md"), "absent.md")
    refused(copy.run("tables", "--chekc"), "--chekc")


def test_a_figure_is_rounded_to_the_digits_that_count_and_shows_all_of_them_without_an_exponent():
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    significant = importlib.import_module("results").significant
    for value, digits, wanted in (
        (0.0093, 3, "0.00930"),
        (21.46, 3, "21.5"),
        (178432, 3, "178000"),
        (2 / 3, 3, "0.667"),
        (-2 / 3, 2, "-0.67"),
        (1 / 3, 1, "0.3"),
        (9.99, 2, "10"),  # rounding makes a digit more
        (0.0999, 2, "0.10"),
        (999.6, 3, "1000"),
        (994.6, 2, "990"),
        (100, 3, "100"),
        (5, 1, "5"),
        (0, 3, "0.00"),
    ):
        equal(significant(value, digits), wanted, f"{value} with {digits} digits")


# tools/plot


needs_matplotlib = pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="no matplotlib (package python3-matplotlib)")


def drawn(copy, *arguments, name="out.svg"):
    """A picture, drawn in this process: Matplotlib takes longer to load than to draw."""
    said, complained = io.StringIO(), io.StringIO()
    before = os.getcwd()
    os.chdir(copy.folder)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
            code = plot_module().main([*arguments, "-o", name])
    finally:
        os.chdir(before)
    if (code, said.getvalue(), complained.getvalue()) != (0, name + "\n", ""):
        fail(f"{arguments}: {code} {said.getvalue()!r} {complained.getvalue()!r}")
    with open(copy.path(name), "rb") as file:
        return file.read()


def texts(picture):
    return re.findall(r"<text [^>]*>([^<]*)</text>", picture.decode())


def shows(picture, *words, but_not=()):
    found = texts(picture)
    for word in words:
        if word not in found:
            fail(f"'{word}' is not among {found}")
    for word in but_not:
        if word in found:
            fail(f"'{word}' is among {found}")


@needs_matplotlib
def test_a_run_is_drawn_as_a_ladder_with_its_limit(scratch):
    copy = with_results(scratch)
    picture = drawn(copy, "results/gpu.json")
    shows(
        picture,
        "cuda_a",
        "cuda_b",
        "opencl_a, opencl:1",
        "0.500 ms",
        "0.250 ms",
        "% of the limit",
        "CUDA: Device cuda:0",
        "limit, measured on the device",
        but_not=["cuda_c"],
    )
    shows(
        drawn(copy, "results/gpu.json", "--variant", "cuda_*,!cuda_b", "--y", "gb_per_s"),
        "cuda_a",
        "GB/s",
        but_not=["cuda_b", "opencl_a, opencl:1"],
    )
    shows(
        drawn(copy, "results/study.json", "--where", "n=1000", "--where", "blocks=2"),
        "cuda_a",
        "cuda_b",
        "% of the limit",
    )


@needs_matplotlib
def test_a_study_is_drawn_as_curves_over_its_parameter(scratch):
    copy = with_results(scratch)
    picture = drawn(copy, "results/study.json")
    shows(
        picture,
        "cuda_a, blocks = 1",
        "cuda_b, blocks = 2",
        "n",
        "10⁵",
        "kernel time, ms",
        "limit, measured on the device",
    )
    picture = drawn(copy, "results/study.json", "--x", "blocks", "--where", "n=1000", "--y", "gb_per_s,gflop_per_s")
    shows(picture, "blocks", "cuda_a: GFLOP/s", "1", "2", but_not=["10⁵"])
    shows(drawn(copy, "results/study.json", "--no-limit"), "kernel time, ms", but_not=["limit, measured on the device"])
    picture = drawn(copy, "results/study.json", "--where", "n=1000,10000", "--y", "kernel_ms,sequential_ms")
    shows(picture, "cuda_a, blocks = 2: kernel time, ms", "one core, ms, blocks = 1", "one core, ms, blocks = 2", but_not=["10⁵"])


def rises(picture, colour):
    """How far each line of this colour falls or rises across a picture, in points."""
    lines = re.findall(rf'<path d="(M [^"]*)" clip-path[^>]*style="fill: none; [^"]*stroke: {colour}', picture.decode())
    return [max(ys) - min(ys) for ys in ([float(y) for y in re.findall(r"[ML] \S+ (\S+)", line)] for line in lines)]


@needs_matplotlib
def test_a_study_of_growth_is_drawn_as_time_per_element_with_the_bound_as_a_level_line(scratch):
    copy = with_results(scratch)
    sizes = [16, 64, 256, 1024]  # 0.001 ms each time, and a bound of 1e-6 ms per element: 1 ns
    copy.write("results/growth.json", [run({"n": n}, variant("cuda_a", 0.001, ns_per_element=1000 / n, percent_of_ceiling=0.1 * n),
                                           study="growth") for n in sizes])
    picture = drawn(copy, "results/growth.json")
    shows(picture, "n", "16", "1024", "ns per element", "cuda_a", "limit, measured on the device", "1", "50", but_not=["kernel time, ms"])
    equal(rises(picture, "#d9544f"), [pytest.approx(0, abs=1e-3)], "the line of the limit")
    equal([rise > 100 for rise in rises(picture, "#3a86c8")], [True], "the curve")
    shows(drawn(copy, "results/growth.json", "--y", "kernel_ms"), "kernel time, ms", but_not=["ns per element"])


@needs_matplotlib
def test_what_follows_from_other_parameters_makes_no_curves_of_its_own(scratch):
    copy = with_results(scratch)
    runs = [run({"n": n, "nx": n + rim, "ny": n + rim, "boundary": boundary}, variant("cuda_a", n / 1e3), study="sizes")
            for boundary, rim in (("conductor", 0), ("pml", 50)) for n in (300, 1500)]
    copy.write("results/rims.json", runs)
    shows(drawn(copy, "results/rims.json", "--x", "n"), "cuda_a, boundary = conductor", "cuda_a, boundary = pml", but_not=["nx"])


@needs_matplotlib
def test_of_more_curves_than_a_picture_takes_the_slowest_variants_are_left_out_and_named(scratch):
    copy = with_results(scratch)
    times = {"cpu_a": 1, "cpu_b": 9, "cpu_c": 3}, {"cuda_a": 0.2, "cuda_b": 0.1}

    def study(*systems):
        return [run({"n": n, "systems": count}, *(variant(name, ms * count * n, device) for device, some in zip(("cpu:0", "cuda:0"), times)
                                                  for name, ms in some.items()), study="sweep") for count in systems for n in (10, 20)]

    copy.write("results/many.json", study(1, 2, 3, 4, 5))
    outcome = copy.run("plot", "results/many.json")
    equal((outcome.returncode, outcome.stdout), (0, "many.svg\n"), "what it wrote")
    equal(outcome.stderr, "plot: 25 curves are too many for one picture (24 at most), so the slowest are left out: cpu_b on cpu:0; "
                          "--variant, --device and --where choose others\n", "what it said")
    every = [f"{name}, systems = {count}" for some in times for name in some for count in range(1, 6)]
    with open(copy.path("many.svg"), "rb") as file:
        shows(file.read(), *(label for label in every if "cpu_b" not in label), but_not=[label for label in every if "cpu_b" in label])
    shows(drawn(copy, "results/many.json", "--variant", "!cuda_a"), *(label for label in every if "cuda_a" not in label))
    copy.write("results/more.json", study(*range(1, 10)))
    outcome = copy.run("plot", "results/more.json")
    assert "left out: cpu_b on cpu:0, cpu_c on cpu:0, cuda_a on cuda:0; " in outcome.stderr, outcome.stderr
    copy.write("results/systems.json", study(*range(1, 14)))  # two devices, with one variant each
    refused(copy.run("plot", "results/systems.json", "-o", "no.svg"), "65 curves", "--variant or --where")


@needs_matplotlib
def test_a_history_of_residuals_is_drawn_over_its_iterations_on_a_logarithmic_axis(scratch):
    copy = with_results(scratch)
    lines = [f"cpu_threads on cpu:0,{k},{10.0 ** -k}" for k in range(13)] + ["cpu_threads on cpu:0,13,0"]
    lines += [f"cuda_graph on cuda:0,{k},{2.0 ** -k}" for k in range(4)] + ["cuda_graph on cuda:0,4,nan"]
    copy.write("x.csv", "variant,iteration,residual\n" + "\n".join(lines) + "\n")
    picture = drawn(copy, "x.csv")
    shows(picture, "x.csv", "iteration", "norm of the residual", "cpu_threads on cpu:0", "cuda_graph on cuda:0")
    shows(picture, "10⁻¹¹", "12")  # decades, and iterations as they are
    decades = re.findall(r'<text [^>]* y="([\d.]+)"[^>]*>10⁻', picture.decode())
    heights = [float(height) for height in decades]
    steps = [round(a - b, 1) for a, b in zip(heights, heights[1:])]
    if len(steps) < 3 or min(steps) <= 0 or max(steps) - min(steps) > 0.2:
        fail(f"no logarithmic axis: the decades are at {heights}")
    shows(drawn(copy, "x.csv", "--variant", "cuda_*"), "cuda_graph on cuda:0", but_not=["cpu_threads on cpu:0"])
    shows(drawn(copy, "x.csv", "x.csv", "--title", "one", "--title", "two"), "one", "two", but_not=["x.csv"])
    outcome = copy.run("plot", "x.csv")
    equal((outcome.returncode, outcome.stdout), (0, "x.svg\n"), "without -o")
    with open(copy.path("x.svg"), "rb") as file:
        equal(file.read(), picture, "the same, drawn again")


@needs_matplotlib
def test_two_files_are_drawn_side_by_side(scratch):
    copy = with_results(scratch)
    picture = drawn(copy, "results/gpu.json", "results/cpu.json", "--title", "on a GPU", "--title", "on two cores")
    shows(
        picture, "on a GPU", "on two cores", "cpu_a", "cuda_a", "8.00 ms", "CPU: Device cpu:0", "PoCL: Device opencl:0"
    )
    shows(drawn(copy, "results/study.json", "results/study.json"), "cuda_a, blocks = 1")
    copy.write("results/two.json", run({}, variant("cuda_a", 1.0, "cuda:0"), variant("cuda_a", 2.0, "cuda:1")))
    shows(drawn(copy, "results/two.json"), "cuda_a, cuda:0", "cuda_a, cuda:1", "1.00 ms", "2.00 ms")


@needs_matplotlib
def test_the_same_results_give_the_same_SVG_file_in_which_no_letter_is_smaller_than_10_points(scratch):
    copy = with_results(scratch)
    for name in ("gpu", "study"):
        first = drawn(copy, f"results/{name}.json", name="first.svg")
        outcome = copy.run("plot", f"results/{name}.json")
        equal((outcome.returncode, outcome.stdout), (0, f"{name}.svg\n"), "without -o")
        with open(copy.path(f"{name}.svg"), "rb") as file:
            equal(file.read(), first, f"{name}, drawn again, by another process")
        with open(copy.path(f"results/{name}.json"), "rb") as file:
            if hashlib.sha256(file.read()).hexdigest() not in first.decode():
                fail("it does not say what it was drawn from")
        sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", first.decode())]
        if not sizes or min(sizes) < 10:
            fail(f"letters of {sizes}")
    png = drawn(copy, "results/gpu.json", name="out.png")
    equal(png[:8], b"\x89PNG\r\n\x1a\n", "a PNG file")


def plot_module():
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    loader = importlib.machinery.SourceFileLoader("plot", os.path.join(ROOT, "tools", "plot"))
    plot = importlib.util.module_from_spec(importlib.util.spec_from_loader("plot", loader))
    loader.exec_module(plot)
    return plot


@needs_matplotlib
def test_bars_curves_and_dots_are_as_long_and_where_the_results_say(scratch):
    copy, plot = with_results(scratch), plot_module()
    plot.matplotlib_or_fault()

    def panel(draw, *words):
        options = plot.read_arguments([copy.path(word) if word.endswith(".json") else word for word in words])
        axis = draw(options.files, options).axes[0]
        return axis, [(list(line.get_xdata()), list(line.get_ydata())) for line in axis.lines]

    axis, lines = panel(plot.draw_results, "results/gpu.json", "--variant", "cuda_*", "--y", "kernel_ms")
    equal([bar.get_width() for bar in axis.patches], [0.5, 0.25], "the bars")
    equal([text.get_text() for text in axis.texts], ["0.500 ms", "0.250 ms"], "the times beside them")
    equal([xs for xs, _ in lines], [[0.5, 0.5], [0.5, 0.5]], "the limit: 100 % of one time, 200 % of the other")
    axis, _ = panel(plot.draw_results, "results/gpu.json", "--variant", "cuda_*", "--y", "percent_of_ceiling")
    equal([bar.get_width() for bar in axis.patches], [100, 200], "percentages")
    copy.write("results/short.json", run({"n": 1}, variant("cuda_a", 0.05), variant("cuda_b", 1500)))
    axis, _ = panel(plot.draw_results, "results/short.json")
    equal([text.get_text() for text in axis.texts], ["50.0 µs", "1.50 s"], "microseconds and seconds")
    copy.write("results/sweep.json", [run({"n": n}, variant("cuda_a", ms)) for n, ms in ((10, 3.0), (20, 1.0), (30, 2.0))])
    _, lines = panel(plot.draw_results, "results/sweep.json")
    equal(lines, [([10, 20, 30], [3, 1, 2]), ([10, 20, 30], [0.5, 0.5, 0.5])], "a curve, and the limit")
    copy.write("results/limits.json",  # the bound of cuda_a is 10 % of its time, that of cuda_b 50 %
               [run({"n": n}, variant("cuda_a", 3.0, percent_of_ceiling=10), variant("cuda_b", 1.0)) for n in (10, 20)])
    for field, limit in (("kernel_ms", 0.3), ("gb_per_s", 10 / 3)):
        _, lines = panel(plot.draw_results, "results/limits.json", "--y", field)
        equal(lines[-1], ([10, 20], [pytest.approx(limit)] * 2), "of several limits of a device the one that allows most")
    copy.write("results/one.json", of_lab("one", variant("cuda_a", 2, flops=3e6), rate=9000.0))
    _, lines = panel(plot.draw_roofline, "--roofline", "results/one.json")
    assert ([3], [1.5]) in [(list(xs), list(ys)) for xs, ys in lines], f"3 operations per byte, 1.5 GFLOP/s: {lines}"


def of_lab(lab, *variants, rate=None):
    """A run of a lab; `rate`: what its device computes per second, in single precision."""
    one = {**run({"n": 1}, *variants), "lab": lab}
    one["devices"][0]["ceilings"]["fp32_gflop_per_s"] = rate
    return one


@needs_matplotlib
def test_results_of_several_labs_are_drawn_as_a_roofline(scratch):
    copy = with_results(scratch)
    few, many = {"flops": 1e5, "percent_of_ceiling": 90}, {"flops": 5e9, "percent_of_ceiling": 70}
    copy.write("results/one.json", of_lab("one", variant("cuda_a", 2, **few), variant("cuda_b", 1, **few)))
    copy.write("results/two.json", [of_lab("two", variant("cuda_small", 1), rate=9000.0),
                                    of_lab("two", variant("cuda_large", 1, **many), rate=9000.0)])
    copy.write("results/none.json", of_lab("none", variant("cuda_c", 1, flops=0, gb_per_s=0.01, percent_of_ceiling=10)))
    two = ["--roofline", "results/one.json", "results/two.json"]
    shows(drawn(copy, *two), "one: cuda_b, 90 %", "two: cuda_large, 70 %", "device memory: 2 GB/s", "single precision: 9 TFLOP/s",
          but_not=["one: cuda_a, 90 %", "two: cuda_small, 50 %", "link, both ways: 0 GB/s"])
    shows(drawn(copy, *two, "results/none.json", "--operations", "none=100000"), "none: cuda_c, 10 %", "link, both ways: 0 GB/s")
    for words, *reasons in (
        ([*two, "results/none.json"], "none counts no operations", "--operations none=N"),
        ([*two, "--operations", "none"], "LAB=N"),
        ([*two, "--y", "kernel_ms"], "not for a roofline"),
        ([*two, "--device", "cpu:0"], "nothing of what was asked for"),
        (["--roofline", "results/one.json"], "arithmetic rate"),
        (["--roofline"] + ["results/one.json"] * 10, "nine at most"),
        (["results/one.json", "--operations", "one=1"], "--roofline"),
    ):
        refused(copy.run("plot", *words, "-o", "no.svg"), *reasons)


def test_the_roofline_of_the_lessons_shows_every_lab():
    with open(os.path.join(ROOT, "docs/figures/results/roofline.svg"), "rb") as file:
        shown = {text.partition(":")[0] for text in texts(file.read()) if ": cuda_" in text}
    equal(shown, {name[3:] for name in os.listdir(os.path.join(ROOT, "labs")) if re.match(r"\d\d_", name)}, "labs in the roofline")


@needs_matplotlib
def test_bad_input_of_plot_ends_with_2_and_one_line_and_no_picture(scratch):
    copy = with_results(scratch)
    copy.write("results/wrong.json", run({}, variant("cuda_a", 1, status="failed")))
    copy.write("results/cut.json", "{")
    copy.write("results/trace.json", {"displayTimeUnit": "ms", "traceEvents": []})
    copy.write("results/nested.json", "[" * 100_000)
    right = run({}, variant("cuda_a", 1))
    copy.write("results/lab.json", {**right, "lab": 7})
    copy.write("results/devices.json", {**right, "devices": []})
    copy.write("results/unnamed.json", {**right, "devices": [{**right["devices"][0], "name": None}]})
    copy.write("results/list.json", {**right, "problem": {"n": [1]}})
    copy.write("results/huge.json", json.dumps(right).replace('"median": 1', '"median": 1e999'))
    copy.write("results/negative.json", run({}, variant("cuda_a", -1)))
    copy.write("results/backend.json", run({}, variant("cuda_a", 1, backend="vulkan")))
    copy.write("results/text.json", run({}, variant("cuda_a", 1, percent_of_ceiling="50")))
    heading = "variant,iteration,residual\n"
    copy.write("right.csv", heading + "cpu_threads,0,1\n")
    copy.write("table.csv", "variant,device,kernel_ms\ncpu_threads,cpu:0,1\n")
    copy.write("empty.csv", "")
    copy.write("heading.csv", heading)
    copy.write("zero.csv", heading + "cpu_threads,0,0\n")
    copy.write("short.csv", heading + "cpu_threads,0,1\ncpu_threads,1\n")
    copy.write("words.csv", heading + "cpu_threads,first,1\n")
    copy.write("many.csv", heading + "".join(f"variant {k},0,1\n" for k in range(25)))
    for arguments, *words in (
        (["absent.csv"], "absent.csv", "No such file"),
        (["table.csv"], "table.csv", "--history"),
        (["empty.csv"], "empty.csv", "--history"),
        (["heading.csv"], "heading.csv", "no residual"),
        (["zero.csv"], "zero.csv", "no residual"),
        (["right.csv", "--variant", "z*"], "right.csv", "no residual"),
        (["short.csv"], "short.csv:3"),
        (["words.csv"], "words.csv:2"),
        (["many.csv"], "25 curves", "--variant"),
        (["right.csv", "results/gpu.json"], "one picture"),
        (["right.csv", "--y", "kernel_ms"], "--y"),
        (["results/absent.json"], "results/absent.json", "No such file"),
        (["results"], "results"),
        (["results/cut.json"], "JSON"),
        *((["results/" + name + ".json"], name + ".json", "--json") for name in (
            "trace", "nested", "lab", "devices", "unnamed", "list", "huge", "negative", "backend", "text")),
        (["results/wrong.json"], "cuda_a", "wrong"),
        (["results/gpu.json", "--y", "speed"], "'speed'"),
        (["results/gpu.json", "--y", "reason"], "'reason'"),
        (["results/gpu.json", "--y", "backend"], "'backend'"),
        (["results/gpu.json", "--y", "gb_per_s,speedup"], "one field"),
        (["results/gpu.json", "--where", "m=3"], "'m'"),
        (["results/gpu.json", "--where", "n"], "NAME=VALUE"),
        (["results/gpu.json", "--where", "n=3"], "gpu.json"),
        (["results/gpu.json", "--variant", "z*"], "gpu.json"),
        (["results/gpu.json", "--x", "shape"], "'shape'"),
        (["results/gpu.json", "results/study.json"], "study"),
        (["results/gpu.json"] * 4, "three"),
        (["results/gpu.json", "--colour"], "--colour"),
        (["-o", "a.svg"], "FILE.json"),
        (["results/gpu.json", "--title", "a", "--title", "b"], "titles"),
    ):
        refused(copy.run("plot", *arguments, *([] if "-o" in arguments else ["-o", "no.svg"])), *words)
    refused(copy.run("plot"), "FILE.json")
    refused(copy.run("plot", "results/gpu.json", "-o", "no.jpeg"), "no.jpeg")
    refused(copy.run("plot", "results/gpu.json", "-o", "no/where/no.svg"), "no/where/no.svg")
    left = [name for name in os.listdir(scratch) if name.startswith(("no", "."))]
    equal(left, [], "what it left behind")


@needs_matplotlib
def test_a_picture_that_cannot_be_written_to_its_end_leaves_the_earlier_one_as_it_was(scratch):
    copy = with_results(scratch)
    copy.write("a.svg", "earlier")
    words = [sys.executable, copy.path("tools/plot"), "results/gpu.json", "-o", "a.svg"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # a picture has more bytes
    refused(subprocess.run(words, cwd=scratch, capture_output=True, text=True, preexec_fn=limit), "a.svg", "large")
    equal(copy.read("a.svg"), "earlier", "the picture")
    equal(sorted(os.listdir(scratch)), ["a.svg", "results", "tools"], "what it left behind")


@needs_matplotlib
def test_a_file_name_with_dollar_signs_is_no_formula(scratch):
    copy = with_results(scratch)
    copy.write("results/names.json", run({"matrix": "$x_{$.mtx"}, variant("cuda_a", 1)))
    drawn = copy.run("plot", "results/names.json", "-o", "a.svg")
    equal((drawn.returncode, drawn.stdout, drawn.stderr), (0, "a.svg\n", ""), "plot")
    if "matrix\u00a0=\u00a0$x_{$.mtx</text>" not in copy.read("a.svg"):
        fail("the name is not in the picture: " + copy.read("a.svg"))


def test_without_matplotlib_plot_says_in_one_line_which_package_to_install(scratch):
    copy = with_results(scratch)
    copy.write("fake/matplotlib.py", "raise ImportError('no module named matplotlib')\n")
    refused(copy.run("plot", "results/gpu.json", PYTHONPATH=copy.path("fake")), "python3-matplotlib")


def test_text_and_lines_of_a_picture_stand_out_on_white_and_on_a_dark_page():
    plot = plot_module()

    def luminance(colour):  # as the Web Content Accessibility Guidelines define it
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    for page in ("#ffffff", "#1e1e1e"):
        for colour, least in [(plot.INK, 4), (plot.LIMIT, 3)] + [(colour, 3) for colour in plot.COLOURS]:
            a, b = sorted((luminance(page), luminance(colour)))
            if (b + 0.05) / (a + 0.05) < least:
                fail(f"{colour} on {page} has a contrast of {(b + 0.05) / (a + 0.05):.2f} to 1, less than {least}")


def test_the_pictures_of_the_hand_outs_show_the_results_as_they_are(scratch):
    outcome = subprocess.run([sys.executable, os.path.join(ROOT, "tools/plot"), "--check"], text=True, capture_output=True, check=False)
    equal((outcome.returncode, outcome.stderr), (0, ""), "the repository")
    copy = Copy(scratch)
    shutil.copytree(os.path.join(ROOT, "docs/figures/results"), copy.path("docs/figures/results"))
    shutil.copytree(os.path.join(ROOT, "docs/results"), copy.path("docs/results"))
    equal(copy.run("plot", "--check").returncode, 0, "a copy")
    words = copy.read("docs/figures/results/list").split("\n")[2].split()
    os.rename(copy.path("docs/figures/results/" + words[0]), copy.path("docs/figures/results/other.svg"))
    outcome = copy.run("plot", "--check")
    equal((outcome.returncode, outcome.stderr.count("\n")), (1, 2), f"a picture renamed: {outcome.stderr}")
    os.rename(copy.path("docs/figures/results/other.svg"), copy.path("docs/figures/results/" + words[0]))
    copy.write(words[1], copy.read(words[1]) + "\n")
    outcome = copy.run("plot", "--check")
    equal(outcome.returncode, 1, "results that changed")
    if words[0] not in outcome.stderr:
        fail(f"it does not name {words[0]}: {outcome.stderr}")



METRICS = ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
           "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
           "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "sm__warps_launched.sum", "smsp__inst_executed.sum",
           "smsp__thread_inst_executed.sum")


def profiled(scratch, metrics=METRICS, status="passed", kernels=("fma_kernel(int)", "one", "two", "one", "two")):
    """Runs tools/counts --ncu reduction with an ncu that prints a row per launch; row i counts i * 1000 + the metric's number."""
    table = [["ID", "Kernel Name", *metrics], ["", "", *["request"] * len(metrics)]]
    table += [[str(i), name, *(f"{i * 1000 + m:,}" for m in range(len(metrics)))] for i, name in enumerate(kernels)]
    lines = "\n".join(",".join(f'"{cell}"' for cell in row) for row in table)
    outcome = {"devices": [{"id": "cuda:0", "name": "A GPU"}], "variants": [{"device": "cuda:0", "status": status}]}
    (scratch / "table.csv").write_text("==PROF== connected\n" + lines + "\n")
    (scratch / "outcome.json").write_text(json.dumps(outcome))
    ncu = scratch / "bin/ncu"
    ncu.parent.mkdir()
    ncu.write_text(f'#!/bin/sh\nwhile [ "$1" != --json ]; do shift; done\ncp {scratch}/outcome.json "$2"\ncat {scratch}/table.csv\n')
    ncu.chmod(0o755)
    for part in ("docs/results/counts", "docs/figures", "tools"):
        shutil.copytree(ROOT / part, scratch / part)
    (scratch / "docs/results/counts/ncu/reduction.json").unlink()
    return started(sys.executable, "-B", scratch / "tools/counts", "--ncu", "reduction",
                   PATH=f"{ncu.parent}:{os.environ['PATH']}")


def test_counts_of_the_hardware_are_those_of_one_run_without_the_kernel_that_measures_the_device(scratch):
    done = profiled(scratch)
    made = json.loads((scratch / "docs/results/counts/ncu/reduction.json").read_text())
    assert made["device"] == "A GPU", done
    assert [(v["variant"], v["twin"]) for v in made["variants"]] == [
        (f"opencl_{name}", f"cuda_{name}") for name in ("tree_interleaved", "tree_sequential", "grid_stride")]
    for variant in made["variants"]:  # launches 1 and 2
        assert variant["sums"] == {"global_requests": 6002, "global_sectors": 6010, "local_passes": 6018, "conflicts": 6026,
                                   "warps": 3016, "instructions": 3018, "thread_instructions": 3020, "launches": 2}


@pytest.mark.parametrize("how, said", [
    ({"metrics": METRICS[:-1]}, f"ncu does not count {METRICS[-1]} on this device"), ({"status": "failed"}, "its result is failed"),
    ({"kernels": ["fma_kernel(int)"]}, "ncu has seen no kernel")])
def test_what_the_hardware_did_not_count_is_refused_and_no_file_written(scratch, how, said):
    refused(profiled(scratch, **how), said)
    assert not (scratch / "docs/results/counts/ncu/reduction.json").exists()


def test_hardware_and_simulator_agree_where_the_pages_say_so():
    """In requests, sectors and passes; where they differ, by what the MEASURED pages explain."""
    explained = {("reduction", "opencl_grid_stride"): {"global_requests": 8, "global_sectors": 9, "local_passes": 360},
                 ("matmul", "opencl_local_tile"): {"local_passes": -2048},
                 ("spmv", "opencl_thread_per_row"): {"global_requests": -140, "global_sectors": -726},
                 ("tridiagonal", "opencl_thomas"): {"global_requests": -96, "global_sectors": -96 * 32}}
    found = {}
    for path in sorted((ROOT / "docs/results/counts/ncu").glob("*.json")):
        simulated = {v["variant"]: v for v in json.loads((path.parents[1] / path.name).read_text())["variants"]}
        for row in json.loads(path.read_text())["variants"]:
            assert row["options"] == simulated[row["variant"]]["options"]
            counts = simulated[row["variant"]]["sums"]
            found[path.stem, row["variant"]] = {what: more for what in ("global_requests", "global_sectors", "local_passes")
                                                if (more := row["sums"][what] - counts.get(what, 0))}
    assert len(found) == 13
    assert {name: more for name, more in found.items() if more} == explained
