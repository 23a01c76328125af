"""The examples of the pages: those by hand in the ways through the labs, PATH.md, once more by other means than those of the page, and
the matrix from practice."""

import os
import re
import subprocess
from fractions import Fraction

import pytest
from conftest import LABS, ROOT, built, passed, refused

pytestmark = pytest.mark.skipif(len(LABS) < 9, reason="not all labs are here")


def example_of(path):
    """The section of a page that is the example."""
    return re.search(r"(?ms)^## By hand: .*?\n\n(.*?)(?=^## |\Z)", path.read_text(encoding="utf-8"))[1]


def rows_of(text):
    """The rows of its tables, with numbers where they are numbers."""
    return [[number(cell) for cell in line.strip("|").split("|")] for line in text.split("\n") if line.startswith("| ")]


def number(cell):
    """A number, a list of numbers, or the words of a cell."""
    plain = cell.strip(" *()").replace("−", "-")
    if re.fullmatch(r"-?\d+(/\d+)?", plain):
        return Fraction(plain)
    return [Fraction(one) for one in plain.split(", ")] if re.fullmatch(r"-?[\d/]+(, -?[\d/]+)+", plain) else cell.strip()


def words_of(text):
    """What stands outside of its tables."""
    return " ".join(word for line in text.split("\n") if not line.startswith("|") for word in line.split())


def equations(words):
    """The values of the sides of each equation of numbers alone."""
    found = []
    for run in re.findall(r"[\d\s().·×+−/=]*=[\d\s().·×+−/=]*", words):
        sides = []
        for side in run.split("="):
            side = re.sub(r"\d+(\.\d+)?", r"Fraction('\g<0>')", side.strip(" .").replace("−", "-").replace("·", "*").replace("×", "*"))
            try:
                sides.append(eval(side, {"Fraction": Fraction}))  # numbers and signs only
            except SyntaxError:  # words, or powers, stand beside it
                pass
        found += [sides] if len(sides) > 1 else []
    return found


def dot(u, v):
    return sum(x * y for x, y in zip(u, v, strict=True))


# Each takes the rows of the tables, the words, and the numbers among these, without signs.


def saxpy(rows, words, numbers):
    _, *rows = rows
    threads, n = len(rows), sum(len(row[1]) for row in rows)
    share, more, blocks = n // threads, n % threads, -(-n // threads)
    assert [row[0] for row in rows] == list(range(threads))
    assert sum((row[1] for row in rows), []) == list(range(n)) and [len(row[1]) for row in rows] == [3, 3, 2, 2]
    assert all(row[2] == [i for i in range(n) if i % threads == row[0]] for row in rows)
    assert numbers == [n, threads, n, threads, share, more, more, threads, n, threads, blocks, threads * blocks, 1, blocks - 1, blocks - 1,
                       threads, 1, 1 + threads * (blocks - 1), blocks * threads - n, threads, 1, *rows[1][2], *(row[2][0] for row in rows),
                       *(row[1][0] for row in rows), 12, n, 12 * n, 4, 3 * n, 2 * n, 3 * n, 2, 3]


def reduction(rows, words, numbers):
    heads, first, *steps = rows
    assert heads[2:] == [f"x[{i}]" for i in range(8)] and first[:2] == ["at first", ""]
    x = before = first[2:]
    for level, row in enumerate(steps):
        adding = range(0, 8, 2 << level)
        assert row[0] == f"s = {1 << level}" and row[1] == (list(adding) if len(adding) > 1 else 0)
        assert [row[2 + i] for i in adding] == [sum(x[i:i + (2 << level)]) for i in adding]
        assert all(row[2 + i] == before[i] for i in range(8) if i not in adding)
        before = row[2:]
    off = [round(depth * sum(x) / 2**24 * 1e6, 1) for depth in (3, 7)]
    assert words.count("× 2⁻²⁴ × 38") == words.count("× 10⁻⁶") == 2
    assert list(map(float, numbers)) == [8, 3, 7, 0, 2, 4, 6, 6, 1, 3, 7, 3, 2, sum(x), off[0], 10, 7, 2, sum(x), off[1], 10]


def matmul(rows, words, numbers):
    m, k, n, side, x, y = 20, 50, 37, 16, 4, 3  # the thread is in the last block
    across, down, j, i = -(-n // side), -(-m // side), n - 1, m - 1
    assert (j % side, i % side) == (x, y)
    assert numbers == [m, k, k, n, m, n, side, side, n, side, across, m, side, down, across * down, across * down * side**2, m * n,
                       x, y, j // side, i // side, j // side, side, x, j, i // side, side, y, i, i, i, k, *range(i * k, i * k + 3),
                       j, *range(j, j + 3 * n, n), n, i, n, j, m * n - 1, x - 1, y, *range(j - 1, j - 1 + 3 * n, n), x + 1, y, n, 1, 4]
    for (name, loaded, made, loads, share), elements in zip(rows[1:], (1, 2, 4), strict=True):
        assert name == ("1, as `cuda_grid`" if elements == 1 else f"{elements} × {elements}")
        assert (loaded, made, loads) == (2 * elements, elements**2, Fraction(loaded, made)) and share == f"{float(25 / loads):g} %"


def spmv(rows, words, numbers):
    page = (ROOT / "labs/04_spmv/README.md").read_text(encoding="utf-8")
    dense = [list(map(int, line.split())) for line in re.findall(r"(?m)^    (\d \d \d \d)  ", page)]
    x, lengths = [1, 2, 3, 4], [sum(map(bool, line)) for line in dense]
    y, n, z, width, begin = [dot(line, x) for line in dense], len(dense), sum(lengths), max(lengths), lengths[0]
    listed = [[begin + at, j, v, x[j], v * x[j]] for at, (j, v) in enumerate((j, v) for j, v in enumerate(dense[1]) if v)]
    assert [row[:5] for row in rows[1:]] == listed
    assert [row[5] for row in rows[1:]] == [sum(row[4] for row in listed[:at + 1]) for at in range(len(listed))] and rows[-1][5] == y[1]
    assert numbers == [*x, 1, 1, begin, 2, begin + lengths[1], 1, y[1], *y, n, 4, z, width, n, 4, 4, 16 * n, z, 8, 4, n + 1,
                       8 * z + 4 * (n + 1), z, 12, 12 * z, n, width, 8, 8 * n * width, n * width - z]


def streams(rows, words, numbers):
    spans = {(int(row[0]), stage): tuple(map(int, row[2 + stage].split(" to "))) for row in rows[1:] for stage in range(3)}
    assert [row[:2] for row in rows[1:]] == [[0, "A"], [1, "B"], [2, "A"]]
    assert all(end - begin == (2, 1, 2)[stage] for (_, stage), (begin, end) in spans.items())
    for strip in range(3):
        for stage in range(3):
            waits = [spans[strip, stage - 1][1]] if stage else [spans[strip - 2, 2][1]] if strip > 1 else []
            waits += [spans[strip - 1, stage][1]] if strip else []
            assert spans[strip, stage][0] == max(waits, default=0)
    end, free, one = max(end for _, end in spans.values()), spans[1, 0][1], 2 + 1 + 2
    assert numbers == [3, 2, 1, 2, 0, 2, 1, 3, one, 3 * one, end, 2, 0, free, free + one, 3, 3 * one, 3, 2, 2, free + one, 3, 2, 6]


def tridiagonal(rows, words, numbers):
    x = [Fraction(one) for one in re.search(r"\. x = \(([^)]*)\)\.", words)[1].split(", ")]
    lines = [row for row in rows if isinstance(row[0], Fraction)]
    for distance, part in ((1, lines[:4]), (2, lines[4:6]), (4, lines[6:])):
        for i, a, b, c, d in part:
            beside = [(factor, int(i) + by) for factor, by in ((a, -distance), (c, distance)) if factor != ""]
            assert b * x[int(i)] + sum(factor * x[j] for factor, j in beside) == d
    assert [row[0] for row in lines] == [0, 1, 2, 3, 1, 3, 3]
    assert re.findall(r"(?:[Rr]ow|quation|s =) (\d)", words) == list("0311342351")
    assert re.findall(r"\$x_(\d)\$ = .*? = (\d)[;.]", words) == [(str(i), str(x[i])) for i in (3, 1, 0, 2)]


def lu(rows, words, numbers):
    tables = [row for row in rows if isinstance(row[0], Fraction)]
    assert rows[0][1:] == rows[4][1:] == rows[8][1:] == ["column 0", "column 1", "column 2"]
    matrix, (pivot, *rest), factors = {row[0]: row[1:] for row in tables[:3]}, tables[3:6], tables[6:]
    assert list(matrix) == [0, 1, 2] and pivot[1:] == matrix[pivot[0]]
    for row, lower, *right in rest:
        assert [lower * pivot[1], *(v + lower * u for u, v in zip(pivot[2:], right))] == matrix[row]
    for j, (row, *line) in enumerate(factors):
        lower = [*line[:j], 1]
        assert [dot(lower, [factors[k][1 + c] if c >= k else 0 for k in range(j + 1)]) for c in range(3)] == matrix[row]
        assert all(abs(one) <= 1 for one in lower)
    assert re.findall(r"(?:Step|of column|is|place|row) (\d)\b(?!/)", words) == list("004011410")
    (_, a, b, _), (_, *upper), (_, _, *middle), (_, _, _, last) = factors[2], *factors
    assert words.endswith(f"is {a} · {shown(upper)} + {b} · {shown([0, *middle])} + 1 · {shown([0, 0, last])} = {shown(matrix[0])}: row 0 of A.")


def shown(vector):
    return f"({', '.join(map(str, vector))})"


def fdtd(rows, words, numbers):
    fields = [row[1:] for row in rows if "$" in str(row[0])]
    assert rows[0][1:] == rows[3][1:] == list(range(5))
    h, e, half, told = [0] * 4, [0] * 5, Fraction(1, 2), []
    for step, source in enumerate((8, 4)):
        new_h, new_e = fields[2 * step][:4], fields[2 * step + 1]
        assert new_h == [source if i == 1 else h[i] + half * (e[i] - e[i + 1]) for i in range(4)]
        assert new_e[1:4] == [e[i] + half * (new_h[i - 1] - new_h[i]) for i in range(1, 4)] and new_e[0] == new_e[4] == 0
        told += [step + 1, 2, h[2], 1, 2, e[3], e[2], new_h[2], 1, e[1], 1, 2, new_h[1], new_h[0], new_e[1]]
        h, e = new_h, new_e
    assert numbers == [4, 0, 5, 1, 2, 1, 8, 4, 0, 4, 0, *range(5), *range(4), *map(abs, told)]


def cg(rows, words, numbers):
    value = {row[1]: row[2:] for row in rows[1:]}
    a, b, x, r, p = [[4, 1], [1, 3]], [1, 2], [0, 0], [1, 2], [1, 2]
    assert rows[0][2:] == ["iteration 1", "iteration 2"] and [row[0] for row in rows[1:]] == list(range(1, 9))
    for at in range(2):
        q, pq, alpha, new_x, new_r, rr, beta, new_p = (value[name][at] for name in (
            "q = A p", "p · q", "α = r · r / (p · q)", "x + α p", "r − α q", "the new r · r", "β", "r + β p"))
        assert q == [dot(line, p) for line in a] and pq == dot(p, q) and alpha * pq == dot(r, r)
        assert new_x == [u + alpha * v for u, v in zip(x, p)] and new_r == [right - dot(line, new_x) for right, line in zip(b, a)]
        assert rr == dot(new_r, new_r) == beta * dot(r, r) and new_p == [u + beta * v for u, v in zip(new_r, p)]
        x, r, p = new_x, new_r, new_p
    first = [abs(part) for name in ("r + β p", "r − α q") for one in value[name][0] for part in one.as_integer_ratio()]
    assert r == [0, 0] and dot(value["r + β p"][0], value["q = A p"][0]) == 0
    assert numbers == [*a[0], *a[1], *b, 0, 0, dot(b, b), 2, *first]


def check(lab, text):
    words = words_of(text)
    for sides in equations(words):
        assert len(set(sides)) == 1, sides
    lab(rows_of(text), words, [Fraction(one) for one in re.findall(r"[0-9]+(?:\.[0-9]+)?", words)])


@pytest.mark.parametrize("lab", [saxpy, reduction, matmul, spmv, streams, tridiagonal, lu, fdtd, cg])
def test_an_example_by_hand_is_right_and_each_digit_counts(lab):
    path, = ROOT.glob(f"labs/*_{lab.__name__}/PATH.md")
    text = example_of(path)
    check(lab, text)
    assert equations(words_of(text)) or lab in (reduction, cg)
    for digit in re.finditer("[0-9]", text):
        with pytest.raises((AssertionError, ValueError, ZeroDivisionError, TypeError, KeyError, IndexError)):
            check(lab, f"{text[:digit.start()]}{(int(digit[0]) + 1) % 10}{text[digit.end():]}")


def test_the_matrix_from_practice_is_fetched_by_one_command_and_converges_as_the_page_says(scratch):
    fetch = ROOT / "tools/fetch-matrix"
    refused(subprocess.run([fetch, "."], cwd=scratch, capture_output=True, text=True, check=False), "takes no arguments")
    fetched = subprocess.run([fetch], cwd=scratch, capture_output=True, text=True, check=False)
    if fetched.returncode:
        refused(fetched, "fetch")
        pytest.skip(fetched.stderr)
    assert os.listdir(scratch) == ["lund_a.mtx"]
    page = (ROOT / "labs/09_cg/MEASURED.md").read_text(encoding="utf-8")
    plain, jacobi = re.search(r"rise and fall for (\d+) iterations, with Jacobi for (\d+)", page).groups()
    rows, taken = 147, []
    for options, name, iterations in (([], "cg-lund", plain), (["--preconditioner", "jacobi"], "cg-lund-jacobi", jacobi)):
        measured = (ROOT / f"docs/results/cpu/{name}.csv").read_text(encoding="utf-8").splitlines()[-1]
        assert measured.split(",")[1] == iterations, f"the page and {name}.csv"
        run = passed(built("cg"), "--matrix", scratch / "lund_a.mtx", "--variant", "cpu_sequential", *options)
        taken.append(int(re.search(r"converged after (\d+) iterations", run.stdout)[1]))
    assert taken[1] < rows < taken[0], "what the page explains; the exact numbers follow from how a processor rounds"
    assert " 0 wrong" in passed(built("spmv"), "--matrix", scratch / "lund_a.mtx", "--backend", "cpu,opencl").stdout
