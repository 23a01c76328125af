"""The tests of tools/concordance: the list of the texts' items, and what the page says of it."""

import pytest
from conftest import LABS, ROOT, Files, passed, refused
from machine import run_here

READS_ALL = True  # see judged_once.py

SOURCES = """[[text]]
name = "Book"
also = ["Alfaro & Rossetto"]
about = "A book"
bare = "program"

[text.items]
"program 1.1" = { what = "a loop" }
"programs 1.2 to 1.4" = { what = "threads" }
"section 1.3.2" = { what = "barriers", words = "lane", at = ["one study divergence", "one question 2", "one exercise 1", "docs/kernels.md#lane"] }
"table 2.1" = { what = "times" }
"figure 2.2" = { what = "a tree", open = "no picture; one would close it" }
"chapter 5" = { what = "the end", words = "all", at = ["README.md"] }
"exercise 2.3" = { what = "a scan", words = "study, table-2-1", at = ["one cuda_b", "mistake one cuda-wrong", "labs/01_one/README.md#run-it"] }

[[text]]
name = "Blog"
about = "A post"
bare = ""

[text.items]
"program 1" = { what = "rows" }
"""
FAULTS = """# What the texts get wrong

## Book

- <a name="book-1"></a>**Programs 1.1 and 1.3** are wrong (`cuda-wrong`, `cuda_b`).

## Blog

- <a name="blog-1"></a>**Program 1** is wrong.
"""
README = """# Lab 01: one

## Run it

| study | |
|---|---|
| `divergence`, `table-2-1` | |

## Questions

1. Why?
2. How?

## Exercises

1. Core: do it.
"""


class Tree(Files):
    """A small repository with the tool."""

    def __init__(self, folder):
        super().__init__(folder, {
            "docs/sources.toml": SOURCES, "docs/texts-faults.md": FAULTS, "labs/01_one/README.md": README,
            "README.md": "# All\n", "docs/kernels.md": '# Words\n\n- <a name="lane"></a>**Lane**: one\n',
            "labs/01_one/rungs.inc": 'CUDA_RUNG(cuda_a, "a")\nCUDA_RUNG(cuda_b, "b")\n',
            "labs/01_one/cuda/01_a.cu": "// Rung 1. (Alfaro & Rossetto,\n// programs 1.1, 1.2 and 1.4; Blog, program 1)\nvoid cuda_a(int) {}\n",
            "labs/01_one/cuda/02_b.cu": "// Rung 2: table 2.1 of the book. (Other 2013, section 9.9; Book, section 5)\nvoid cuda_b(int) {}\n",
            "tests/labs/01_one/test_one.cpp": 'TEST_CASE("the book\'s figure 2.2 and exercise 2.3") {}\n',
            "tests/mistakes/01_one.toml": '["cuda/01_a.cu".cuda-wrong]\n',
        })
        self.copy("tools/concordance", "tools/grading/__init__.py", "tools/grading/rows.py", "docs/pages/repository.py")

    def run(self, *words):
        return run_here(self.path("tools/concordance"), *words)


@pytest.fixture
def tree(scratch):
    return Tree(scratch)


def test_the_concordance_is_up_to_date_and_every_item_has_its_place():
    if len(LABS) < 9:
        pytest.skip("not all labs are here")
    assert passed(ROOT / "tools/concordance", "--check").stdout.startswith("items: ")


def test_a_page_has_what_list_code_and_faults_say(tree):
    assert tree.run().stdout == "items: 8, of which 1 are open\n"
    page = tree.read("docs/concordance.md")
    for row in (
        "| program 1.1 | a loop | [one: cuda_a](../labs/01_one/cuda/01_a.cu) | [fault](texts-faults.md#book-1) |",
        "| programs 1.2 to 1.4 | threads | [one: cuda_a](../labs/01_one/cuda/01_a.cu) | [fault](texts-faults.md#book-1) |",
        "| section 1.3.2 | barriers | [one: study divergence](../labs/01_one/README.md#run-it), [one: question 2]"
        "(../labs/01_one/README.md#questions), [one: exercise 1](../labs/01_one/README.md#exercises), [lane](kernels.md#lane) |  |",
        "| table 2.1 | times | [one: cuda_b](../labs/01_one/cuda/02_b.cu), [one: study table-2-1](../labs/01_one/README.md#run-it) |  |",
        "| figure 2.2 | a tree | [tests/labs/01_one/test_one.cpp](../tests/labs/01_one/test_one.cpp). *Open:* no picture; one would close it |  |",
        "| chapter 5 | the end | [README.md](../README.md), [one: cuda_b](../labs/01_one/cuda/02_b.cu) |  |",
        "| program 1 | rows | [one: cuda_a](../labs/01_one/cuda/01_a.cu) | [fault](texts-faults.md#blog-1) |",
    ):
        assert row in page.split("\n"), f"no row '{row}' in:\n{page}"
    assert "[one: mistake cuda-wrong](../tests/mistakes/01_one.toml), [one: Run it](../labs/01_one/README.md#run-it)" in page
    assert tree.run("--check").returncode == 0


RUNG, LIST = "labs/01_one/cuda/01_a.cu", "docs/sources.toml"


@pytest.mark.parametrize(("file", "old", "new", "told_of"), [
    (RUNG, "programs 1.1,", "programs", "Book, program 1.1: it has no place, and nothing says why"),
    (RUNG, "1.1, 1.2", "1.1, 1.9", f"{RUNG}: names program 1.9 of Book, which {LIST} does not list"),
    (RUNG, "Rossetto,\n//", "Rossetto, exercise 8.8,\n//", f"{RUNG}: names exercise 8.8 of Book"),
    (RUNG, "Blog, program 1", "Blog, program 3", f"{RUNG}: names program 3 of Blog"),
    ("labs/01_one/cuda/02_b.cu", "table 2.1", "table 2.3", "names table 2.3 of Book"),
    ("tests/labs/01_one/test_one.cpp", "figure 2.2", "figures 2.2 to 2.4", "names figure 2.4 of Book"),
    ("labs/01_one/README.md", "table-2-1", "figure-2-9", "study figure-2-9: Book has no figure 2.9 in docs/sources.toml"),
    (LIST, "one cuda_b", "one cuda_c", "Book, exercise 2.3: there is no 'one cuda_c'"),
    ("labs/01_one/rungs.inc", 'CUDA_RUNG(cuda_b, "b")', "", "there is no 'one cuda_b'"),
    (LIST, "study divergence", "study convergence", "there is no 'one study convergence'"),
    (LIST, "question 2", "question 3", "there is no 'one question 3'"),
    (LIST, "exercise 1\"", "exercise 2\"", "there is no 'one exercise 2'"),
    (LIST, "mistake one cuda-wrong", "mistake one cuda-right", "there is no 'mistake one cuda-right'"),
    (LIST, "kernels.md#lane", "kernels.md#lanes", "there is no 'docs/kernels.md#lanes'"),
    (LIST, "README.md#run-it", "README.md#run", "there is no 'labs/01_one/README.md#run'"),
    (LIST, "docs/kernels.md#lane", "docs/words.md", "there is no 'docs/words.md'"),
    (LIST, 'words = "all", ', "", "Book, chapter 5: name the words that stand on its page"),
    (LIST, "study, table-2-1", "study, Core", "Book, exercise 2.3: nothing says Core at labs/01_one/README.md#run-it"),
    (LIST, '"lane"', '"lane, words"', "Book, section 1.3.2: nothing says words at docs/kernels.md#lane"),
    (LIST, "figure 2.2\" = { what", "figure 2.2\" = { words = \"a tree\", what", "Book, figure 2.2: nothing says a tree at a page"),
    ("docs/texts-faults.md", "Programs 1.1", "Programs 1.5", "names program 1.5 of Book"),
    ("docs/texts-faults.md", "`cuda-wrong`", "`cuda-other`", "'cuda-other' is no variant, study or mistake"),
    ("docs/concordance.md", "a loop", "a cycle", "docs/concordance.md is not up to date: run tools/concordance"),
])
def test_what_does_not_fit_is_told(tree, file, old, new, told_of):
    assert tree.run().returncode == 0
    tree.change(file, old, new)
    found = tree.run("--check")
    assert found.returncode == 1 and told_of in found.stderr and not found.stdout, found


def test_with_a_fault_no_page_is_written(tree):
    tree.change(LIST, "one cuda_b", "one cuda_c")
    assert tree.run().returncode == 1 and not tree.path("docs/concordance.md").exists()


def test_bad_input_is_one_line(tree):
    refused(tree.run("--chek"), "--check")
    tree.change(LIST, '[text.items]\n"program 1.1"', '[text.items\n"program 1.1"')
    refused(tree.run(), LIST)
