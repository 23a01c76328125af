"""The complete programs of the labs: a student copies one file, compiles it with the line that a page shows, and runs it."""

import re
import shutil
import subprocess

import pytest
from conftest import ROOT, run


def compiled(scratch, source, page, change=lambda text: text):
    """Compiles a copy of the file with the line of the page, which the file itself shows too. The path of the program.
    Skips without the compiler."""
    source = ROOT / source
    line = re.search(rf"(?m)^    (\S+ {re.escape(source.name)} .*)$", (ROOT / page).read_text(encoding="utf-8"))[1]
    text = source.read_text(encoding="utf-8")
    assert f"//     {line}\n" in text
    (scratch / source.name).write_text(change(text), encoding="utf-8")
    if not shutil.which(line.split()[0]):
        pytest.skip(f"no {line.split()[0]}")
    done = subprocess.run(line, shell=True, cwd=scratch, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert source.name not in done.stdout + done.stderr, done  # no warning about a line of the file
    return scratch / line.split()[-1]


def changed(old, new):
    """Puts `new` in the place of the only `old`."""
    def change(text):
        assert text.count(old) == 1, old
        return text.replace(old, new)
    return change


def ends_with(done, exit_code, *words):
    """A program that ended with this code and one line on stderr, with these words."""
    assert done.returncode == exit_code and done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), done
    assert not [word for word in words if word not in done.stderr], done


def gpu():
    return bool(shutil.which("nvidia-smi")) and run("nvidia-smi", "-L").returncode == 0
