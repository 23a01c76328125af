"""Ways in from elsewhere. The container files: a bare Debian, the commands of the README, and packages that ./lab installs itself.
The notebook for Colab."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from conftest import BUILD, ROOT, built, passed, run

READS_ALL = True  # see judged_once.py

FILE = (ROOT / "Containerfile").read_text(encoding="utf-8")
LINES = [line.split(maxsplit=1) for line in FILE.splitlines() if line and not line.startswith("#")]


def commands_of_the_readme():
    """Those that the README calls two."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"two commands:\n\n((?:    .*\n)+)", text)[1]
    return [line.split("#")[0].strip() for line in block.splitlines()]


def test_it_runs_the_two_commands_of_the_readme_on_the_debian_that_it_names():
    assert [word for word, _ in LINES] == ["FROM", "WORKDIR", "ENV", "COPY", "RUN", "CMD"]
    told = dict(LINES)
    assert told["ENV"] == "GPULAB_MARCH=x86-64-v3", "it runs on the processor alone on which it was built"
    assert [told["RUN"], shlex.join(json.loads(told["CMD"]))] == commands_of_the_readme()
    name, version = told["FROM"].split(":")
    oldest = re.search(r"On Debian \((\d+) or newer\)", (ROOT / "README.md").read_text(encoding="utf-8"))[1]
    assert (name, version) == ("debian", oldest)


def test_packages_come_from_lab_alone():
    assert not re.search(r"\b(apt|apt-get|pip|curl|wget)\b", "\n".join(" ".join(line) for line in LINES))


def test_codespaces_and_vs_code_begin_with_the_same_debian_and_the_first_of_the_two_commands():
    told = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    assert told["image"] == dict(LINES)["FROM"] and told["onCreateCommand"] == commands_of_the_readme()[0], told
    assert told["remoteUser"] == "root" and told["hostRequirements"] == {"gpu": "optional"}, "it may neither install nor use a GPU"


def test_it_gets_nothing_that_was_built_here():
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split("\n") if line.startswith("/")}
    left_out = set((ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines())
    assert ignored and ignored <= left_out, ignored - left_out
    tracked = passed("git", "ls-files", cwd=ROOT).stdout.split()
    assert not [name for name in tracked if name.split("/")[0] in left_out], "something that the labs need is left out"


def test_the_page_that_names_it_says_the_words_of_its_comment():
    words = re.findall(r"(?m)^#     (podman .*?)(?: {2,}#.*)?$", FILE)
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(words) == 3 and words[0] in page and words[1] in page


def test_it_builds_and_runs_a_lab():
    """Minutes, and an image from a registry: only where GPULAB_TEST_CONTAINER names the program, podman or docker."""
    program = os.environ.get("GPULAB_TEST_CONTAINER")
    if not program or not shutil.which(program):
        pytest.skip("GPULAB_TEST_CONTAINER names no program that builds containers")
    passed(program, "build", "-f", ROOT / "Containerfile", "-t", "gpu-labs-test", ROOT)
    done = run(program, "run", "--rm", "gpu-labs-test", "./lab", "run", "saxpy", "--n", "1000")
    assert done.returncode == 0 and "opencl_one_item" in done.stdout, done


# ./lab in the clone, without building: here only what is built already is run.
LAB = """#!/bin/bash
case $1 in
    setup) ;;
    run) exec "{build}/bin/$2" --n 1e5 "${{@:3}}" ;;
    start) exec "{python}" -B "{root}/tools/start" "{root}" "{build}" start "${{@:2}}" ;;
    *) exec "{root}/lab" "$@" ;;
esac
"""


def test_the_cells_of_the_notebook_clone_set_up_run_lab_01_and_begin_the_puzzles_in_cuda(scratch):
    """Each line that begins with ! is a command of bash, and NAME = "text" gives {NAME} in these a value."""
    built("saxpy")
    if run("git", "rev-parse", cwd=ROOT).returncode:
        pytest.skip("no checkout")
    notebook = json.loads((ROOT / "docs/colab.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook["cells"]), "somebody's results are in it"
    values, printed, environment = {}, {}, {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GPULAB_EMULATOR": ""}
    for line in "\n".join(cells).splitlines():
        if name := re.fullmatch(r'(\w+) = "(.*)"  # @param {type:"string"}', line):
            values[name[1]] = ROOT
            assert name[2] == "", "whose address is it?"
            continue
        assert line.startswith("!"), f"the reader does not know this line: {line}"
        command = line[1:].format(**values)
        done = subprocess.run(["bash", "-c", command], cwd=scratch, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        printed[command] = done.stdout
        puzzle = "./lab start" in command
        if puzzle and not (BUILD / "bin/start_cuda").is_file():
            continue
        assert done.returncode == (1 if puzzle else 0), done
        assert not puzzle or "Puzzle 1 of 16" in done.stdout and "unsolved  1_one_item.cu" in done.stdout, done
        lab = scratch / "gpu-labs/lab"
        assert lab.is_file() and os.access(lab, os.X_OK), done
        lab.write_text(LAB.format(build=BUILD, root=ROOT, python=sys.executable), encoding="utf-8")
    assert [words for command in printed for words in re.findall(r"\./lab (.*?)(?: <.*)?$", command)] == \
        ["setup", "doctor", "run saxpy", "start --cuda", "list"], "each command has its place"
    assert re.search(r"(?m)^ *cuda_raw +.* (right|skipped)", next(text for command, text in printed.items() if "saxpy" in command))
