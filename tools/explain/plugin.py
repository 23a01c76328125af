"""Builds the plugin for Oclgrind (counts.cpp). As a program it prints the plugin's place: plugin.py ROOT BUILD."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from command import Refusal, refusing


def plugin(root, build):
    """The plugin, compiled when it is first used or when something has changed."""
    source = root / "tools/explain/counts.cpp"
    library = oclgrind_library()
    needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=False).stdout
    version = re.search(r"libLLVM-?(?:\.so\.)?(\d+)", needed)
    headers = Path(f"/usr/lib/llvm-{version[1]}/include") if version else Path("/nonexistent")
    if not (headers / "llvm/IR/Instructions.h").is_file() or not Path("/usr/include/oclgrind/Plugin.h").is_file():
        package = f"llvm-{version[1]}-dev" if version else "llvm-dev"
        raise Refusal(f"the headers of Oclgrind and LLVM are missing: install the packages liboclgrind-dev and {package}")
    made = build / "explain/libcounts.so"
    if made.is_file() and made.stat().st_mtime > max(source.stat().st_mtime, Path(library).stat().st_mtime):
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    print("explain: building its plugin for Oclgrind, once", file=sys.stderr)
    compiler = os.environ.get("CXX", "c++").split()
    with tempfile.NamedTemporaryFile(dir=made.parent, suffix=".so", delete=False) as unfinished:
        command = [*compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-fno-rtti", "-isystem", "/usr/include/oclgrind",
                   "-isystem", str(headers), str(source), "-o", unfinished.name]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        Path(unfinished.name).unlink(missing_ok=True)
        raise Refusal(f"the plugin for Oclgrind does not compile: {first_error(ran.stderr)}")
    Path(unfinished.name).rename(made)
    return made


def first_error(text):
    lines = text.splitlines() or ["the compiler gives no reason"]
    return next((line for line in lines if "error" in line), lines[0])


def oclgrind_library():
    program = shutil.which("oclgrind")
    if not program:
        raise Refusal("explain runs kernels in Oclgrind, which is not installed (package oclgrind of Debian 12 and Ubuntu; "
                      "Debian 13 has none)")
    for folder in (Path(program).resolve().parents[1] / "lib", Path("/usr/lib"), *Path("/usr/lib").glob("*-linux-gnu")):
        for library in sorted(folder.glob("liboclgrind*.so*")):
            if "-rt" not in library.name:
                return str(library)
    raise Refusal("the library liboclgrind.so is not where Oclgrind's program is")


if __name__ == "__main__":
    sys.exit(refusing(lambda: print(plugin(Path(sys.argv[1]), Path(sys.argv[2])))))
