"""./lab package-autograder and ./lab package-classroom: exercises as Gradescope and GitHub Classroom take them."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

from .exercises import load
from .fault import Fault, Parser, make_folder
from .handout import folder_for, write_tree

SETUP = """#!/usr/bin/env bash
# Gradescope runs this once, when it builds the image.
set -euo pipefail
cd /autograder/source
chmod 700 /autograder/source
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends python3 bubblewrap util-linux procps
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 is needed: choose Ubuntu 24.04" && exit 1; }
export GPULAB_MARCH=x86-64-v3 # the image runs on other machines
CI= bash repository/lab prepare-grading @LAB@
"""

RUN = """#!/usr/bin/env bash
# Gradescope runs this for each submission, in /autograder, and reads results/results.json.
set -uo pipefail
source=${GPULAB_AUTOGRADER:-/autograder}
chmod 700 "$source/source"
scratch=$(mktemp -d)
if PYTHONPATH=$source/source/repository/tools python3 -P -m grading "$source/source/repository" grade @LAB@ \\
    "$source/submission" --out "$scratch/out" --jobs 1 --metadata "$source/submission_metadata.json" >"$scratch/log" 2>&1; then
    cp "$scratch/out/submissions/submission/results.json" "$source/results/results.json"
else
    echo '{"score": 0, "output": "The submission could not be graded. Please tell your instructor."}' \\
        >"$source/results/results.json"
    cat "$scratch/log"
fi
rm -rf "$scratch"
"""

MISTAKES = "tests/mistakes/"  # needed to tell what was handed in as it was handed out: a repair exercise is one of them

WORKFLOW = """name: Autograding Tests
on: [push, workflow_dispatch]
permissions:
  contents: read
jobs:
  run-autograding-tests:
    runs-on: ubuntu-24.04
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v4
      - name: Test the exercises and report the points
        run: ./lab test
"""


def tracked(root: Path) -> list[str]:
    """The files of the repository that git knows, without results, pictures and answers. Others may be submissions, or a class's secret."""
    ran = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=False)
    if ran.returncode != 0:
        raise Fault("this folder is no git repository, so its files cannot be listed")
    left_out = ("tests/", "docs/results/", "docs/figures/", "docs/answers/", ".ci/", ".git")
    names = map(os.fsdecode, ran.stdout.split(b"\0"))
    return sorted(name for name in names if name.startswith(MISTAKES) or (name and not name.startswith(left_out)))


def put(archive: zipfile.ZipFile, name: str, content: bytes, executable: bool = False) -> None:
    """Adds a file without its date, so that the archive has the same bytes each time."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def autograder(root: Path, words: list[str]) -> int:
    parser = Parser(prog="./lab package-autograder", description="Makes the zip file that Gradescope takes as an autograder.")
    parser.add_argument("lab")
    parser.add_argument("file", metavar="FILE.zip")
    options = parser.parse_args(words)
    lab = load(root, options.lab)
    target = Path(options.file)
    if target.exists():
        raise Fault(f"{target} exists")
    if target.suffix != ".zip":
        raise Fault(f"{target} should end in .zip")
    names = tracked(root)
    new = target.with_name(f".{target.name}.new")
    try:
        with zipfile.ZipFile(new, "w") as archive:
            put(archive, "setup.sh", SETUP.replace("@LAB@", lab.name).encode(), True)
            put(archive, "run_autograder", RUN.replace("@LAB@", lab.name).encode(), True)
            for name in names:
                path = root / name
                own = (f"labs/{lab.folder}/", f"{MISTAKES}{lab.folder}.")
                if name.startswith(("labs/", MISTAKES)) and not name.startswith(own):
                    continue
                if path.is_file() and not path.is_symlink():
                    put(archive, f"repository/{name}", path.read_bytes(), os.access(path, os.X_OK))
        os.replace(new, target)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise Fault(f"cannot write {target}: {error.strerror}") from None
    print(target)
    return 0


def classroom(root: Path, words: list[str]) -> int:
    parser = Parser(
        prog="./lab package-classroom", description="Makes the template repository of an assignment in GitHub Classroom: "
        "the hand-out with a workflow that runs the visible tests at each push.")
    parser.add_argument("lab")
    parser.add_argument("folder", metavar="DIR", help="the folder to make; an existing one must be empty")
    options = parser.parse_args(words)
    lab = load(root, options.lab)
    target = folder_for(root, options.folder)

    def fill(new: Path) -> None:
        write_tree([lab], new)
        workflow = new / ".github" / "workflows" / "classroom.yml"  # where GitHub Classroom looks for points
        workflow.parent.mkdir(parents=True)
        workflow.write_text(WORKFLOW, encoding="utf-8")

    make_folder(target, fill)
    print(target)
    return 0
