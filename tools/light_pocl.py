"""Makes a copy of PoCL for the tests whose library of OpenCL's functions holds only those that kernels of this tree call.

A process that compiles a kernel reads this library first. It has 22,000 functions, one for each type; that takes 0.6 s of
the second that a small kernel needs, and hundreds of the tests' processes compile one. The copy is PoCL itself, with the same
code of each function. What it lacks makes a kernel fail to build.
"""

import ctypes
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
VENDORS = pathlib.Path("/etc/OpenCL/vendors")
FOLDER = "light_pocl"  # of a build, for all that are made
DAY = 24 * 3600
TEXTS = {".c", ".cl", ".cpp", ".cu", ".hpp", ".inc", ".md", ".py", ".toml", ".txt"}
NAME = re.compile(r'define [^@]*@"?([\w.$]+)')  # of a function of the library
LEVELS = ("avx512f", "avx2", "fma4", "f16c", "avx", "sse4_1", "ssse3", "sse2")  # of a CPU, as the kernel of the system says
LIBRARIES = {"avx512f": "avx512", "f16c": "avx_f16c", "fma4": "avx_fma4", "sse4_1": "sse41"}  # PoCL's words where others


def make(folder):
    """Makes it in a new folder below this one, or finds the one made before. Others keep theirs: runs may overlap.
    @return what OCL_ICD_VENDORS has to be, or None where it cannot be made or does not work"""
    new = None
    try:
        library = system_library()
        binary = library.read_bytes()
        clang = shutil.which("clang-" + re.search(rb"LLVM (\d+)", binary)[1].decode())
        data = library.parents[2] / "share/pocl"  # where a PoCL that can be moved looks, from where it is
        functions = data / f"kernel-x86_64-pc-linux-gnu-{level()}.bc"
        if b"RELOC" not in binary or not clang or not functions.is_file():
            return None
        called = called_functions()
        others = {icd.name: icd.read_text(encoding="utf-8") for icd in sorted(VENDORS.glob("*.icd")) if "pocl" not in icd.name}
        state = repr((str(folder.resolve()), str(library), library.stat().st_mtime, str(functions), sorted(others.items()), sorted(called)))
        made = folder.resolve() / hashlib.sha256(state.encode()).hexdigest()[:16]
        if made.is_dir():
            os.utime(made)
            return made / "vendors"
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if time.time() - old.stat().st_mtime > DAY:
                shutil.rmtree(old, ignore_errors=True)
        new = pathlib.Path(tempfile.mkdtemp(dir=folder))
        parts, share, vendors = new / library.parent.relative_to(library.parents[2]), new / "share/pocl", new / "vendors"
        for one in (parts, share, vendors):
            one.mkdir(parents=True)
        for other in data.iterdir():
            if other != functions:
                (share / other.name).symlink_to(other)
        text = subprocess.run([clang, "-S", "-emit-llvm", "-x", "ir", functions, "-Xclang", "-disable-llvm-passes", "-o", "-"],
                              capture_output=True, text=True, check=True).stdout
        subprocess.run([clang, "-c", "-emit-llvm", "-x", "ir", "-", "-Xclang", "-disable-llvm-passes", "-o", share / functions.name],
                       input=reduced(text, called), capture_output=True, text=True, check=True)
        shutil.copy(library, parts / library.name)
        (parts / "pocl").symlink_to(library.parent / "pocl")
        for name, text in others.items():
            (vendors / name).write_text(text, encoding="utf-8")
        write_place(new, new)
        subprocess.run([sys.executable, __file__], env={**os.environ, "OCL_ICD_VENDORS": str(vendors), "POCL_CACHE_DIR": str(new / "cache")},
                       check=True)
        shutil.rmtree(new / "cache")
        write_place(new, made)
        for path in (new, *new.rglob("*")):  # also for the users of a sandbox, whatever the umask
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() else 0o644)
        new.rename(made)
        return made / "vendors"
    except (OSError, TypeError, IndexError, StopIteration, subprocess.CalledProcessError):
        if new and (made / "vendors").is_dir():  # another run was faster
            return made / "vendors"
        return None
    finally:
        if new:
            shutil.rmtree(new, ignore_errors=True)


def write_place(folder, place):
    """Tells OpenCL's loader where the library is, once this folder is in its place."""
    library = next(folder.glob("lib*/**/libpocl.so*")).relative_to(folder)
    (folder / "vendors/pocl.icd").write_text(f"{place.resolve() / library}\n", encoding="utf-8")


def copied(folder):
    """Makes another copy of what the tests use, for programs that can read a few folders only.
    @return the folder, or None where the tests use the system's PoCL"""
    made = pathlib.Path(os.environ.get("OCL_ICD_VENDORS", "")).parent
    if made.parent.name != FOLDER:
        return None
    shutil.copytree(made, folder, symlinks=True)
    write_place(folder, folder)
    return folder


def system_library():
    """The file of PoCL that OpenCL's loader takes."""
    name = (VENDORS / "pocl.icd").read_text(encoding="utf-8").strip()
    return next(path for path in (pathlib.Path(name), *pathlib.Path("/usr/lib").glob(f"*/{name}")) if path.is_absolute() and path.exists())


def level():
    """What the CPU can do, as PoCL calls it in the names of its libraries."""
    flags = re.search(r"(?m)^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))[1].split()
    best = next(level for level in LEVELS if level in flags)
    return LIBRARIES.get(best, best)


def called_functions():
    """Whatever stands before a parenthesis in a file that may hold OpenCL: tests in Python put kernels together out of pieces."""
    found = set()
    for part in ("labs", "common", "tests", "tools", "docs"):
        for path in (ROOT / part).rglob("*"):
            if path.suffix in TEXTS and path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                if path.suffix in (".cl", ".py", ".toml") or "kernel void" in text:
                    found |= set(re.findall(r"(\w+)\s*\(", text))
    return found


def called_as(function):
    """How a kernel calls a function of the library: its name without types and PoCL's prefix."""
    mangled = re.match(r"_Z(\d+)", function)
    name = function[mangled.end():mangled.end() + int(mangled[1])] if mangled else function
    return name.removeprefix("_cl_")


def reduced(text, called):
    """The text of the library with the functions that are called, and those that these call."""
    head, *functions = re.split(r"(?m)^(?=define )", text)
    bodies, rest = {}, []
    for function in functions:
        end = function.index("\n}\n") + 3
        bodies[NAME.match(function)[1]] = function[:end]
        rest.append(function[end:])
    kept, left = set(), [name for name in bodies if not name.startswith("_Z") or called_as(name) in called]
    while left:
        name = left.pop()
        if name not in kept:
            kept.add(name)
            left += [other for other in re.findall(r"@([\w.$]+)", bodies[name]) if other in bodies]
    return head + "".join(bodies[name] for name in bodies if name in kept) + "".join(rest)


def build_a_kernel():
    """Builds a kernel on PoCL, and returns OpenCL's error code."""
    cl, text = ctypes.CDLL("libOpenCL.so.1"), b"kernel void roots(global float *a) { a[get_global_id(0)] = sqrt(a[0]); }"
    pointer, number = ctypes.c_void_p, ctypes.c_uint
    platforms, count, error = (pointer * 16)(), number(), ctypes.c_int()
    cl.clGetPlatformIDs(16, platforms, ctypes.byref(count))
    for platform in platforms[:count.value]:
        name, device = ctypes.create_string_buffer(200), pointer()
        cl.clGetPlatformInfo(pointer(platform), 0x0902, 200, name, None)
        if b"Portable" not in name.value or cl.clGetDeviceIDs(pointer(platform), ctypes.c_ulong(2), 1, ctypes.byref(device), None):
            continue
        cl.clCreateContext.restype = cl.clCreateProgramWithSource.restype = pointer
        context = cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error))
        program = cl.clCreateProgramWithSource(pointer(context), 1, ctypes.byref(ctypes.c_char_p(text)), None, ctypes.byref(error))
        return cl.clBuildProgram(pointer(program), 1, ctypes.byref(device), b"-cl-std=CL1.2", None, None)
    return 1


if __name__ == "__main__":
    sys.exit(build_a_kernel() != 0)
