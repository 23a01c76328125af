"""The container file: a bare Debian, the two commands of the README, and packages that ./lab installs itself."""

import json
import os
import re
import shlex
import shutil

import pytest
from conftest import ROOT, passed, run

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
