"""The tests of tools/tables, tools/plot and tools/counts, with results whose figures are known.

The tools run in this process, in a folder of the test: Python and Matplotlib take longer to load than to work.
"""

import hashlib
import importlib.util
import json
import math
import os
import re
import resource
import subprocess
import sys
from types import SimpleNamespace

import pytest
from conftest import LABS, ROOT, Files, module_of, passed, refused
from conftest import run as started

sys.path.insert(0, str(ROOT / "tools"))
import results  # noqa: E402
from grading.fault import exit_code  # noqa: E402

READS_ALL = True  # see judged_once.py


class Copy(Files):
    """A folder in place of the repository, for tools that read what the tests put there."""

    def __init__(self, folder, patch, capsys):
        super().__init__(folder, {})
        self.capsys = capsys
        self.tools = {name: module_of(ROOT / "tools" / name) for name in ("tables", "plot")}
        patch.chdir(folder)
        for module in (results, *self.tools.values()):
            patch.setattr(module, "ROOT", str(folder))
        patch.setattr(self.tools["plot"], "FIGURES", str(folder / "docs/figures/results"))

    def write(self, name, content):
        super().write(name, content if isinstance(content, str) else json.dumps(content))

    def run(self, name, *arguments):
        """As the tool's last lines run it."""
        if name == "plot" and "--check" not in arguments:
            pytest.importorskip("matplotlib", reason="no matplotlib (package python3-matplotlib)")
        self.capsys.readouterr()
        code = exit_code(lambda: self.tools[name].main(list(arguments)), name)
        printed = self.capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=printed.out, stderr=printed.err)

    def draws(self, *arguments, name="out.svg"):
        """A picture, drawn without a word of complaint."""
        done = self.run("plot", *arguments, "-o", name)
        assert (done.returncode, done.stdout, done.stderr) == (0, name + "\n", ""), done
        return (self.folder / name).read_bytes()


@pytest.fixture
def copy(scratch, monkeypatch, capsys):
    made = Copy(scratch, monkeypatch, capsys)
    for name, content in (("gpu", GPU), ("cpu", CPU), ("study", STUDY), ("powers", POWERS), ("counts", COUNTS)):
        made.write(f"results/{name}.json", content)
    return made


def variant(name, ms, device="cuda:0", **fields):
    def timed(value):
        return None if ms is None else value

    one = ms or 1
    return {"name": name, "backend": (device or "cuda:0").split(":")[0], "device": device, "total_ms": None, "speedup": None,
            "status": timed("passed") or "skipped", "reason": None if ms else "not here", "bytes": 1e6, "flops": 2e6,
            "kernel_ms": timed({"median": ms, "min": one / 2, "max": one * 2}), "repeats": timed(20) or 0,
            "gb_per_s": timed(1 / one), "gflop_per_s": timed(2 / one), "percent_of_ceiling": timed(50 / one), "error": 0.0,
            "tolerance": 1e-6, **fields}


def run(problem, *variants, study=None, platform=""):
    devices = [{"id": i, "name": f"Device {i}", "backend": i.split(":")[0], "platform": platform if i.startswith("opencl") else "",
                "memory_bytes": 1, "compute_units": 1,
                "ceilings": {"copy_gb_per_s": 2.0, "fp32_gflop_per_s": None, "fp64_gflop_per_s": None}}
               for i in dict.fromkeys(v["device"] for v in variants if v["device"])]
    return {"lab": "lab", **({"study": study} if study else {}), "problem": {**problem, "seed": 42}, "sequential_ms": 8.0,
            "devices": devices, "variants": list(variants)}


GPU = run({"n": 2**20, "shape": "tall"}, variant("cuda_a", 0.5), variant("cuda_b", 0.25, extra=7, note="a|b"), variant("cuda_c", None),
          variant("opencl_a", 1.0, "opencl:0"), variant("opencl_a", 0.8, "opencl:1"))
CPU = run({"n": 2**20, "shape": "tall"}, variant("cpu_a", 8.0, "cpu:0"), variant("opencl_a", 4.0, "opencl:0"), variant("cuda_a", None, None),
          platform="Portable Computing Language")
STUDY = [run({"n": n, "blocks": b}, variant("cuda_a", n / 1e4 * b), variant("cuda_b", n / 1e4 + b), study="sizes")
         for n in (1000, 10000, 100000) for b in (1, 2)]
POWERS = [run({"m": m}, variant("cuda_a", 1.0)) for m in (1024, 20000, 65536)]


def table(directive, rows=""):
    return f"before\n\n<!-- table\n{directive}\n-->\n{rows}<!-- end of table -->\n\nafter\n"


FILES = "file gpu results/gpu.json\nfile cpu results/cpu.json\nfile study results/study.json\n"
COUNTS = {"lab": "lab", "variants": [
    {"variant": "opencl_a", "options": "--n 4", "sums": {"groups": 2, "barriers": 6, "local_passes": 8}},
    {"variant": "opencl_b", "options": "--n 4", "sums": {"groups": 4, "barriers": 0, "splits": 3}}]}


# What a description says, and the table that it makes.
TABLES = [
    # Rows by patterns in their order, one left out; decimals, digits, whole numbers; a ratio to another variant.
    ("""rows variant cuda_b cuda_* !cuda_c
column "kernel ms" show=kernel_ms decimals=3
column digits show=gb_per_s digits=2
column extra show=extra
column ratio show=kernel_ms@cuda_a/kernel_ms decimals=1
""", """| variant | kernel ms | digits | extra | ratio |
|---|---:|---:|---:|---:|
| cuda_b | 0.250 | 4.0 | 7 | 2.0 |
| cuda_a | 0.500 | 2.0 | – | 1.0 |
"""),
    # Groups of columns from two files, gaps, what a device refused, a column worked out from those at its left.
    ("""heading rung
row "a | b" variant=cuda_a
row c variant=cuda_c
row OpenCL variant=opencl_a
cells show=kernel_ms digits=2
column GPU device=cuda:0|opencl:1
column CPU file=cpu
column "times" show="{CPU} / {GPU}" decimals=0
""", """| rung | GPU | CPU | times |
|---|---:|---:|---:|
| a \\| b | 0.50 | – | – |
| c | skipped | – | – |
| OpenCL | 0.80 | 4.0 | 5 |
"""),
    # A study: a parameter as rows, another as columns, a row of its own.
    ("""rows n file=study
row "one core" n=1000 show=sequential_ms decimals=0
columns blocks file=study label="{} blocks"
cells variant=cuda_a show=(kernel_ms+1-1)*1000 digits=2
""", """| n | 1 blocks | 2 blocks |
|---|---:|---:|
| 10³ | 100 | 200 |
| 10⁴ | 1000 | 2000 |
| 10⁵ | 10000 | 20000 |
| one core | 8 | 8 |
"""),
    ("""rows n file=study 1e3 10^5
columns variant file=study blocks=2 show=kernel_ms digits=1
""", """| n | cuda_a | cuda_b |
|---|---:|---:|
| 10³ | 0.2 | 2 |
| 10⁵ | 20 | 10 |
"""),
    # The other variant of the run is that of the same device where it ran there, else the only one there is.
    ("""rows device opencl:* variant=opencl_a
cells variant=opencl_a
column itself show=kernel_ms@opencl_a/kernel_ms decimals=2
column cuda_a show=kernel_ms@cuda_a/kernel_ms decimals=3
""", """| device | itself | cuda_a |
|---|---:|---:|
| opencl:0 | 1.00 | 0.500 |
| opencl:1 | 1.00 | 0.625 |
"""),
    # Powers only where all values are powers of 2, or all of 10.
    ("""file powers results/powers.json
rows m file=powers show=m
columns variant file=powers
""", """| m | cuda_a |
|---|---:|
| 1024 | 1024 |
| 20000 | 20000 |
| 65536 | 65536 |
"""),
    ("""file powers results/powers.json
rows m 1024 65536 file=powers show=m
columns variant file=powers
""", """| m | cuda_a |
|---|---:|
| 2¹⁰ | 1024 |
| 2¹⁶ | 65536 |
"""),
    # Counts, of the size that is asked for; not every variant has all of them.
    ("""counts oclgrind results/counts.json
rows variant file=oclgrind
cells file=oclgrind options="--n 4"
column passes show=local_passes
column barriers show=barriers/groups decimals=1
""", """| variant | passes | barriers |
|---|---:|---:|
| opencl_a | 8 | 3.0 |
| opencl_b | – | 0.0 |
"""),
    # A text, a field that is the same for all results that fit; the median, the least and the largest time.
    ("""rows shape
column text show=device_name variant=cuda_a
column one show=sequential_ms
cells variant=cuda_a
column ms show=kernel_ms
column least show=kernel_ms_min
column most show=kernel_ms_max
""", """| shape | text | one | ms | least | most |
|---|---|---:|---:|---:|---:|
| tall | Device cuda:0 | 8.00 | 0.500 | 0.250 | 1.00 |
"""),
    # A bar in a text, nothing for a division by 0, and two results that look the same in so few digits.
    ("""rows variant cuda_b opencl_a
column note show=note
column nothing show=kernel_ms/0
column ms show=kernel_ms decimals=0
""", """| variant | note | nothing | ms |
|---|---|---:|---:|
| cuda_b | a\\|b | – | 0 |
| opencl_a | – | – | 1 |
"""),
]


def test_the_tables_of_measured_figures_agree_with_their_files():
    assert re.match("tables that agree with their files: [1-9]", passed(sys.executable, ROOT / "tools/tables", "--check").stdout)


@pytest.mark.parametrize("case", TABLES)
def test_a_table_is_filled_in_from_its_files_and_a_second_run_changes_nothing(copy, case):
    directive, wanted = case
    copy.write("README.md", table(FILES + directive))
    done = copy.run("tables")
    assert (done.returncode, done.stdout, done.stderr) == (0, "README.md\n", "")
    assert copy.read("README.md") == table(FILES + directive, wanted)
    os.utime("README.md", (1, 1))
    done = copy.run("tables")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert os.stat("README.md").st_mtime == 1, "the second run wrote the file"
    assert copy.run("tables", "--check").stdout == "tables that agree with their files: 1\n"


@pytest.mark.parametrize("mode", [0o640, 0o755])
def test_a_page_that_changes_keeps_its_permissions(copy, mode):
    copy.write("README.md", table(FILES + TABLES[0][0]))
    os.chmod("README.md", mode)
    assert copy.run("tables").stdout == "README.md\n"
    assert os.stat("README.md").st_mode & 0o777 == mode


def test_an_indented_table_is_an_example(copy):
    example = "    " + table(FILES + "nothing").replace("\n", "\n    ")
    copy.write("README.md", example)
    assert copy.run("tables").stdout == ""
    assert copy.read("README.md") == example


RIGHT = "| variant | ms |\n|---|---:|\n| cuda_a | 0.50 |\n| cuda_b | 0.25 |\n"
TWO = FILES + "rows variant cuda_a cuda_b\ncolumn ms show=kernel_ms decimals=2"


@pytest.mark.parametrize("directive, rows, line, is_now, wanted", [
    (TWO, RIGHT.replace("0.50", "0.51"), 12, "| cuda_a | 0.51 |", "| cuda_a | 0.50 |"),
    (TWO, RIGHT.replace("0.25", "0.26"), 13, "| cuda_b | 0.26 |", "| cuda_b | 0.25 |"),
    (TWO, RIGHT.replace("| cuda_b | 0.25 |\n", ""), 13, "", "| cuda_b | 0.25 |"),
    (TWO.replace(" cuda_b", ""), RIGHT, 13, "| cuda_b | 0.25 |", ""),
    (TWO, "", 10, "", "| variant | ms |"),
])
def test_a_figure_that_disagrees_ends_check_with_1_names_file_and_line_and_nothing_is_written(
        copy, directive, rows, line, is_now, wanted):
    text = table(directive, rows)
    copy.write("labs/01_a/README.md", text)
    done = copy.run("tables", "--check")
    assert done.returncode == 1
    assert f"labs/01_a/README.md:{line}: the table says '{is_now}', its files say '{wanted}'" in done.stderr
    assert copy.read("labs/01_a/README.md") == text


GOOD = "rows variant cuda_a\ncolumn ms show=kernel_ms"
MS = FILES + "rows variant cuda_a\ncolumn ms"
FAULTS = [  # a description, the line of its page that is at fault, and words of the message
    ("file a results/absent.json\n" + GOOD, 4, "results/absent.json", "No such file"),
    ("file a results/none.json\n" + GOOD, 4, "results/none.json", "no results"),
    ("file a results/wrong.json\n" + GOOD, 6, "cuda_a", "wrong"),
    (MS + " show=kernel_milliseconds", 8, "'kernel_milliseconds'"),
    (MS + " show=kernel_ms kernel=3", 8, "'kernel'"),
    (FILES + "rows variant cuda_z\ncolumn ms show=kernel_ms", 7, "'cuda_z'"),
    (FILES + "rows variants\ncolumn ms show=kernel_ms", 7, "'variants'"),
    (FILES + "row z variant=cuda_z\ncolumn ms show=kernel_ms", 7, "row 'z'"),
    (FILES + GOOD + "\ncolumn x n=3 show=kernel_ms", 9, "column 'x'"),
    (FILES + "rows variant opencl_a\ncolumn ms show=kernel_ms", 8, "2 results", "device"),
    (MS + " file=tpu show=kernel_ms", 8, "'tpu'", "gpu cpu study"),
    (MS, 8, "show="),
    (MS + " show=kernel_ms/", 8, "kernel_ms/"),
    (MS + " show=1+device", 8, "'device'", "text"),
    (MS + " show=kernel_ms$2", 8, "kernel_ms$2"),
    (MS + " show=kernel_ms**2", 8, "kernel_ms**2"),
    (MS + " show=kernel_ms label=x", 8, "'label'"),
    (MS + " show={x}", 8, "'x'"),
    (MS + " show=kernel_ms@cuda_z", 8, "'cuda_z'"),
    (MS + " show=kernel_ms decimals=few", 8, "decimals=few"),
    (MS + " show=kernel_ms digits=0", 8, "digits=0"),
    (FILES + "rows variant cuda_a\ncolumn kernel ms show=kernel_ms", 8, "quotes"),
    (FILES + 'rows variant cuda_a\ncolumn "ms show=kernel_ms', 8, "quotation"),
    (FILES + "rows variant cuda_a\ncolum ms show=kernel_ms", 8, "'colum'"),
    (FILES + "rows\ncolumn ms show=kernel_ms", 7, "rows FIELD"),
    ("file results/gpu.json\n" + GOOD, 4, "file NAME PATH"),
    ("counts a results/gpu.json\n" + GOOD, 4, "results/gpu.json", "tools/counts"),
    ("counts a results/counts.json\nrows variant\ncells options=\"--n 8\"\ncolumn x show=splits", 5, "row 'opencl_a'"),
    (FILES + "rows variant cuda_a", 3, "columns"),
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_table_ends_with_2_and_one_line_that_names_it_and_no_page_is_changed(copy, fault):
    directive, line, *words = fault
    copy.write("results/wrong.json", run({}, variant("cuda_a", 1, status="failed")))
    copy.write("results/none.json", run({}))
    copy.write("A.md", table(FILES + GOOD))  # not up to date, and before the page with the fault
    copy.write("README.md", table(directive))
    for arguments in ([], ["--check"]):
        refused(copy.run("tables", *arguments), f"README.md:{line}: ", *words)
    assert (copy.read("README.md"), copy.read("A.md")) == (table(directive), table(FILES + GOOD))


WHOLE = table(FILES + GOOD)


@pytest.mark.parametrize("text, line", [
    (WHOLE.replace("<!-- end of table -->", ""), 3),
    (WHOLE.replace("-->\n<!-- end", "<!-- end"), 3),
    (WHOLE.replace("<!-- table", "<!-- tables"), 3),
    (WHOLE + "<!-- end of table -->\n", 13),
    (WHOLE.replace("<!-- end of table -->", "") + WHOLE, 3),
])
def test_a_table_without_its_begin_or_end_is_refused(copy, text, line):
    copy.write("README.md", text)
    refused(copy.run("tables"), f"README.md:{line}: ")
    assert copy.read("README.md") == text


def test_tables_refuses_a_page_and_an_option_that_do_not_exist():
    refused(started(sys.executable, ROOT / "tools/tables", "absent.md"), "absent.md")
    refused(started(sys.executable, ROOT / "tools/tables", "--chekc"), "--chekc")


@pytest.mark.parametrize("value, digits, wanted", [
    (0.0093, 3, "0.00930"), (21.46, 3, "21.5"), (178432, 3, "178000"), (2 / 3, 3, "0.667"), (-2 / 3, 2, "-0.67"), (1 / 3, 1, "0.3"),
    (9.99, 2, "10"), (0.0999, 2, "0.10"), (999.6, 3, "1000"), (994.6, 2, "990"),  # rounding makes a digit more
    (100, 3, "100"), (5, 1, "5"), (0, 3, "0.00")])
def test_a_figure_is_rounded_to_the_digits_that_count_and_shows_all_of_them_without_an_exponent(value, digits, wanted):
    assert results.significant(value, digits) == wanted


# tools/plot


needs_matplotlib = pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="no matplotlib (package python3-matplotlib)")
LIMIT = "limit, measured on the device"


def texts(picture):
    return re.findall(r"<text [^>]*>([^<]*)</text>", picture.decode())


def shows(picture, *words, but_not=()):
    found = texts(picture)
    assert not [word for word in words if word not in found], found
    assert not [word for word in but_not if word in found], found


@pytest.mark.parametrize("arguments, words, but_not", [
    ("gpu", ["cuda_a", "cuda_b", "opencl_a, opencl:1", "0.500 ms", "0.250 ms", "% of the limit", "CUDA: Device cuda:0", LIMIT], ["cuda_c"]),
    ("gpu --variant cuda_*,!cuda_b --y gb_per_s", ["cuda_a", "GB/s"], ["cuda_b", "opencl_a, opencl:1"]),
    ("study --where n=1000 --where blocks=2", ["cuda_a", "cuda_b", "% of the limit"], []),
    ("study", ["cuda_a, blocks = 1", "cuda_b, blocks = 2", "n", "10⁵", "kernel time, ms", LIMIT], []),
    ("study --x blocks --where n=1000 --y gb_per_s,gflop_per_s", ["blocks", "cuda_a: GFLOP/s", "1", "2"], ["10⁵"]),
    ("study --no-limit", ["kernel time, ms"], [LIMIT]),
    ("study --where n=1000,10000 --y kernel_ms,sequential_ms",
     ["cuda_a, blocks = 2: kernel time, ms", "one core, ms, blocks = 1", "one core, ms, blocks = 2"], ["10⁵"]),
])
def test_a_run_is_drawn_as_a_ladder_and_a_study_as_curves_over_its_parameter(copy, arguments, words, but_not):
    name, *options = arguments.split()
    shows(copy.draws(f"results/{name}.json", *options), *words, but_not=but_not)


def rises(picture, colour):
    """How far each line of this colour falls or rises across a picture, in points."""
    lines = re.findall(rf'<path d="(M [^"]*)" clip-path[^>]*style="fill: none; [^"]*stroke: {colour}', picture.decode())
    return [max(ys) - min(ys) for ys in ([float(y) for y in re.findall(r"[ML] \S+ (\S+)", line)] for line in lines)]


def test_a_study_of_growth_is_drawn_as_time_per_element_with_the_bound_as_a_level_line(copy):
    sizes = [16, 64, 256, 1024]  # 0.001 ms each time, and a bound of 1e-6 ms per element: 1 ns
    copy.write("results/growth.json", [run({"n": n}, variant("cuda_a", 0.001, ns_per_element=1000 / n, percent_of_ceiling=0.1 * n),
                                           study="growth") for n in sizes])
    picture = copy.draws("results/growth.json")
    shows(picture, "n", "16", "1024", "ns per element", "cuda_a", LIMIT, "1", "50", but_not=["kernel time, ms"])
    assert rises(picture, "#c34c47") == [pytest.approx(0, abs=1e-3)], "the line of the limit"
    assert [rise > 100 for rise in rises(picture, "#3477b2")] == [True], "the curve"
    shows(copy.draws("results/growth.json", "--y", "kernel_ms"), "kernel time, ms", but_not=["ns per element"])


def test_what_follows_from_other_parameters_makes_no_curves_of_its_own(copy):
    runs = [run({"n": n, "nx": n + rim, "ny": n + rim, "boundary": boundary}, variant("cuda_a", n / 1e3), study="sizes")
            for boundary, rim in (("conductor", 0), ("pml", 50)) for n in (300, 1500)]
    copy.write("results/rims.json", runs)
    shows(copy.draws("results/rims.json", "--x", "n"), "cuda_a, boundary = conductor", "cuda_a, boundary = pml", but_not=["nx"])


def test_of_more_curves_than_a_picture_takes_the_slowest_variants_are_left_out_and_named(copy):
    times = {"cpu_a": 1, "cpu_b": 9, "cpu_c": 3}, {"cuda_a": 0.2, "cuda_b": 0.1}

    def study(*systems):
        return [run({"n": n, "systems": count}, *(variant(name, ms * count * n, device) for device, some in zip(("cpu:0", "cuda:0"), times)
                                                  for name, ms in some.items()), study="sweep") for count in systems for n in (10, 20)]

    copy.write("results/many.json", study(1, 2, 3, 4, 5))
    done = copy.run("plot", "results/many.json")
    assert (done.returncode, done.stdout) == (0, "many.svg\n")
    assert done.stderr == ("plot: 25 curves are too many for one picture (24 at most), so the slowest are left out: cpu_b on cpu:0; "
                           "--variant, --device and --where choose others\n")
    every = [f"{name}, systems = {count}" for some in times for name in some for count in range(1, 6)]
    shows(copy.read("many.svg").encode(), *(label for label in every if "cpu_b" not in label),
          but_not=[label for label in every if "cpu_b" in label])
    shows(copy.draws("results/many.json", "--variant", "!cuda_a"), *(label for label in every if "cuda_a" not in label))
    copy.write("results/more.json", study(*range(1, 10)))
    assert "left out: cpu_b on cpu:0, cpu_c on cpu:0, cuda_a on cuda:0; " in copy.run("plot", "results/more.json").stderr
    copy.write("results/systems.json", study(*range(1, 14)))  # two devices, with one variant each
    refused(copy.run("plot", "results/systems.json", "-o", "no.svg"), "65 curves", "--variant or --where")


def test_a_history_of_residuals_is_drawn_over_its_iterations_on_a_logarithmic_axis(copy):
    lines = [f"cpu_threads on cpu:0,{k},{10.0 ** -k}" for k in range(13)] + ["cpu_threads on cpu:0,13,0"]
    lines += [f"cuda_graph on cuda:0,{k},{2.0 ** -k}" for k in range(4)] + ["cuda_graph on cuda:0,4,nan", "cuda_graph on cuda:0,5,inf"]
    copy.write("x.csv", "variant,iteration,residual\n" + "\n".join(lines) + "\n")
    picture = copy.draws("x.csv")
    shows(picture, "x.csv", "iteration", "norm of the residual", "cpu_threads on cpu:0", "cuda_graph on cuda:0")
    shows(picture, "10⁻¹¹", "12")  # decades, and iterations as they are
    heights = [float(height) for height in re.findall(r'<text [^>]* y="([\d.]+)"[^>]*>10⁻', picture.decode())]
    steps = [round(a - b, 1) for a, b in zip(heights, heights[1:])]
    assert len(steps) >= 3 and min(steps) > 0 and max(steps) - min(steps) <= 0.2, f"no logarithmic axis: the decades are at {heights}"
    shows(copy.draws("x.csv", "--variant", "cuda_*"), "cuda_graph on cuda:0", but_not=["cpu_threads on cpu:0"])
    shows(copy.draws("x.csv", "x.csv", "--title", "one", "--title", "two"), "one", "two", but_not=["x.csv"])
    assert copy.run("plot", "x.csv").stdout == "x.svg\n"
    assert copy.read("x.svg").encode() == picture, "the same, drawn again"


def test_two_files_are_drawn_side_by_side(copy):
    shows(copy.draws("results/gpu.json", "results/cpu.json", "--title", "on a GPU", "--title", "on two cores"), "on a GPU", "on two cores",
          "cpu_a", "cuda_a", "8.00 ms", "CPU: Device cpu:0", "PoCL: Device opencl:0")
    shows(copy.draws("results/study.json", "results/study.json"), "cuda_a, blocks = 1")
    copy.write("results/two.json", run({}, variant("cuda_a", 1.0, "cuda:0"), variant("cuda_a", 2.0, "cuda:1")))
    shows(copy.draws("results/two.json"), "cuda_a, cuda:0", "cuda_a, cuda:1", "1.00 ms", "2.00 ms")


@pytest.mark.parametrize("name", ["gpu", "study"])
def test_the_same_results_give_the_same_SVG_file_in_which_no_letter_is_smaller_than_10_points(copy, name):
    picture = copy.draws(f"results/{name}.json", name="first.svg")
    assert passed(sys.executable, ROOT / "tools/plot", f"results/{name}.json", cwd=copy.folder).stdout == f"{name}.svg\n"
    assert copy.read(f"{name}.svg").encode() == picture, "drawn again, by another process"
    assert hashlib.sha256(copy.read(f"results/{name}.json").encode()).hexdigest().encode() in picture, "what it was drawn from"
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", picture.decode())]
    assert sizes and min(sizes) >= 10


def test_a_picture_can_be_a_PNG_file(copy):
    assert copy.draws("results/gpu.json", name="out.png")[:8] == b"\x89PNG\r\n\x1a\n"


def of_lab(lab, *variants, rate=None):
    """A run of a lab; `rate`: what its device computes per second, in single precision."""
    one = {**run({"n": 1}, *variants), "lab": lab}
    one["devices"][0]["ceilings"]["fp32_gflop_per_s"] = rate
    return one


@needs_matplotlib
def test_bars_curves_and_dots_are_as_long_and_where_the_results_say(copy):
    plot = copy.tools["plot"]
    plot.matplotlib_or_fault()

    def panel(content, *words, draw=plot.draw_results):
        copy.write("results/shown.json", content)
        options = plot.read_arguments(["results/shown.json", *words])
        axis = draw(options.files, options).axes[0]
        return axis, [(list(line.get_xdata()), list(line.get_ydata())) for line in axis.lines]

    axis, lines = panel(GPU, "--variant", "cuda_*", "--y", "kernel_ms")
    assert [bar.get_width() for bar in axis.patches] == [0.5, 0.25]
    assert [text.get_text() for text in axis.texts] == ["0.500 ms", "0.250 ms"], "the times beside the bars"
    assert [xs for xs, _ in lines] == [[0.5, 0.5], [0.5, 0.5]], "the limit: 100 % of one time, 200 % of the other"
    axis, _ = panel(GPU, "--variant", "cuda_*", "--y", "percent_of_ceiling")
    assert [bar.get_width() for bar in axis.patches] == [100, 200], "percentages"
    axis, _ = panel(run({"n": 1}, variant("cuda_a", 0.05), variant("cuda_b", 1500)))
    assert [text.get_text() for text in axis.texts] == ["50.0 µs", "1.50 s"]
    _, lines = panel([run({"n": n}, variant("cuda_a", ms)) for n, ms in ((10, 3.0), (20, 1.0), (30, 2.0))])
    assert lines == [([10, 20, 30], [3, 1, 2]), ([10, 20, 30], [0.5, 0.5, 0.5])], "a curve, and the limit"
    limits = [run({"n": n}, variant("cuda_a", 3.0, percent_of_ceiling=10), variant("cuda_b", 1.0)) for n in (10, 20)]
    for field, limit in (("kernel_ms", 0.3), ("gb_per_s", 10 / 3)):  # 10 % of the time of cuda_a, 50 % of that of cuda_b
        _, lines = panel(limits, "--y", field)
        assert lines[-1] == ([10, 20], [pytest.approx(limit)] * 2), "of several limits of a device the one that allows most"
    _, lines = panel(of_lab("one", variant("cuda_a", 2, flops=3e6), rate=9000.0), "--roofline", draw=plot.draw_roofline)
    assert ([3], [1.5]) in lines, "3 operations per byte, 1.5 GFLOP/s"


def test_results_of_several_labs_are_drawn_as_a_roofline(copy):
    few, many = {"flops": 1e5, "percent_of_ceiling": 90}, {"flops": 5e9, "percent_of_ceiling": 70}
    copy.write("results/one.json", of_lab("one", variant("cuda_a", 2, **few), variant("cuda_b", 1, **few)))
    copy.write("results/two.json", [of_lab("two", variant("cuda_small", 1), rate=9000.0),
                                    of_lab("two", variant("cuda_large", 1, **many), rate=9000.0)])
    copy.write("results/none.json", of_lab("none", variant("cuda_c", 1, flops=0, gb_per_s=0.01, percent_of_ceiling=10)))
    two = ["--roofline", "results/one.json", "results/two.json"]
    shows(copy.draws(*two), "one: cuda_b, 90 %", "two: cuda_large, 70 %", "device memory: 2 GB/s", "single precision: 9 TFLOP/s",
          but_not=["one: cuda_a, 90 %", "two: cuda_small, 50 %", "link, both ways: 0 GB/s"])
    shows(copy.draws(*two, "results/none.json", "--operations", "none=100000"), "none: cuda_c, 10 %", "link, both ways: 0 GB/s")
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


def test_percentages_can_refer_to_the_peak_of_another_file(copy):
    slow = {"gflop_per_s": 6000.0, "gb_per_s": 1.0, "percent_of_ceiling": 75.0, "flops": 5e9}
    copy.write("results/one.json", of_lab("one", variant("cuda_a", 1, **slow), variant("cuda_b", 1, percent_of_ceiling=90), rate=8000.0))
    copy.write("results/two.json", of_lab("two", variant("cuda_a", 1), rate=10000.0))
    percents = {r["variant"]: r["percent_of_ceiling"] for r in results.load("results/one.json", "results/two.json")}
    assert percents == {"cuda_a": pytest.approx(60), "cuda_b": 90}, "what memory limits stays"
    copy.write("README.md", table("file one results/one.json peak=results/two.json\nrows variant cuda_a\n"
                                  "column peak show=fp32_gflop_per_s decimals=0"))
    assert copy.run("tables").returncode == 0 and "| cuda_a | 10000 |" in copy.read("README.md")
    shows(copy.draws("--roofline", "results/one.json", "--peak", "results/two.json", "--variant", "cuda_a"), "one: cuda_a, 60 %",
          "single precision: 10 TFLOP/s")
    refused(copy.run("plot", "results/one.json", "--peak", "results/gpu.json", "-o", "no.svg"), "gpu.json", "no FP32 rate")


def test_what_the_pages_say_of_an_H200_is_what_was_measured():
    def best(name, backend):
        found = results.load(f"{ROOT}/docs/results/h200/{name}.json")
        return min(r["kernel_ms"] for r in found if r["kernel_ms"] and r["backend"] == backend and "Portable" not in r["device_platform"]
                   and r["problem"] == found[-1]["problem"] and not r["variant"].startswith("cuda_cu"))

    def text(page):
        return " ".join((ROOT / page).read_text(encoding="utf-8").split())

    growth = results.load(f"{ROOT}/docs/results/h200/matmul-growth.json")
    assert results.load(f"{ROOT}/docs/results/h200/saxpy.json", f"{ROOT}/docs/results/h200/matmul-growth.json"), "a file without an FP32 rate"
    peak, copied = next((r["fp32_gflop_per_s"], r["copy_gb_per_s"]) for r in growth if r["device"] == "cuda:0")
    drawn = texts((ROOT / "docs/figures/results/roofline.svg").read_bytes())
    roof = next(int(text.split()[2]) for text in drawn if text.startswith("device memory: "))
    for page, words in (
        ("labs/01_saxpy/README.md", f"An H200 does {round(peak, -2):,.0f} GFLOP/s and moves about {round(copied, -2):,.0f} GB/s"),
        ("labs/01_saxpy/README.md", f"above {peak / copied:.1f} operations per byte"),
        ("labs/03_matmul/README.md", f"An H200 does {peak / copied:.1f} operations while its memory moves a byte"),
        ("labs/03_matmul/README.md", f"from $n = {math.ceil(6 * peak / copied)}$ on"),
        ("docs/lessons/roofline.md", f"{peak / 1000:.0f} TFLOP/s and {roof:,} GB/s, so they meet at about {peak / roof:.0f} operations"),
    ):
        assert words in text(page), (page, words)

    faster = "reduction-ladder28 matmul-ladder spmv-powerlaw-float streams-run tridiagonal-run lu-1024 fdtd-growth cg-3163"
    assert [name for name in faster.split() if best(name, "cuda") >= best(name, "opencl")] == []  # docs/parallel.md
    pivots = {name: results.load(f"{ROOT}/docs/results/h200/lu-{file}.json") for name, file in (("columns", "pivoting"), ("blocked", "growth"))}
    ms = [next(r["kernel_ms"] for r in found if (r["variant"], r["n"]) == (f"cuda_{name}_pivot", 4096)) for name, found in pivots.items()]
    assert "`cuda_columns_pivot` takes {:.0f} ms, `cuda_blocked_pivot` {:.1f}".format(*ms) in text("labs/07_lu/README.md")
    assert best("saxpy", "cuda") == pytest.approx(best("saxpy", "opencl"), rel=0.01)


def test_the_roofline_of_the_lessons_shows_every_lab():
    shown = {text.partition(":")[0] for text in texts((ROOT / "docs/figures/results/roofline.svg").read_bytes()) if ": cuda_" in text}
    assert shown == set(LABS)


HISTORY = "variant,iteration,residual\n"
SOUND = run({}, variant("cuda_a", 1))
BAD_FILES = {  # what they hold, and words of the message
    "results/wrong.json": (run({}, variant("cuda_a", 1, status="failed")), "cuda_a", "wrong"),
    "results/cut.json": ("{", "JSON"),
    "results/trace.json": ({"displayTimeUnit": "ms", "traceEvents": []}, "--json"),
    "results/nested.json": ("[" * 100_000, "--json"),
    "results/lab.json": ({**SOUND, "lab": 7}, "--json"),
    "results/devices.json": ({**SOUND, "devices": []}, "--json"),
    "results/unnamed.json": ({**SOUND, "devices": [{**SOUND["devices"][0], "name": None}]}, "--json"),
    "results/list.json": ({**SOUND, "problem": {"n": [1]}}, "--json"),
    "results/huge.json": (json.dumps(SOUND).replace('"median": 1', '"median": 1e999'), "--json"),
    "results/negative.json": (run({}, variant("cuda_a", -1)), "--json"),
    "results/backend.json": (run({}, variant("cuda_a", 1, backend="vulkan")), "--json"),
    "results/text.json": (run({}, variant("cuda_a", 1, percent_of_ceiling="50")), "--json"),
    "table.csv": ("variant,device,kernel_ms\ncpu_threads,cpu:0,1\n", "--history"),
    "empty.csv": ("", "--history"),
    "heading.csv": (HISTORY, "no residual"),
    "zero.csv": (HISTORY + "cpu_threads,0,0\n", "no residual"),
    "short.csv": (HISTORY + "cpu_threads,0,1\ncpu_threads,1\n", "short.csv:3"),
    "words.csv": (HISTORY + "cpu_threads,first,1\n", "words.csv:2"),
    "many.csv": (HISTORY + "".join(f"variant {k},0,1\n" for k in range(25)), "25 curves", "--variant"),
}


def test_bad_input_of_plot_ends_with_2_and_one_line_and_no_picture(copy):
    copy.write("right.csv", HISTORY + "cpu_threads,0,1\n")
    for name, (content, *words) in BAD_FILES.items():
        copy.write(name, content)
        named = [os.path.basename(name)] if words[0] in ("--json", "--history", "no residual") else []
        refused(copy.run("plot", name, "-o", "no.svg"), *named, *words)
    for arguments, *words in (
        ("absent.csv", "absent.csv", "No such file"),
        ("right.csv --variant z*", "right.csv", "nothing of what was asked for"),
        ("right.csv results/gpu.json", "one picture"),
        ("right.csv --y kernel_ms", "'kernel_ms' was not measured"),
        ("right.csv --device cpu:0", "right.csv", "nothing of what was asked for"),
        ("right.csv --roofline", "right.csv", "nothing of what was asked for"),
        ("results/absent.json", "results/absent.json", "No such file"),
        ("results", "results"),
        ("results/gpu.json --y speed", "'speed'"),
        ("results/gpu.json --y reason", "'reason'"),
        ("results/gpu.json --y backend", "'backend'"),
        ("results/gpu.json --y gb_per_s,speedup", "one field"),
        ("results/gpu.json --where m=3", "'m'"),
        ("results/gpu.json --where n", "NAME=VALUE"),
        ("results/gpu.json --where n=3", "gpu.json"),
        ("results/gpu.json --variant z*", "gpu.json"),
        ("results/gpu.json --x shape", "'shape'"),
        ("results/gpu.json results/study.json", "study"),
        ("results/gpu.json " * 4, "three"),
        ("results/gpu.json --colour", "--colour"),
        ("", "FILE.json"),
        ("results/gpu.json --title a --title b", "titles"),
        ("results/gpu.json -o no.jpeg", "no.jpeg"),
        ("results/gpu.json -o no/where/no.svg", "no/where/no.svg"),
    ):
        refused(copy.run("plot", *arguments.split(), *([] if "-o" in arguments else ["-o", "no.svg"])), *words)
    refused(started(sys.executable, ROOT / "tools/plot"), "FILE.json")
    assert not [name for name in os.listdir() if name.startswith(("no", "."))], "what it left behind"


@needs_matplotlib
def test_a_picture_that_cannot_be_written_to_its_end_leaves_the_earlier_one_as_it_was(copy):
    copy.write("a.svg", "earlier")
    words = [sys.executable, ROOT / "tools/plot", "results/gpu.json", "-o", "a.svg"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # a picture has more bytes
    refused(subprocess.run(words, capture_output=True, text=True, preexec_fn=limit), "a.svg", "large")
    assert copy.read("a.svg") == "earlier"
    assert sorted(os.listdir()) == ["a.svg", "results"], "what it left behind"


def test_a_file_name_with_dollar_signs_is_no_formula(copy):
    copy.write("results/names.json", run({"matrix": "$x_{$.mtx"}, variant("cuda_a", 1)))
    assert "matrix\u00a0=\u00a0$x_{$.mtx</text>" in copy.draws("results/names.json").decode()


@needs_matplotlib
def test_lab_plot_draws_a_file_in_the_folder_where_it_is_called(copy):
    assert passed(ROOT / "lab", "plot", "results/gpu.json", cwd=copy.folder).stdout == "gpu.svg\n"
    assert "cuda_a" in copy.read("gpu.svg")


def test_without_matplotlib_plot_says_in_one_line_which_package_to_install(copy):
    copy.write("fake/matplotlib.py", "raise ImportError('no module named matplotlib')\n")
    refused(started(sys.executable, ROOT / "tools/plot", "results/gpu.json", PYTHONPATH=copy.folder / "fake"), "python3-matplotlib")


@pytest.mark.parametrize("page, dark_mode", [("#ffffff", False), ("#1e1e1e", True)])
def test_text_and_lines_of_a_picture_stand_out_on_white_and_on_a_dark_page(page, dark_mode):
    plot = module_of(ROOT / "tools/plot")

    def luminance(colour):  # as the Web Content Accessibility Guidelines define it
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    assert set(plot.DARK) == {plot.INK, plot.LIMIT, *plot.COLOURS}
    for colour in plot.DARK.values() if dark_mode else plot.DARK:
        dark, light = sorted((luminance(page), luminance(colour)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, f"the contrast of {colour}"
    pictures = list((ROOT / "docs/figures/results").glob("*.svg"))
    for text in [picture.read_text(encoding="utf-8") for picture in pictures]:
        assert set(re.findall(r"(?:fill|stroke): (#\w{6})", re.sub(r"(?s)<style.*?</style>", "", text))) - {"#ffffff", "#000000"} <= set(plot.DARK)
        assert all(f"{plot.DARK[colour]}!important" in text for colour in plot.DARK)
    assert len(pictures) > 30


def test_the_pictures_of_the_hand_outs_show_the_results_as_they_are(copy):
    done = started(sys.executable, ROOT / "tools/plot", "--check")
    assert (done.returncode, done.stderr) == (0, ""), "the repository"
    copy.copy("docs/figures/results", "docs/results")
    assert copy.run("plot", "--check").returncode == 0, "a copy"
    picture, result = copy.read("docs/figures/results/list").split("\n")[2].split()[:2]
    folder = copy.folder / "docs/figures/results"
    (folder / picture).rename(folder / "other.svg")
    done = copy.run("plot", "--check")
    assert (done.returncode, done.stderr.count("\n")) == (1, 2), f"a picture renamed: {done.stderr}"
    (folder / "other.svg").rename(folder / picture)
    copy.write(result, copy.read(result) + "\n")
    done = copy.run("plot", "--check")
    assert done.returncode == 1 and picture in done.stderr, "results that changed"


# tools/counts


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
