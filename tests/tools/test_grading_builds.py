"""The hand-outs of all labs, built as students build them: with CUDA where nvcc is, and with each exercise solved."""

import os
import re
import shutil
import subprocess

from grading_support import BUILD, ROOT, command

from grading.exercises import folders, load


def run(*words):
    ran = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    errors = [line for line in ran.stdout.splitlines() if re.search(r"^FAILED: |\berror\b|undefined reference", line)]
    assert ran.returncode == 0, "\n".join(errors) + ran.stderr[-2000:]
    return ran.stdout


def test_each_hand_out_builds_its_judge_and_a_worker_for_each_exercise(scratch):
    """One folder with all labs, so that what they share is compiled once; the labs do not depend on each other. A file of an
    exercise is the rung: a stub would leave out what a right answer refers to. The stubs are compiled in test_grading_labs.py."""
    tree, build = scratch / "all", scratch / "all/build/default"
    command("handout", "--all", tree)
    labs = [load(ROOT, name) for name in folders(ROOT)]
    for lab in labs:
        for _, part in lab.parts():
            (tree / "labs" / lab.folder / part.file).write_text(lab.rung(part.file), encoding="utf-8")
    known = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8") if (BUILD / "CMakeCache.txt").is_file() else ""
    same = re.findall(r"(?m)^((?:CMAKE_PREFIX_PATH|FETCHCONTENT_BASE_DIR|CMAKE_CUDA_ARCHITECTURES|GPULAB_OPENCL):.*)$", known)
    nvcc = shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    printed = run("cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DFETCHCONTENT_FULLY_DISCONNECTED=ON", *(f"-D{one}" for one in same),
               "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CUDA_FLAGS=-Xcicc -O0 -Xptxas -O0")  # nothing runs
    assert not nvcc or "-- CUDA: off" not in printed, printed
    run("cmake", "--build", build, "--target", "grading_programs", "--", "-k0")
    backends = [name for name, off in (("cuda", "-- CUDA: off"), ("opencl", "-- OpenCL: off")) if off not in printed]
    wanted = {f"judge_{lab.name}" for lab in labs} | {f"worker_{lab.name}_{part.rung}" for lab in labs for _, part in lab.parts()
                                                      if part.backend in backends}
    assert wanted <= {path.name for path in (build / "bin").iterdir()}
    for lab in labs:
        for file in {part.file for _, part in lab.parts() if part.backend == "opencl" and "opencl" in backends}:
            read = list((build / "labs" / lab.folder).rglob(f"worker_*/texts/{file.partition('/')[2]}.cpp"))
            assert read, f"{file} is embedded: it must be read when the program runs"
