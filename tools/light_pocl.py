"""Makes a copy of PoCL for the tests whose library of OpenCL's functions holds only those that kernels of this tree call.

A process that compiles a kernel reads this library first. It has 22,000 functions, one for each type; that takes 0.6 s of
the second that a small kernel needs, and hundreds of the tests' processes compile one. The copy is PoCL itself, with the same
code of each function. What it lacks makes a kernel fail to build.
"""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
VENDORS = pathlib.Path("/etc/OpenCL/vendors")
TEXTS = {".c", ".cl", ".cpp", ".cu", ".hpp", ".inc", ".md", ".py", ".toml", ".txt"}
NAME = re.compile(r'define [^@]*@"?([\w.$]+)')  # of a function of the library
LEVELS = ("avx512f", "avx2", "fma4", "f16c", "avx", "sse4_1", "ssse3", "sse2")  # of a CPU, as the kernel of the system says
LIBRARIES = {"avx512f": "avx512", "f16c": "avx_f16c", "fma4": "avx_fma4", "sse4_1": "sse41"}  # PoCL's words where others


def make(folder):
    """Makes it in a folder, which lives on: the next call makes it again only if other functions are called.
    @return what OCL_ICD_VENDORS has to be, or None where it cannot be made or does not work"""
    try:
        library = system_library()
        binary = library.read_bytes()
        clang = shutil.which("clang-" + re.search(rb"LLVM (\d+)", binary)[1].decode())
        data = library.parents[2] / "share/pocl"  # where a PoCL that can be moved looks, from where it is
        if b"RELOC" not in binary or not clang or not data.is_dir():
            return None
        functions = data / f"kernel-x86_64-pc-linux-gnu-{level()}.bc"
        called, known = called_functions(), folder / "functions.txt"
        state = f"{library} {library.stat().st_mtime} {functions}\n"
        if known.is_file():
            before, kept, names = known.read_text(encoding="utf-8").split("\n", 2)
            if before + "\n" == state and set(kept.split()) == called & set(names.split()):
                return folder / "vendors"
        shutil.rmtree(folder, ignore_errors=True)
        parts = folder / library.parent.relative_to(library.parents[2])
        share = folder / "share/pocl"
        for new in (parts, share, folder / "vendors"):
            new.mkdir(parents=True)
        for other in data.iterdir():
            (share / other.name).symlink_to(other)
        (share / functions.name).unlink()
        text = subprocess.run([clang, "-S", "-emit-llvm", "-x", "ir", functions, "-Xclang", "-disable-llvm-passes", "-o", "-"],
                              capture_output=True, text=True, check=True).stdout
        text, names = reduced(text, called)
        subprocess.run([clang, "-c", "-emit-llvm", "-x", "ir", "-", "-Xclang", "-disable-llvm-passes", "-o", share / functions.name],
                       input=text, capture_output=True, text=True, check=True)
        shutil.copy(library, parts / library.name)
        (parts / "pocl").symlink_to(library.parent / "pocl")
        for icd in VENDORS.glob("*.icd"):
            if "pocl" not in icd.name:
                shutil.copy(icd, folder / "vendors")
        write_place(folder)
        check = subprocess.run([sys.executable, __file__], env={**os.environ, "OCL_ICD_VENDORS": str(folder / "vendors"),
                                                              "POCL_CACHE_DIR": str(folder / "cache")}, check=False)
        if check.returncode != 0:
            return None
        known.write_text(f"{state}{' '.join(sorted(called & names))}\n{' '.join(sorted(names))}", encoding="utf-8")
        return folder / "vendors"
    except (OSError, TypeError, IndexError, ValueError, StopIteration, subprocess.CalledProcessError):
        return None


def write_place(folder):
    """Tells OpenCL's loader where the library is."""
    library = next(folder.resolve().glob("lib*/**/libpocl.so*"))
    (folder / "vendors/pocl.icd").write_text(f"{library}\n", encoding="utf-8")


def copied(folder):
    """Makes another copy of what the tests use, for programs that can read a few folders only.
    @return the folder, or None where the tests use the system's PoCL"""
    made = pathlib.Path(os.environ.get("OCL_ICD_VENDORS", "")).parent
    if not (made / "functions.txt").is_file():
        return None
    shutil.copytree(made, folder, symlinks=True, ignore=shutil.ignore_patterns("cache"))
    write_place(folder)
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
    """Whatever stands before a parenthesis in a file that holds OpenCL."""
    found = set()
    for part in ("labs", "common", "tests", "tools", "docs"):
        for path in (ROOT / part).rglob("*"):
            if path.suffix in TEXTS and path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                if path.suffix in (".cl", ".toml") or "kernel void" in text:
                    found |= set(re.findall(r"(\w+)\s*\(", text))
    return found


def called_as(function):
    """How a kernel calls a function of the library: its name without types and PoCL's prefix."""
    mangled = re.match(r"_Z(\d+)", function)
    name = function[mangled.end():mangled.end() + int(mangled[1])] if mangled else function
    return name.removeprefix("_cl_")


def reduced(text, called):
    """The text of the library with the functions that are called, and those that these call; and all names in it."""
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
    return head + "".join(bodies[name] for name in bodies if name in kept) + "".join(rest), set(map(called_as, bodies))


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
