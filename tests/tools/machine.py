"""Machines that tests make up: a PATH with nothing but a few programs, and fakes among them; and tools run in this process."""

import contextlib
import io
import os
import runpy
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, run

PROGRAMS = "bash sed awk wc ls paste grep cat uname getconf head id mktemp rm mkdir dirname env cksum tr"


class Machine:
    """A folder with `bin`, which a PATH can begin with or consist of, and `copy`, for a copy of ./lab."""

    def __init__(self, scratch):
        self.scratch, self.bin, self.copy = scratch, scratch / "bin", scratch / "copy"
        self.called = scratch / "called"  # where fakes write their calls
        self.bin.mkdir()
        self.environment = {"scratch": scratch, "PATH": f"{self.bin}:{os.environ['PATH']}", "GPULAB_INSTALL": "no", "CI": None}

    def bare(self, more=""):
        """From now on there is nothing but these programs."""
        for program in (PROGRAMS + " " + more).split():
            (self.bin / program).symlink_to(shutil.which(program))
        self.environment["PATH"] = self.bin

    def fake(self, program, script):
        path = self.bin / program
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def lab(self, folder):
        """A copy of ./lab with one lab."""
        (self.copy / "labs" / folder).mkdir(parents=True)
        (self.copy / "labs" / folder / "CMakeLists.txt").touch()
        for name in ("lab", "CMakeLists.txt"):
            shutil.copy(ROOT / name, self.copy)
        for name in ("tools", "cmake"):
            shutil.copytree(ROOT / name, self.copy / name)

    def run(self, *words, **environment):
        return run(*words, **{**self.environment, **environment})

    def run_lab(self, *words, **environment):
        return self.run(self.copy / "lab", *words, **environment)

    def calls(self, pattern, forget=False):
        """The calls of fakes that contain a text."""
        lines = self.called.read_text().splitlines() if self.called.exists() else []
        if forget:
            self.called.unlink(missing_ok=True)
        return [line for line in lines if pattern in line]


def machine_with_apt(scratch):
    """A machine with ./lab and one lab, a, where a compiler, CMake, Ninja and git are installed, and apt can install the rest.

    All of them are fakes, which write their calls into the file called. They are told what to do by variables: ID, the
    number of the user; UPDATE, what apt-get update prints (then it fails); INSTALL, the same for apt-get install.
    """
    machine = Machine(scratch)
    machine.bare("tee touch sort tput chmod cp mv ln tail")
    machine.lab("01_a")
    machine.fake("cmake", """
if [ "$1" = --version ]; then echo cmake version 9.9; exit; fi
echo cmake "$@" >>"$scratch/called"
build=$scratch/copy/build/default
mkdir -p "$build/bin"
if [ "$1" = -S ]; then
    touch "$build/build.ninja"
    echo "-- CUDA: off, ${CUDA_OFF:-GPULAB_CUDA is OFF}"
    echo GPULAB_WERROR:BOOL=OFF >"$build/CMakeCache.txt"
else
    echo "[1/2] Compiling"
    echo "[2/2] Linking"
    echo "#!/bin/sh" >"$build/bin/a"
    chmod +x "$build/bin/a"
fi""")
    machine.fake("apt-get", """
echo apt-get "$@" >>"$scratch/called"
case " $* " in
    *" update "*) [ -z "${UPDATE:-}" ] || { echo "$UPDATE"; exit 100; } ;;
    *" --assume-no "*) echo "Need to get 12 MB/312 MB of archives."
        echo "After this operation, 1203 MB of additional disk space will be used."; exit 1 ;;
    *" install "*) [ -z "${INSTALL:-}" ] || { echo "$INSTALL"; exit 100; }
        for program in clinfo oclgrind; do echo "#!/bin/sh" >"$scratch/bin/$program"; chmod +x "$scratch/bin/$program"; done ;;
esac""")
    machine.fake("apt-cache", 'echo "$2 | 9.0 | mirror"')
    machine.fake("id", 'echo "${ID:-0}"')
    for program in ("c++", "ninja", "git", "dpkg"):
        machine.fake(program, "")
    machine.environment.update(GPULAB_INSTALL=None, CMAKE_PREFIX_PATH=None)
    return machine


def run_here(program, *words):
    """Runs a tool in this process, as `run` does in another: sixty Pythons would read the same modules and files."""
    out, err, code = io.StringIO(), io.StringIO(), None
    with pytest.MonkeyPatch.context() as some, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        some.setattr(sys, "argv", [str(program), *words])
        some.setattr(sys, "path", [*sys.path])
        try:
            runpy.run_path(str(program), run_name="__main__")
        except SystemExit as ended:
            code = ended.code
    return subprocess.CompletedProcess([str(program), *words], code, out.getvalue(), err.getvalue())
