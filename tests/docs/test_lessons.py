"""The lessons: what stands below <!-- run --> is run, and what the page shows is what the commands print.

The blocks of a page are one session, in a folder that looks like the project's. `...` in a page stands for any lines, also none.
Where a page shows nothing else, the command has to succeed. Below <!-- run GPU --> is what a GPU printed once.
"""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from complete import gpu
from conftest import BUILD, ROOT, passed, run

sys.path.insert(0, str(ROOT / "tools/explain"))
import run as explain_run  # noqa: E402
from command import Refusal  # noqa: E402

LESSONS = ROOT / "docs/lessons"
PAGES = sorted(page.stem for page in LESSONS.glob("*.md") if page.name != "README.md")
BLOCK = re.compile(r"^<!-- run ?(.*?) -->\n((?:    .*\n)+)", re.MULTILINE)
# ./lab without its building: here only what is built already is run.
LAB = """#!/bin/bash
case $1 in
    run) exec "{build}/bin/$2" "${{@:3}}" ;;
    explain) exec "{python}" -B "{root}/tools/explain" "{root}" "{build}" "${{@:2}}" ;;
    *) exec "{root}/lab" "$@" ;;
esac
"""


def blocks(text):
    """What each marked block needs, and its commands, each with the lines that it shall print."""
    found = []
    for needs, block in BLOCK.findall(text):
        commands = []
        for line in block.splitlines():
            if line.startswith("    $ "):
                commands.append((line[6:], []))
            else:
                commands[-1][1].append(line[4:].rstrip())
        found.append((needs, commands))
    return found


def lacking(needs, commands):
    """Why a block cannot be run here, or ""."""
    text = "\n".join(command for command, _ in commands)
    if needs == "GPU":
        return "what a GPU printed"
    for program in ("oclgrind", "g++"):
        if program in text and not shutil.which(program):
            return f"no {program}"
    for module in re.findall(r"saxpy_(\w+)\.py", text):
        if run("/usr/bin/python3", "-c", f"import {module}").returncode:
            return f"no {module}"
    if "-ltbb" in text and run("g++", "-shared", "-ltbb", "-o", "/dev/null").returncode:
        return "no TBB"
    for lab in re.findall(r"\./lab run (\w+)", text):
        if not (BUILD / "bin" / lab).is_file():
            return f"{lab} has not been built"
    if "./lab plot" in text and not any(run(python, "-c", "import matplotlib").returncode == 0 for python in (
            "python3", "/usr/bin/python3")):
        return "no matplotlib"
    if re.search(r"g\+\+.*OpenCL|\./lab run.*opencl", text):
        probe = "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\nint main() { cl_uint n = 0; return clGetPlatformIDs(0, 0, &n) || !n; }"
        made = subprocess.run("g++ -x c++ - -lOpenCL -o probe && ./probe; code=$?; rm -f probe; exit $code", shell=True, input=probe,
                              text=True, capture_output=True, check=False, cwd=os.environ.get("TMPDIR", "/tmp"))
        if made.returncode:
            return "no OpenCL to compile with and to run on"
    if needs:  # a compiler whose figures the page shows
        name, _, version = needs.partition(" ")
        told = run(name, "--version").stdout if shutil.which(name) else ""
        compiled = BUILD / "compile_commands.json"
        if f"release {version}," not in told or not compiled.is_file() or ".cu" not in compiled.read_text(encoding="utf-8"):
            return f"no build with {name} {version}"
    elif "./lab explain" in text:
        try:
            explain_run.plugin(ROOT, BUILD)
        except Refusal as fault:
            return str(fault)
    return ""


def agrees(shown, printed):
    """Is this what the page shows? `...` stands for any lines."""
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + "\n" for line in shown)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed.splitlines())) is not None


def session(scratch, found):
    """Runs the blocks. What differs from the page, and why blocks were left out."""
    for name in ("docs", "labs", "tools"):
        (scratch / name).symlink_to(ROOT / name)
    lab = scratch / "lab"
    lab.write_text(LAB.format(build=BUILD, root=ROOT, python=sys.executable), encoding="utf-8")
    lab.chmod(0o755)
    faults, left_out = [], []
    for needs, commands in found:
        if reason := lacking(needs, commands):
            left_out.append(reason)
            continue
        for command, shown in commands:
            done = subprocess.run(["bash", "-c", f"ulimit -t 300\n{command}"], cwd=scratch, text=True, capture_output=True, check=False,
                                  stdin=subprocess.DEVNULL)
            killed = done.returncode in (-signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGKILL)
            if killed or not agrees(shown, done.stdout) or (done.returncode and set(shown) <= {"..."}):
                faults.append(f"$ {command}\nthe page shows\n" + "\n".join(shown) + f"\nit prints\n{done.stdout}{done.stderr}")
    return faults, left_out


def text_of(page):
    return (LESSONS / f"{page}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(text_of(page))])
def test_what_a_lesson_shows_is_what_its_commands_print(page, scratch):
    found = blocks(text_of(page))
    faults, left_out = session(scratch, found)
    assert not faults, "\n\n".join(faults)
    untracked = [name for name in os.listdir(scratch) if run("git", "check-ignore", "-q", "--no-index", name, cwd=ROOT).returncode == 1]
    assert set(untracked) <= {"docs", "labs", "tools", "lab"}, f"git would show what its commands leave: {untracked}"
    if len(left_out) == len(found):
        pytest.skip("; ".join(dict.fromkeys(left_out)))


KERNELS = ("lost", "neighbour", "message")


def test_oclgrind_reports_each_broken_kernel_and_none_that_is_mended(scratch):
    if reason := lacking("", [("g++ -lOpenCL, oclgrind", [])]):
        pytest.skip(reason)
    passed("g++", "-Wall", "-Wextra", "-Werror", LESSONS / "programs/races.cpp", "-lOpenCL", "-o", scratch / "races")
    for kernel in KERNELS:
        for name, broken in ((kernel, True), (f"{kernel}_mended", False)):
            done = run("oclgrind", "--data-races", scratch / "races", name)
            assert f"\n{name}: " in f"\n{done.stdout}" and ("data race" in done.stderr) == broken, done
            assert broken or done.returncode == 0, done
    assert run(scratch / "races", "lost_mended_twice").returncode == 2


def test_opencl3_computes_with_what_the_device_offers_and_says_what_it_lacks(scratch):
    if reason := lacking("", [("g++ -lOpenCL", [])]):
        pytest.skip(reason)
    program, text = scratch / "opencl3", (LESSONS / "programs/opencl3.cpp").read_text(encoding="utf-8")
    passed("g++", "-Wall", "-Wextra", "-Werror", LESSONS / "programs/opencl3.cpp", "-lOpenCL", "-o", program)
    told = passed(program, "ask").stdout.split("\ndevice: ")[0]
    if "buffers" in told:
        (scratch / "wrong.cpp").write_text(text.replace("*sum = 0;", "*sum = 1;"), encoding="utf-8")
        passed("g++", scratch / "wrong.cpp", "-lOpenCL", "-o", scratch / "wrong")
        assert run(scratch / "wrong", "svm").returncode == 1
    else:
        assert passed(program, "svm").stdout == "skipped: the device has no shared virtual memory\n"
    if shutil.which("oclgrind"):  # OpenCL 1.2
        assert passed("oclgrind", program, "svm").stdout == "skipped: the device has no shared virtual memory\n"
        assert "older than 3.0" in passed("oclgrind", program, "ask").stdout
    kernel, spirv = LESSONS / "programs/saxpy.cl", scratch / "saxpy.spv"
    (scratch / "wrong.cl").write_text(kernel.read_text(encoding="utf-8").replace("+ b[i]", "- b[i]"), encoding="utf-8")
    assert run(program, scratch / "wrong.cl").stdout == "0 of 1000000 elements are right\n"
    for words in ([], ["ask", "ask"], [scratch / "none.cl"]):
        assert run(program, *words).returncode == 2
    versions = [version for version in ("", *(f"-{n}" for n in range(14, 30))) if shutil.which(f"clang{version}") and shutil.which(f"llvm-spirv{version}")]
    if "SPIR-V" not in told:
        assert passed(program, spirv).stdout == "skipped: the device takes no SPIR-V\n"
    elif versions:
        passed(f"clang{versions[0]}", "--target=spir64", "-cl-std=CL1.2", "-emit-llvm", "-c", kernel, "-o", scratch / "saxpy.bc")
        passed(f"llvm-spirv{versions[0]}", scratch / "saxpy.bc", "-o", spirv)
        assert passed(program, spirv).stdout == "1000000 of 1000000 elements are right\n"


@pytest.mark.parametrize("name", ["races", "errors", "meet"])
def test_the_programs_in_CUDA_compile_and_on_a_GPU_say_what_the_lessons_say(name, scratch):
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc")
    passed("nvcc", "-lineinfo", "-cudart", "shared", LESSONS / f"programs/{name}.cu", "-o", scratch / name)
    if name == "meet":
        emulator = [] if gpu() else [BUILD / "emulator/run"]
        assert passed(*emulator, scratch / name).stdout == "thread 0 has seen 7\n"
    if not gpu():
        return
    if name == "races":
        for kernel in KERNELS:
            assert f"{kernel}_mended: " in passed(scratch / name, f"{kernel}_mended").stdout
    if name != "errors":
        return
    told = dict(re.findall(r"(?m)^(\S.*\S):  *(cuda\w+)$", passed(scratch / name).stdout))
    # The documentation names the first; CUDA 13.0 returns the second.
    assert told["cudaGetLastError, 2048 threads in a block"] in ("cudaErrorInvalidConfiguration", "cudaErrorInvalidValue"), told
    assert told["cudaGetLastError, once more"] == told["cudaGetLastError, a store too far"] == "cudaSuccess", told
    assert told["cudaMalloc, which is not to blame"] == told["cudaFree"] == "cudaErrorIllegalAddress", told


@pytest.mark.parametrize("waits", [True, False])
def test_all_steps_with_the_libraries_give_one_sum_and_a_wait_that_is_missing_shows(waits, scratch):
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc")
    if gpu() and not waits:
        pytest.skip("on a GPU the sum may be right all the same")
    text, wait = (LESSONS / "programs/libraries.cu").read_text(encoding="utf-8"), "pipeline.consumer_wait();"
    assert text.count(wait) == 1
    (scratch / "libraries.cu").write_text(text if waits else text.replace(wait, ""), encoding="utf-8")
    how, emulator = ((), ()) if gpu() else (("-cudart", "shared", "-arch=sm_80"), ("env", "CUDA_EMULATOR_CHECK=fail", BUILD / "emulator/run"))
    compiled = passed("nvcc", "-lineinfo", *how, scratch / "libraries.cu", "-o", scratch / "libraries")
    assert "libraries.cu" not in compiled.stdout + compiled.stderr  # no warning
    done = run(*emulator, scratch / "libraries")
    page = re.sub("(?m)^    ", "", re.search(r"(?m)^    raw .*\n(?:    .*\n)+", text_of("libraries"))[0])
    if waits:
        assert done.returncode == 0 and done.stdout == page, done
        assert run(*emulator, scratch / "libraries", "c++").stderr.startswith("usage: libraries [raw|")
    else:
        assert done.returncode == 1 and re.sub(r"(?m)^(pipeline +).* is wrong$", r"\g<1>243498", done.stdout) == page, done


def test_a_page_that_shows_something_else_is_found(scratch):
    page = "<!-- run -->\n    $ printf 'a\\nb\\nc\\n'\n    a\n    {}\n    c\n\ntext\n\n    $ false\n"
    for line, faulty in (("b", False), ("...", False), ("x", True), ("b\n    b", True), ("...\n    $ false\n    ...", True)):
        folder = scratch / str(len(list(scratch.iterdir())))
        folder.mkdir()
        faults, left_out = session(folder, blocks(page.format(line)))
        assert bool(faults) == faulty and not left_out, f"{line}: {faults} {left_out}"


def test_every_command_of_a_lesson_is_run_or_was_on_a_GPU_and_the_studies_that_it_names_exist():
    for page in PAGES:
        text = text_of(page)
        in_blocks = [command for _, commands in blocks(text) for command, _ in commands]
        assert re.findall(r"(?m)^ *\$ (\S.*)$", text) == in_blocks, page
        for lab, study in re.findall(r"`\./lab run (\w+) [^`]*--study ([\w-]+)", text):
            if (BUILD / "bin" / lab).is_file():
                assert study in passed(BUILD / "bin" / lab, "--study", "list").stdout.split(), (page, lab, study)


def test_every_lesson_is_listed_has_a_picture_something_to_try_and_sources():
    listed = re.findall(r"\]\(([a-z-]+)\.md\)", (LESSONS / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == PAGES
    for page in PAGES:
        text = text_of(page)
        assert "](../figures/" in text and "\n## Try it\n" in text and "\n## Sources\n" in text, page
        prose = re.sub(r"(?m)^    .*", "", re.sub(r"<!--.*?-->", "", text, flags=re.S))
        words = sum(1 for token in prose.split() if re.search(r"\w", token))
        assert 400 <= words <= 950, f"{page}: {words} words"
